#include "tests/prepare/core-runner.h"

#include "engine/core/step.h"
#include "kernels/contract/sample.h"
#include "tests/temporary-folder.h"

#include <math.h>
#include <string.h>

static void
prepare_and_open(CoreRunner *runner, const char *path, SundogActivations activations,
                 SundogCacheKind cache)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *keys = g_build_filename(runner->folder, "keys", NULL);
    g_autofree char *core = g_build_filename(runner->folder, "core", NULL);
    const SundogPrepareOptions options = {.name = "test",
                                          .target = "host",
                                          .activations = activations,
                                          .cache = cache,
                                          .n_threads = 2};
    g_autoptr(SundogModel) model = sundog_model_open(path, &error);
    g_assert_no_error(error);
    runner->keyring = sundog_keyring_open(keys, &error);
    g_assert_no_error(error);
    sundog_prepare(model, core, runner->keyring, &options, &error);
    g_assert_no_error(error);
    runner->core = sundog_core_open(core, runner->keyring, &error);
    g_assert_no_error(error);
}

static void
open_runner(CoreRunner *runner, const char *path, SundogActivations activations,
            SundogCacheKind cache, unsigned n_threads)
{
    g_autoptr(GError) error = NULL;
    const SundogReplayOptions options = {.n_threads = n_threads,
                                         .pool_pages = RUNNER_SEQUENCES * RUNNER_PAGES + 1,
                                         .pool_states = RUNNER_SEQUENCES + 1,
                                         .host_set = -1,
                                         .poison = true};
    *runner = (CoreRunner){.folder = g_dir_make_tmp("sundog-runner.XXXXXX", &error)};
    g_assert_no_error(error);
    prepare_and_open(runner, path, activations, cache);
    runner->replay = sundog_replay_open(runner->core, &options, &error);
    g_assert_no_error(error);
    runner->n_vocabulary = sundog_core_get_info(runner->core)->n_vocabulary;
    runner->max_rows = sundog_replay_get_bounds(runner->replay)->values[SUNDOG_VARIABLE_LOGIT_ROWS];
    for (int s = 0; s < RUNNER_SEQUENCES; s++)
        for (int p = 0; p < RUNNER_PAGES; p++)
            runner->pages[s][p] = 1 + s + RUNNER_SEQUENCES * p;
}

void
core_runner_open(CoreRunner *runner, const char *path, SundogActivations activations,
                 unsigned n_threads)
{
    open_runner(runner, path, activations, SUNDOG_CACHE_FLOATS, n_threads);
}

void
core_runner_open_narrow(CoreRunner *runner, const char *path, SundogActivations activations,
                        unsigned n_threads)
{
    open_runner(runner, path, activations, SUNDOG_CACHE_Q8, n_threads);
}

void
core_runner_close(CoreRunner *runner)
{
    sundog_replay_close(runner->replay);
    sundog_core_free(runner->core);
    sundog_keyring_free(runner->keyring);
    temporary_folder_remove(runner->folder);
    g_free(runner->folder);
}

static int32_t *
input(const CoreRunner *runner, const char *name)
{
    int32_t *data = sundog_replay_get_buffer(runner->replay, name);
    g_assert_nonnull(data);
    return data;
}

/* Fills the rows of one part; returns the first row after it. */
static int32_t
fill_part(const CoreRunner *runner, const RunnerPart *part, unsigned index, int32_t row,
          int32_t n_pages)
{
    int32_t *first_row = input(runner, "first_row");
    first_row[index] = row;
    first_row[index + 1] = row + part->n_tokens;
    input(runner, "start_position")[index] = part->start;
    int32_t *state_slot = sundog_replay_get_buffer(runner->replay, "state_slot");
    if (state_slot != NULL)
        state_slot[index] = 1 + (int32_t)part->sequence;
    for (int32_t i = 0; i < part->n_tokens; i++) {
        input(runner, "tokens")[row + i] = part->tokens[i];
        input(runner, "positions")[row + i] = part->start + i;
        input(runner, "token_sequence")[row + i] = (int32_t)index;
    }
    int32_t *tables[] = {input(runner, "page_table"),
                         sundog_replay_get_buffer(runner->replay, "window_table")};
    for (size_t t = 0; t < G_N_ELEMENTS(tables); t++)
        if (tables[t] != NULL)
            memcpy(tables[t] + index * (unsigned)n_pages, runner->pages[part->sequence],
                   (size_t)n_pages * sizeof(int32_t));
    return row + part->n_tokens;
}

static int64_t
fill_logit_rows(const CoreRunner *runner, const RunnerPart *parts, unsigned n_parts)
{
    int64_t n = 0;
    int32_t row = 0;
    for (unsigned p = 0; p < n_parts; row += parts[p++].n_tokens)
        for (int32_t i = 0; parts[p].logits != NULL && i < parts[p].n_tokens; i++) {
            g_assert_cmpint(n, <, runner->max_rows);
            input(runner, "logit_rows")[n++] = row + i;
        }
    return n;
}

static void
copy_logits(const CoreRunner *runner, const RunnerPart *parts, unsigned n_parts)
{
    const float *logits = sundog_replay_get_buffer(runner->replay, "logits");
    for (unsigned p = 0; p < n_parts; p++) {
        size_t n = (size_t)parts[p].n_tokens * runner->n_vocabulary;
        if (parts[p].logits == NULL)
            continue;
        memcpy(parts[p].logits, logits, n * sizeof(float));
        logits += n;
    }
}

void
core_runner_step_of(CoreRunner *runner, const char *program, const RunnerPart *parts,
                    unsigned n_parts)
{
    g_autoptr(GError) error = NULL;
    SundogShape shape = *sundog_replay_get_bounds(runner->replay);
    int32_t n_rows = 0;
    int32_t n_pages = (int32_t)MIN(shape.values[SUNDOG_VARIABLE_SEQUENCE_PAGES], RUNNER_PAGES);
    for (unsigned p = 0; p < n_parts; p++)
        n_rows = fill_part(runner, &parts[p], p, n_rows, n_pages);
    shape.values[SUNDOG_VARIABLE_TOKENS] = n_rows;
    shape.values[SUNDOG_VARIABLE_SEQUENCES] = n_parts;
    shape.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = n_pages;
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = fill_logit_rows(runner, parts, n_parts);
    sundog_replay_run(runner->replay, program, &shape, &error);
    g_assert_no_error(error);
    copy_logits(runner, parts, n_parts);
}

void
core_runner_step(CoreRunner *runner, const RunnerPart *parts, unsigned n_parts)
{
    core_runner_step_of(runner, SUNDOG_PROGRAM_FORWARD, parts, n_parts);
}

float *
core_runner_prefill(CoreRunner *runner, const int32_t *tokens, int32_t n_tokens, int32_t chunk)
{
    float *logits = g_new(float, (size_t)n_tokens * runner->n_vocabulary);
    for (int32_t done = 0; done < n_tokens; done += chunk) {
        const RunnerPart part = {.start = done,
                                 .n_tokens = MIN(chunk, n_tokens - done),
                                 .tokens = tokens + done,
                                 .logits = logits + (size_t)done * runner->n_vocabulary};
        core_runner_step(runner, &part, 1);
    }
    return logits;
}

int32_t
core_runner_sample(CoreRunner *runner)
{
    g_autoptr(GError) error = NULL;
    SundogSampling *sampling = sundog_replay_get_buffer(runner->replay, "sampling");
    SundogShape shape = *sundog_replay_get_bounds(runner->replay);
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = 1;
    *sampling = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
    sundog_replay_run(runner->replay, SUNDOG_PROGRAM_SAMPLE, &shape, &error);
    g_assert_no_error(error);
    return *(int32_t *)sundog_replay_get_buffer(runner->replay, "token");
}

int32_t
core_runner_best(const CoreRunner *runner, const float *logits)
{
    int32_t best = 0;
    for (uint32_t i = 1; i < runner->n_vocabulary; i++)
        if (logits[i] > logits[best])
            best = (int32_t)i;
    return best;
}

double
relative_error(const float *a, const float *b, size_t n)
{
    double difference = 0;
    double length = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        length += (double)b[i] * b[i];
    }
    /* NaN in either compares as larger than any bound. */
    return isfinite(difference) ? sqrt(difference / length) : INFINITY;
}
