/* Answers in OpenAI's form. */

#include "engine/server/openai/answer.h"

#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/openai/request.h"
#include <string.h>

/* The form's own part of an answer. */
typedef struct {
    SundogOpenaiKind kind;
    bool include_usage;
    bool has_role; /* the first delta went out */
    GString *head; /* members that all chunks begin with */
} Form;

static const char *const reasons[] = {[SUNDOG_ANSWER_STOP] = "stop",
                                      [SUNDOG_ANSWER_STOP_SEQUENCE] = "stop",
                                      [SUNDOG_ANSWER_LENGTH] = "length",
                                      [SUNDOG_ANSWER_TOOL_CALLS] = "tool_calls"};

static void
form_free(void *data)
{
    Form *form = data;
    if (form->head)
        g_string_free(form->head, true);
    g_free(form);
}

static bool
is_chat(const SundogAnswer *answer)
{
    return ((const Form *)answer->data)->kind == SUNDOG_OPENAI_CHAT;
}

static void
append_number(GString *json, const char *key, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(json, "\"%s\":%s", key,
                           g_ascii_formatd(text, sizeof text, "%.2f", value));
}

static void
append_usage(const SundogAnswer *answer, GString *json)
{
    guint n_prompt = sundog_answer_get_n_prompt(answer);
    guint n_produced = sundog_answer_get_n_produced(answer);
    g_string_append_printf(json,
                           "\"usage\":{\"prompt_tokens\":%u,\"completion_tokens\":%u,"
                           "\"total_tokens\":%u,\"prompt_tokens_details\":{\"cached_tokens\":%u}}",
                           n_prompt, n_produced, n_prompt + n_produced,
                           sundog_answer_get_n_cached(answer));
}

static void
append_measured(const SundogAnswer *answer, GString *json)
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
        sundog_server_get_context(answer->server, generation->core),
        (gint64)generation->submit.seed);
}

static void
append_call(GString *json, guint index, const SundogToolCall *call, const char *arguments)
{
    g_string_append_printf(json, "{\"index\":%u,\"id\":", index);
    sundog_json_text_append(json, call->id);
    g_string_append(json, ",\"type\":\"function\",\"function\":{\"name\":");
    sundog_json_text_append(json, call->name);
    g_string_append(json, ",\"arguments\":");
    sundog_json_text_append(json, arguments);
    g_string_append(json, "}}");
}

/* Streams */

static void
begin(SundogAnswer *answer)
{
    Form *form = answer->data;
    const SundogGeneration *generation = answer->generation;
    const char *object = !is_chat(answer)          ? "text_completion"
                         : answer->request->stream ? "chat.completion.chunk"
                                                   : "chat.completion";
    form->head = g_string_new("{\"id\":");
    sundog_json_text_append(form->head, generation->name);
    g_string_append_printf(form->head,
                           ",\"object\":\"%s\",\"created\":%" G_GINT64_FORMAT ",\"model\":", object,
                           answer->created);
    sundog_json_text_append(form->head, generation->core->name);
    g_string_append_printf(form->head, ",\"system_fingerprint\":\"%s\"",
                           generation->core->fingerprint);
}

static void
send_chunk(SundogAnswer *answer, const GString *rest)
{
    const GString *head = ((Form *)answer->data)->head;
    g_autoptr(GString) chunk = g_string_sized_new(head->len + rest->len + 16);
    g_string_append(chunk, "data: ");
    g_string_append_len(chunk, head->str, (gssize)head->len);
    g_string_append_len(chunk, rest->str, (gssize)rest->len);
    g_string_append(chunk, "}\n\n");
    sundog_exchange_send(answer->exchange, chunk->str, chunk->len);
}

static void
send_choice(SundogAnswer *answer, const GString *piece)
{
    g_autoptr(GString) rest = g_string_new(",\"choices\":[{\"index\":0,");
    g_string_append_len(rest, piece->str, (gssize)piece->len);
    g_string_append(rest, ",\"logprobs\":null,\"finish_reason\":null}]");
    send_chunk(answer, rest);
}

static void
send_role(SundogAnswer *answer)
{
    Form *form = answer->data;
    if (form->has_role || !is_chat(answer))
        return;
    form->has_role = true;
    g_autoptr(GString) piece = g_string_new("\"delta\":{\"role\":\"assistant\",\"content\":\"\"}");
    send_choice(answer, piece);
}

static void
send_piece(SundogAnswer *answer, const char *key, const char *text, size_t n_bytes)
{
    send_role(answer);
    g_autoptr(GString) piece = g_string_new(key);
    sundog_json_text_append_n(piece, text, n_bytes);
    g_string_append(piece, is_chat(answer) ? "}" : "");
    send_choice(answer, piece);
}

static void
send_text(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    send_piece(answer, is_chat(answer) ? "\"delta\":{\"content\":" : "\"text\":", text, n_bytes);
}

static void
send_reasoning(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    if (is_chat(answer))
        send_piece(answer, "\"delta\":{\"reasoning_content\":", text, n_bytes);
}

/* Id, type and name stand in a call's first delta alone, since clients join what comes again. */
static void
send_tool_call(SundogAnswer *answer, guint index)
{
    send_role(answer);
    g_autoptr(GString) piece = g_string_new("\"delta\":{\"tool_calls\":[");
    append_call(piece, index, answer->tool_calls->pdata[index], "");
    g_string_append(piece, "]}");
    send_choice(answer, piece);
}

static void
send_arguments(SundogAnswer *answer, guint index, const char *text, size_t n_bytes)
{
    g_autoptr(GString) piece = g_string_new("\"delta\":{\"tool_calls\":[");
    g_string_append_printf(piece, "{\"index\":%u,\"function\":{\"arguments\":", index);
    sundog_json_text_append_n(piece, text, n_bytes);
    g_string_append(piece, "}}]}");
    send_choice(answer, piece);
}

static void
send_progress(SundogAnswer *answer, const char *phase, double fraction)
{
    g_autoptr(GString) comment = g_string_new(NULL);
    g_string_append_printf(comment, ": {\"phase\":\"%s\",", phase);
    append_number(comment, "progress", fraction);
    g_string_append(comment, "}\n\n");
    sundog_exchange_send(answer->exchange, comment->str, comment->len);
}

static void
end_stream(SundogAnswer *answer)
{
    send_role(answer);
    g_autoptr(GString) rest = g_string_new(NULL);
    g_string_append_printf(rest,
                           ",\"choices\":[{\"index\":0,%s,\"logprobs\":null,"
                           "\"finish_reason\":\"%s\"}],",
                           is_chat(answer) ? "\"delta\":{}" : "\"text\":\"\"",
                           reasons[sundog_answer_get_reason(answer)]);
    append_measured(answer, rest);
    send_chunk(answer, rest);
    if (((const Form *)answer->data)->include_usage) {
        g_autoptr(GString) usage = g_string_new(",\"choices\":[],");
        append_usage(answer, usage);
        send_chunk(answer, usage);
    }
    sundog_exchange_send(answer->exchange, "data: [DONE]\n\n", strlen("data: [DONE]\n\n"));
    sundog_exchange_end(answer->exchange);
}

/* Plain answers */

static void
append_message(const SundogAnswer *answer, GString *json)
{
    guint n_calls = answer->tool_calls->len;
    g_string_append(json, "\"message\":{\"role\":\"assistant\",\"content\":");
    if (answer->text->len == 0 && n_calls > 0)
        g_string_append(json, "null");
    else
        sundog_json_text_append_n(json, answer->text->str, answer->text->len);
    if (answer->reasoning->len > 0) {
        g_string_append(json, ",\"reasoning_content\":");
        sundog_json_text_append_n(json, answer->reasoning->str, answer->reasoning->len);
    }
    for (guint i = 0; i < n_calls; i++) {
        const SundogToolCall *call = answer->tool_calls->pdata[i];
        g_string_append(json, i == 0 ? ",\"tool_calls\":[" : ",");
        append_call(json, i, call, call->arguments->str);
    }
    g_string_append(json, n_calls > 0 ? "]}" : "}");
}

static void
reply(SundogAnswer *answer)
{
    const GString *head = ((Form *)answer->data)->head;
    g_autoptr(GString) json = g_string_new_len(head->str, (gssize)head->len);
    g_string_append(json, ",\"choices\":[{\"index\":0,");
    if (is_chat(answer)) {
        append_message(answer, json);
    } else {
        g_string_append(json, "\"text\":");
        sundog_json_text_append_n(json, answer->text->str, answer->text->len);
    }
    g_string_append_printf(json, ",\"logprobs\":null,\"finish_reason\":\"%s\"}],",
                           reasons[sundog_answer_get_reason(answer)]);
    append_usage(answer, json);
    g_string_append_c(json, ',');
    append_measured(answer, json);
    g_string_append_c(json, '}');
    sundog_exchange_reply_text(answer->exchange, SOUP_STATUS_OK, "application/json", json->str,
                               json->len);
}

#define FORM(endpoint_path, prefix)                                                       \
    {                                                                                     \
        .endpoint = endpoint_path, .id_prefix = prefix, .begin = begin,                   \
        .reasoning = send_reasoning, .text = send_text, .tool_call = send_tool_call,      \
        .arguments = send_arguments, .progress = send_progress, .end_stream = end_stream, \
        .reply = reply, .free_data = form_free,                                           \
    }

static const SundogAnswerForm forms[] = {
    [SUNDOG_OPENAI_CHAT] = FORM("/v1/chat/completions", "chatcmpl"),
    [SUNDOG_OPENAI_COMPLETION] = FORM("/v1/completions", "cmpl"),
};

void
sundog_openai_answer(SundogExchange *exchange, SundogOpenaiKind kind,
                     SundogOpenaiReadPrompt read_prompt)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    const char *model = NULL;
    if (!object)
        return;
    g_autoptr(SundogCompletionRequest) request = NULL;
    bool include_usage = false;
    if (sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, &error) &&
        (request = sundog_completion_request_new_for(exchange, model, &error)) &&
        sundog_openai_request_read(request, object, &include_usage, &error) &&
        read_prompt(request, object, &error)) {
        Form *form = g_new0(Form, 1);
        *form = (Form){.kind = kind, .include_usage = include_usage};
        sundog_answer_start(exchange, g_steal_pointer(&request), &forms[kind], form);
    } else {
        sundog_exchange_fail(exchange, error);
    }
}
