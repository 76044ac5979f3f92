/* Answers in OpenAI's form. */

#include "engine/server/openai-answer.h"

#include "engine/server/json-text.h"
#include <string.h>

typedef struct {
    SundogExchange *exchange;
    SundogGeneration *generation;
    SundogOpenaiKind kind;
    bool stream;
    bool include_usage;
    bool progress;
    bool has_role; /* the first delta went out */
    gint64 created;
    GString *head;   /* members that all chunks begin with */
    GString *answer; /* text of a plain answer */
} Answer;

static void
answer_free(Answer *answer)
{
    sundog_generation_unref(answer->generation);
    sundog_exchange_unref(answer->exchange);
    g_string_free(answer->head, true);
    g_string_free(answer->answer, true);
    g_free(answer);
}

static void
append_number(GString *json, const char *key, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(json, "\"%s\":%s", key,
                           g_ascii_formatd(text, sizeof text, "%.2f", value));
}

static GString *
make_head(const Answer *answer)
{
    const char *object = answer->kind == SUNDOG_OPENAI_COMPLETION ? "text_completion"
                         : answer->stream                         ? "chat.completion.chunk"
                                                                  : "chat.completion";
    GString *head = g_string_new("{\"id\":");
    sundog_json_text_append(head, answer->generation->name);
    g_string_append_printf(head,
                           ",\"object\":\"%s\",\"created\":%" G_GINT64_FORMAT ",\"model\":", object,
                           answer->created);
    sundog_json_text_append(head, answer->generation->core->name);
    g_string_append_printf(head, ",\"system_fingerprint\":\"%s\"",
                           answer->generation->core->fingerprint);
    return head;
}

static void
append_usage(const Answer *answer, GString *json)
{
    const SundogGeneration *generation = answer->generation;
    guint n_prompt = generation->prompt->len, n_produced = generation->produced->len;
    g_string_append_printf(json,
                           "\"usage\":{\"prompt_tokens\":%u,\"completion_tokens\":%u,"
                           "\"total_tokens\":%u,\"prompt_tokens_details\":{\"cached_tokens\":%u}}",
                           n_prompt, n_produced, n_prompt + n_produced, generation->n_cached);
}

static void
append_measured(const Answer *answer, GString *json)
{
    const SundogGeneration *generation = answer->generation;
    int64_t first_us = generation->first_us ? generation->first_us : g_get_monotonic_time();
    guint n_read = generation->prompt->len - generation->n_cached;
    double prefill = generation->prefill_us ? n_read * 1e6 / (double)generation->prefill_us : 0;
    g_string_append(json, "\"sundog\":{");
    append_number(json, "time_to_first_token_ms",
                  (double)(first_us - generation->submitted_us) / 1000);
    g_string_append_c(json, ',');
    append_number(json, "tokens_per_second", sundog_generation_get_tokens_per_second(generation));
    g_string_append_c(json, ',');
    append_number(json, "prefill_tokens_per_second", prefill);
    g_string_append_printf(
        json,
        ",\"cached_tokens\":%u,\"context_used\":%u,\"context_length\":%u,\"seed\":%" //
        G_GINT64_FORMAT "}",
        generation->n_cached, generation->prompt->len + generation->produced->len,
        sundog_server_get_context(sundog_exchange_get_server(answer->exchange), generation->core),
        (gint64)generation->submit.seed);
}

static const char *
finish_reason(const Answer *answer)
{
    return answer->generation->state == SUNDOG_GENERATION_LENGTH ? "length" : "stop";
}

/* Streams */

static void
send_chunk(Answer *answer, const GString *rest)
{
    g_autoptr(GString) chunk = g_string_sized_new(answer->head->len + rest->len + 16);
    g_string_append(chunk, "data: ");
    g_string_append_len(chunk, answer->head->str, (gssize)answer->head->len);
    g_string_append_len(chunk, rest->str, (gssize)rest->len);
    g_string_append(chunk, "}\n\n");
    sundog_exchange_send(answer->exchange, chunk->str, chunk->len);
}

static void
send_role(Answer *answer)
{
    if (answer->has_role || answer->kind != SUNDOG_OPENAI_CHAT)
        return;
    answer->has_role = true;
    g_autoptr(GString) rest = g_string_new(
        ",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
        "\"logprobs\":null,\"finish_reason\":null}]");
    send_chunk(answer, rest);
}

static void
send_text(Answer *answer, const char *text, size_t n_bytes)
{
    bool is_chat = answer->kind == SUNDOG_OPENAI_CHAT;
    send_role(answer);
    g_autoptr(GString) rest = g_string_new(",\"choices\":[{\"index\":0,");
    g_string_append(rest, is_chat ? "\"delta\":{\"content\":" : "\"text\":");
    sundog_json_text_append_n(rest, text, n_bytes);
    g_string_append(rest, is_chat ? "}" : "");
    g_string_append(rest, ",\"logprobs\":null,\"finish_reason\":null}]");
    send_chunk(answer, rest);
}

static void
end_stream(Answer *answer)
{
    send_role(answer);
    g_autoptr(GString) rest = g_string_new(NULL);
    g_string_append_printf(rest,
                           ",\"choices\":[{\"index\":0,%s,\"logprobs\":null,"
                           "\"finish_reason\":\"%s\"}],",
                           answer->kind == SUNDOG_OPENAI_CHAT ? "\"delta\":{}" : "\"text\":\"\"",
                           finish_reason(answer));
    append_measured(answer, rest);
    send_chunk(answer, rest);
    if (answer->include_usage) {
        g_autoptr(GString) usage = g_string_new(",\"choices\":[],");
        append_usage(answer, usage);
        send_chunk(answer, usage);
    }
    sundog_exchange_send(answer->exchange, "data: [DONE]\n\n", strlen("data: [DONE]\n\n"));
    sundog_exchange_end(answer->exchange);
}

/* Plain answers */

static void
reply_whole(Answer *answer)
{
    bool is_chat = answer->kind == SUNDOG_OPENAI_CHAT;
    g_autoptr(GString) json = g_string_new_len(answer->head->str, (gssize)answer->head->len);
    g_string_append(json, ",\"choices\":[{\"index\":0,");
    g_string_append(json,
                    is_chat ? "\"message\":{\"role\":\"assistant\",\"content\":" : "\"text\":");
    sundog_json_text_append_n(json, answer->answer->str, answer->answer->len);
    g_string_append(json, is_chat ? "}" : "");
    g_string_append_printf(json, ",\"logprobs\":null,\"finish_reason\":\"%s\"}],",
                           finish_reason(answer));
    append_usage(answer, json);
    g_string_append_c(json, ',');
    append_measured(answer, json);
    g_string_append_c(json, '}');
    sundog_exchange_reply_text(answer->exchange, SOUP_STATUS_OK, "application/json", json->str,
                               json->len);
}

/* What the generation and the client do */

static void
on_text(SundogGeneration *generation, const char *text, size_t n_bytes, void *data)
{
    Answer *answer = data;
    if (answer->stream)
        send_text(answer, text, n_bytes);
    else
        g_string_append_len(answer->answer, text, (gssize)n_bytes);
}

static void
on_progress(SundogGeneration *generation, const char *phase, double fraction, void *data)
{
    Answer *answer = data;
    g_autoptr(GString) comment = g_string_new(NULL);
    g_string_append_printf(comment, ": {\"phase\":\"%s\",", phase);
    append_number(comment, "progress", fraction);
    g_string_append(comment, "}\n\n");
    sundog_exchange_send(answer->exchange, comment->str, comment->len);
}

static void
on_ended(SundogGeneration *generation, const SundogApiError *error, void *data)
{
    Answer *answer = data;
    sundog_exchange_set_gone(answer->exchange, NULL, NULL);
    if (error) {
        SundogApiError *copy = g_new0(SundogApiError, 1);
        *copy = (SundogApiError){error->code, g_strdup(error->param), g_strdup(error->text)};
        sundog_exchange_fail(answer->exchange, copy);
    } else if (answer->stream) {
        end_stream(answer);
    } else {
        reply_whole(answer);
    }
    answer_free(answer);
}

static void
on_gone(void *data)
{
    Answer *answer = data;
    SundogServer *server = sundog_exchange_get_server(answer->exchange);
    sundog_supervisor_abandon(server->supervisor, answer->generation);
    answer_free(answer);
}

static Answer *
answer_new(SundogExchange *exchange, SundogOpenaiKind kind, const SundogOpenaiRequest *request,
           SundogCoreText *core, GArray *prompt)
{
    bool is_chat = kind == SUNDOG_OPENAI_CHAT;
    Answer *answer = g_new0(Answer, 1);
    answer->exchange = sundog_exchange_ref(exchange);
    answer->kind = kind;
    answer->stream = request->stream;
    answer->include_usage = request->include_usage;
    answer->created = g_get_real_time() / G_USEC_PER_SEC;
    answer->answer = g_string_new(NULL);
    answer->generation = sundog_generation_new(is_chat ? "chatcmpl" : "cmpl",
                                               is_chat ? "/v1/chat/completions" : "/v1/completions",
                                               core, prompt, (const char *const *)request->stops);
    answer->generation->submit = request->submit;
    answer->generation->data = answer;
    answer->generation->calls = (SundogGenerationCalls){
        .text = on_text,
        .progress = request->stream && request->progress ? on_progress : NULL,
        .ended = on_ended};
    answer->head = make_head(answer);
    return answer;
}

/* Refused here, before headers go out, so that the client sees a status and not an event. */
static SundogApiError *
check_length(SundogExchange *exchange, SundogOpenaiKind kind, const SundogCoreText *core,
             const GArray *prompt)
{
    uint32_t context = sundog_server_get_context(sundog_exchange_get_server(exchange), core);
    if (prompt->len < context)
        return NULL;
    g_autofree char *n_prompt = g_strdup_printf("%u", prompt->len);
    g_autofree char *n_context = g_strdup_printf("%u", context);
    return sundog_api_error_new(SUNDOG_API_ERROR_CONTEXT_LENGTH,
                                kind == SUNDOG_OPENAI_CHAT ? "messages" : "prompt", n_prompt,
                                n_context, NULL);
}

/* Takes the prompt. */
static void
begin(SundogExchange *exchange, SundogOpenaiKind kind, const SundogOpenaiRequest *request,
      SundogCoreText *core, GArray *prompt)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogApiError *error = check_length(exchange, kind, core, prompt);
    if (error) {
        g_array_unref(prompt);
        sundog_exchange_fail(exchange, error);
        return;
    }
    Answer *answer = answer_new(exchange, kind, request, core, prompt);
    g_autoptr(SundogGeneration) generation = sundog_generation_ref(answer->generation);
    error = server->is_stopping ? sundog_api_error_new(SUNDOG_API_ERROR_STOPPING, NULL, NULL)
                                : sundog_supervisor_check(server->supervisor, core);
    if (error) {
        sundog_exchange_fail(exchange, error);
        answer_free(answer);
        return;
    }
    if (answer->stream)
        sundog_exchange_begin_events(exchange);
    sundog_exchange_set_gone(exchange, on_gone, answer);
    sundog_supervisor_submit(server->supervisor, generation);
}

void
sundog_openai_answer(SundogExchange *exchange, SundogOpenaiKind kind, SundogOpenaiEncode encode)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    const char *model = NULL;
    if (!object)
        return;
    g_autoptr(SundogCoreText) core = NULL;
    SundogOpenaiRequest request = {0};
    GArray *prompt = NULL;
    if (sundog_field_get_text(object, "model", &model, &error) &&
        (core = sundog_server_dup_core(sundog_exchange_get_server(exchange), model, &error)) &&
        sundog_openai_request_read(&request, object, core, &error))
        prompt = encode(object, core, &error);
    if (error)
        sundog_exchange_fail(exchange, error);
    else
        begin(exchange, kind, &request, core, prompt);
    sundog_openai_request_clear(&request);
}
