#pragma once

/*
 * A folder of prefix records under a budget of bytes, shared by all engines of this machine: each
 * record is a file of its own that appears and goes whole, so none of them needs to know of the others.
 * Where the budget is passed, the records that were not used for longest go, but none before those
 * that follow it, which are of no use without it. Records are a cache: a file that
 * cannot be written or read is as good as none.
 *
 * The folder is private (0700). One thread a store.
 */

#include "engine/format/prefix-record.h"

typedef struct SundogRecordStore SundogRecordStore;

/* Makes the folder where it is missing. */
SundogRecordStore *sundog_record_store_open(const char *folder, uint64_t max_bytes, GError **error);
void sundog_record_store_close(SundogRecordStore *store);

bool sundog_record_store_save(SundogRecordStore *store, const SundogPrefixRecord *record,
                              const void *state, GError **error);
/* Whether there is a file of that name. */
bool sundog_record_store_has(const SundogRecordStore *store, const SundogPrefixRecord *record);
/* False where there is none, or none that is sound: then it is removed. */
bool sundog_record_store_load(SundogRecordStore *store, const SundogPrefixRecord *record,
                              void *state);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogRecordStore, sundog_record_store_close)
