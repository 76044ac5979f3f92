#pragma once

/*
 * Frames between server and engine on a pair of pipes: u32 length of the payload, u32 type, payload;
 * numbers little-endian; a payload is one serialized GVariant in normal form and of the type that
 * messages.h gives for the frame's type. At most SUNDOG_FRAME_MAX_BYTES; anything else is an error,
 * after which the pipe is of no more use.
 *
 * SundogFrameDecoder is fed whatever a read gave and hands out whole frames. Not thread-safe.
 */

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_FRAME_MAX_BYTES (64u << 20)

#define SUNDOG_WIRE_ERROR (sundog_wire_error_quark())
typedef enum {
    SUNDOG_WIRE_ERROR_MALFORMED, /* The peer is broken: end it. */
    SUNDOG_WIRE_ERROR_VERSION,   /* Another version: the two programs are from different builds. */
    SUNDOG_WIRE_ERROR_CLOSED,    /* End of the pipe. */
} SundogWireError;
GQuark sundog_wire_error_quark(void);
/* Sets SUNDOG_WIRE_ERROR_MALFORMED; returns false. */
bool sundog_wire_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

typedef struct SundogFrameDecoder SundogFrameDecoder;

SundogFrameDecoder *sundog_frame_decoder_new(void);
void sundog_frame_decoder_free(SundogFrameDecoder *decoder);
void sundog_frame_decoder_feed(SundogFrameDecoder *decoder, const void *data, size_t n_bytes);
/* True with a frame (payload owned by the caller), or with *payload NULL where more bytes are needed;
 * false on a malformed one. */
bool sundog_frame_decoder_next(SundogFrameDecoder *decoder, uint32_t *type, GVariant **payload,
                               GError **error);

/* Appends one frame to bytes that will be written as they are. Sinks a floating payload. */
void sundog_frame_append(GByteArray *bytes, uint32_t type, GVariant *payload);

/* Empties bytes that were written, and gives back what one large frame has made them grow to. */
void sundog_frame_clear(GByteArray *bytes);

/* Blocking helpers for the engine's side and for tests. The process must ignore SIGPIPE. */
bool sundog_frame_write_bytes(int fd, const void *data, size_t n_bytes, GError **error);
bool sundog_frame_write(int fd, uint32_t type, GVariant *payload, GError **error);
bool sundog_frame_read(int fd, SundogFrameDecoder *decoder, uint32_t *type, GVariant **payload,
                       GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogFrameDecoder, sundog_frame_decoder_free)
