#pragma once

/* How fast a core reads and writes, measured through its engine. Main thread. */

#include "engine/command/engine-session.h"

typedef struct {
    double median;
    double lowest;
    double highest;
} SundogSpeed; /* tokens per second over the repetitions of one run */

typedef struct {
    int n_prefill; /* tokens of the prompt that is read */
    int n_decode;  /* tokens that are written */
    int n_repeat;  /* times each is measured, after one that warms up */
    /* phase "prefill" or "decode"; fraction of the whole, 0 to 1; may be NULL. */
    void (*progress)(const char *phase, double fraction);
} SundogSpeedOptions;

bool sundog_speed_measure(SundogEngineSession *session, const SundogSpeedOptions *options,
                          SundogSpeed *prefill, SundogSpeed *decode, GError **error);
