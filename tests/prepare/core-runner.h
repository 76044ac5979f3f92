#pragma once

/*
 * For tests: prepares a model into a core in a temporary folder, opens it, and runs forward steps of
 * any mix of sequences through replay with poisoned memory. Anything that fails ends the test.
 */

#include "engine/prepare/prepare.h"
#include "engine/replay/replay.h"

#define RUNNER_SEQUENCES 4
#define RUNNER_PAGES 12 /* of each sequence */

typedef struct {
    char *folder;
    SundogKeyring *keyring;
    SundogCore *core;
    SundogReplay *replay;
    uint32_t n_vocabulary;
    int64_t max_rows;                              /* of logits in one step */
    int32_t pages[RUNNER_SEQUENCES][RUNNER_PAGES]; /* each sequence's own, until changed */
} CoreRunner;

/* A stretch of one sequence in a step. */
typedef struct {
    unsigned sequence; /* below RUNNER_SEQUENCES */
    int32_t start;     /* position of its first token */
    int32_t n_tokens;
    const int32_t *tokens;
    float *logits; /* [n_tokens, n_vocabulary], or NULL where none are wanted */
} RunnerPart;

void core_runner_open(CoreRunner *runner, const char *model, SundogActivations activations,
                      unsigned n_threads);
/* The same with keys and values in 8 bits. */
void core_runner_open_narrow(CoreRunner *runner, const char *model, SundogActivations activations,
                             unsigned n_threads);
void core_runner_close(CoreRunner *runner);

/* One step of the program "forward", or of another by name. Parts name different sequences. */
void core_runner_step(CoreRunner *runner, const RunnerPart *parts, unsigned n_parts);
void core_runner_step_of(CoreRunner *runner, const char *program, const RunnerPart *parts,
                         unsigned n_parts);

/* A prompt of sequence 0 in steps of so many tokens: logits [n_tokens, n_vocabulary]; free it. */
float *core_runner_prefill(CoreRunner *runner, const int32_t *tokens, int32_t n_tokens,
                           int32_t chunk);

/* The token that the core's program "sample" takes at temperature 0 from the last step's first row. */
int32_t core_runner_sample(CoreRunner *runner);
int32_t core_runner_best(const CoreRunner *runner, const float *logits);
/* ‖a − b‖₂ / ‖b‖₂ */
double relative_error(const float *a, const float *b, size_t n);
