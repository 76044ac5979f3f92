/* The bounded reader: every access goes through sundog_reader_bytes(), the one place that compares a
 * length with what is left. */

#include "engine/format/reader.h"

#include "engine/format/error.h"
#include <string.h>

void
sundog_reader_init(SundogReader *reader, const void *data, size_t size, const char *what)
{
    *reader = (SundogReader){.data = data, .size = size, .what = what};
}

size_t
sundog_reader_left(const SundogReader *reader)
{
    return reader->size - reader->pos;
}

bool
sundog_reader_ok(const SundogReader *reader)
{
    return reader->error == NULL;
}

void
sundog_reader_fail(SundogReader *reader, int code, const char *format, ...)
{
    if (reader->error != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(&reader->error, SUNDOG_FORMAT_ERROR, code, "%s at byte %zu: %s", reader->what,
                reader->pos, text);
}

const uint8_t *
sundog_reader_bytes(SundogReader *reader, uint64_t n_bytes)
{
    static const uint8_t nothing[1];
    if (reader->error != NULL)
        return NULL;
    if (n_bytes > sundog_reader_left(reader)) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_TRUNCATED,
                           "%" G_GUINT64_FORMAT " bytes expected, %zu left", n_bytes,
                           sundog_reader_left(reader));
        return NULL;
    }
    /* Empty data may be NULL, which callers would take for a failure. */
    const uint8_t *bytes = reader->data != NULL ? reader->data + reader->pos : nothing;
    reader->pos += n_bytes;
    return bytes;
}

/* Little-endian on every machine: assembled byte by byte, which compilers turn into one load. */
static uint64_t
read_number(SundogReader *reader, size_t n_bytes)
{
    const uint8_t *bytes = sundog_reader_bytes(reader, n_bytes);
    uint64_t value = 0;
    for (size_t i = 0; bytes != NULL && i < n_bytes; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

uint8_t
sundog_reader_u8(SundogReader *reader)
{
    return (uint8_t)read_number(reader, 1);
}

uint16_t
sundog_reader_u16(SundogReader *reader)
{
    return (uint16_t)read_number(reader, 2);
}

uint32_t
sundog_reader_u32(SundogReader *reader)
{
    return (uint32_t)read_number(reader, 4);
}

uint64_t
sundog_reader_u64(SundogReader *reader)
{
    return read_number(reader, 8);
}

float
sundog_reader_f32(SundogReader *reader)
{
    uint32_t bits = sundog_reader_u32(reader);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double
sundog_reader_f64(SundogReader *reader)
{
    uint64_t bits = sundog_reader_u64(reader);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

char *
sundog_reader_dup_string(SundogReader *reader)
{
    uint32_t n_bytes = sundog_reader_u32(reader);
    const char *text = (const char *)sundog_reader_bytes(reader, n_bytes);
    if (text == NULL)
        return NULL;
    /* With a length given, NUL counts as invalid here too. */
    if (!g_utf8_validate_len(text, n_bytes, NULL)) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "a string of %u bytes is not UTF-8 without NUL", n_bytes);
        return NULL;
    }
    return g_strndup(text, n_bytes);
}

uint64_t
sundog_reader_count(SundogReader *reader, size_t min_bytes)
{
    g_return_val_if_fail(min_bytes > 0, 0);
    uint64_t count = sundog_reader_u64(reader);
    if (count > sundog_reader_left(reader) / min_bytes) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_TRUNCATED,
                           "%" G_GUINT64_FORMAT " elements of at least %zu bytes expected, "
                           "%zu bytes left",
                           count, min_bytes, sundog_reader_left(reader));
        return 0;
    }
    return count;
}

void
sundog_reader_align(SundogReader *reader, size_t alignment)
{
    g_return_if_fail(alignment > 0 && (alignment & (alignment - 1)) == 0);
    sundog_reader_bytes(reader, -reader->pos & (alignment - 1));
}

bool
sundog_reader_finish(SundogReader *reader, GError **error)
{
    if (reader->error == NULL)
        return true;
    g_propagate_error(error, g_steal_pointer(&reader->error));
    return false;
}
