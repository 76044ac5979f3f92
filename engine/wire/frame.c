/* Frames on pipes: a header of two numbers and a GVariant, cut out of whatever a read gave. */

#include "engine/wire/frame.h"
#include "engine/wire/messages.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define HEADER_BYTES 8
#define READ_BYTES (64u << 10)
/* Consumed bytes are moved away once they outweigh the rest, so that each byte moves at most once. */
#define COMPACT_BYTES (64u << 10)
/* A buffer that grew past this for one large frame is given back once it is empty. */
#define KEEP_BYTES (1u << 20)

struct SundogFrameDecoder {
    GByteArray *bytes;
    size_t start;  /* of what was not yet handed out */
    GError *error; /* the first failure: the pipe is of no more use */
};

G_DEFINE_QUARK(sundog - wire - error - quark, sundog_wire_error)

bool
sundog_wire_refuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autoptr(GError) made =
        g_error_new_valist(SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED, format, arguments);
    va_end(arguments);
    g_propagate_error(error, g_steal_pointer(&made));
    return false;
}

static uint32_t
get_u32(const uint8_t *data)
{
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return GUINT32_FROM_LE(value);
}

static void
compact(SundogFrameDecoder *decoder)
{
    if (decoder->start == decoder->bytes->len) {
        sundog_frame_clear(decoder->bytes);
        decoder->start = 0;
    } else if (decoder->start > COMPACT_BYTES && decoder->start > decoder->bytes->len / 2) {
        g_byte_array_remove_range(decoder->bytes, 0, (guint)decoder->start);
        decoder->start = 0;
    }
}

G_GNUC_PRINTF(3, 4)
static bool
fail(SundogFrameDecoder *decoder, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    decoder->error =
        g_error_new_valist(SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED, format, arguments);
    va_end(arguments);
    g_byte_array_set_size(decoder->bytes, 0);
    decoder->start = 0;
    g_propagate_error(error, g_error_copy(decoder->error));
    return false;
}

/* Takes one payload out as a GVariant of its own, of the native byte order and in normal form. */
static GVariant *
take_payload(const char *type, const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GBytes) bytes = g_bytes_new(data, n_bytes);
    g_autoptr(GVariant) payload =
        g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(type), bytes, FALSE));
    if (!g_variant_is_normal_form(payload))
        return NULL;
#if G_BYTE_ORDER == G_BIG_ENDIAN
    return g_variant_byteswap(payload);
#else
    return g_steal_pointer(&payload);
#endif
}

SundogFrameDecoder *
sundog_frame_decoder_new(void)
{
    SundogFrameDecoder *decoder = g_new0(SundogFrameDecoder, 1);
    decoder->bytes = g_byte_array_new();
    return decoder;
}

void
sundog_frame_decoder_free(SundogFrameDecoder *decoder)
{
    if (decoder) {
        g_byte_array_unref(decoder->bytes);
        g_clear_error(&decoder->error);
        g_free(decoder);
    }
}

void
sundog_frame_decoder_feed(SundogFrameDecoder *decoder, const void *data, size_t n_bytes)
{
    g_return_if_fail(n_bytes <= SUNDOG_FRAME_MAX_BYTES);
    if (!decoder->error)
        g_byte_array_append(decoder->bytes, data, (guint)n_bytes);
}

bool
sundog_frame_decoder_next(SundogFrameDecoder *decoder, uint32_t *type, GVariant **payload,
                          GError **error)
{
    *payload = NULL;
    *type = 0;
    if (decoder->error) {
        g_propagate_error(error, g_error_copy(decoder->error));
        return false;
    }
    size_t n_left = decoder->bytes->len - decoder->start;
    if (n_left < HEADER_BYTES) {
        compact(decoder);
        return true;
    }
    const uint8_t *header = decoder->bytes->data + decoder->start;
    uint32_t n_payload = get_u32(header);
    uint32_t number = get_u32(header + 4);
    const char *signature = sundog_message_signature(number);
    if (!signature)
        return fail(decoder, error, "a frame of unknown type %u", number);
    if (n_payload > SUNDOG_FRAME_MAX_BYTES) {
        return fail(decoder, error, "a frame of %u bytes where at most %u are allowed", n_payload,
                    SUNDOG_FRAME_MAX_BYTES);
    }
    if (n_left - HEADER_BYTES < n_payload) {
        compact(decoder);
        return true;
    }
    *payload = take_payload(signature, header + HEADER_BYTES, n_payload);
    if (!*payload) {
        return fail(decoder, error, "a frame of type %u whose %u bytes are no %s", number,
                    n_payload, signature);
    }
    *type = number;
    decoder->start += HEADER_BYTES + n_payload;
    return true;
}

void
sundog_frame_append(GByteArray *bytes, uint32_t type, GVariant *payload)
{
    g_autoptr(GVariant) sunk = g_variant_ref_sink(payload);
    const char *signature = sundog_message_signature(type);
    g_return_if_fail(signature && g_variant_is_of_type(sunk, G_VARIANT_TYPE(signature)));
    gsize n_payload = g_variant_get_size(sunk);
    g_return_if_fail(n_payload <= SUNDOG_FRAME_MAX_BYTES);

    uint32_t header[2] = {GUINT32_TO_LE((uint32_t)n_payload), GUINT32_TO_LE(type)};
    guint start = bytes->len;
    g_byte_array_set_size(bytes, start + HEADER_BYTES + (guint)n_payload);
    memcpy(bytes->data + start, header, HEADER_BYTES);
#if G_BYTE_ORDER == G_BIG_ENDIAN
    g_autoptr(GVariant) swapped = g_variant_byteswap(sunk);
#else
    GVariant *swapped = sunk;
#endif
    /* Not g_variant_store(), which wants an aligned place. */
    if (n_payload > 0)
        memcpy(bytes->data + start + HEADER_BYTES, g_variant_get_data(swapped), n_payload);
}

static bool
wait_for(int fd, short events)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    return poll(&poll_fd, 1, -1) >= 0 || errno == EINTR;
}

static bool
fail_system(GError **error, const char *what)
{
    int code = errno;
    g_set_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_CLOSED, "%s: %s", what,
                g_strerror(code));
    return false;
}

void
sundog_frame_clear(GByteArray *bytes)
{
    if (bytes->len > KEEP_BYTES)
        g_free(g_byte_array_steal(bytes, NULL));
    else
        g_byte_array_set_size(bytes, 0);
}

bool
sundog_frame_write_bytes(int fd, const void *data, size_t n_bytes, GError **error)
{
    const uint8_t *next = data;
    while (n_bytes > 0) {
        ssize_t n_written = write(fd, next, n_bytes);
        if (n_written >= 0) {
            next += n_written;
            n_bytes -= (size_t)n_written;
        } else if (errno == EAGAIN) {
            if (!wait_for(fd, POLLOUT))
                return fail_system(error, "waiting to write to the pipe");
        } else if (errno != EINTR) {
            return fail_system(error, "writing to the pipe");
        }
    }
    return true;
}

bool
sundog_frame_write(int fd, uint32_t type, GVariant *payload, GError **error)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    sundog_frame_append(bytes, type, payload);
    return sundog_frame_write_bytes(fd, bytes->data, bytes->len, error);
}

/* One read; false at the end of the pipe. */
static bool
read_more(int fd, SundogFrameDecoder *decoder, GError **error)
{
    uint8_t buffer[READ_BYTES];
    for (;;) {
        ssize_t n_read = read(fd, buffer, sizeof buffer);
        if (n_read > 0) {
            sundog_frame_decoder_feed(decoder, buffer, (size_t)n_read);
            return true;
        }
        if (n_read == 0) {
            g_set_error_literal(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_CLOSED,
                                "the pipe has ended");
            return false;
        }
        if (errno == EAGAIN) {
            if (!wait_for(fd, POLLIN))
                return fail_system(error, "waiting to read from the pipe");
        } else if (errno != EINTR) {
            return fail_system(error, "reading from the pipe");
        }
    }
}

bool
sundog_frame_read(int fd, SundogFrameDecoder *decoder, uint32_t *type, GVariant **payload,
                  GError **error)
{
    for (;;) {
        if (!sundog_frame_decoder_next(decoder, type, payload, error))
            return false;
        if (*payload)
            return true;
        if (!read_more(fd, decoder, error))
            return false;
    }
}
