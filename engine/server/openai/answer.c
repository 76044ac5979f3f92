/* Answers in OpenAI's form. */

#include "engine/server/openai/answer.h"

#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/openai/request.h"
#include "engine/server/scores.h"
#include <string.h>

/* The form's own part of an answer. */
typedef struct {
    SundogOpenaiKind kind;
    bool include_usage;
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

/* Whose log probabilities a chunk tells. */
typedef enum { SCORES_OF_PROMPT = 1, SCORES_OF_NEW = 2 } Scored;

/* "logprobs": of the prompt, and of the choice's tokens whose text was told and they were not. */
static void
append_scores(SundogAnswer *answer, GString *json, unsigned scored)
{
    const SundogGeneration *generation = answer->generation;
    guint first = answer->n_told_scores, end = first, n_prompt = generation->prompt->len;
    if (scored & SCORES_OF_NEW)
        end = sundog_answer_take_scores(answer, &first);
    g_string_append(json, ",\"logprobs\":");
    if (!answer->request->tells_scores || (first == end && !(scored & SCORES_OF_PROMPT))) {
        g_string_append(json, "null");
    } else if (is_chat(answer)) {
        g_string_append(json, "{\"content\":[");
        sundog_scores_append(json, generation, first, end, false);
        g_string_append(json, "],\"refusal\":null}");
    } else {
        sundog_scores_append_lists(json, generation, answer->head->generation,
                                   scored & SCORES_OF_PROMPT ? 0 : n_prompt + first, n_prompt + end,
                                   &answer->n_told_characters);
    }
}

/* piece: what the choice says; reason: why it ended, or NULL while there is more to come. */
static void
append_choice(SundogAnswer *answer, GString *json, const char *piece, unsigned scored,
              const char *reason)
{
    g_string_append_printf(json, "{\"index\":%u,", answer->index);
    g_string_append(json, piece);
    append_scores(answer, json, scored);
    if (reason)
        g_string_append_printf(json, ",\"finish_reason\":\"%s\"}", reason);
    else
        g_string_append(json, ",\"finish_reason\":null}");
}

/* The prompt as it was sent, or what its tokens say; "" where it is not echoed. Owned by the caller. */
static char *
dup_echo(const SundogAnswer *answer)
{
    const GArray *tokens = answer->generation->prompt;
    if (!answer->request->echo)
        return g_strdup("");
    if (answer->prompt->text)
        return g_strdup(answer->prompt->text);
    g_autoptr(SundogDecoder) decoder =
        sundog_decoder_new(answer->generation->core->tokenizer, NULL);
    GString *text = g_string_new(NULL);
    sundog_decoder_begin_text(decoder);
    for (guint i = 0; i < tokens->len; i++)
        sundog_decoder_feed(decoder, g_array_index(tokens, uint32_t, i), text);
    sundog_decoder_finish(decoder, true, text);
    return g_string_free(text, false);
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
send_choice(SundogAnswer *answer, const char *piece, unsigned scored)
{
    g_autoptr(GString) rest = g_string_new(",\"choices\":[");
    append_choice(answer, rest, piece, scored, NULL);
    g_string_append_c(rest, ']');
    send_chunk(answer, rest);
}

/* What a choice begins with: its role, or the prompt that is echoed. */
static void
begin_choice(SundogAnswer *answer)
{
    if (answer->has_begun)
        return;
    answer->has_begun = true;
    if (is_chat(answer))
        send_choice(answer, "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}", 0);
    if (answer->request->echo) {
        g_autofree char *echo = dup_echo(answer);
        g_autoptr(GString) piece = g_string_new("\"text\":");
        sundog_json_text_append(piece, echo);
        send_choice(answer, piece->str, SCORES_OF_PROMPT);
    }
}

static void
send_piece(SundogAnswer *answer, const char *key, const char *text, size_t n_bytes)
{
    begin_choice(answer);
    g_autoptr(GString) piece = g_string_new(key);
    sundog_json_text_append_n(piece, text, n_bytes);
    g_string_append(piece, is_chat(answer) ? "}" : "");
    send_choice(answer, piece->str, SCORES_OF_NEW);
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
    begin_choice(answer);
    g_autoptr(GString) piece = g_string_new("\"delta\":{\"tool_calls\":[");
    append_call(piece, index, answer->tool_calls->pdata[index], "");
    g_string_append(piece, "]}");
    send_choice(answer, piece->str, SCORES_OF_NEW);
}

static void
send_arguments(SundogAnswer *answer, guint index, const char *text, size_t n_bytes)
{
    g_autoptr(GString) piece = g_string_new("\"delta\":{\"tool_calls\":[");
    g_string_append_printf(piece, "{\"index\":%u,\"function\":{\"arguments\":", index);
    sundog_json_text_append_n(piece, text, n_bytes);
    g_string_append(piece, "}}]}");
    send_choice(answer, piece->str, SCORES_OF_NEW);
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
end_choice(SundogAnswer *answer)
{
    begin_choice(answer);
    g_autoptr(GString) rest = g_string_new(",\"choices\":[");
    append_choice(answer, rest, is_chat(answer) ? "\"delta\":{}" : "\"text\":\"\"", SCORES_OF_NEW,
                  reasons[sundog_answer_get_reason(answer)]);
    g_string_append(rest, "],");
    append_measured(answer, rest);
    send_chunk(answer, rest);
}

static void
end_stream(SundogAnswer *answer)
{
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

static int
compare_means(const void *left, const void *right)
{
    const SundogAnswer *const *a = left, *const *b = right;
    double first = sundog_scores_get_mean((*a)->generation);
    double second = sundog_scores_get_mean((*b)->generation);
    return first != second ? (first > second ? -1 : 1) : (int)(*a)->index - (int)(*b)->index;
}

/* The choices of the prompt that this one begins, borrowed; all, or the likeliest of them. */
static GPtrArray *
list_told(SundogAnswer *head)
{
    GPtrArray *told = g_ptr_array_new();
    for (guint i = 0; i < head->first->choices->len; i++) {
        SundogAnswer *choice = head->first->choices->pdata[i];
        if (choice->head == head)
            g_ptr_array_add(told, choice);
    }
    if (head->request->n_told < told->len)
        g_ptr_array_sort(told, compare_means);
    g_ptr_array_set_size(told, (int)head->request->n_told);
    return told;
}

static void
append_whole(SundogAnswer *answer, GString *json)
{
    g_autofree char *echo = dup_echo(answer);
    g_autoptr(GString) piece = g_string_new(NULL);
    if (is_chat(answer)) {
        append_message(answer, piece);
    } else {
        g_autofree char *text = g_strconcat(echo, answer->text->str, NULL);
        g_string_append(piece, "\"text\":");
        sundog_json_text_append(piece, text);
    }
    unsigned scored = SCORES_OF_NEW | (answer->request->echo ? SCORES_OF_PROMPT : 0);
    append_choice(answer, json, piece->str, scored, reasons[sundog_answer_get_reason(answer)]);
}

static void
reply(SundogAnswer *answer)
{
    const GString *head = ((Form *)answer->data)->head;
    g_autoptr(GString) json = g_string_new_len(head->str, (gssize)head->len);
    guint n_told = 0;
    g_string_append(json, ",\"choices\":[");
    for (guint i = 0; i < answer->choices->len; i += answer->request->n_choices) {
        g_autoptr(GPtrArray) told = list_told(answer->choices->pdata[i]);
        for (guint k = 0; k < told->len; k++) {
            SundogAnswer *choice = told->pdata[k];
            g_string_append(json, n_told > 0 ? "," : "");
            choice->index = n_told++;
            append_whole(choice, json);
        }
    }
    g_string_append(json, "],");
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
        .arguments = send_arguments, .progress = send_progress, .end_choice = end_choice, \
        .end_stream = end_stream, .reply = reply, .free_data = form_free,                 \
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
        sundog_openai_choices_read(request, object, kind == SUNDOG_OPENAI_CHAT, &error) &&
        read_prompt(request, object, &error)) {
        Form *form = g_new0(Form, 1);
        *form = (Form){.kind = kind, .include_usage = include_usage};
        sundog_answer_start(exchange, g_steal_pointer(&request), &forms[kind], form);
    } else {
        sundog_exchange_fail(exchange, error);
    }
}
