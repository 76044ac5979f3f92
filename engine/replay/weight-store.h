#pragma once

/*
 * A core's weights in memory of huge pages, read by all threads at once. Reading was chosen against
 * mapping the file: a decoding step streams through all of them, and pages of 4 KiB cost it a TLB miss
 * every 64 cache lines.
 */

#include "engine/core/core.h"
#include "engine/replay/memory.h"
#include "engine/replay/thread-pool.h"

/* Reads the whole weights member. progress runs on the calling thread. */
bool sundog_weight_store_read(SundogMemory *memory, const SundogCore *core, SundogThreadPool *pool,
                              void (*progress)(double fraction, void *data), void *data,
                              GError **error);
