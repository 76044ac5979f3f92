/* A small core's sequences, and its steps. */

#include "engine/schedule/core-drafter.h"
#include "engine/schedule/constraints.h"
#include "engine/schedule/step-batch.h"
#include "engine/schedule/step-budget.h"
#include <string.h>

#define WEIGHT 0.25 /* of the newest step */

/* A request as the small core sees it: the same tokens and numbers, and state of its own. */
struct SundogShadow {
    SundogRequest request;
    int32_t *pages;
    uint32_t n_known;   /* the request's tokens when it was last drafted for */
    uint32_t n_guesses; /* that were made behind them then */
    bool restores;      /* records may have more of it */
    uint32_t guesses[SUNDOG_MAX_DRAFTS];
};

typedef struct {
    SundogDrafter base;
    SundogCoreDrafterOptions options;
    uint32_t n_vocabulary; /* of the smaller */
    uint32_t context_length;
    SundogCache *cache;
    SundogStepBatch *batch;
    SundogStepBudget budget;
    SundogRequest **shadows; /* [max.n_sequences] of this round */
    uint32_t n_shadows;
    uint64_t n_restored; /* tokens */
} CoreDrafter;

static struct SundogShadow *
get_shadow(SundogRequest *request)
{
    return (struct SundogShadow *)request; /* its first member */
}

static bool
knows_tokens(const CoreDrafter *drafter, const uint32_t *tokens, uint32_t n_tokens)
{
    for (uint32_t i = 0; i < n_tokens; i++)
        if (tokens[i] >= drafter->n_vocabulary)
            return false;
    return true;
}

static void
begin(SundogDrafter *base, SundogRequest *request)
{
    const SundogStepRunner *runner = ((CoreDrafter *)base)->options.runner;
    if (request->n_biases * SUNDOG_BIAS_WORDS > runner->max.bias)
        return;
    request->shadow = g_new0(struct SundogShadow, 1);
    request->shadow->pages = g_new0(int32_t, runner->max.sequence_pages);
    request->shadow->request.state.pages = request->shadow->pages;
}

static bool
find(SundogDrafter *base, SundogRequest *request)
{
    const CoreDrafter *drafter = (const CoreDrafter *)base;
    return request->shadow != NULL &&
           request->n_tokens + SUNDOG_MAX_DRAFTS < drafter->context_length;
}

static bool
is_open(const struct SundogShadow *shadow)
{
    return shadow->request.state.n_pages > 0;
}

/* Takes back what was guessed and did not come; the last token always runs, for its logits. */
static void
settle(CoreDrafter *drafter, struct SundogShadow *shadow, const SundogRequest *request)
{
    uint32_t n_right = 0, n_known = shadow->n_known;
    while (n_right < shadow->n_guesses && n_known + n_right + 1 < request->n_tokens &&
           request->tokens[n_known + n_right] == shadow->guesses[n_right])
        n_right++;
    shadow->n_guesses = 0;
    sundog_cache_advance(drafter->cache, &shadow->request.state, request->tokens,
                         MIN(shadow->request.state.n_valid, n_known + n_right));
}

/* Brings back what records have of it, a page at a time, and no longer than a step may last. */
static void
restore(CoreDrafter *drafter, struct SundogShadow *shadow)
{
    const SundogCoreDrafterOptions *options = &drafter->options;
    SundogRequest *request = &shadow->request;
    int64_t start_us = options->clock(options->clock_data);
    uint32_t n_before = request->state.n_valid;
    while (shadow->restores && options->clock(options->clock_data) - start_us < options->gap_us)
        shadow->restores = sundog_cache_restore(drafter->cache, &request->state, request->tokens,
                                                request->n_tokens);
    drafter->n_restored += request->state.n_valid - n_before;
}

/* Brings the shadow to where its request is. False where it cannot draft now. */
static bool
follow(CoreDrafter *drafter, SundogRequest *request)
{
    struct SundogShadow *shadow = request->shadow;
    SundogSequenceState *state = &shadow->request.state;
    uint32_t n_reserve = request->n_tokens + request->n_wanted;
    if (is_open(shadow))
        settle(drafter, shadow, request);
    bool was_open = is_open(shadow);
    uint32_t n_valid = was_open ? state->n_valid : 0;
    if (!knows_tokens(drafter, request->tokens + n_valid, request->n_tokens - n_valid))
        return false;
    if (was_open ? !sundog_cache_reserve(drafter->cache, state, n_reserve)
                 : !sundog_cache_open_sequence(drafter->cache, state, request->tokens,
                                               request->n_tokens, n_reserve, request->keeps))
        return false;
    if (!was_open)
        shadow->restores = drafter->options.recorder && request->keeps;
    SundogSequenceState own = *state;
    shadow->request = *request;
    shadow->request.state = own;
    shadow->request.n_scores = shadow->request.n_to_score = 0;
    shadow->n_known = request->n_tokens;
    restore(drafter, shadow);
    return true;
}

static bool
run_step(CoreDrafter *drafter)
{
    const SundogStepRunner *runner = drafter->options.runner;
    SundogStepSize *size = &drafter->batch->size;
    sundog_step_batch_finish(drafter->batch);
    if (!runner->forward(runner->data, size, NULL))
        return false;
    sundog_constraints_fill(drafter->batch->requests, drafter->batch->n_requests, size, runner);
    return size->n_logit_rows == 0 || runner->sample(runner->data, size, NULL);
}

/* The token after the shadow's, as its next guess. False where there is none worth checking. */
static bool
take_guess(CoreDrafter *drafter, SundogRequest *request)
{
    struct SundogShadow *shadow = get_shadow(request);
    int32_t token = drafter->options.runner->token[request->logit_row];
    if (request->is_stuck || token < 0 || (uint32_t)token >= drafter->n_vocabulary ||
        sundog_request_is_end(request, (uint32_t)token))
        return false;
    request->tokens[request->n_tokens++] = (uint32_t)token;
    shadow->guesses[shadow->n_guesses++] = (uint32_t)token;
    return shadow->n_guesses < request->n_wanted;
}

/* Leaves in the round those that want a further guess. */
static void
take_guesses(CoreDrafter *drafter)
{
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < drafter->n_shadows; i++) {
        SundogRequest *request = drafter->shadows[i];
        if (request->logit_row != UINT32_MAX && take_guess(drafter, request) &&
            sundog_cache_guess(drafter->cache, &request->state))
            drafter->shadows[n_left++] = request;
    }
    drafter->n_shadows = n_left;
}

/* The tokens that the small core has not seen, as many as there is time for. */
static bool
run_known_tokens(CoreDrafter *drafter)
{
    int64_t start_us = drafter->options.clock(drafter->options.clock_data);
    uint32_t n_free = sundog_step_budget_get(&drafter->budget, drafter->n_shadows);
    uint32_t n_most = drafter->options.runner->max.n_tokens - drafter->n_shadows;
    n_free = MIN(n_free, n_most);
    uint32_t n_prefill = 0;
    sundog_step_batch_begin(drafter->batch);
    for (uint32_t i = 0; i < drafter->n_shadows; i++) {
        uint32_t n_left = sundog_request_get_n_left(drafter->shadows[i]);
        uint32_t n_rows = MIN(n_left, 1 + n_free - n_prefill);
        sundog_step_batch_add(drafter->batch, drafter->shadows[i], n_rows, 0);
        n_prefill += n_rows - 1;
    }
    if (!run_step(drafter))
        return false;
    for (uint32_t i = 0; i < drafter->n_shadows; i++) {
        SundogRequest *request = drafter->shadows[i];
        sundog_cache_advance(drafter->cache, &request->state, request->tokens,
                             request->state.n_valid + request->n_rows);
    }
    int64_t step_us = drafter->options.clock(drafter->options.clock_data) - start_us;
    sundog_step_budget_learn(&drafter->budget, drafter->n_shadows, 0, n_prefill, step_us);
    return true;
}

/* One more token of each. */
static bool
run_guesses(CoreDrafter *drafter)
{
    int64_t start_us = drafter->options.clock(drafter->options.clock_data);
    sundog_step_batch_begin(drafter->batch);
    for (uint32_t i = 0; i < drafter->n_shadows; i++)
        sundog_step_batch_add(drafter->batch, drafter->shadows[i], 1, 0);
    if (!run_step(drafter))
        return false;
    for (uint32_t i = 0; i < drafter->n_shadows; i++) {
        SundogRequest *request = drafter->shadows[i];
        sundog_cache_extend(drafter->cache, &request->state, request->state.n_valid + 1);
    }
    int64_t step_us = drafter->options.clock(drafter->options.clock_data) - start_us;
    double *token_us = &drafter->base.token_us, now_us = (double)step_us / drafter->n_shadows;
    *token_us = *token_us > 0 ? *token_us + WEIGHT * (now_us - *token_us) : now_us;
    return true;
}

static void
draft(SundogDrafter *base, SundogRequest *const *requests, uint32_t n_requests)
{
    CoreDrafter *drafter = (CoreDrafter *)base;
    drafter->n_shadows = 0;
    for (uint32_t i = 0; i < n_requests; i++) {
        requests[i]->n_drafts = 0;
        if (drafter->n_shadows < drafter->options.runner->max.n_sequences &&
            follow(drafter, requests[i]))
            drafter->shadows[drafter->n_shadows++] = &requests[i]->shadow->request;
    }
    if (drafter->n_shadows > 0 && run_known_tokens(drafter))
        take_guesses(drafter);
    while (drafter->n_shadows > 0 && run_guesses(drafter))
        take_guesses(drafter);
    for (uint32_t i = 0; i < n_requests; i++)
        if (requests[i]->shadow->n_known == requests[i]->n_tokens)
            requests[i]->n_drafts = requests[i]->shadow->n_guesses;
}

static void
rest(SundogDrafter *base, SundogRequest *request)
{
    CoreDrafter *drafter = (CoreDrafter *)base;
    struct SundogShadow *shadow = request->shadow;
    if (shadow != NULL && is_open(shadow)) {
        settle(drafter, shadow, request);
        sundog_cache_close_sequence(drafter->cache, &shadow->request.state, request->tokens,
                                    SUNDOG_CLOSE_KEEP);
    }
}

static void
end(SundogDrafter *base, SundogRequest *request)
{
    rest(base, request);
    if (request->shadow != NULL)
        g_free(request->shadow->pages);
    g_clear_pointer(&request->shadow, g_free);
}

static void
free_drafter(SundogDrafter *base)
{
    CoreDrafter *drafter = (CoreDrafter *)base;
    sundog_step_batch_free(drafter->batch);
    sundog_cache_free(drafter->cache);
    g_free(drafter->shadows);
    g_free(drafter);
}

SundogDrafter *
sundog_core_drafter_new(const SundogCoreDrafterOptions *options)
{
    const SundogStepRunner *runner = options->runner;
    CoreDrafter *drafter = g_new0(CoreDrafter, 1);
    drafter->base = (SundogDrafter){.begin = begin,
                                    .find = find,
                                    .draft = draft,
                                    .rest = rest,
                                    .end = end,
                                    .free = free_drafter};
    drafter->options = *options;
    drafter->n_vocabulary = MIN(options->n_vocabulary, runner->n_vocabulary);
    drafter->cache = sundog_step_runner_make_cache(runner, -1, options->recorder);
    drafter->context_length = (uint32_t)MIN(sundog_cache_get_n_pages(drafter->cache),
                                            (int64_t)runner->max.sequence_pages) *
                              runner->page_tokens;
    drafter->batch = sundog_step_batch_new(runner, drafter->cache);
    drafter->shadows = g_new0(SundogRequest *, runner->max.n_sequences);
    sundog_step_budget_init(&drafter->budget, runner->max.n_tokens, options->gap_us);
    return &drafter->base;
}

bool
sundog_core_drafter_has_chores(const SundogDrafter *drafter)
{
    return sundog_cache_has_chores(((const CoreDrafter *)drafter)->cache);
}

void
sundog_core_drafter_do_chore(SundogDrafter *drafter)
{
    sundog_cache_do_chore(((CoreDrafter *)drafter)->cache);
}

uint64_t
sundog_core_drafter_get_n_restored(const SundogDrafter *drafter)
{
    return ((const CoreDrafter *)drafter)->n_restored;
}
