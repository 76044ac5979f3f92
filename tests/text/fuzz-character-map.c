/* A character map from outside: no index leads out of it, and every text is taken whole. */

#include "engine/text/tokenizer/character-map.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

/* An array whose root leads to "a", which "bc" stands for. */
static void
make_map(uint8_t *bytes)
{
    const uint32_t units[] = {1u << 10, 0, 0, 0};
    memcpy(bytes, (const uint8_t[]){0, 2, 0, 0}, 4);
    memset(bytes + 4, 0, 512);
    memcpy(bytes + 4, units, 4);
    const uint32_t leaf = 'a' | 1u << 8 | 1u << 10;
    const uint32_t value = UINT32_C(0x80000000);
    memcpy(bytes + 4 + 4 * ('a' ^ 1), &leaf, 4);
    memcpy(bytes + 4 + 4 * 'a', &value, 4);
    memcpy(bytes + 4 + 512, "bc", 3);
}

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    uint8_t bytes[4 + 512 + 3];
    size_t n_taken, n_given;
    SundogCharacterMap map;
    make_map(bytes);
    g_assert_true(sundog_character_map_init(&map, bytes, sizeof bytes, NULL));
    g_assert_cmpstr(sundog_character_map_take(&map, "ab", 2, &n_taken, &n_given), ==, "bc");
    g_assert_cmpuint(n_taken, ==, 1);
    add(bytes, sizeof bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char text[] = "aab \xFF\xE5\x8C\x97\xE5";
    SundogCharacterMap map;
    g_autoptr(GError) error = NULL;
    /* A copy of its own, so that a read past its end is seen. */
    g_autofree uint8_t *bytes = g_memdup2(data, n_bytes);
    if (!sundog_character_map_init(&map, bytes, n_bytes, &error)) {
        g_assert_nonnull(error);
        return 0;
    }
    size_t n_taken, n_given, n_read = 0;
    for (size_t pos = 0; pos < strlen(text); pos += n_taken) {
        const char *given =
            sundog_character_map_take(&map, text + pos, strlen(text) - pos, &n_taken, &n_given);
        g_assert(n_taken > 0 && n_taken <= strlen(text) - pos);
        for (size_t i = 0; i < n_given; i++)
            n_read += given[i] != '\0';
        g_assert(n_given <= n_read);
    }
    return 0;
}
