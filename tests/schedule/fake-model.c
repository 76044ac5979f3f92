/* The fake model: chained hashes in pages. */

#include "tests/schedule/fake-model.h"
#include <string.h>

#define N_BIASES 4

struct FakeSlot {
    uint64_t hash;
    int32_t token;
};

static uint64_t
mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ (value + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 29);
}

/* Where a position lies in the pages of windows. */
static struct FakeSlot *
window_slot_of(const FakeModel *model, const SundogStepSize *size, uint32_t sequence,
               int32_t position)
{
    const SundogStepRunner *runner = &model->runner;
    uint32_t index = (uint32_t)position / runner->page_tokens;
    int32_t page = runner->window_table[(size_t)sequence * size->sequence_pages + index];
    g_assert_cmpint(page, >, SUNDOG_NULL_PAGE);
    g_assert_cmpint(page, <, runner->window_pages);
    return &model->windows[(size_t)page * runner->page_tokens +
                           (uint32_t)position % runner->page_tokens];
}

static struct FakeSlot *
slot_of(const FakeModel *model, const SundogStepSize *size, uint32_t sequence, int32_t position)
{
    const SundogStepRunner *runner = &model->runner;
    uint32_t index = (uint32_t)position / runner->page_tokens;
    g_assert_cmpuint(index, <, size->sequence_pages);
    int32_t page = runner->page_table[(size_t)sequence * size->sequence_pages + index];
    g_assert_cmpint(page, >, SUNDOG_NULL_PAGE);
    g_assert_cmpint(page, <, runner->pool_pages);
    return &model->slots[(size_t)page * runner->page_tokens +
                         (uint32_t)position % runner->page_tokens];
}

static uint64_t
hash_before(const FakeModel *model, const SundogStepSize *size, uint32_t sequence, int32_t position)
{
    return position > 0 ? slot_of(model, size, sequence, position - 1)->hash : 0;
}

/* All that the sequence wrote in earlier steps, or found, is one unbroken chain. */
static void
check_chain(const FakeModel *model, const SundogStepSize *size, uint32_t sequence)
{
    for (int32_t p = 0; p < model->runner.start_position[sequence]; p++) {
        const struct FakeSlot *slot = slot_of(model, size, sequence, p);
        g_assert_cmpuint(slot->hash, ==,
                         mix(hash_before(model, size, sequence, p), (uint64_t)slot->token));
    }
}

/* Page table entries past the sequence's last page say so (no stale ones). */
static void
check_rest_of_table(const FakeModel *model, const SundogStepSize *size, uint32_t sequence,
                    uint32_t n_rows)
{
    const SundogStepRunner *runner = &model->runner;
    uint32_t n_tokens = (uint32_t)runner->start_position[sequence] + n_rows;
    uint32_t n_pages = (n_tokens + runner->page_tokens - 1) / runner->page_tokens;
    for (uint32_t i = n_pages; i < size->sequence_pages; i++) {
        g_assert_cmpint(runner->page_table[(size_t)sequence * size->sequence_pages + i], ==,
                        SUNDOG_NULL_PAGE);
    }
}

/* Rows see what their windows span, and join it. */
static void
run_windows(const FakeModel *model, const SundogStepSize *size, uint32_t sequence)
{
    const SundogStepRunner *runner = &model->runner;
    int32_t start = runner->start_position[sequence];
    int32_t last = runner->positions[runner->first_row[sequence + 1] - 1];
    int32_t begin = MAX(start + 1 - (int32_t)runner->window_tokens, 0);
    for (int32_t p = begin; p < start; p++)
        g_assert_cmpuint(window_slot_of(model, size, sequence, p)->hash, ==,
                         slot_of(model, size, sequence, p)->hash);
    for (int32_t p = start; p <= last; p++)
        *window_slot_of(model, size, sequence, p) = *slot_of(model, size, sequence, p);
}

/* The recurrent state takes the sequence's rows in. */
static void
run_state(FakeModel *model, const SundogStepSize *size, uint32_t sequence)
{
    const SundogStepRunner *runner = &model->runner;
    int32_t slot = runner->state_slot[sequence], start = runner->start_position[sequence];
    int32_t last = runner->positions[runner->first_row[sequence + 1] - 1];
    g_assert_cmpint(slot, >, 0);
    g_assert_cmpint(slot, <, runner->pool_states);
    for (uint32_t i = 0; i < sequence; i++)
        g_assert_cmpint(runner->state_slot[i], !=, slot);
    if (start > 0)
        g_assert_cmpuint(model->states[slot], ==, hash_before(model, size, sequence, start));
    model->states[slot] = slot_of(model, size, sequence, last)->hash;
}

/* A device knows what was sampled last. */
static int32_t
find_token(FakeModel *model, int32_t token)
{
    if (token >= 0)
        return token;
    g_assert_nonnull(model->runner.begin_sample);
    model->n_rows_ahead++;
    return MAX(model->drawn[-1 - token], 0);
}

static bool
run_sequence(FakeModel *model, const SundogStepSize *size, uint32_t sequence)
{
    const SundogStepRunner *runner = &model->runner;
    int32_t first = runner->first_row[sequence], last = runner->first_row[sequence + 1];
    g_assert_cmpint(first, <, last);
    if (model->checks) {
        check_chain(model, size, sequence);
        check_rest_of_table(model, size, sequence, (uint32_t)(last - first));
    }
    *(last - first == 1 ? &model->n_decoding_rows : &model->n_prefill_rows) +=
        (uint32_t)(last - first);
    for (int32_t row = first; row < last; row++) {
        int32_t position = runner->positions[row];
        g_assert_cmpint(position, ==, runner->start_position[sequence] + row - first);
        g_assert_cmpint(runner->token_sequence[row], ==, sequence);
        uint64_t before = hash_before(model, size, sequence, position);
        struct FakeSlot *slot = slot_of(model, size, sequence, position);
        slot->token = find_token(model, runner->tokens[row]);
        slot->hash = mix(before, (uint64_t)slot->token);
        if (slot->token == FAKE_FAILURE)
            return false;
    }
    if (model->states != NULL)
        run_state(model, size, sequence);
    if (model->windows != NULL)
        run_windows(model, size, sequence);
    return true;
}

static bool
has_poison(const FakeModel *model, const SundogStepSize *size, uint32_t sequence, int32_t last)
{
    for (int32_t p = 0; model->checks && p <= last; p++)
        if (slot_of(model, size, sequence, p)->token == FAKE_POISON)
            return true;
    return false;
}

static bool
forward(void *data, const SundogStepSize *size, GError **error)
{
    FakeModel *model = data;
    const SundogStepRunner *runner = &model->runner;
    model->n_steps++;
    if (model->large != NULL)
        model->large->now_us += 60;
    else
        model->now_us += 950 + 50 * (int64_t)size->n_tokens;
    model->n_prefill_rows = model->n_decoding_rows = 0;
    g_assert_cmpuint(size->n_tokens, >, 0);
    g_assert_cmpuint(size->n_tokens, <=, runner->max.n_tokens);
    g_assert_cmpuint(size->n_sequences, <=, runner->max.n_sequences);
    g_assert_cmpint(runner->first_row[size->n_sequences], ==, size->n_tokens);
    for (uint32_t i = 0; i < size->n_sequences; i++) {
        if (!run_sequence(model, size, i)) {
            g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "the fake model fails");
            return false;
        }
    }
    for (uint32_t i = 0; i < size->n_logit_rows; i++) {
        int32_t row = runner->logit_rows[i];
        uint32_t sequence = (uint32_t)runner->token_sequence[row];
        int32_t position = runner->positions[row];
        model->logits[i] = has_poison(model, size, sequence, position)
                               ? UINT64_MAX
                               : slot_of(model, size, sequence, position)->hash;
    }
    return true;
}

/* What sampling may look at: the row's logits, its numbers, and its history. */
static uint32_t
choose(uint64_t logits, const SundogSampling *sampling, const int32_t *history)
{
    if (sampling->top_k == FAKE_REPEATS && sampling->position * 2654435761u % 29 != 0)
        return (uint32_t)sampling->position % FAKE_REPEATS;
    uint64_t hash = mix(logits, sampling->temperature > 0 ? sampling->seed : 0);
    hash = mix(hash, sampling->position);
    hash = mix(hash, (uint64_t)sampling->top_k);
    hash = mix(hash, sampling->n_answered);
    for (uint32_t i = 0; i < sampling->n_history; i++)
        hash = mix(hash, (uint64_t)history[i]);
    /* Never one of the two tokens that break things. */
    return (uint32_t)(hash % FAKE_POISON);
}

/* The token, or the next that the mask allows; -1 where it allows none. */
static int32_t
next_allowed(const int32_t *mask, int32_t token)
{
    for (int i = 0; i < FAKE_VOCABULARY; i++, token = (token + 1) % FAKE_VOCABULARY)
        if ((uint32_t)mask[token / 32] >> token % 32 & 1)
            return token;
    return -1;
}

static double
score(uint64_t hash, uint32_t token)
{
    return -(double)(mix(hash, token) % 1024) / 64;
}

/* The rivals are the tokens that follow by number. */
static void
write_scores(uint64_t hash, int32_t token, uint32_t n, SundogScore *scores)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rival = ((uint32_t)token + i) % FAKE_VOCABULARY;
        scores[i] = (SundogScore){(int32_t)rival, (float)score(hash, rival)};
    }
}

static bool
begin_sample(void *data, const SundogStepSize *size, GError **error)
{
    FakeModel *model = data;
    for (uint32_t i = 0; i < size->n_logit_rows; i++) {
        const int32_t *history = model->runner.history + (size_t)i * size->history;
        const SundogSampling *sampling = &model->runner.sampling[i];
        g_assert_cmpuint(sampling->n_history, <=, size->history);
        for (uint32_t j = sampling->n_history; j < size->history; j++)
            g_assert_cmpint(history[j], ==, -1);
        model->drawn[i] = model->logits[i] == UINT64_MAX
                              ? -1
                              : (int32_t)choose(model->logits[i], sampling, history);
        if (model->errs > 0 && sampling->position % model->errs == 0 && model->drawn[i] >= 0)
            model->drawn[i] = (model->drawn[i] + 1) % FAKE_POISON;
        if (model->drawn[i] >= 0 && sampling->masked) {
            const int32_t *mask = model->runner.mask + (size_t)i * size->mask;
            g_assert_cmpuint(size->mask, ==, SUNDOG_SAMPLE_MASK_WORDS(FAKE_VOCABULARY));
            model->drawn[i] = next_allowed(mask, model->drawn[i]);
        }
        if (sampling->n_bias > 0) { /* the first one's token is what is answered */
            g_assert_cmpuint(sampling->n_bias * SUNDOG_BIAS_WORDS, <=, size->bias);
            model->drawn[i] = model->runner.bias[(size_t)i * size->bias];
        }
        if (sampling->given > 0 && model->drawn[i] >= 0)
            model->drawn[i] = (int32_t)sampling->given - 1;
        write_scores(model->logits[i], model->drawn[i], sampling->n_scores,
                     model->scores + (size_t)i * SUNDOG_MAX_SCORES);
    }
    return true;
}

static bool
end_sample(void *data, GError **error)
{
    FakeModel *model = data;
    memcpy(model->out, model->drawn, model->runner.max.n_logit_rows * sizeof *model->out);
    return true;
}

static bool
sample(void *data, const SundogStepSize *size, GError **error)
{
    return begin_sample(data, size, error) && end_sample(data, error);
}

static void
copy_state(SundogStateKind kind, int32_t from, int32_t to, void *data)
{
    FakeModel *model = data;
    uint32_t page_tokens = model->runner.page_tokens;
    g_assert_cmpint(from, !=, to);
    if (kind == SUNDOG_STATE_SLOTS)
        model->states[to] = model->states[from];
    struct FakeSlot *slots = kind == SUNDOG_STATE_WINDOWS ? model->windows : model->slots;
    if (kind != SUNDOG_STATE_SLOTS)
        memcpy(&slots[(size_t)to * page_tokens], &slots[(size_t)from * page_tokens],
               page_tokens * sizeof *slots);
}

/* Of pages alone. */
static bool
read_state(SundogStateKind kind, int32_t page, void *bytes, void *data)
{
    const FakeModel *model = data;
    uint32_t page_tokens = model->runner.page_tokens;
    memcpy(bytes, &model->slots[(size_t)page * page_tokens], page_tokens * sizeof *model->slots);
    return true;
}

static bool
write_state(SundogStateKind kind, int32_t page, const void *bytes, void *data)
{
    FakeModel *model = data;
    uint32_t page_tokens = model->runner.page_tokens;
    memcpy(&model->slots[(size_t)page * page_tokens], bytes, page_tokens * sizeof *model->slots);
    return true;
}

int64_t
fake_model_clock(void *model)
{
    return ((FakeModel *)model)->now_us;
}

FakeModel *
fake_model_new(const FakeModelOptions *options)
{
    FakeModel *model = g_new0(FakeModel, 1);
    size_t n_rows = options->max_tokens;
    size_t n_sequences = options->max_sequences;
    uint32_t n_mask = SUNDOG_SAMPLE_MASK_WORDS(FAKE_VOCABULARY);
    model->checks = true;
    model->slots = g_new0(struct FakeSlot, (size_t)options->pool_pages * options->page_tokens);
    model->logits = g_new0(uint64_t, n_sequences);
    model->drawn = g_new0(int32_t, n_sequences);
    model->out = g_new0(int32_t, n_sequences);
    model->scores = g_new0(SundogScore, n_sequences * SUNDOG_MAX_SCORES);
    model->runner = (SundogStepRunner){
        .max = {options->max_tokens, options->max_sequences, options->max_sequences,
                options->sequence_pages, options->history, n_mask, N_BIASES * SUNDOG_BIAS_WORDS},
        .n_vocabulary = FAKE_VOCABULARY,
        .page_tokens = options->page_tokens,
        .pool_pages = options->pool_pages,
        .max_drafts = options->max_drafts,
        .tokens = g_new0(int32_t, n_rows),
        .positions = g_new0(int32_t, n_rows),
        .token_sequence = g_new0(int32_t, n_rows),
        .first_row = g_new0(int32_t, n_sequences + 1),
        .start_position = g_new0(int32_t, n_sequences),
        .page_table = g_new0(int32_t, n_sequences * options->sequence_pages),
        .logit_rows = g_new0(int32_t, n_sequences),
        .sampling = g_new0(SundogSampling, n_sequences),
        .history = g_new0(int32_t, n_sequences * options->history),
        .mask = g_new0(int32_t, n_sequences * n_mask),
        .bias = g_new0(int32_t, n_sequences * N_BIASES * SUNDOG_BIAS_WORDS),
        .token = model->out,
        .scores = model->scores,
        .forward = forward,
        .sample = sample,
        .begin_sample = options->is_device ? begin_sample : NULL,
        .end_sample = end_sample,
        .data = model,
        .state = {.n_bytes = {[SUNDOG_STATE_PAGES] = options->page_tokens * sizeof *model->slots},
                  .copy = copy_state,
                  .read = read_state,
                  .write = write_state,
                  .data = model},
    };
    if (options->pool_states > 1) {
        model->states = g_new0(uint64_t, (size_t)options->pool_states);
        model->runner.pool_states = options->pool_states;
        model->runner.state_slot = g_new0(int32_t, n_sequences);
    }
    if (options->window_pages > 1) {
        model->windows =
            g_new0(struct FakeSlot, (size_t)options->window_pages * options->page_tokens);
        model->runner.window_pages = options->window_pages;
        model->runner.window_tokens = options->window_tokens;
        model->runner.window_table = g_new0(int32_t, n_sequences * options->sequence_pages);
    }
    return model;
}

void
fake_model_free(FakeModel *model)
{
    if (model) {
        g_free(model->slots);
        g_free(model->windows);
        g_free(model->states);
        g_free(model->runner.window_table);
        g_free(model->runner.state_slot);
        g_free(model->logits);
        g_free(model->drawn);
        g_free(model->out);
        g_free(model->scores);
        g_free(model->runner.tokens);
        g_free(model->runner.positions);
        g_free(model->runner.token_sequence);
        g_free(model->runner.first_row);
        g_free(model->runner.start_position);
        g_free(model->runner.page_table);
        g_free(model->runner.logit_rows);
        g_free(model->runner.sampling);
        g_free(model->runner.history);
        g_free(model->runner.mask);
        g_free(model->runner.bias);
        g_free(model);
    }
}

uint32_t
fake_model_next(const SundogSubmit *submit, const uint32_t *tokens, uint32_t n_tokens,
                uint32_t history)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < n_tokens; i++)
        hash = mix(hash, tokens[i]);
    bool penalizes = submit->repetition_penalty != 1 || submit->presence_penalty != 0 ||
                     submit->frequency_penalty != 0;
    uint32_t n_window = submit->repetition_penalty != 1 ? n_tokens : n_tokens - submit->n_prompt;
    if (submit->penalty_window > 0)
        n_window = MIN(n_window, submit->penalty_window);
    uint32_t n_history = penalizes ? MIN(n_window, history) : 0;
    SundogSampling sampling = {.seed = submit->seed,
                               .position = n_tokens,
                               .temperature = (float)submit->temperature,
                               .top_k = submit->top_k,
                               .n_history = n_history,
                               .n_answered = MIN(n_history, n_tokens - submit->n_prompt)};
    return choose(hash, &sampling, (const int32_t *)tokens + n_tokens - n_history);
}

double
fake_model_score(const uint32_t *tokens, uint32_t n_tokens, uint32_t token)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < n_tokens; i++)
        hash = mix(hash, tokens[i]);
    return score(hash, token);
}
