#pragma once

/*
 * A core with all that runs its steps: planned, its weights read, warm. Open, use the runner, close. One
 * thread.
 */

#include "engine/schedule/memory-plan.h"
#include "engine/schedule/replay-runner.h"

typedef struct {
    SundogCore *core; /* NULL: not loaded, as of all of it */
    SundogMemoryPlan plan;
    SundogReplay *replay;
    SundogReplayRunner *runner;
} SundogLoadedCore;

typedef struct {
    int64_t n_threads;      /* 0: all processors */
    int64_t context_length; /* 0: as the core allows */
    uint64_t cache_bytes;   /* 0: by what is there */
    uint32_t n_contexts;    /* whole ones that the cache is for; 0: the plan\'s own */
    uint64_t memory_bytes;  /* of this computer's that it may take; 0: what is free */
    uint64_t taken_bytes;   /* of it, planned for others and maybe not yet touched */
    const int32_t
        *ladder; /* of a GPU's graphs, as replay.h says, while it is opened; NULL: the usual one */
    uint32_t n_rungs;
    bool is_alike; /* likewise */
    /* phase: "verify", "weights", "warm"; may be NULL */
    void (*progress)(const char *phase, double fraction, void *data);
    void *data;
} SundogLoadedCoreOptions;

/* False with nothing loaded. */
bool sundog_loaded_core_open(SundogLoadedCore *loaded, const char *folder,
                             const SundogKeyring *keyring, const SundogLoadedCoreOptions *options,
                             GError **error);
void sundog_loaded_core_close(SundogLoadedCore *loaded);

/* Weights, arena and pools. */
uint64_t sundog_loaded_core_get_bytes(const SundogLoadedCore *loaded);
