/* Tables by foreign names. */

#include "engine/format/name-table.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>

static guint
hash_name(gconstpointer name)
{
    static uint8_t key[crypto_shorthash_KEYBYTES];
    static gsize is_keyed;
    if (g_once_init_enter(&is_keyed)) {
        randombytes_buf(key, sizeof key);
        g_once_init_leave(&is_keyed, 1);
    }
    uint8_t hash[crypto_shorthash_BYTES];
    guint value;
    crypto_shorthash(hash, name, strlen(name), key);
    memcpy(&value, hash, sizeof value);
    return value;
}

GHashTable *
sundog_name_table_new(GDestroyNotify value_free)
{
    return g_hash_table_new_full(hash_name, g_str_equal, g_free, value_free);
}

bool
sundog_name_is_good(const char *name, size_t n_bytes)
{
    bool good =
        n_bytes > 0 && n_bytes <= SUNDOG_NAME_MAX_BYTES && g_utf8_validate_len(name, n_bytes, NULL);
    for (size_t i = 0; good && i < n_bytes; i++)
        good = !g_ascii_iscntrl(name[i]);
    return good;
}
