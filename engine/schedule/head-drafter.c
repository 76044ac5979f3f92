/* The rows of a layer that guesses, and its guesses one after the other. */

#include "engine/schedule/head-drafter.h"
#include "engine/schedule/constraints.h"
#include "engine/schedule/step-batch.h"
#include <string.h>

#define WEIGHT 0.25 /* of the newest round */

/* What the last step gave for a request's last row but one: what stands before its last token. */
struct SundogHeadState {
    uint32_t position;
    float hidden[];
};

/* A request's rows of a step that stay. */
typedef struct {
    SundogRequest *request;
    uint32_t start; /* position of the first */
    uint32_t row;   /* of the step */
    uint32_t n_rows;
} Rows;

/* A request that wants a further guess: with its guesses so far, and as the layer sees it, a token ahead. */
typedef struct {
    SundogRequest *request;
    SundogRequest guessed;
    SundogRequest shifted;
    uint32_t n_most;
} Guess;

typedef struct {
    SundogDrafter base;
    SundogHeadDrafterOptions options;
    SundogStepBatch *batch;
    Rows *rows;              /* [max.n_sequences] of a step */
    Guess *guesses;          /* [max.n_sequences] of a round, n_guesses of them */
    SundogRequest **guessed; /* [max.n_sequences] those of the guesses */
    SundogRequest *shifted;  /* [max.n_sequences] of a step */
    uint32_t n_guesses;
} HeadDrafter;

static void
begin(SundogDrafter *base, SundogRequest *request)
{
    const SundogStepRunner *runner = ((HeadDrafter *)base)->options.runner;
    size_t n_bytes = runner->n_hidden * sizeof(float);
    request->head = g_malloc0(sizeof(struct SundogHeadState) + n_bytes);
    request->head->position = UINT32_MAX;
}

static void
end(SundogDrafter *base, SundogRequest *request)
{
    g_clear_pointer(&request->head, g_free);
}

static bool
find(SundogDrafter *base, SundogRequest *request)
{
    return request->n_tokens >= 2 && request->head != NULL &&
           request->head->position == request->n_tokens - 2;
}

/* The request as the layer sees it: of each row the token after it, and rows from `start` on that have not run. */
static SundogRequest
shift(const SundogRequest *request, uint32_t start, uint32_t n_tokens)
{
    SundogRequest shifted = *request;
    shifted.tokens++;
    shifted.n_tokens = n_tokens;
    shifted.state.n_valid = start;
    shifted.n_scores = shifted.n_to_score = 0;
    return shifted;
}

static float *
get_hidden(const HeadDrafter *drafter, uint32_t row)
{
    const SundogStepRunner *runner = drafter->options.runner;
    return runner->hidden + (size_t)row * runner->n_hidden;
}

/* Of a step's rows those that stay and whose next token is known. */
static uint32_t
find_rows(HeadDrafter *drafter, const SundogStepBatch *step)
{
    const SundogStepRunner *runner = drafter->options.runner;
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < step->n_requests; i++) {
        SundogRequest *request = step->requests[i];
        uint32_t start = (uint32_t)runner->start_position[i];
        uint32_t end = MIN(request->state.n_valid, request->n_tokens - 1);
        if (end > start)
            drafter->rows[n_found++] = (Rows){.request = request,
                                              .start = start,
                                              .row = (uint32_t)runner->first_row[i],
                                              .n_rows = end - start};
    }
    return n_found;
}

static void
follow(SundogDrafter *base, const SundogStepBatch *step)
{
    HeadDrafter *drafter = (HeadDrafter *)base;
    const SundogStepRunner *runner = drafter->options.runner;
    size_t row_bytes = runner->n_hidden * sizeof(float);
    uint32_t n_found = find_rows(drafter, step);
    sundog_step_batch_begin(drafter->batch);
    for (uint32_t i = 0; i < n_found; i++) {
        const Rows *rows = &drafter->rows[i];
        uint32_t row = drafter->batch->size.n_tokens, end = rows->start + rows->n_rows;
        memmove(get_hidden(drafter, row), get_hidden(drafter, rows->row), rows->n_rows * row_bytes);
        struct SundogHeadState *head = rows->request->head;
        if (head != NULL) {
            head->position = end - 1;
            memcpy(head->hidden, get_hidden(drafter, row + rows->n_rows - 1), row_bytes);
        }
        /* One token more than rows: so none of them asks for logits. */
        drafter->shifted[i] = shift(rows->request, rows->start, end + 1);
        sundog_step_batch_add(drafter->batch, &drafter->shifted[i], rows->n_rows, 0);
    }
    sundog_step_batch_finish(drafter->batch);
    if (n_found > 0)
        runner->draft(runner->data, &drafter->batch->size, NULL);
}

/* Packs a row of each guess: the token before the one that is wanted. */
static void
pack_round(HeadDrafter *drafter)
{
    const SundogStepRunner *runner = drafter->options.runner;
    SundogStepSize *size = &drafter->batch->size;
    sundog_step_batch_begin(drafter->batch);
    for (uint32_t i = 0; i < drafter->n_guesses; i++) {
        Guess *guess = &drafter->guesses[i];
        uint32_t n_tokens = guess->guessed.n_tokens;
        guess->shifted = shift(&guess->guessed, n_tokens - 2, n_tokens - 1);
        sundog_step_batch_add(drafter->batch, &guess->shifted, 1, 0);
        guess->guessed.logit_row = guess->shifted.logit_row;
        uint32_t n_history =
            sundog_request_get_n_history(&guess->guessed, n_tokens, runner->max.history);
        size->history = MAX(size->history, n_history);
        drafter->guessed[i] = &guess->guessed;
    }
    sundog_step_batch_finish(drafter->batch);
    for (uint32_t i = 0; i < drafter->n_guesses; i++) {
        const SundogRequest *guessed = &drafter->guesses[i].guessed;
        uint32_t row = guessed->logit_row;
        sundog_request_fill_sampling(guessed, guessed->n_tokens, &runner->sampling[row],
                                     runner->history + (size_t)row * size->history, size->history);
    }
}

/* One more token of each. */
static bool
run_round(HeadDrafter *drafter)
{
    const SundogHeadDrafterOptions *options = &drafter->options;
    const SundogStepRunner *runner = options->runner;
    SundogStepSize *size = &drafter->batch->size;
    int64_t start_us = options->clock(options->clock_data);
    pack_round(drafter);
    if (!runner->draft(runner->data, size, NULL))
        return false;
    sundog_constraints_fill(drafter->guessed, drafter->n_guesses, size, runner);
    if (!runner->sample(runner->data, size, NULL))
        return false;
    double now_us = (double)(options->clock(options->clock_data) - start_us) / drafter->n_guesses;
    double *token_us = &drafter->base.token_us;
    *token_us = *token_us > 0 ? *token_us + WEIGHT * (now_us - *token_us) : now_us;
    return true;
}

/* The next token, as a guess. False where there is none worth checking, or it was the last that is wanted. */
static bool
take_guess(const HeadDrafter *drafter, Guess *guess)
{
    const SundogStepRunner *runner = drafter->options.runner;
    SundogRequest *guessed = &guess->guessed;
    int32_t token = runner->token[guessed->logit_row];
    if (guessed->is_stuck || token < 0 || (uint32_t)token >= runner->n_vocabulary ||
        sundog_request_is_end(guessed, (uint32_t)token))
        return false;
    guessed->tokens[guessed->n_tokens++] = (uint32_t)token;
    return ++guess->request->n_drafts < guess->n_most;
}

/* Leaves those that want a further guess, each with what the layer gave in the place of what a step gives. */
static void
take_guesses(HeadDrafter *drafter)
{
    const SundogStepRunner *runner = drafter->options.runner;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < drafter->n_guesses; i++) {
        Guess *guess = &drafter->guesses[i];
        uint32_t row = guess->guessed.logit_row;
        if (!take_guess(drafter, guess))
            continue;
        memcpy(get_hidden(drafter, n_left), runner->draft_hidden + (size_t)row * runner->n_hidden,
               runner->n_hidden * sizeof(float));
        drafter->guesses[n_left++] = *guess;
    }
    drafter->n_guesses = n_left;
}

static void
add_guess(HeadDrafter *drafter, SundogRequest *request)
{
    const SundogStepRunner *runner = drafter->options.runner;
    Guess *guess = &drafter->guesses[drafter->n_guesses];
    *guess = (Guess){.request = request, .guessed = *request, .n_most = request->n_wanted};
    guess->guessed.n_scores = guess->guessed.n_to_score = 0;
    /* Guesses behind the first are fed to the layer, where the sequence's next tokens will stand. */
    if (!sundog_cache_reserve(drafter->options.cache, &request->state,
                              request->n_tokens + request->n_wanted))
        guess->n_most = 1;
    guess->guessed.state = request->state;
    memcpy(get_hidden(drafter, drafter->n_guesses++), request->head->hidden,
           runner->n_hidden * sizeof(float));
}

static void
draft(SundogDrafter *base, SundogRequest *const *requests, uint32_t n_requests)
{
    HeadDrafter *drafter = (HeadDrafter *)base;
    drafter->n_guesses = 0;
    for (uint32_t i = 0; i < n_requests; i++) {
        requests[i]->n_drafts = 0;
        add_guess(drafter, requests[i]);
    }
    while (drafter->n_guesses > 0 && run_round(drafter))
        take_guesses(drafter);
}

static void
free_drafter(SundogDrafter *base)
{
    HeadDrafter *drafter = (HeadDrafter *)base;
    sundog_step_batch_free(drafter->batch);
    g_free(drafter->rows);
    g_free(drafter->guesses);
    g_free(drafter->guessed);
    g_free(drafter->shifted);
    g_free(drafter);
}

SundogDrafter *
sundog_head_drafter_new(const SundogHeadDrafterOptions *options)
{
    uint32_t n = options->runner->max.n_sequences;
    HeadDrafter *drafter = g_new0(HeadDrafter, 1);
    drafter->base = (SundogDrafter){.begin = begin,
                                    .find = find,
                                    .draft = draft,
                                    .follow = follow,
                                    .end = end,
                                    .free = free_drafter};
    drafter->options = *options;
    drafter->batch = sundog_step_batch_new(options->runner, options->cache);
    drafter->rows = g_new0(Rows, n);
    drafter->guesses = g_new0(Guess, n);
    drafter->guessed = g_new0(SundogRequest *, n);
    drafter->shifted = g_new0(SundogRequest, n);
    return &drafter->base;
}
