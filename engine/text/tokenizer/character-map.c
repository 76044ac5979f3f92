/* Walks the double array. */

#include "engine/text/tokenizer/character-map.h"

#include "engine/format/error.h"
#include "engine/text/utf8.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD"

static uint32_t
read_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

bool
sundog_character_map_init(SundogCharacterMap *map, const uint8_t *bytes, size_t n_bytes,
                          GError **error)
{
    *map = (SundogCharacterMap){0};
    if (n_bytes == 0)
        return true;
    uint32_t n_array_bytes = n_bytes >= 4 ? read_u32(bytes) : 0;
    if (n_bytes < 4 || n_array_bytes % 4 != 0 || n_array_bytes >= n_bytes - 4 ||
        bytes[n_bytes - 1] != '\0') {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "the character map of %" G_GSIZE_FORMAT
                    " bytes has an array of %u, expected fewer, in fours, and a NUL at the end",
                    n_bytes, n_array_bytes);
        return false;
    }
    map->units = bytes + 4;
    map->n_units = n_array_bytes / 4;
    map->texts = (const char *)bytes + 4 + n_array_bytes;
    map->n_text_bytes = n_bytes - 4 - n_array_bytes;
    return true;
}

/* A unit of the array: its low byte is the label that leads to it, bit 8 says that a value hangs on
 * it, and the bits from 10 on how far its children lie, in steps of 256 where bit 9 is set. */
static bool
get_unit(const SundogCharacterMap *map, size_t index, uint32_t *unit)
{
    if (index >= map->n_units)
        return false;
    *unit = read_u32(map->units + 4 * index);
    return true;
}

static size_t
get_offset(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* The replacement of the longest sequence at the text's beginning, or NULL. */
static const char *
find_longest(const SundogCharacterMap *map, const char *text, size_t n_bytes, size_t *n_taken)
{
    const uint32_t label_bits = UINT32_C(0x800000FF);
    const char *longest = NULL;
    uint32_t unit;
    if (!get_unit(map, 0, &unit))
        return NULL;
    size_t index = get_offset(unit);
    for (size_t pos = 0; pos < n_bytes && text[pos] != '\0'; pos++) {
        index ^= (uint8_t)text[pos];
        if (!get_unit(map, index, &unit) || (unit & label_bits) != (uint8_t)text[pos])
            break;
        index ^= get_offset(unit);
        uint32_t value;
        if ((unit & (1u << 8)) == 0 || !get_unit(map, index, &value))
            continue;
        value &= UINT32_C(0x7FFFFFFF);
        if (value >= map->n_text_bytes)
            continue;
        longest = map->texts + value;
        *n_taken = pos + 1;
    }
    return longest;
}

const char *
sundog_character_map_take(const SundogCharacterMap *map, const char *text, size_t n_bytes,
                          size_t *n_taken, size_t *n_given)
{
    const char *given = find_longest(map, text, n_bytes, n_taken);
    if (given != NULL) {
        *n_given = strlen(given);
        return given;
    }
    SundogUtf8State state;
    size_t length = sundog_utf8_scan(text, n_bytes, &state);
    if (state == SUNDOG_UTF8_WHOLE) {
        *n_taken = *n_given = length;
        return text;
    }
    *n_taken = 1;
    *n_given = strlen(REPLACEMENT);
    return REPLACEMENT;
}
