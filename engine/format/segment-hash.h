#pragma once

/*
 * BLAKE2b-256 (RFC 7693, by libsodium) of a stream, one hash for each segment of equal size, so that
 * a damaged part of a large file can be named and fetched again alone.
 *
 * Usage: init, append any number of times, finish; then `hashes` is complete. No thread.
 */

#include <glib.h>
#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

#define SUNDOG_HASH_BYTES 32

typedef struct {
    uint64_t segment_bytes;
    uint64_t n_bytes;   /* appended so far */
    GByteArray *hashes; /* [finished segments, SUNDOG_HASH_BYTES], owned */
    crypto_generichash_state state;
} SundogSegmentHash;

void sundog_segment_hash_init(SundogSegmentHash *hash, uint64_t segment_bytes);
void sundog_segment_hash_clear(SundogSegmentHash *hash);
void sundog_segment_hash_append(SundogSegmentHash *hash, const void *data, size_t n_bytes);
/* As if so many zeros were appended, of which whole segments are hashed once. Only at a segment's begin. */
void sundog_segment_hash_append_zeros(SundogSegmentHash *hash, uint64_t n_bytes);
/* Ends a last, shorter segment; a stream of no bytes has no segment. */
void sundog_segment_hash_finish(SundogSegmentHash *hash);
