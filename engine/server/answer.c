/* Answers under way. */

#include "engine/server/answer.h"

#include "engine/server/answer-pieces.h"

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
answer_free(SundogAnswer *answer)
{
    if (answer->form->free_data)
        answer->form->free_data(answer->data);
    sundog_generation_unref(answer->generation);
    sundog_completion_request_free(answer->request);
    sundog_exchange_unref(answer->exchange);
    g_string_free(answer->reasoning, true);
    g_string_free(answer->text, true);
    g_ptr_array_unref(answer->tool_calls);
    sundog_output_parser_free(answer->parser);
    g_free(answer);
}

/* What the generation and the client do */

static void
on_text(SundogGeneration *generation, const char *text, size_t n_bytes, void *data)
{
    SundogAnswer *answer = data;
    answer->is_feeding = true;
    sundog_answer_feed_pieces(answer, text, n_bytes);
    answer->is_feeding = false;
    if (answer->is_gone)
        answer_free(answer);
}

static void
on_progress(SundogGeneration *generation, const char *phase, double fraction, void *data)
{
    SundogAnswer *answer = data;
    answer->form->progress(answer, phase, fraction);
}

static void
on_ended(SundogGeneration *generation, const SundogApiError *error, void *data)
{
    SundogAnswer *answer = data;
    sundog_exchange_set_gone(answer->exchange, NULL, NULL);
    if (!error) {
        sundog_answer_finish_pieces(answer, generation->state == SUNDOG_GENERATION_STOP);
        (answer->request->stream ? answer->form->end_stream : answer->form->reply)(answer);
    } else if (answer->form->fail)
        answer->form->fail(answer, error);
    else
        sundog_exchange_fail(answer->exchange, sundog_api_error_copy(error));
    sundog_server_keep(answer->server, answer->request->core, answer->request->keep_alive_ms);
    answer_free(answer);
}

static void
on_gone(void *data)
{
    SundogAnswer *answer = data;
    sundog_supervisor_abandon(answer->server->supervisor, answer->generation);
    sundog_server_keep(answer->server, answer->request->core, answer->request->keep_alive_ms);
    /* Told to a client that does not read, a piece may be what ends it. */
    if (answer->is_feeding)
        answer->is_gone = true;
    else
        answer_free(answer);
}

/* Beginning */

/* Refused here, before headers go out, so that the client sees a status and not an event. */
static SundogApiError *
check_length(SundogServer *server, const SundogCompletionRequest *request, const GArray *tokens)
{
    uint32_t context = sundog_server_get_context(server, request->core);
    if (tokens->len < context)
        return NULL;
    g_autofree char *n_prompt = g_strdup_printf("%u", tokens->len);
    g_autofree char *n_context = g_strdup_printf("%u", context);
    return sundog_api_error_new(SUNDOG_API_ERROR_CONTEXT_LENGTH,
                                request->prompt.messages ? "messages" : "prompt", n_prompt,
                                n_context, NULL);
}

/* Takes the tokens and the automaton, which may be NULL. */
static void
make_generation(SundogAnswer *answer, GArray *tokens, SundogAutomaton *automaton)
{
    const SundogCompletionRequest *request = answer->request;
    bool tells_progress = request->stream && request->progress && answer->form->progress;
    answer->generation =
        sundog_generation_new(answer->form->id_prefix, answer->form->endpoint, request->core,
                              tokens, (const char *const *)request->stops);
    answer->generation->submit = request->submit;
    if (request->biases)
        sundog_generation_set_biases(answer->generation, request->biases);
    if (automaton)
        sundog_generation_constrain(answer->generation, automaton);
    answer->generation->data = answer;
    answer->generation->calls = (SundogGenerationCalls){
        .text = on_text, .progress = tells_progress ? on_progress : NULL, .ended = on_ended};
}

static void
submit(SundogAnswer *answer)
{
    g_autoptr(SundogGeneration) generation = sundog_generation_ref(answer->generation);
    SundogServer *server = answer->server;
    if (answer->request->stream)
        sundog_exchange_begin_stream(answer->exchange);
    sundog_exchange_set_gone(answer->exchange, on_gone, answer);
    if (answer->form->begin)
        answer->form->begin(answer);
    sundog_supervisor_submit(server->supervisor, generation);
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
    return error;
}

static void
on_encoded(SundogEncoded *encoded, void *data)
{
    SundogAnswer *answer = data;
    if (sundog_exchange_is_over(answer->exchange)) {
        answer_free(answer);
        return;
    }
    const char *prompt =
        encoded->rendering ? sundog_rendering_get_text(encoded->rendering, NULL) : NULL;
    SundogAutomaton *automaton = NULL;
    if (!encoded->error)
        encoded->error = check(answer, encoded->tokens);
    if (!encoded->error)
        automaton = sundog_answer_constrain(answer->request, prompt, &encoded->error);
    if (encoded->error) {
        sundog_exchange_fail(answer->exchange, g_steal_pointer(&encoded->error));
        answer_free(answer);
        return;
    }
    make_generation(answer, g_steal_pointer(&encoded->tokens), automaton);
    sundog_answer_begin_pieces(answer, prompt);
    submit(answer);
}

void
sundog_answer_start(SundogExchange *exchange, SundogCompletionRequest *request,
                    const SundogAnswerForm *form, void *data)
{
    SundogAnswer *answer = g_new0(SundogAnswer, 1);
    answer->exchange = sundog_exchange_ref(exchange);
    answer->server = sundog_exchange_get_server(exchange);
    answer->request = request;
    answer->form = form;
    answer->data = data;
    answer->created = g_get_real_time() / G_USEC_PER_SEC;
    answer->reasoning = g_string_new(NULL);
    answer->text = g_string_new(NULL);
    answer->tool_calls = g_ptr_array_new_with_free_func(tool_call_free);
    sundog_completion_request_settle(request);
    sundog_prompt_encode_async(&request->prompt, request->core, exchange, on_encoded, answer);
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
    return answer->generation->prompt->len;
}

guint
sundog_answer_get_n_cached(const SundogAnswer *answer)
{
    return answer->generation->n_cached;
}

guint
sundog_answer_get_n_produced(const SundogAnswer *answer)
{
    return answer->generation->produced->len;
}
