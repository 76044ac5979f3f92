#pragma once

/*
 * A prefix record: the state that a page of tokens left in the cache, as a file of its own. Little-endian:
 *
 *   "SDPREFIX"             8 bytes
 *   version                u32, 1
 *   n_tokens               u32
 *   n_bytes                u64, of the state
 *   key                    [32] of what made the state: core, engine, form of the cache
 *   parent                 [32] name of the record before it; zeros where a sequence begins
 *   tokens                 [n_tokens] u32
 *   state                  [n_bytes]
 *   hash                   [32] BLAKE2b-256 of all before
 *
 * Its name is the BLAKE2b-256 of key, parent and tokens: so it depends on every token before it, and who
 * knows the tokens can ask for the record. Files are private (0600), written beside and renamed. They
 * are not synced: one that a crash cut fails its hash, and is as good as none. Any thread.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUNDOG_RECORD_HASH_BYTES 32

typedef struct {
    uint8_t key[SUNDOG_RECORD_HASH_BYTES];
    uint8_t parent[SUNDOG_RECORD_HASH_BYTES];
    const uint32_t *tokens; /* [n_tokens] */
    uint32_t n_tokens;
    size_t n_bytes; /* of its state */
} SundogPrefixRecord;

void sundog_prefix_record_get_name(const SundogPrefixRecord *record,
                                   uint8_t name[SUNDOG_RECORD_HASH_BYTES]);
/* state [record->n_bytes]. Replaces a file that is there. Errors are of SUNDOG_FORMAT_ERROR. */
bool sundog_prefix_record_write(const SundogPrefixRecord *record, const void *state,
                                const char *path, GError **error);
/* Fills state [record->n_bytes]; fails where the file is not exactly this record, whole. */
bool sundog_prefix_record_read(const SundogPrefixRecord *record, void *state, const char *path,
                               GError **error);
/* What stands as its parent in the file at `path`, unproved: the hash is not looked at. */
bool sundog_prefix_record_read_parent(const char *path, uint8_t parent[SUNDOG_RECORD_HASH_BYTES]);
