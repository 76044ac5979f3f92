/* Ranges of code points. */

#include "engine/text/constraint/character-set.h"

#include <string.h>

GArray *
sundog_character_set_new(void)
{
    return g_array_new(FALSE, FALSE, sizeof(SundogCharacterRange));
}

void
sundog_character_set_add(GArray *set, uint32_t low, uint32_t high)
{
    SundogCharacterRange range = {low, high};
    g_array_append_val(set, range);
}

void
sundog_character_set_add_class(GArray *set, char letter)
{
    static const SundogCharacterRange spaces[] = {
        {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
        {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    g_autoptr(GArray) class = sundog_character_set_new();
    switch (g_ascii_tolower(letter)) {
    case 'd':
        sundog_character_set_add(class, '0', '9');
        break;
    case 'w':
        sundog_character_set_add(class, '0', '9');
        sundog_character_set_add(class, 'A', 'Z');
        sundog_character_set_add(class, '_', '_');
        sundog_character_set_add(class, 'a', 'z');
        break;
    default:
        sundog_character_set_add(class, '\t', '\r');
        sundog_character_set_add(class, ' ', ' ');
        /* What is no space is none in any script. */
        for (size_t i = 0; letter == 'S' && i < G_N_ELEMENTS(spaces); i++)
            sundog_character_set_add(class, spaces[i].low, spaces[i].high);
        break;
    }
    sundog_character_set_normalise(class);
    if (g_ascii_isupper(letter))
        sundog_character_set_invert(class);
    g_array_append_vals(set, class->data, class->len);
}

static int
compare_ranges(gconstpointer a, gconstpointer b)
{
    const SundogCharacterRange *left = a, *right = b;
    return left->low < right->low ? -1 : left->low > right->low;
}

void
sundog_character_set_normalise(GArray *set)
{
    g_array_sort(set, compare_ranges);
    guint n = 0;
    for (guint i = 0; i < set->len; i++) {
        SundogCharacterRange range = g_array_index(set, SundogCharacterRange, i);
        SundogCharacterRange *last =
            n > 0 ? &g_array_index(set, SundogCharacterRange, n - 1) : NULL;
        if (last != NULL && range.low <= last->high + 1)
            last->high = MAX(last->high, range.high);
        else
            g_array_index(set, SundogCharacterRange, n++) = range;
    }
    g_array_set_size(set, n);
}

void
sundog_character_set_invert(GArray *set)
{
    g_autoptr(GArray) others = sundog_character_set_new();
    uint32_t next = 0;
    for (guint i = 0; i < set->len; i++) {
        SundogCharacterRange range = g_array_index(set, SundogCharacterRange, i);
        if (range.low > next)
            sundog_character_set_add(others, next, range.low - 1);
        next = range.high + 1;
    }
    if (next <= SUNDOG_LAST_CODE_POINT)
        sundog_character_set_add(others, next, SUNDOG_LAST_CODE_POINT);
    g_array_set_size(set, 0);
    g_array_append_vals(set, others->data, others->len);
}
