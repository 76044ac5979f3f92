/* The token engine: who runs in a step, and what comes of it. */

#include "engine/schedule/scheduler.h"
#include "engine/schedule/constraints.h"
#include "engine/schedule/outbox.h"
#include "engine/schedule/step-batch.h"
#include "engine/schedule/step-budget.h"
#include <string.h>

#define DEFAULT_MAX_QUEUED 16384

struct SundogScheduler {
    SundogSchedulerOptions options;
    const SundogStepRunner *runner;
    SundogOutbox *outbox;
    SundogCache *cache;
    SundogStepBatch *batch;
    SundogConstraints *constraints;
    SundogStepBudget budget;
    GHashTable *requests;    /* id -> SundogRequest, owned: all that are queued or run */
    GQueue waiting;          /* of SundogRequest, in order of arrival */
    SundogRequest **running; /* [max.n_sequences] in order of arrival */
    uint32_t n_running;
    uint64_t n_arrived;
    uint32_t context_length;
    SundogStatistics statistics;
};

static int64_t
now_us(const SundogScheduler *scheduler)
{
    const SundogSchedulerOptions *options = &scheduler->options;
    return options->clock ? options->clock(options->clock_data) : g_get_monotonic_time();
}

static void
send_finish(SundogScheduler *scheduler, const SundogRequest *request, SundogFinishReason reason)
{
    SundogFinish finish = sundog_request_get_finish(request, reason, scheduler->statistics.n_steps,
                                                    now_us(scheduler));
    sundog_outbox_finish(scheduler->outbox, &finish);
    *(reason == SUNDOG_FINISH_CANCELLED ? &scheduler->statistics.n_cancelled
                                        : &scheduler->statistics.n_finished) += 1;
}

/* Queue and running set */

static int
compare_arrival(gconstpointer a, gconstpointer b, gpointer data)
{
    const SundogRequest *first = a, *second = b;
    return first->arrival < second->arrival ? -1 : first->arrival > second->arrival;
}

static void
remove_running(SundogScheduler *scheduler, const SundogRequest *request)
{
    uint32_t i = 0;
    while (scheduler->running[i] != request) {
        i++;
        g_assert(i < scheduler->n_running);
    }
    memmove(&scheduler->running[i], &scheduler->running[i + 1],
            (scheduler->n_running - i - 1) * sizeof *scheduler->running);
    scheduler->n_running--;
}

static void
insert_running(SundogScheduler *scheduler, SundogRequest *request)
{
    uint32_t i = scheduler->n_running++;
    for (; i > 0 && scheduler->running[i - 1]->arrival > request->arrival; i--)
        scheduler->running[i] = scheduler->running[i - 1];
    scheduler->running[i] = request;
}

static bool
is_running(const SundogRequest *request)
{
    return request->state.n_pages > 0;
}

/* Takes a request out of wherever it is, and frees it. */
static void
end_request(SundogScheduler *scheduler, SundogRequest *request, SundogClose how)
{
    if (is_running(request)) {
        sundog_cache_close_sequence(scheduler->cache, &request->state, request->tokens, how);
        remove_running(scheduler, request);
    } else {
        g_queue_remove(&scheduler->waiting, request);
    }
    g_hash_table_remove(scheduler->requests, &request->id);
}

/* The youngest gives its pages up. What it computed stays in the tree as long as there is room. */
static SundogRequest *
preempt_youngest(SundogScheduler *scheduler)
{
    SundogRequest *request = scheduler->running[scheduler->n_running - 1];
    sundog_cache_close_sequence(scheduler->cache, &request->state, request->tokens,
                                SUNDOG_CLOSE_KEEP);
    remove_running(scheduler, request);
    g_queue_insert_sorted(&scheduler->waiting, request, compare_arrival, NULL);
    return request;
}

/* The steps of a step */

static bool
open_request(SundogScheduler *scheduler, SundogRequest *request)
{
    uint32_t n_reserve =
        MIN(request->n_tokens + scheduler->runner->page_tokens, scheduler->context_length);
    if (!sundog_cache_open_sequence(scheduler->cache, &request->state, request->tokens,
                                    request->n_tokens, n_reserve, request->keeps))
        return false;
    request->restores = scheduler->options.recorder && request->keeps;
    return true;
}

/* Oldest first, and none overtakes one that does not fit yet: so that each gets its turn. */
static void
admit_waiting(SundogScheduler *scheduler)
{
    while (scheduler->n_running < scheduler->runner->max.n_sequences) {
        SundogRequest *request = g_queue_peek_head(&scheduler->waiting);
        if (!request || !open_request(scheduler, request))
            return;
        g_queue_pop_head(&scheduler->waiting);
        insert_running(scheduler, request);
    }
}

/* Brings back what records have of prompts, a page at a time, and no longer than a step may last. */
static void
restore_prompts(SundogScheduler *scheduler, int64_t start_us)
{
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        uint32_t n_before = request->state.n_valid;
        while (request->restores && now_us(scheduler) - start_us < scheduler->options.gap_us / 2) {
            request->restores = sundog_cache_restore(scheduler->cache, &request->state,
                                                     request->tokens, request->n_tokens);
        }
        scheduler->statistics.n_restored_tokens += request->state.n_valid - n_before;
    }
}

/* A page for the next token of each decoding request, oldest first. Prompts have theirs already. */
static void
make_room(SundogScheduler *scheduler)
{
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        while (!sundog_cache_reserve(scheduler->cache, &request->state, request->n_tokens))
            if (preempt_youngest(scheduler) == request)
                return;
    }
}

/* Of its first step: what was found of its prompt by then need not run. Counted here and not as it is
 * opened, since it may have to give its pages up again before it is in a step. */
static void
admit_request(SundogScheduler *scheduler, SundogRequest *request)
{
    request->admitted = true;
    request->started_us = now_us(scheduler);
    request->n_cached = MIN(request->state.n_valid, request->n_prompt);
    scheduler->statistics.n_cached_tokens += request->n_cached;
    scheduler->statistics.n_prompt_tokens += request->n_prompt;
    sundog_outbox_admitted(scheduler->outbox, request);
}

static void
pack_request(SundogScheduler *scheduler, SundogRequest *request, uint32_t n_rows, uint32_t n_drafts)
{
    sundog_step_batch_add(scheduler->batch, request, n_rows, n_drafts);
    if (!request->admitted)
        admit_request(scheduler, request);
}

static bool
is_decoding(const SundogRequest *request)
{
    return sundog_request_get_n_left(request) == 1;
}

static uint32_t
count_decoding(const SundogScheduler *scheduler)
{
    uint32_t n_decoding = 0;
    for (uint32_t i = 0; i < scheduler->n_running; i++)
        n_decoding += is_decoding(scheduler->running[i]);
    return n_decoding;
}

/* Guesses behind the request's tokens, as many as pay; n_most by the step's own bounds. Pages for them
 * are taken where they are free for the asking: no one gives way for a guess. */
static uint32_t
draft_tokens(SundogScheduler *scheduler, SundogRequest *request, uint32_t n_decoding,
             uint32_t n_most)
{
    if (!request->drafts || scheduler->runner->max_drafts == 0 ||
        !sundog_draft_find(&request->draft, request->tokens, request->n_tokens))
        return 0;
    n_most = MIN(n_most, scheduler->runner->max_drafts);
    n_most = MIN(n_most, request->n_limit - request->n_tokens - 1);
    uint32_t n_drafts = sundog_step_budget_get_n_drafts(&scheduler->budget, n_decoding,
                                                        request->draft.share, n_most);
    if (!sundog_cache_reserve(scheduler->cache, &request->state, request->n_tokens + n_drafts))
        return 0;
    sundog_draft_write(&request->draft, request->tokens, request->n_tokens, n_drafts);
    return sundog_constraints_count_allowed(request, n_drafts);
}

/* Returns how many drafts there are. */
static uint32_t
pack_decoding(SundogScheduler *scheduler, uint32_t n_decoding)
{
    /* A row for each that runs: prompts that end in this step have one too. */
    const SundogStepSize *max = &scheduler->runner->max;
    uint32_t n_spare = MIN(max->n_logit_rows, max->n_tokens) - scheduler->n_running;
    uint32_t n_drafts = 0;
    for (uint32_t i = 0; i < scheduler->n_running; i++) {
        SundogRequest *request = scheduler->running[i];
        if (is_decoding(request)) {
            uint32_t n = draft_tokens(scheduler, request, n_decoding, n_spare - n_drafts);
            pack_request(scheduler, request, 1, n);
            n_drafts += n;
        }
    }
    return n_drafts;
}

/* Returns how many prompt tokens there are. */
static uint32_t
pack_prefill(SundogScheduler *scheduler)
{
    uint32_t n_before = scheduler->batch->size.n_tokens;
    uint32_t n_free = sundog_step_budget_get(&scheduler->budget, n_before);
    for (uint32_t i = 0; i < scheduler->n_running && n_free > 0; i++) {
        uint32_t n_left = sundog_request_get_n_left(scheduler->running[i]);
        if (n_left > 1 && !scheduler->running[i]->restores) {
            uint32_t n_rows = MIN(n_left, n_free);
            pack_request(scheduler, scheduler->running[i], n_rows, 0);
            n_free -= n_rows;
        }
    }
    return scheduler->batch->size.n_tokens - n_before;
}

/* Masks are made while a device computes the logits that they are for. */
static bool
run_programs(SundogScheduler *scheduler, GError **error)
{
    const SundogStepRunner *runner = scheduler->runner;
    SundogStepSize *size = &scheduler->batch->size;
    if (!runner->forward(runner->data, size, error))
        return false;
    sundog_constraints_fill(scheduler->batch->requests, size, runner);
    return size->n_logit_rows == 0 || runner->sample(runner->data, size, error);
}

/* The step has not run: the state it was to write is lost, and with it its requests. */
static void
fail_step(SundogScheduler *scheduler, const char *text)
{
    for (uint32_t i = 0; i < scheduler->batch->size.n_sequences; i++) {
        SundogRequest *request = scheduler->batch->requests[i];
        sundog_outbox_fault(scheduler->outbox, request->id, SUNDOG_FAULT_INTERNAL, text);
        end_request(scheduler, request, SUNDOG_CLOSE_DISCARD);
    }
}

static void
append_token(SundogScheduler *scheduler, SundogRequest *request, uint32_t token)
{
    request->last_us = now_us(scheduler);
    request->first_us = request->first_us ? request->first_us : request->last_us;
    request->sampled = true;
    sundog_outbox_token(scheduler->outbox, request, token);
    request->tokens[request->n_tokens++] = token;
    scheduler->statistics.n_produced_tokens++;
}

/* How many of its drafts are the tokens that were sampled, each after the one before; an end is not
 * counted, since nothing comes after it. */
static uint32_t
count_right(const SundogScheduler *scheduler, const SundogRequest *request)
{
    const int32_t *sampled = scheduler->runner->token + request->logit_row;
    const uint32_t *drafts = request->tokens + request->n_tokens;
    uint32_t n_right = 0;
    while (n_right < request->n_drafts && sampled[n_right] == (int32_t)drafts[n_right] &&
           !sundog_request_is_end(request, drafts[n_right]))
        n_right++;
    return n_right;
}

/* Leaves in the step's rows of the request only what is its own and what proved right. */
static void
judge_drafts(SundogScheduler *scheduler, SundogRequest *request)
{
    if (request->logit_row == UINT32_MAX || !request->drafts)
        return;
    uint32_t n_right = count_right(scheduler, request);
    sundog_draft_learn(&request->draft, request->tokens, request->n_tokens,
                       (uint32_t)scheduler->runner->token[request->logit_row], request->n_drafts,
                       n_right);
    scheduler->statistics.n_drafted_tokens += request->n_drafts;
    scheduler->statistics.n_accepted_tokens += n_right;
    request->n_rows -= request->n_drafts - n_right;
    request->n_drafts = n_right;
}

/* What a request's rows of the step say: more to come, or one of the ends. */
typedef enum { ROW_GOES_ON, ROW_STOPS, ROW_IS_FULL, ROW_IS_STUCK, ROW_IS_NOT_FINITE } RowEnd;

static RowEnd
take_token(SundogScheduler *scheduler, SundogRequest *request, int32_t token)
{
    if (token < 0 || (uint32_t)token >= scheduler->runner->n_vocabulary)
        return ROW_IS_NOT_FINITE;
    if (sundog_request_is_end(request, (uint32_t)token))
        return ROW_STOPS;
    append_token(scheduler, request, (uint32_t)token);
    if (sundog_constraints_is_complete(request))
        return ROW_STOPS;
    return request->n_tokens == request->n_limit ? ROW_IS_FULL : ROW_GOES_ON;
}

/* The tokens of its own row and of the drafts that were right, up to an end. */
static RowEnd
take_tokens(SundogScheduler *scheduler, SundogRequest *request)
{
    RowEnd end = ROW_GOES_ON;
    if (request->logit_row == UINT32_MAX)
        return end;
    if (request->is_stuck)
        return ROW_IS_STUCK;
    for (uint32_t i = 0; i <= request->n_drafts && end == ROW_GOES_ON; i++)
        end = take_token(scheduler, request, scheduler->runner->token[request->logit_row + i]);
    return end;
}

static void
end_row(SundogScheduler *scheduler, SundogRequest *request, RowEnd end)
{
    switch (end) {
    case ROW_GOES_ON:
        break;
    case ROW_STOPS:
        send_finish(scheduler, request, SUNDOG_FINISH_STOP);
        end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
        break;
    case ROW_IS_FULL:
        send_finish(scheduler, request, SUNDOG_FINISH_LENGTH);
        end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
        break;
    case ROW_IS_STUCK:
        sundog_outbox_fault(scheduler->outbox, request->id, SUNDOG_FAULT_CONSTRAINT,
                            "the constraint leaves no token of this vocabulary, or is too "
                            "ambiguous to be followed: make it simpler");
        end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
        break;
    case ROW_IS_NOT_FINITE:
        sundog_outbox_fault(scheduler->outbox, request->id, SUNDOG_FAULT_NOT_FINITE,
                            "the model's output for this request is not a number");
        end_request(scheduler, request, SUNDOG_CLOSE_DISCARD);
        break;
    }
}

/* State becomes valid first: whatever follows may close the sequence. */
static void
advance_request(SundogScheduler *scheduler, SundogRequest *request)
{
    sundog_cache_advance(scheduler->cache, &request->state, request->tokens,
                         request->state.n_valid + request->n_rows);
    if (!request->sampled)
        sundog_outbox_prefill(scheduler->outbox, request);
}

static void
take_results(SundogScheduler *scheduler)
{
    uint32_t n_sequences = scheduler->batch->size.n_sequences;
    g_autofree RowEnd *ends = g_new(RowEnd, n_sequences);
    for (uint32_t i = 0; i < n_sequences; i++) {
        judge_drafts(scheduler, scheduler->batch->requests[i]);
        advance_request(scheduler, scheduler->batch->requests[i]);
        ends[i] = take_tokens(scheduler, scheduler->batch->requests[i]);
    }
    sundog_outbox_end_step(scheduler->outbox, scheduler->statistics.n_steps);
    for (uint32_t i = 0; i < n_sequences; i++)
        end_row(scheduler, scheduler->batch->requests[i], ends[i]);
}

/* The public edge */

SundogScheduler *
sundog_scheduler_new(const SundogSchedulerOptions *options, const SundogStepRunner *runner,
                     GByteArray *outbox)
{
    g_return_val_if_fail(runner->max.n_sequences <= runner->max.n_tokens, NULL);
    SundogScheduler *scheduler = g_new0(SundogScheduler, 1);
    scheduler->options = *options;
    if (scheduler->options.max_queued == 0)
        scheduler->options.max_queued = DEFAULT_MAX_QUEUED;
    if (scheduler->options.gap_us == 0)
        scheduler->options.gap_us = SUNDOG_SCHEDULER_GAP_US;
    scheduler->runner = runner;
    scheduler->outbox = sundog_outbox_new(outbox, runner->max.n_logit_rows);
    scheduler->cache =
        sundog_cache_new(&(SundogCacheOptions){.n_pages = runner->pool_pages,
                                               .page_tokens = runner->page_tokens,
                                               .sequence_pages = runner->max.sequence_pages,
                                               .max_kept_pages = options->max_kept_pages,
                                               .copy_page = runner->copy_page,
                                               .n_states = runner->pool_states,
                                               .copy_state = runner->copy_state,
                                               .recorder = options->recorder,
                                               .data = runner->data});
    scheduler->batch = sundog_step_batch_new(runner);
    scheduler->constraints = sundog_constraints_new();
    sundog_step_budget_init(&scheduler->budget, runner->max.n_tokens, scheduler->options.gap_us);
    scheduler->requests = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL,
                                                (GDestroyNotify)sundog_request_free);
    g_queue_init(&scheduler->waiting);
    scheduler->running = g_new0(SundogRequest *, runner->max.n_sequences);
    /* One sequence alone must always fit: this is what ends every wait for pages. */
    uint64_t n_pages = MIN((uint64_t)sundog_cache_get_n_pages(scheduler->cache),
                           (uint64_t)runner->max.sequence_pages);
    scheduler->context_length =
        (uint32_t)MIN(n_pages * runner->page_tokens, (uint64_t)options->context_length);
    return scheduler;
}

void
sundog_scheduler_free(SundogScheduler *scheduler)
{
    if (scheduler) {
        g_queue_clear(&scheduler->waiting);
        g_hash_table_unref(scheduler->requests);
        g_free(scheduler->running);
        sundog_outbox_free(scheduler->outbox);
        sundog_step_batch_free(scheduler->batch);
        sundog_constraints_free(scheduler->constraints);
        sundog_cache_free(scheduler->cache);
        g_free(scheduler);
    }
}

uint32_t
sundog_scheduler_get_context_length(const SundogScheduler *scheduler)
{
    return scheduler->context_length;
}

static bool
has_unknown_token(const SundogScheduler *scheduler, const uint32_t *tokens, uint32_t n_tokens)
{
    for (uint32_t i = 0; i < n_tokens; i++)
        if (tokens[i] >= scheduler->runner->n_vocabulary)
            return true;
    return false;
}

/* The fault of a request that cannot be answered, or NULL. Owned by the caller. */
static char *
find_fault(const SundogScheduler *scheduler, const SundogSubmit *submit, SundogFaultCode *code)
{
    *code = SUNDOG_FAULT_BAD_REQUEST;
    if (has_unknown_token(scheduler, submit->prompt, submit->n_prompt) ||
        has_unknown_token(scheduler, submit->produced, submit->n_produced)) {
        return g_strdup_printf("a token is not below the vocabulary's %u",
                               scheduler->runner->n_vocabulary);
    }
    if (submit->n_ends > SUNDOG_REQUEST_MAX_ENDS) {
        return g_strdup_printf("%u end tokens where at most %d are allowed", submit->n_ends,
                               SUNDOG_REQUEST_MAX_ENDS);
    }
    if (submit->n_biases > scheduler->runner->max.bias / SUNDOG_BIAS_WORDS) {
        return g_strdup_printf("%u biases where at most %u are allowed", submit->n_biases,
                               scheduler->runner->max.bias / SUNDOG_BIAS_WORDS);
    }
    if (g_hash_table_size(scheduler->requests) >= scheduler->options.max_queued) {
        *code = SUNDOG_FAULT_INTERNAL;
        return g_strdup_printf("%u requests wait already", scheduler->options.max_queued);
    }
    if (submit->n_prompt >= scheduler->context_length) {
        *code = SUNDOG_FAULT_CONTEXT_LENGTH;
        return g_strdup_printf("the prompt has %u tokens and the context holds %u, with room for "
                               "the answer",
                               submit->n_prompt, scheduler->context_length);
    }
    return NULL;
}

void
sundog_scheduler_set_vocabulary(SundogScheduler *scheduler, const SundogWireVocabulary *vocabulary)
{
    sundog_constraints_set_vocabulary(scheduler->constraints, vocabulary);
}

/* Gives the request its matcher. False where it has ended by that. */
static bool
constrain(SundogScheduler *scheduler, SundogRequest *request, const SundogSubmit *submit)
{
    if (submit->n_automaton == 0)
        return true;
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogMatcher) matcher = sundog_constraints_dup_matcher(
        scheduler->constraints, submit->automaton, submit->n_automaton, &error);
    if (!matcher) {
        sundog_outbox_fault(scheduler->outbox, request->id, SUNDOG_FAULT_CONSTRAINT,
                            error->message);
        return false;
    }
    sundog_match_init(&request->match, matcher);
    if (sundog_constraints_is_complete(request)) { /* resubmitted when it was whole already */
        send_finish(scheduler, request, SUNDOG_FINISH_STOP);
        return false;
    }
    return true;
}

void
sundog_scheduler_submit(SundogScheduler *scheduler, const SundogSubmit *submit, int64_t arrived_us)
{
    SundogFaultCode code;
    if (g_hash_table_contains(scheduler->requests, &submit->id)) {
        g_printerr("sundog-engine: a second request with the id %" G_GUINT64_FORMAT " is ignored\n",
                   submit->id);
        return;
    }
    g_autofree char *text = find_fault(scheduler, submit, &code);
    if (text) {
        sundog_outbox_fault(scheduler->outbox, submit->id, code, text);
        return;
    }
    uint64_t n_limit =
        MIN((uint64_t)submit->n_prompt + submit->max_tokens, (uint64_t)scheduler->context_length);
    uint64_t n_tokens = (uint64_t)submit->n_prompt + submit->n_produced;
    if (n_tokens >= n_limit) { /* resubmitted when it was full already */
        SundogFinish finish = {.id = submit->id,
                               .reason = SUNDOG_FINISH_LENGTH,
                               .n_prompt = submit->n_prompt,
                               .n_produced = submit->n_produced,
                               .step = scheduler->statistics.n_steps};
        sundog_outbox_finish(scheduler->outbox, &finish);
        return;
    }
    SundogRequest *request =
        sundog_request_new(submit, (uint32_t)n_limit, scheduler->runner->max.sequence_pages);
    request->arrival = scheduler->n_arrived++;
    request->arrived_us = arrived_us;
    if (!constrain(scheduler, request, submit)) {
        sundog_request_free(request);
        return;
    }
    g_hash_table_insert(scheduler->requests, &request->id, request);
    g_queue_push_tail(&scheduler->waiting, request);
}

void
sundog_scheduler_cancel(SundogScheduler *scheduler, uint64_t id)
{
    SundogRequest *request = g_hash_table_lookup(scheduler->requests, &id);
    if (request) {
        send_finish(scheduler, request, SUNDOG_FINISH_CANCELLED);
        end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
    }
}

bool
sundog_scheduler_has_work(const SundogScheduler *scheduler)
{
    return g_hash_table_size(scheduler->requests) > 0;
}

bool
sundog_scheduler_has_chores(const SundogScheduler *scheduler)
{
    return sundog_cache_has_chores(scheduler->cache);
}

void
sundog_scheduler_do_chore(SundogScheduler *scheduler)
{
    sundog_cache_do_chore(scheduler->cache);
}

void
sundog_scheduler_step(SundogScheduler *scheduler)
{
    int64_t start_us = now_us(scheduler);
    admit_waiting(scheduler);
    restore_prompts(scheduler, start_us);
    make_room(scheduler);
    sundog_step_batch_begin(scheduler->batch);
    uint32_t n_decoding = count_decoding(scheduler);
    uint32_t n_drafts = pack_decoding(scheduler, n_decoding);
    uint32_t n_prefill = pack_prefill(scheduler);
    if (scheduler->batch->size.n_tokens == 0)
        return;
    sundog_step_batch_finish(scheduler->batch);
    scheduler->statistics.n_steps++;
    g_autoptr(GError) error = NULL;
    if (run_programs(scheduler, &error))
        take_results(scheduler);
    else
        fail_step(scheduler, error ? error->message : "the step could not run");
    int64_t step_us = now_us(scheduler) - start_us;
    sundog_step_budget_learn(&scheduler->budget, n_decoding, n_drafts, n_prefill, step_us);
    scheduler->statistics.step_us += (uint64_t)step_us;
}

void
sundog_scheduler_get_statistics(const SundogScheduler *scheduler, SundogStatistics *statistics)
{
    *statistics = scheduler->statistics;
    statistics->n_running = scheduler->n_running;
    statistics->n_queued = g_queue_get_length((GQueue *)&scheduler->waiting);
    statistics->n_pages_used = (uint64_t)sundog_cache_get_n_used(scheduler->cache);
    statistics->n_pages_cached = (uint64_t)sundog_cache_get_n_kept(scheduler->cache);
}
