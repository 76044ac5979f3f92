#pragma once

/* What each kind of operation costs in a step of a GPU: what the step is faster by without it. Main thread. */

#include "engine/core/core.h"
#include <gio/gio.h>

typedef struct {
    uint32_t n_context;                    /* tokens before the one that is computed */
    double whole_us;                       /* a decoding step of one sequence, as it is served */
    double direct_us;                      /* the same, each kernel launched by itself */
    double cost_us[SUNDOG_N_OPERATIONS];   /* of direct_us; noise may make it negative */
    uint32_t n_calls[SUNDOG_N_OPERATIONS]; /* in the program; 0: it has none */
} SundogAblation;

/* Opens the core on the GPU. False for a core of the host, whose operations have times of their own. */
bool sundog_ablation_measure(SundogCore *core, SundogAblation *ablation, GError **error);
