#pragma once

/*
 * Steps that are run to be timed: sequences behind so many tokens, whose values do not matter. Their pages
 * and slots of state are shared where the pool has too few. On the thread that owns the replay.
 */

#include "engine/replay/replay.h"

typedef struct {
    int32_t n_sequences;
    int32_t n_rows;    /* of each: 1 where they decode */
    int32_t n_context; /* tokens before these */
} SundogTrial;

/* What a replay for such trials needs at least beside the usual; `most` has the most sequences, and the most tokens
 * of one. Pools are as large as that wants, within what the device can give. */
bool sundog_trial_size(const SundogCore *core, const SundogTrial *most,
                       SundogReplayOptions *options, GError **error);
/* Fills the inputs of a forward step in which each sequence gives logits of its last row. */
SundogShape sundog_trial_fill(SundogReplay *replay, const SundogTrial *trial);
/* Microseconds a step, over as many as take long enough, behind one another. On a GPU alone. */
bool sundog_trial_time(SundogReplay *replay, const SundogShape *shape, double *us, GError **error);
