/* The token engine: requests in, and the steps of a step. */

#include "engine/schedule/core-drafter.h"
#include "engine/schedule/head-drafter.h"
#include "engine/schedule/scheduler-private.h"

#define DEFAULT_MAX_QUEUED 16384

int64_t
sundog_scheduler_now_us(const SundogScheduler *scheduler)
{
    const SundogSchedulerOptions *options = &scheduler->options;
    return options->clock ? options->clock(options->clock_data) : g_get_monotonic_time();
}

void
sundog_scheduler_send_finish(SundogScheduler *scheduler, const SundogRequest *request,
                             SundogFinishReason reason)
{
    SundogFinish finish = sundog_request_get_finish(request, reason, scheduler->statistics.n_steps,
                                                    sundog_scheduler_now_us(scheduler));
    sundog_outbox_finish(scheduler->outbox, &finish);
    *(reason == SUNDOG_FINISH_CANCELLED ? &scheduler->statistics.n_cancelled
                                        : &scheduler->statistics.n_finished) += 1;
}

/* The device samples while the next step is begun behind it. */
static bool
sample(SundogScheduler *scheduler, GError **error)
{
    const SundogStepRunner *runner = scheduler->runner;
    const SundogStepSize *size = &scheduler->batch->size;
    if (size->n_logit_rows == 0)
        return true;
    if (!runner->begin_sample)
        return runner->sample(runner->data, size, error);
    if (!runner->begin_sample(runner->data, size, error))
        return false;
    sundog_scheduler_begin_next(scheduler);
    return runner->end_sample(runner->data, error);
}

/* Masks are made while a device computes the logits that they are for. */
static bool
run_programs(SundogScheduler *scheduler, bool has_begun, GError **error)
{
    const SundogStepRunner *runner = scheduler->runner;
    SundogStepBatch *batch = scheduler->batch;
    if (!has_begun && !runner->forward(runner->data, &batch->size, error))
        return false;
    sundog_constraints_fill(batch->requests, batch->n_requests, &batch->size, runner);
    return sample(scheduler, error);
}

static int64_t
tell_time(void *data)
{
    return sundog_scheduler_now_us(data);
}

static void
add_drafters(SundogScheduler *scheduler)
{
    SundogCoreDrafterOptions options = {.runner = scheduler->options.draft_runner,
                                        .recorder = scheduler->options.draft_recorder,
                                        .n_vocabulary = scheduler->runner->n_vocabulary,
                                        .gap_us = scheduler->options.gap_us / 2,
                                        .clock = tell_time,
                                        .clock_data = scheduler};
    SundogHeadDrafterOptions head = {.runner = scheduler->runner,
                                     .cache = scheduler->cache,
                                     .clock = tell_time,
                                     .clock_data = scheduler};
    sundog_drafting_add(scheduler->drafting, sundog_ngram_drafter_new());
    if (scheduler->runner->draft && !scheduler->runner->window_table)
        sundog_drafting_add(scheduler->drafting, sundog_head_drafter_new(&head));
    if (!options.runner)
        return;
    scheduler->core_drafter = sundog_core_drafter_new(&options);
    sundog_drafting_add(scheduler->drafting, scheduler->core_drafter);
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
        sundog_step_runner_make_cache(runner, options->max_kept_pages, options->recorder);
    scheduler->batch = sundog_step_batch_new(runner, scheduler->cache);
    scheduler->next = sundog_step_batch_new(runner, scheduler->cache);
    scheduler->constraints = sundog_constraints_new();
    sundog_step_budget_init(&scheduler->budget, runner->max.n_tokens, scheduler->options.gap_us);
    scheduler->drafting = sundog_drafting_new(runner->max.n_sequences);
    if (runner->max_drafts > 0)
        add_drafters(scheduler);
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

static void
end_drafts(SundogScheduler *scheduler)
{
    GHashTableIter iter;
    gpointer request;
    g_hash_table_iter_init(&iter, scheduler->requests);
    while (g_hash_table_iter_next(&iter, NULL, &request))
        sundog_drafting_end(scheduler->drafting, request);
}

void
sundog_scheduler_free(SundogScheduler *scheduler)
{
    if (scheduler) {
        end_drafts(scheduler);
        sundog_drafting_free(scheduler->drafting);
        g_queue_clear(&scheduler->waiting);
        g_hash_table_unref(scheduler->requests);
        g_free(scheduler->running);
        sundog_outbox_free(scheduler->outbox);
        sundog_step_batch_free(scheduler->batch);
        sundog_step_batch_free(scheduler->next);
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
    if (!scheduler->runner->scores &&
        (submit->n_scores > 0 || submit->top_n_sigma > 0 || submit->xtc_probability > 0 ||
         (submit->typical_p > 0 && submit->typical_p < 1))) {
        *code = SUNDOG_FAULT_UNSUPPORTED;
        return g_strdup(
            "this core was prepared by a version without log probabilities, top_n_sigma, typical_p "
            "and xtc: prepare it again");
    }
    if (g_hash_table_size(scheduler->requests) >= scheduler->options.max_queued) {
        *code = SUNDOG_FAULT_INTERNAL;
        return g_strdup_printf("%u requests wait already", scheduler->options.max_queued);
    }
    if (submit->n_prompt >= scheduler->context_length + (submit->max_tokens == 0)) {
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
        sundog_scheduler_send_finish(scheduler, request, SUNDOG_FINISH_STOP);
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
    /* Resubmitted when it was full already. */
    if (n_tokens >= n_limit && !(submit->flags & SUNDOG_SUBMIT_SCORE_PROMPT)) {
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
    SundogRequest *leader = g_hash_table_lookup(scheduler->requests, &request->follows);
    if (leader)
        leader->leads = true;
    sundog_drafting_begin(scheduler->drafting, request);
    g_hash_table_insert(scheduler->requests, &request->id, request);
    g_queue_push_tail(&scheduler->waiting, request);
}

void
sundog_scheduler_cancel(SundogScheduler *scheduler, uint64_t id)
{
    SundogRequest *request = g_hash_table_lookup(scheduler->requests, &id);
    if (request) {
        sundog_scheduler_send_finish(scheduler, request, SUNDOG_FINISH_CANCELLED);
        sundog_scheduler_end_request(scheduler, request, SUNDOG_CLOSE_KEEP);
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
    return sundog_cache_has_chores(scheduler->cache) ||
           (scheduler->core_drafter && sundog_core_drafter_has_chores(scheduler->core_drafter));
}

void
sundog_scheduler_do_chore(SundogScheduler *scheduler)
{
    if (sundog_cache_has_chores(scheduler->cache))
        sundog_cache_do_chore(scheduler->cache);
    else if (scheduler->core_drafter)
        sundog_core_drafter_do_chore(scheduler->core_drafter);
}

/* What a step holds, for the budget that learns from its time. */
typedef struct {
    uint32_t n_decoding;
    uint32_t n_extra;
    uint32_t n_prefill;
} StepLoad;

/* False where there is nothing to run. */
static bool
pack_step(SundogScheduler *scheduler, int64_t start_us, StepLoad *load)
{
    sundog_scheduler_admit_waiting(scheduler);
    sundog_scheduler_restore_prompts(scheduler, start_us);
    sundog_scheduler_make_room(scheduler);
    sundog_step_batch_begin(scheduler->batch);
    load->n_decoding = sundog_scheduler_count_decoding(scheduler);
    load->n_extra = sundog_scheduler_pack_decoding(scheduler, load->n_decoding);
    load->n_prefill = sundog_scheduler_pack_prefill(scheduler);
    if (scheduler->batch->size.n_tokens == 0)
        return false;
    sundog_step_batch_finish(scheduler->batch);
    return true;
}

void
sundog_scheduler_step(SundogScheduler *scheduler)
{
    int64_t start_us = sundog_scheduler_now_us(scheduler);
    bool has_begun = sundog_scheduler_join_next(scheduler);
    bool has_failed = has_begun && scheduler->next_failed;
    StepLoad load = {.n_decoding = scheduler->batch->n_requests};
    scheduler->making_us = 0;
    if (!has_begun && !pack_step(scheduler, start_us, &load))
        return;
    scheduler->statistics.n_steps++;
    g_autoptr(GError) error = NULL;
    if (!has_failed && run_programs(scheduler, has_begun, &error))
        sundog_scheduler_take_results(scheduler);
    else
        sundog_scheduler_fail_step(scheduler, error ? error->message : "the step could not run");
    int64_t step_us = sundog_scheduler_now_us(scheduler) - start_us;
    sundog_step_budget_learn(&scheduler->budget, load.n_decoding, load.n_extra, load.n_prefill,
                             step_us - scheduler->making_us);
    scheduler->statistics.step_us += (uint64_t)step_us;
}

void
sundog_scheduler_get_statistics(const SundogScheduler *scheduler, SundogStatistics *statistics)
{
    *statistics = scheduler->statistics;
    if (scheduler->core_drafter)
        statistics->n_restored_draft_tokens =
            sundog_core_drafter_get_n_restored(scheduler->core_drafter);
    statistics->n_running = scheduler->n_running;
    statistics->n_queued = g_queue_get_length((GQueue *)&scheduler->waiting);
    statistics->n_pages_used = (uint64_t)sundog_cache_get_n_used(scheduler->cache);
    statistics->n_pages_cached = (uint64_t)sundog_cache_get_n_kept(scheduler->cache);
}
