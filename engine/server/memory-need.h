#pragma once

/* How much memory a core takes, from its manifest, and how much there is. Any thread. */

#include "engine/server/core-text.h"

typedef struct {
    uint64_t fixed_bytes; /* weights and arena */
    uint64_t least_bytes; /* these, and a cache of one whole context or, where that is more, of a
                            * quarter of what is left; 0: it lies on a GPU, and nothing is known */
    uint64_t most_bytes;  /* more than this is of no use to it */
} SundogMemoryNeed;

/* budget_bytes: that all cores share. cache_bytes: as configured, or 0. */
SundogMemoryNeed sundog_memory_need_of(const SundogCoreText *core, uint64_t budget_bytes,
                                       uint64_t cache_bytes);
/* Of this machine, or of the control group that the process is in. 0 where the system does not say. */
uint64_t sundog_memory_get_total(void);
