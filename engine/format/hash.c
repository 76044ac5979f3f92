/* SHA-256 that can be cancelled. */

#include "engine/format/hash.h"

/* Between two looks at the cancellable: a hundredth of a second. */
#define PIECE_BYTES (4u << 20)

static gboolean
update(GChecksum *checksum, GBytes *bytes, GCancellable *cancellable, GError **error)
{
    gsize n_bytes;
    const guint8 *data = g_bytes_get_data(bytes, &n_bytes);
    for (gsize begin = 0; begin < n_bytes; begin += PIECE_BYTES) {
        if (g_cancellable_set_error_if_cancelled(cancellable, error))
            return FALSE;
        g_checksum_update(checksum, data + begin, (gssize)MIN(n_bytes - begin, PIECE_BYTES));
    }
    return TRUE;
}

uint64_t
sundog_hash_count_bytes(GBytes *const *pieces, size_t n_pieces)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < n_pieces; i++)
        n_bytes += g_bytes_get_size(pieces[i]);
    return n_bytes;
}

char *
sundog_hash_dup_sha256(GBytes *const *pieces, size_t n_pieces, GCancellable *cancellable,
                       GError **error)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    for (size_t i = 0; i < n_pieces; i++)
        if (!update(checksum, pieces[i], cancellable, error))
            return NULL;
    return g_strdup(g_checksum_get_string(checksum));
}
