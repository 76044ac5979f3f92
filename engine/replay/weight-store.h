#pragma once

/*
 * A core's weights in memory of huge pages, read by all threads at once. Decoding is as fast over the
 * mapped file where the kernel maps files by large folios (554 and 558 tokens/s in turn); reading was
 * chosen because older kernels map by 4 KiB, a TLB miss every 64 cache lines of a stream, and because
 * a mapped file that is cut short kills the process that reads it.
 */

#include "engine/core/core.h"
#include "engine/replay/memory.h"
#include "engine/replay/thread-pool.h"

/* Reads the whole weights member. progress runs on the calling thread. */
bool sundog_weight_store_read(SundogMemory *memory, const SundogCore *core, SundogThreadPool *pool,
                              void (*progress)(double fraction, void *data), void *data,
                              GError **error);
