#pragma once

/* The mirror of SundogReader: appends little-endian numbers, strings and arrays to a GByteArray. */

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    GByteArray *bytes; /* Owned. */
} SundogWriter;

void sundog_writer_init(SundogWriter *writer);
void sundog_writer_clear(SundogWriter *writer);
/* Hands over what was written; the writer is cleared. */
GBytes *sundog_writer_steal(SundogWriter *writer);

void sundog_writer_u8(SundogWriter *writer, uint8_t value);
void sundog_writer_u16(SundogWriter *writer, uint16_t value);
void sundog_writer_u32(SundogWriter *writer, uint32_t value);
void sundog_writer_u64(SundogWriter *writer, uint64_t value);
void sundog_writer_f32(SundogWriter *writer, float value);
void sundog_writer_f64(SundogWriter *writer, double value);
void sundog_writer_bytes(SundogWriter *writer, const void *data, size_t n_bytes);
void sundog_writer_string(SundogWriter *writer, const char *text); /* u32 length, bytes, no NUL */
void sundog_writer_align(SundogWriter *writer, size_t alignment);  /* pads with zeros */
