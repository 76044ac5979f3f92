/* A character at a time through bytes that may be anything. */

#include "engine/text/utf8.h"

#include <string.h>

/* What a first byte promises: the length of its character, and the range of the second byte, which is
 * where overlong forms, surrogates and what lies past U+10FFFF show. */
typedef struct {
    uint8_t first;
    uint8_t last;
    uint8_t n_bytes;
    uint8_t second_low;
    uint8_t second_high;
} Lead;

static const Lead leads[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF},
    {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
    {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

static const Lead *
find_lead(uint8_t byte)
{
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++)
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    return NULL;
}

size_t
sundog_utf8_scan(const char *text, size_t n_bytes, SundogUtf8State *state)
{
    const uint8_t *bytes = (const uint8_t *)text;
    const Lead *lead = find_lead(bytes[0]);
    *state = bytes[0] < 0x80 ? SUNDOG_UTF8_WHOLE : SUNDOG_UTF8_INVALID;
    if (lead == NULL)
        return 1;
    for (size_t i = 1; i < lead->n_bytes; i++) {
        if (i == n_bytes) {
            *state = SUNDOG_UTF8_INCOMPLETE;
            return i;
        }
        uint8_t low = i == 1 ? lead->second_low : 0x80;
        uint8_t high = i == 1 ? lead->second_high : 0xBF;
        if (bytes[i] < low || bytes[i] > high)
            return i;
    }
    *state = SUNDOG_UTF8_WHOLE;
    return lead->n_bytes;
}

size_t
sundog_utf8_decode(const char *text, size_t n_bytes, uint32_t *code_point)
{
    if (n_bytes == 0)
        return 0;
    SundogUtf8State state;
    size_t length = sundog_utf8_scan(text, n_bytes, &state);
    if (state != SUNDOG_UTF8_WHOLE)
        return 0;
    uint8_t first = (uint8_t)text[0];
    *code_point = length == 1 ? first : first & (0x7F >> length);
    for (size_t i = 1; i < length; i++)
        *code_point = *code_point << 6 | ((uint8_t)text[i] & 0x3F);
    return length;
}

/* Most text is ASCII, and eight bytes of it are told by one look. */
static size_t
ascii_prefix(const char *text, size_t n_bytes)
{
    size_t pos = 0;
    for (uint64_t word; pos + sizeof word <= n_bytes; pos += sizeof word) {
        memcpy(&word, text + pos, sizeof word);
        if ((word & UINT64_C(0x8080808080808080)) != 0)
            break;
    }
    return pos;
}

size_t
sundog_utf8_valid_prefix(const char *text, size_t n_bytes)
{
    size_t pos = 0;
    while (pos < n_bytes) {
        pos += ascii_prefix(text + pos, n_bytes - pos);
        if (pos == n_bytes)
            break;
        SundogUtf8State state;
        size_t length = sundog_utf8_scan(text + pos, n_bytes - pos, &state);
        if (state != SUNDOG_UTF8_WHOLE)
            break;
        pos += length;
    }
    return pos;
}

size_t
sundog_utf8_invalid_prefix(const char *text, size_t n_bytes)
{
    size_t pos = 0;
    while (pos < n_bytes) {
        SundogUtf8State state;
        size_t length = sundog_utf8_scan(text + pos, n_bytes - pos, &state);
        if (state == SUNDOG_UTF8_WHOLE)
            break;
        pos += length;
    }
    return pos;
}

/* GLib takes a NUL byte for the end, so that each stretch between two is composed on its own. */
static void
append_composed(GString *out, const char *text, size_t n_bytes)
{
    for (size_t pos = 0; pos < n_bytes; pos++) {
        size_t length = strnlen(text + pos, n_bytes - pos);
        g_autofree char *composed =
            g_utf8_normalize(text + pos, (gssize)length, G_NORMALIZE_DEFAULT_COMPOSE);
        g_string_append(out, composed);
        pos += length;
        if (pos < n_bytes)
            g_string_append_c(out, '\0');
    }
}

GString *
sundog_utf8_compose(const char *text, size_t n_bytes)
{
    size_t pos = 0;
    while (pos < n_bytes && (uint8_t)text[pos] < 0x80)
        pos++;
    if (pos == n_bytes)
        return NULL;
    GString *out = g_string_sized_new(n_bytes);
    for (pos = 0; pos < n_bytes;) {
        size_t n_valid = sundog_utf8_valid_prefix(text + pos, n_bytes - pos);
        append_composed(out, text + pos, n_valid);
        pos += n_valid;
        size_t n_invalid = sundog_utf8_invalid_prefix(text + pos, n_bytes - pos);
        g_string_append_len(out, text + pos, (gssize)n_invalid);
        pos += n_invalid;
    }
    return out;
}

bool
sundog_utf8_is_space(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
    if (code_point == 0x85)
        return true;
    GUnicodeType type = g_unichar_type(code_point);
    return type == G_UNICODE_SPACE_SEPARATOR || type == G_UNICODE_LINE_SEPARATOR ||
           type == G_UNICODE_PARAGRAPH_SEPARATOR;
}
