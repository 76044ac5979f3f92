/* Between the scheduler's table of functions and a replay. */

#include "engine/schedule/replay-runner.h"
#include "engine/core/step.h"
#include <string.h>

struct SundogReplayRunner {
    SundogStepRunner table;
    SundogReplay *replay;
    float *result; /* of a device, copied after each step; else NULL */
};

static SundogShape
shape_of(const SundogReplayRunner *runner, const SundogStepSize *size)
{
    SundogShape shape = *sundog_replay_get_bounds(runner->replay);
    shape.values[SUNDOG_VARIABLE_TOKENS] = size->n_tokens;
    shape.values[SUNDOG_VARIABLE_SEQUENCES] = size->n_sequences;
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = size->n_logit_rows;
    shape.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = size->sequence_pages;
    shape.values[SUNDOG_VARIABLE_HISTORY] = size->history;
    shape.values[SUNDOG_VARIABLE_MASK] = size->mask;
    shape.values[SUNDOG_VARIABLE_BIAS] = size->bias;
    return shape;
}

static bool
forward(void *data, const SundogStepSize *size, GError **error)
{
    SundogReplayRunner *runner = data;
    SundogShape shape = shape_of(runner, size);
    size_t n_results = (size_t)size->n_sequences * runner->table.n_outputs;
    return sundog_replay_run(runner->replay, SUNDOG_PROGRAM_FORWARD, &shape, error) &&
           (runner->result == NULL ||
            sundog_replay_read(runner->replay, "result", runner->result,
                               n_results * sizeof *runner->result, error));
}

static bool
draft(void *data, const SundogStepSize *size, GError **error)
{
    SundogReplayRunner *runner = data;
    SundogShape shape = shape_of(runner, size);
    return sundog_replay_run(runner->replay, SUNDOG_PROGRAM_DRAFT, &shape, error);
}

static bool
sample(void *data, const SundogStepSize *size, GError **error)
{
    SundogReplayRunner *runner = data;
    SundogShape shape = shape_of(runner, size);
    return sundog_replay_run(runner->replay, SUNDOG_PROGRAM_SAMPLE, &shape, error);
}

static bool
begin_sample(void *data, const SundogStepSize *size, GError **error)
{
    SundogReplayRunner *runner = data;
    SundogShape shape = shape_of(runner, size);
    return sundog_replay_begin_sample(runner->replay, &shape, error);
}

static bool
end_sample(void *data, GError **error)
{
    SundogReplayRunner *runner = data;
    return sundog_replay_end_sample(runner->replay, error);
}

static void
copy_state(SundogStateKind kind, int32_t from, int32_t to, void *data)
{
    sundog_replay_copy_state(((SundogReplayRunner *)data)->replay, kind, from, to);
}

static bool
read_state(SundogStateKind kind, int32_t piece, void *bytes, void *data)
{
    return sundog_replay_read_state(((SundogReplayRunner *)data)->replay, kind, piece, bytes);
}

static bool
write_state(SundogStateKind kind, int32_t piece, const void *bytes, void *data)
{
    return sundog_replay_write_state(((SundogReplayRunner *)data)->replay, kind, piece, bytes);
}

/* On the host a token's bits do not depend on the rows beside it, so a guess that proves right is the
 * token itself; and pages are taken back by not counting them, recurrent state by a copy. */
static uint32_t
get_max_drafts(const SundogCore *core)
{
    return sundog_core_is_for_host(core) ? SUNDOG_MAX_DRAFTS : 0;
}

/* The name of the first buffer that is missing, or NULL. */
static const char *
find_buffers(SundogReplayRunner *runner)
{
    SundogStepRunner *table = &runner->table;
    const struct {
        const char *name;
        void *field;
    } buffers[] = {
        {"tokens", &table->tokens},
        {"positions", &table->positions},
        {"token_sequence", &table->token_sequence},
        {"first_row", &table->first_row},
        {"start_position", &table->start_position},
        {"page_table", &table->page_table},
        /* Of a core for text alone. */
        {"logit_rows", &table->logit_rows},
        {"sampling", &table->sampling},
        {"history", &table->history},
        {"mask", &table->mask},
        {"bias", &table->bias},
        {"token", &table->token},
    };
    const size_t n_common = 6;
    for (size_t i = 0; i < (table->n_outputs > 0 ? n_common : G_N_ELEMENTS(buffers)); i++) {
        void *buffer = sundog_replay_get_buffer(runner->replay, buffers[i].name);
        if (!buffer)
            return buffers[i].name;
        *(void **)buffers[i].field = buffer;
    }
    return NULL;
}

/* What a core gives that is not for text; false where its program does not. A device has it in its own memory. */
static bool
find_result(SundogReplayRunner *runner, const SundogCore *core)
{
    SundogStepRunner *table = &runner->table;
    if (table->n_outputs == 0)
        return true;
    table->token_types = sundog_replay_get_buffer(runner->replay, "token_types");
    table->result = sundog_replay_get_buffer(runner->replay, "result");
    if (!sundog_core_is_for_host(core))
        table->result = runner->result =
            g_new0(float, (size_t)table->max.n_sequences * table->n_outputs);
    return table->result != NULL;
}

/* Cores of earlier versions for a GPU have none. */
static const SundogScore *
find_scores(const SundogReplayRunner *runner)
{
    return sundog_replay_get_buffer(runner->replay, "scores");
}

static SundogStepSize
get_max(const SundogShape *bounds)
{
    int64_t n_tokens = bounds->values[SUNDOG_VARIABLE_TOKENS];
    int64_t n_sequences =
        MIN(bounds->values[SUNDOG_VARIABLE_SEQUENCES], bounds->values[SUNDOG_VARIABLE_LOGIT_ROWS]);
    n_sequences = MIN(n_sequences, n_tokens); /* each has a row at least */
    return (SundogStepSize){
        .n_tokens = (uint32_t)n_tokens,
        .n_sequences = (uint32_t)n_sequences,
        /* Drafts need more than one a sequence. */
        .n_logit_rows = (uint32_t)MIN(bounds->values[SUNDOG_VARIABLE_LOGIT_ROWS], n_tokens),
        .sequence_pages = (uint32_t)bounds->values[SUNDOG_VARIABLE_SEQUENCE_PAGES],
        .history = (uint32_t)bounds->values[SUNDOG_VARIABLE_HISTORY],
        .mask = (uint32_t)bounds->values[SUNDOG_VARIABLE_MASK],
        .bias = (uint32_t)bounds->values[SUNDOG_VARIABLE_BIAS],
    };
}

/* What a core guesses with, where it does. */
static void
add_draft(SundogReplayRunner *runner, const SundogCore *core)
{
    SundogStepRunner *table = &runner->table;
    const SundogProgram *program = sundog_core_get_program(core, SUNDOG_PROGRAM_DRAFT);
    if (program == NULL)
        return;
    int64_t n_hidden = 0;
    SundogBufferId id = sundog_program_find_buffer(program, SUNDOG_STEP_HIDDEN);
    sundog_expression_get_constant(sundog_program_get_expressions(program),
                                   sundog_program_get_buffer(program, id)->shape[1], &n_hidden);
    table->n_hidden = (uint32_t)n_hidden;
    table->hidden = sundog_replay_get_buffer(runner->replay, SUNDOG_STEP_HIDDEN);
    table->draft_hidden = sundog_replay_get_buffer(runner->replay, SUNDOG_STEP_DRAFT_HIDDEN);
    table->draft = draft;
}

/* Slots, where the core has recurrent state: no more sequences run at once than there are. */
static void
add_states(SundogReplayRunner *runner, const SundogCore *core)
{
    SundogStepRunner *table = &runner->table;
    if (sundog_core_get_cache(core)->state_bytes == 0)
        return;
    table->pool_states =
        (int32_t)sundog_replay_get_bounds(runner->replay)->values[SUNDOG_VARIABLE_POOL_STATES];
    table->state_slot = sundog_replay_get_buffer(runner->replay, "state_slot");
    table->max.n_sequences = MIN(table->max.n_sequences, (uint32_t)table->pool_states - 1);
}

/* Pages of windows, where the core has such. */
static void
add_windows(SundogReplayRunner *runner, const SundogCore *core)
{
    SundogStepRunner *table = &runner->table;
    table->window_tokens = sundog_core_get_cache(core)->window_tokens;
    if (table->window_tokens == 0)
        return;
    table->window_pages =
        (int32_t)sundog_replay_get_bounds(runner->replay)->values[SUNDOG_VARIABLE_WINDOW_PAGES];
    table->window_table = sundog_replay_get_buffer(runner->replay, "window_table");
}

SundogReplayRunner *
sundog_replay_runner_new(SundogReplay *replay, const SundogCore *core, GError **error)
{
    g_autoptr(SundogReplayRunner) runner = g_new0(SundogReplayRunner, 1);
    const SundogShape *bounds = sundog_replay_get_bounds(replay);
    runner->replay = replay;
    runner->table = (SundogStepRunner){
        .max = get_max(bounds),
        .n_vocabulary = sundog_core_get_info(core)->n_vocabulary,
        .page_tokens = sundog_core_get_cache(core)->page_tokens,
        .pool_pages = (int32_t)bounds->values[SUNDOG_VARIABLE_POOL_PAGES],
        .window_pages = 1,
        .pool_states = 1,
        .max_drafts = get_max_drafts(core),
        .forward = forward,
        .sample = sample,
        .begin_sample = sundog_replay_can_begin(replay) ? begin_sample : NULL,
        .end_sample = end_sample,
        .n_outputs = sundog_core_get_info(core)->n_outputs,
        .n_token_types = sundog_core_get_info(core)->n_token_types,
        .data = runner,
        .state = {.copy = copy_state, .read = read_state, .write = write_state, .data = runner},
    };
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++)
        runner->table.state.n_bytes[kind] =
            sundog_replay_get_state_bytes(replay, (SundogStateKind)kind);
    const char *missing = find_buffers(runner);
    if (!missing && !find_result(runner, core))
        missing = "result";
    if (missing) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                    "the core's programs have no buffer \"%s\": prepare it again", missing);
        return NULL;
    }
    runner->table.scores = find_scores(runner);
    add_draft(runner, core);
    add_windows(runner, core);
    add_states(runner, core);
    return g_steal_pointer(&runner);
}

void
sundog_replay_runner_free(SundogReplayRunner *runner)
{
    if (runner != NULL)
        g_free(runner->result);
    g_free(runner);
}

const SundogStepRunner *
sundog_replay_runner_get(const SundogReplayRunner *runner)
{
    return &runner->table;
}

bool
sundog_replay_runner_warm(SundogReplayRunner *runner, GError **error)
{
    SundogStepRunner *table = &runner->table;
    SundogStepSize size = {.n_tokens = 1,
                           .n_sequences = 1,
                           .n_logit_rows = 1,
                           .sequence_pages = 1,
                           .history = 1,
                           .mask = 1,
                           .bias = 1};
    table->tokens[0] = table->positions[0] = table->token_sequence[0] = 0;
    table->first_row[0] = table->start_position[0] = 0;
    table->first_row[1] = 1;
    table->page_table[0] =
        1; /* the first that can be leased: what is in it is written before read */
    if (table->window_table)
        table->window_table[0] = 1;
    if (table->token_types)
        table->token_types[0] = 0;
    if (table->n_outputs > 0)
        return forward(runner, &size, error);
    table->logit_rows[0] = 0;
    if (table->state_slot)
        table->state_slot[0] = 0; /* the null slot, which keeps nothing */
    table->history[0] = -1;
    table->sampling[0] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
    return forward(runner, &size, error) && sample(runner, &size, error);
}
