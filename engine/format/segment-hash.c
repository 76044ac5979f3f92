/* Hashes of a stream's segments. */

#include "engine/format/segment-hash.h"

static void
begin_segment(SundogSegmentHash *hash)
{
    crypto_generichash_init(&hash->state, NULL, 0, SUNDOG_HASH_BYTES);
}

static void
end_segment(SundogSegmentHash *hash)
{
    uint8_t bytes[SUNDOG_HASH_BYTES];
    crypto_generichash_final(&hash->state, bytes, sizeof bytes);
    g_byte_array_append(hash->hashes, bytes, sizeof bytes);
    begin_segment(hash);
}

void
sundog_segment_hash_init(SundogSegmentHash *hash, uint64_t segment_bytes)
{
    g_return_if_fail(segment_bytes > 0);
    /* Chooses the fast code for this processor; later calls return at once. */
    if (sodium_init() < 0)
        g_warning("libsodium cannot start");
    hash->segment_bytes = segment_bytes;
    hash->n_bytes = 0;
    hash->hashes = g_byte_array_new();
    begin_segment(hash);
}

void
sundog_segment_hash_clear(SundogSegmentHash *hash)
{
    g_clear_pointer(&hash->hashes, g_byte_array_unref);
}

void
sundog_segment_hash_append(SundogSegmentHash *hash, const void *data, size_t n_bytes)
{
    const uint8_t *bytes = data;
    while (n_bytes > 0) {
        uint64_t left = hash->segment_bytes - hash->n_bytes % hash->segment_bytes;
        size_t n = (size_t)MIN(left, n_bytes);
        crypto_generichash_update(&hash->state, bytes, n);
        hash->n_bytes += n;
        bytes += n;
        n_bytes -= n;
        if (n == left)
            end_segment(hash);
    }
}

void
sundog_segment_hash_finish(SundogSegmentHash *hash)
{
    if (hash->n_bytes % hash->segment_bytes != 0)
        end_segment(hash);
}
