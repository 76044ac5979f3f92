/* Answers under way. */

#include "engine/server/answer.h"

#include "engine/server/answer-pieces.h"
#include "engine/server/dry-breakers.h"
#include "engine/server/scores.h"
#include <string.h>

static void
tool_call_free(void *data)
{
    SundogToolCall *call = data;
    g_free(call->id);
    g_free(call->name);
    g_string_free(call->arguments, true);
    g_free(call);
}

static void
choice_free(void *data)
{
    SundogAnswer *answer = data;
    sundog_generation_unref(answer->generation);
    g_string_free(answer->reasoning, true);
    g_string_free(answer->text, true);
    g_ptr_array_unref(answer->tool_calls);
    sundog_output_parser_free(answer->parser);
    g_free(answer);
}

static SundogAnswer *
choice_new(void)
{
    SundogAnswer *answer = g_new0(SundogAnswer, 1);
    answer->reasoning = g_string_new(NULL);
    answer->text = g_string_new(NULL);
    answer->tool_calls = g_ptr_array_new_with_free_func(tool_call_free);
    return answer;
}

/* With all its choices. */
static void
answer_free(SundogAnswer *first)
{
    if (first->form->free_data)
        first->form->free_data(first->data);
    sundog_completion_request_free(first->request);
    sundog_exchange_unref(first->exchange);
    g_ptr_array_unref(first->choices);
}

/* What the client's key may */

static SundogApiError *
check_key(const SundogAnswer *answer)
{
    const SundogApiKey *key = sundog_exchange_get_key(answer->exchange);
    return key ? sundog_key_limits_check(answer->server->key_limits, key, g_get_monotonic_time())
               : NULL;
}

static void
begin_use(const SundogAnswer *first)
{
    const SundogApiKey *key = sundog_exchange_get_key(first->exchange);
    if (key)
        sundog_key_limits_begin(first->server->key_limits, key, sundog_answer_get_n_prompt(first),
                                g_get_monotonic_time());
}

static void
end_use(const SundogAnswer *first)
{
    const SundogApiKey *key = sundog_exchange_get_key(first->exchange);
    uint64_t n_tokens = 0;
    for (guint i = 0; i < first->choices->len; i++)
        n_tokens += ((const SundogAnswer *)first->choices->pdata[i])->generation->produced->len;
    if (key)
        sundog_key_limits_end(first->server->key_limits, key, n_tokens, g_get_monotonic_time());
}

/* What the generations and the client do */

static void
on_text(SundogGeneration *generation, const char *text, size_t n_bytes, void *data)
{
    SundogAnswer *answer = data, *first = answer->first;
    first->is_feeding = true;
    sundog_answer_feed_pieces(answer, text, n_bytes);
    first->is_feeding = false;
    if (first->is_gone)
        answer_free(first);
}

static void
on_progress(SundogGeneration *generation, const char *phase, double fraction, void *data)
{
    SundogAnswer *answer = data;
    answer->form->progress(answer, phase, fraction);
}

static void
finish(SundogAnswer *first)
{
    sundog_exchange_set_gone(first->exchange, NULL, NULL);
    (first->request->stream ? first->form->end_stream : first->form->reply)(first);
    sundog_server_keep(first->server, first->request->core, first->request->keep_alive_ms);
    end_use(first);
    answer_free(first);
}

static void
abandon_all(SundogAnswer *first)
{
    for (guint i = 0; i < first->choices->len; i++) {
        const SundogAnswer *choice = first->choices->pdata[i];
        sundog_supervisor_abandon(first->server->supervisor, choice->generation);
        sundog_generation_abandon(choice->generation); /* also one that was not yet submitted */
    }
    sundog_server_keep(first->server, first->request->core, first->request->keep_alive_ms);
    end_use(first);
}

static void
fail(SundogAnswer *first, const SundogApiError *error)
{
    sundog_exchange_set_gone(first->exchange, NULL, NULL);
    abandon_all(first);
    if (first->form->fail)
        first->form->fail(first, error);
    else
        sundog_exchange_fail(first->exchange, sundog_api_error_copy(error));
    answer_free(first);
}

/* Cancelled by its name, a request ends with all its choices. Each tells of its end, the last one of all. */
static void
cancel_others(SundogAnswer *first)
{
    if (first->is_cancelling) /* each that is cancelled comes here too */
        return;
    first->is_cancelling = true;
    for (guint i = 0, n = first->choices->len; i < n && first->n_open > 0; i++) {
        const SundogAnswer *choice = first->choices->pdata[i];
        bool is_last = first->n_open == 1;
        if (sundog_generation_is_over(choice->generation))
            continue;
        sundog_supervisor_cancel(first->server->supervisor, choice->generation->name);
        if (is_last)
            return;
    }
}

static void
on_ended(SundogGeneration *generation, const SundogApiError *error, void *data)
{
    SundogAnswer *answer = data, *first = answer->first;
    if (error) {
        fail(first, error);
        return;
    }
    first->is_feeding = true;
    sundog_answer_finish_pieces(answer, generation->state == SUNDOG_GENERATION_STOP);
    if (first->request->stream && first->form->end_choice && !first->is_gone)
        first->form->end_choice(answer);
    first->is_feeding = false;
    if (first->is_gone)
        answer_free(first);
    else if (--first->n_open == 0)
        finish(first);
    else if (generation->state == SUNDOG_GENERATION_CANCELLED)
        cancel_others(first);
}

static void
on_gone(void *data)
{
    SundogAnswer *first = data;
    abandon_all(first);
    /* Told to a client that does not read, a piece may be what ends it. */
    if (first->is_feeding)
        first->is_gone = true;
    else
        answer_free(first);
}

/* Beginning */

/* Refused here, before headers go out, so that the client sees a status and not an event. */
static SundogApiError *
check_length(SundogServer *server, const SundogCompletionRequest *request, const GArray *tokens)
{
    uint32_t context = sundog_server_get_context(server, request->core);
    if (tokens->len < context + (request->submit.max_tokens == 0))
        return NULL;
    g_autofree char *n_prompt = g_strdup_printf("%u", tokens->len);
    g_autofree char *n_context = g_strdup_printf("%u", context);
    return sundog_api_error_new(SUNDOG_API_ERROR_CONTEXT_LENGTH,
                                request->prompt.messages ? "messages" : "prompt", n_prompt,
                                n_context, NULL);
}

/* Takes the tokens. It is held to the automaton, which is taken, or as the first is. */
static void
make_generation(SundogAnswer *answer, GArray *tokens, SundogAutomaton *automaton)
{
    const SundogCompletionRequest *request = answer->request;
    bool tells_progress = answer->index == 0 && request->stream && request->progress;
    SundogGeneration *generation =
        sundog_generation_new(answer->form->id_prefix, answer->form->endpoint, request->core,
                              tokens, (const char *const *)request->stops);
    const SundogApiKey *key = sundog_exchange_get_key(answer->exchange);
    generation->key = key ? g_strdup(key->name) : NULL;
    generation->submit = request->submit;
    generation->submit.seed += answer->index - answer->head->index;
    if (answer != answer->head) {
        sundog_generation_follow(generation, answer->head->generation);
        generation->submit.flags &= ~(uint32_t)SUNDOG_SUBMIT_SCORE_PROMPT;
    }
    if (request->biases)
        sundog_generation_set_biases(generation, request->biases);
    if (request->breakers)
        sundog_generation_set_breakers(generation, request->breakers);
    if (automaton)
        sundog_generation_constrain(generation, automaton);
    else if (answer != answer->first)
        sundog_generation_constrain_alike(generation, answer->first->generation);
    generation->data = answer;
    generation->calls = (SundogGenerationCalls){
        .text = on_text,
        .progress = tells_progress && answer->form->progress ? on_progress : NULL,
        .ended = on_ended};
    answer->generation = generation;
}

/* Adds a choice to the answer; head NULL: it is the first of its prompt. Borrowed. */
static SundogAnswer *
add_choice(SundogAnswer *first, const SundogPrompt *prompt, SundogAnswer *head)
{
    SundogAnswer *choice = choice_new();
    choice->exchange = first->exchange;
    choice->server = first->server;
    choice->request = first->request;
    choice->form = first->form;
    choice->data = first->data;
    choice->created = first->created;
    choice->index = first->choices->len;
    choice->prompt = prompt;
    choice->head = head ? head : choice;
    choice->first = first;
    g_ptr_array_add(first->choices, choice);
    return choice;
}

static GArray *
copy_tokens(const GArray *tokens)
{
    GArray *copy = g_array_sized_new(false, false, sizeof(uint32_t), tokens->len);
    return g_array_append_vals(copy, tokens->data, tokens->len);
}

/* The choices of one prompt, of which the head is there. Takes tokens and automaton. text: as the template
 * rendered it, or NULL. */
static void
make_choices(SundogAnswer *head, GArray *tokens, SundogAutomaton *automaton, const char *text)
{
    make_generation(head, tokens, automaton);
    sundog_answer_begin_pieces(head, text);
    for (guint i = 1; i < head->request->n_choices; i++) {
        SundogAnswer *choice = add_choice(head->first, head->prompt, head);
        make_generation(choice, copy_tokens(tokens), NULL);
        sundog_answer_begin_pieces(choice, text);
    }
}

static void
submit(SundogAnswer *first)
{
    SundogServer *server = first->server;
    g_autoptr(GPtrArray) generations =
        g_ptr_array_new_with_free_func((GDestroyNotify)sundog_generation_unref);
    for (guint i = 0; i < first->choices->len; i++) {
        const SundogAnswer *choice = first->choices->pdata[i];
        g_ptr_array_add(generations, sundog_generation_ref(choice->generation));
    }
    if (first->request->stream)
        sundog_exchange_begin_stream(first->exchange);
    sundog_exchange_set_gone(first->exchange, on_gone, first);
    first->n_open = generations->len;
    begin_use(first);
    if (first->form->begin)
        first->form->begin(first);
    /* The first may fail at once, and the others be over with it. */
    for (guint i = 0; i < generations->len; i++)
        if (!sundog_generation_is_over(generations->pdata[i]))
            sundog_supervisor_submit(server->supervisor, generations->pdata[i]);
}

static SundogApiError *
check(SundogAnswer *answer, const GArray *tokens)
{
    bool is_chat = answer->request->prompt.messages != NULL;
    if (tokens->len == 0 && is_chat)
        return sundog_api_error_new(SUNDOG_API_ERROR_BAD_MESSAGES, "messages", "they are empty",
                                    NULL);
    if (tokens->len == 0)
        return sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, "prompt", "prompt",
                                    "it has no tokens", NULL);
    SundogApiError *error = check_length(answer->server, answer->request, tokens);
    if (!error && answer->server->is_stopping)
        error = sundog_api_error_new(SUNDOG_API_ERROR_STOPPING, NULL, NULL);
    if (!error)
        error = sundog_supervisor_check(answer->server->supervisor, answer->request->core);
    return error ? error : check_key(answer);
}

static void encode_next(SundogAnswer *first);

static void
on_encoded(SundogEncoded *encoded, void *data)
{
    SundogAnswer *head = data, *first = head->first;
    if (sundog_exchange_is_over(first->exchange)) {
        answer_free(first);
        return;
    }
    const char *text =
        encoded->rendering ? sundog_rendering_get_text(encoded->rendering, NULL) : NULL;
    SundogAutomaton *automaton = NULL;
    if (!encoded->error)
        encoded->error = check(head, encoded->tokens);
    if (!encoded->error && head == first)
        automaton = sundog_answer_constrain(first->request, text, &encoded->error);
    if (encoded->error) {
        sundog_exchange_fail(first->exchange, g_steal_pointer(&encoded->error));
        answer_free(first);
        return;
    }
    make_choices(head, g_steal_pointer(&encoded->tokens), automaton, text);
    encode_next(first);
}

/* One prompt after the other, then all are submitted. */
static void
encode_next(SundogAnswer *first)
{
    const SundogCompletionRequest *request = first->request;
    guint index = first->choices->len / request->n_choices;
    if (index == sundog_completion_request_get_n_prompts(request)) {
        submit(first);
        return;
    }
    const SundogPrompt *prompt = sundog_completion_request_get_prompt(request, index);
    sundog_prompt_encode_async(prompt, request->core, first->exchange, on_encoded,
                               add_choice(first, prompt, NULL));
}

static void
on_breakers(GArray *words, void *data)
{
    SundogAnswer *answer = data;
    SundogCompletionRequest *request = answer->request;
    if (sundog_exchange_is_over(answer->exchange)) {
        answer_free(answer);
        return;
    }
    request->breakers = g_array_ref(words);
    sundog_prompt_encode_async(answer->prompt, request->core, answer->exchange, on_encoded, answer);
}

void
sundog_answer_start(SundogExchange *exchange, SundogCompletionRequest *request,
                    const SundogAnswerForm *form, void *data)
{
    SundogAnswer *answer = choice_new();
    answer->first = answer->head = answer;
    answer->prompt = &request->prompt;
    answer->choices = g_ptr_array_new_with_free_func(choice_free);
    g_ptr_array_add(answer->choices, answer);
    answer->exchange = sundog_exchange_ref(exchange);
    answer->server = sundog_exchange_get_server(exchange);
    answer->request = request;
    answer->form = form;
    answer->data = data;
    answer->created = g_get_real_time() / G_USEC_PER_SEC;
    if (strcmp(request->core->purpose, "generate") != 0) {
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_WRONG_PURPOSE, "model",
                                                  request->core->name, request->core->purpose,
                                                  "write text", NULL));
        answer_free(answer);
        return;
    }
    sundog_completion_request_settle(request);
    if (request->breaker_texts)
        sundog_dry_breakers_find_async(request->core, (const char *const *)request->breaker_texts,
                                       exchange, on_breakers, answer);
    else
        sundog_prompt_encode_async(answer->prompt, request->core, exchange, on_encoded, answer);
}

/* What it came to */

SundogAnswerReason
sundog_answer_get_reason(const SundogAnswer *answer)
{
    if (answer->tool_calls->len > 0)
        return SUNDOG_ANSWER_TOOL_CALLS;
    if (answer->generation->state == SUNDOG_GENERATION_LENGTH)
        return SUNDOG_ANSWER_LENGTH;
    return sundog_answer_get_stop(answer) ? SUNDOG_ANSWER_STOP_SEQUENCE : SUNDOG_ANSWER_STOP;
}

const char *
sundog_answer_get_stop(const SundogAnswer *answer)
{
    return sundog_decoder_get_stop(answer->generation->decoder);
}

guint
sundog_answer_get_n_prompt(const SundogAnswer *answer)
{
    guint n = 0;
    for (guint i = 0; i < answer->first->choices->len; i++) {
        const SundogAnswer *choice = answer->first->choices->pdata[i];
        n += choice->head == choice ? choice->generation->prompt->len : 0;
    }
    return n;
}

guint
sundog_answer_get_n_cached(const SundogAnswer *answer)
{
    guint n = 0;
    for (guint i = 0; i < answer->first->choices->len; i++) {
        const SundogAnswer *choice = answer->first->choices->pdata[i];
        n += choice->head == choice ? choice->generation->n_cached : 0;
    }
    return n;
}

guint
sundog_answer_get_n_produced(const SundogAnswer *answer)
{
    guint n = 0;
    for (guint i = 0; i < answer->first->choices->len; i++)
        n += ((const SundogAnswer *)answer->first->choices->pdata[i])->generation->produced->len;
    return n;
}

guint
sundog_answer_take_scores(SundogAnswer *answer, guint *first)
{
    *first = answer->n_told_scores;
    if (answer->request->tells_scores)
        answer->n_told_scores = sundog_scores_count(answer->generation);
    return answer->n_told_scores;
}
