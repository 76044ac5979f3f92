#pragma once

/* A step runner over a replay: the names of step.h become fields, a step's size becomes a shape. */

#include "engine/replay/replay.h"
#include "engine/schedule/step-runner.h"

typedef struct SundogReplayRunner SundogReplayRunner;

/* Borrows replay and core. NULL where the core's programs lack a buffer that steps need. */
SundogReplayRunner *sundog_replay_runner_new(SundogReplay *replay, const SundogCore *core,
                                             GError **error);
void sundog_replay_runner_free(SundogReplayRunner *runner);

const SundogStepRunner *sundog_replay_runner_get(const SundogReplayRunner *runner);

/* Runs one small step on pages that hold nothing yet: reads the weights in before the first request
 * waits for it. Call before there is a scheduler. */
bool sundog_replay_runner_warm(SundogReplayRunner *runner, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogReplayRunner, sundog_replay_runner_free)
