/* Hashes of a stream's segments. */

#include "engine/format/segment-hash.h"

#include <string.h>

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
sundog_segment_hash_append_zeros(SundogSegmentHash *hash, uint64_t n_bytes)
{
    g_return_if_fail(hash->n_bytes % hash->segment_bytes == 0);
    g_autofree uint8_t *zeros = g_malloc0((size_t)hash->segment_bytes);
    uint8_t first[SUNDOG_HASH_BYTES];
    for (uint64_t done = 0; done < n_bytes / hash->segment_bytes; done++) {
        if (done == 0) {
            sundog_segment_hash_append(hash, zeros, (size_t)hash->segment_bytes);
            memcpy(first, hash->hashes->data + hash->hashes->len - sizeof first, sizeof first);
            continue;
        }
        g_byte_array_append(hash->hashes, first, sizeof first);
        hash->n_bytes += hash->segment_bytes;
    }
    sundog_segment_hash_append(hash, zeros, (size_t)(n_bytes % hash->segment_bytes));
}

void
sundog_segment_hash_finish(SundogSegmentHash *hash)
{
    if (hash->n_bytes % hash->segment_bytes != 0)
        end_segment(hash);
}
