/* The writer: little-endian on every machine, so that a core moves between them. */

#include "engine/format/writer.h"

#include <string.h>

void
sundog_writer_init(SundogWriter *writer)
{
    writer->bytes = g_byte_array_new();
}

void
sundog_writer_clear(SundogWriter *writer)
{
    g_clear_pointer(&writer->bytes, g_byte_array_unref);
}

GBytes *
sundog_writer_steal(SundogWriter *writer)
{
    return g_byte_array_free_to_bytes(g_steal_pointer(&writer->bytes));
}

static void
write_number(SundogWriter *writer, uint64_t value, size_t n_bytes)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    sundog_writer_bytes(writer, bytes, n_bytes);
}

void
sundog_writer_u8(SundogWriter *writer, uint8_t value)
{
    write_number(writer, value, 1);
}

void
sundog_writer_u16(SundogWriter *writer, uint16_t value)
{
    write_number(writer, value, 2);
}

void
sundog_writer_u32(SundogWriter *writer, uint32_t value)
{
    write_number(writer, value, 4);
}

void
sundog_writer_u64(SundogWriter *writer, uint64_t value)
{
    write_number(writer, value, 8);
}

void
sundog_writer_f32(SundogWriter *writer, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    sundog_writer_u32(writer, bits);
}

void
sundog_writer_f64(SundogWriter *writer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    sundog_writer_u64(writer, bits);
}

void
sundog_writer_bytes(SundogWriter *writer, const void *data, size_t n_bytes)
{
    /* A GByteArray counts in guint; no caller writes gigabytes through memory. */
    g_return_if_fail(n_bytes <= G_MAXUINT - writer->bytes->len);
    g_byte_array_append(writer->bytes, data, (guint)n_bytes);
}

void
sundog_writer_string(SundogWriter *writer, const char *text)
{
    size_t n_bytes = strlen(text);
    sundog_writer_u32(writer, (uint32_t)n_bytes);
    sundog_writer_bytes(writer, text, n_bytes);
}

void
sundog_writer_align(SundogWriter *writer, size_t alignment)
{
    g_return_if_fail(alignment > 0 && (alignment & (alignment - 1)) == 0);
    size_t padding = -(size_t)writer->bytes->len & (alignment - 1);
    while (padding-- > 0)
        sundog_writer_u8(writer, 0);
}
