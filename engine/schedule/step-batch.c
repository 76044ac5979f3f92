/* Packing: rows when a request is added, tables once their width is known. */

#include "engine/schedule/step-batch.h"
#include <string.h>

SundogStepBatch *
sundog_step_batch_new(const SundogStepRunner *runner, SundogCache *cache)
{
    SundogStepBatch *batch = g_new0(SundogStepBatch, 1);
    batch->runner = runner;
    batch->cache = cache;
    batch->requests = g_new0(SundogRequest *, runner->max.n_sequences);
    return batch;
}

void
sundog_step_batch_free(SundogStepBatch *batch)
{
    if (batch) {
        g_free(batch->requests);
        g_free(batch);
    }
}

void
sundog_step_batch_begin(SundogStepBatch *batch)
{
    batch->size = (SundogStepSize){.sequence_pages = 1, .history = 1, .mask = 1, .bias = 1};
    batch->n_requests = 0;
    batch->runner->first_row[0] = 0;
}

static void
add_rows(const SundogStepBatch *batch, const SundogRequest *request)
{
    const SundogStepRunner *runner = batch->runner;
    uint32_t start = request->state.n_valid;
    for (uint32_t i = 0; i < request->n_rows; i++) {
        uint32_t row = batch->size.n_tokens + i;
        runner->tokens[row] = (int32_t)request->tokens[start + i];
        runner->positions[row] = (int32_t)(start + i);
        runner->token_sequence[row] = (int32_t)batch->size.n_sequences;
    }
}

/* Of a sequence that a step takes to n_tokens. */
static uint32_t
n_pages_read(const SundogStepBatch *batch, uint32_t n_tokens)
{
    uint32_t page_tokens = batch->runner->page_tokens;
    return (n_tokens + page_tokens - 1) / page_tokens;
}

/* A row for each token whose next one is to be scored; first_row is the step's row of its next token. */
static void
add_given_rows(SundogStepBatch *batch, SundogRequest *request, uint32_t first_row, uint32_t n_rows)
{
    SundogStepSize *size = &batch->size;
    uint32_t first = sundog_request_get_first_given(request) - request->state.n_valid;
    request->given_row = size->n_logit_rows;
    request->n_given = sundog_request_count_given(request, n_rows);
    for (uint32_t i = 0; i < request->n_given; i++) {
        g_assert(size->n_logit_rows < batch->runner->max.n_logit_rows);
        batch->runner->logit_rows[size->n_logit_rows++] = (int32_t)(first_row + first + i);
    }
}

/* One row for the last token and for each draft behind it. */
static void
add_logit_rows(SundogStepBatch *batch, SundogRequest *request)
{
    const SundogStepRunner *runner = batch->runner;
    SundogStepSize *size = &batch->size;
    request->logit_row = size->n_logit_rows;
    for (uint32_t i = 0; i <= request->n_drafts; i++) {
        g_assert(size->n_logit_rows < runner->max.n_logit_rows);
        runner->logit_rows[size->n_logit_rows++] =
            (int32_t)(size->n_tokens - 1 - request->n_drafts + i);
    }
    uint32_t n_history = sundog_request_get_n_history(
        request, request->n_tokens + request->n_drafts, runner->max.history);
    size->history = MAX(size->history, n_history);
}

void
sundog_step_batch_add(SundogStepBatch *batch, SundogRequest *request, uint32_t n_rows,
                      uint32_t n_drafts)
{
    const SundogStepRunner *runner = batch->runner;
    SundogStepSize *size = &batch->size;
    uint32_t n_left = sundog_request_get_n_left(request);
    g_assert(n_rows > 0 && n_rows <= n_left && (n_drafts == 0 || n_rows == n_left));
    g_assert(size->n_tokens + n_rows + n_drafts <= runner->max.n_tokens);
    g_assert(size->n_sequences < runner->max.n_sequences);

    request->n_rows = n_rows + n_drafts;
    request->n_drafts = n_drafts;
    sundog_cache_hold_windows(batch->cache, &request->state,
                              request->state.n_valid + request->n_rows);
    add_rows(batch, request);
    runner->start_position[size->n_sequences] = (int32_t)request->state.n_valid;
    if (runner->state_slot)
        runner->state_slot[size->n_sequences] = request->state.slot;
    batch->requests[batch->n_requests++] = request;
    size->n_sequences++;
    size->n_tokens += request->n_rows;
    runner->first_row[size->n_sequences] = (int32_t)size->n_tokens;
    size->sequence_pages =
        MAX(size->sequence_pages, n_pages_read(batch, request->state.n_valid + request->n_rows));

    add_given_rows(batch, request, size->n_tokens - request->n_rows, n_rows);
    request->logit_row = UINT32_MAX;
    if (n_rows == n_left)
        add_logit_rows(batch, request);
}

static void
fill_page_table(const SundogStepBatch *batch, uint32_t sequence, uint32_t n_tokens)
{
    const SundogRequest *request = batch->requests[sequence];
    uint32_t width = batch->size.sequence_pages;
    uint32_t n_pages = n_pages_read(batch, n_tokens);
    int32_t *row = batch->runner->page_table + (size_t)sequence * width;
    g_assert(n_pages <= request->state.n_pages);
    memcpy(row, request->state.pages, n_pages * sizeof *row);
    for (uint32_t i = n_pages; i < width; i++)
        row[i] = SUNDOG_NULL_PAGE;
}

/* A sequence's pages, and those of its windows, where a step takes it to n_tokens. */
static void
fill_tables(const SundogStepBatch *batch, uint32_t sequence, uint32_t n_tokens)
{
    uint32_t width = batch->size.sequence_pages;
    fill_page_table(batch, sequence, n_tokens);
    if (batch->runner->window_table == NULL)
        return;
    sundog_cache_fill_windows(batch->cache, &batch->requests[sequence]->state,
                              batch->runner->window_table + (size_t)sequence * width, width);
}

static void
fill_sampling(const SundogStepBatch *batch, const SundogRequest *request)
{
    const SundogStepRunner *runner = batch->runner;
    uint32_t width = batch->size.history;
    for (uint32_t i = 0; i <= request->n_drafts; i++) {
        uint32_t row = request->logit_row + i;
        sundog_request_fill_sampling(request, request->n_tokens + i, &runner->sampling[row],
                                     runner->history + (size_t)row * width, width);
    }
}

static void
fill_given(const SundogStepBatch *batch, const SundogRequest *request)
{
    const SundogStepRunner *runner = batch->runner;
    uint32_t width = batch->size.history, first = sundog_request_get_first_given(request);
    for (uint32_t i = 0; i < request->n_given; i++) {
        uint32_t row = request->given_row + i;
        sundog_request_fill_given(request, first + i + 1, &runner->sampling[row],
                                  runner->history + (size_t)row * width, width);
    }
}

void
sundog_step_batch_finish(SundogStepBatch *batch)
{
    for (uint32_t i = 0; i < batch->n_requests; i++) {
        const SundogRequest *request = batch->requests[i];
        fill_tables(batch, i, request->state.n_valid + request->n_rows);
        fill_given(batch, request);
        if (request->logit_row != UINT32_MAX)
            fill_sampling(batch, request);
    }
}

void
sundog_step_batch_add_next(SundogStepBatch *batch, SundogRequest *request)
{
    const SundogStepRunner *runner = batch->runner;
    SundogStepSize *size = &batch->size;
    uint32_t row = size->n_tokens++, position = request->state.n_valid + request->n_rows;
    g_assert(request->logit_row != UINT32_MAX && request->n_drafts == 0);
    g_assert(size->n_tokens <= runner->max.n_tokens);
    runner->tokens[row] = -1 - (int32_t)request->logit_row;
    runner->positions[row] = runner->start_position[row] = (int32_t)position;
    runner->token_sequence[row] = (int32_t)size->n_sequences++;
    runner->first_row[size->n_sequences] = (int32_t)size->n_tokens;
    runner->logit_rows[size->n_logit_rows++] = (int32_t)row;
    size->sequence_pages = MAX(size->sequence_pages, n_pages_read(batch, position + 1));
    sundog_cache_hold_windows(batch->cache, &request->state, position + 1);
    batch->requests[batch->n_requests++] = request;
}

void
sundog_step_batch_finish_next(SundogStepBatch *batch)
{
    for (uint32_t i = 0; i < batch->n_requests; i++)
        fill_tables(batch, i, (uint32_t)batch->runner->positions[i] + 1);
}

void
sundog_step_batch_forget(SundogStepBatch *batch, const SundogRequest *request)
{
    for (uint32_t i = 0; i < batch->n_requests; i++)
        if (batch->requests[i] == request)
            batch->requests[i] = NULL;
}

/* Those that have ended leave their rows behind, which are sampled for nobody. */
static void
keep_living(SundogStepBatch *batch)
{
    uint32_t n_living = 0;
    for (uint32_t i = 0; i < batch->n_requests; i++) {
        SundogRequest *request = batch->requests[i];
        batch->runner->sampling[i] = (SundogSampling){.top_p = 1, .repetition_penalty = 1};
        if (request == NULL)
            continue;
        request->n_rows = 1;
        request->n_drafts = request->n_wanted = request->n_given = 0;
        request->logit_row = i;
        batch->size.history =
            MAX(batch->size.history, sundog_request_get_n_history(request, request->n_tokens,
                                                                  batch->runner->max.history));
        batch->requests[n_living++] = request;
    }
    batch->n_requests = n_living;
}

bool
sundog_step_batch_join(SundogStepBatch *batch)
{
    keep_living(batch);
    size_t n_history = (size_t)batch->size.n_logit_rows * batch->size.history;
    for (size_t i = 0; i < n_history; i++)
        batch->runner->history[i] = -1;
    for (uint32_t i = 0; i < batch->n_requests; i++)
        fill_sampling(batch, batch->requests[i]);
    return batch->n_requests > 0;
}
