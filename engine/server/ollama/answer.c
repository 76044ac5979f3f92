/* Answers in Ollama's form. */

#include "engine/server/ollama/answer.h"

#include "engine/format/json.h"
#include "engine/server/json-text.h"
#include "engine/server/scores.h"

/* The end of a line but the last. */
#define NOT_DONE ",\"done\":false}\n"

void
sundog_ollama_append_head(GString *json, const char *model)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *text = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S.%fZ");
    g_string_append(json, "{\"model\":");
    sundog_json_text_append(json, model);
    g_string_append_printf(json, ",\"created_at\":\"%s\"", text);
}

static bool
is_chat(const SundogAnswer *answer)
{
    return answer->form == &sundog_ollama_chat_form;
}

static void
append_head(const SundogAnswer *answer, GString *json)
{
    sundog_ollama_append_head(json, answer->generation->core->name);
}

static void
append_calls(const SundogAnswer *answer, GString *json)
{
    for (guint i = 0; i < answer->tool_calls->len; i++) {
        const SundogToolCall *call = answer->tool_calls->pdata[i];
        g_string_append(json, i == 0 ? ",\"tool_calls\":[" : ",");
        g_string_append(json, "{\"function\":{\"name\":");
        sundog_json_text_append(json, call->name);
        g_autoptr(JsonNode) arguments =
            sundog_json_parse(call->arguments->str, call->arguments->len, NULL);
        bool is_object = arguments && JSON_NODE_HOLDS_OBJECT(arguments);
        g_string_append_printf(json, ",\"arguments\":%s}}",
                               is_object ? call->arguments->str : "{}");
    }
    g_string_append(json, answer->tool_calls->len ? "]" : "");
}

/* Of a piece or of the whole. calls: whether those of the answer go along. */
static void
append_text(const SundogAnswer *answer, GString *json, const char *text, size_t n_bytes,
            const char *thinking, size_t n_thinking_bytes, bool calls)
{
    g_string_append(json, is_chat(answer) ? ",\"message\":{\"role\":\"assistant\",\"content\":"
                                          : ",\"response\":");
    sundog_json_text_append_n(json, text, n_bytes);
    if (n_thinking_bytes) {
        g_string_append(json, ",\"thinking\":");
        sundog_json_text_append_n(json, thinking, n_thinking_bytes);
    }
    if (calls && is_chat(answer))
        append_calls(answer, json);
    g_string_append(json, is_chat(answer) ? "}" : "");
}

/* Those of the tokens whose text was told since the last time. */
static void
append_scores(SundogAnswer *answer, GString *json)
{
    guint first, end = sundog_answer_take_scores(answer, &first);
    if (first == end)
        return;
    g_string_append(json, ",\"logprobs\":[");
    sundog_scores_append(json, answer->generation, first, end, false);
    g_string_append_c(json, ']');
}

static void
send_line(SundogAnswer *answer, GString *json)
{
    append_scores(answer, json);
    g_string_append(json, NOT_DONE);
    sundog_exchange_send(answer->exchange, json->str, json->len);
}

/* Clients read every line, but one without text adds nothing to what they join. */
static void
begin(SundogAnswer *answer)
{
    g_autoptr(GString) line = g_string_new(NULL);
    append_head(answer, line);
    append_text(answer, line, "", 0, NULL, 0, false);
    g_string_append(line, NOT_DONE);
    sundog_exchange_set_ping(answer->exchange, line->str);
}

static void
send_text(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    g_autoptr(GString) json = g_string_new(NULL);
    append_head(answer, json);
    append_text(answer, json, text, n_bytes, NULL, 0, false);
    send_line(answer, json);
}

static void
send_reasoning(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    g_autoptr(GString) json = g_string_new(NULL);
    append_head(answer, json);
    append_text(answer, json, "", 0, text, n_bytes, false);
    send_line(answer, json);
}

static void
append_measured(const SundogAnswer *answer, GString *json)
{
    const SundogGeneration *generation = answer->generation;
    int64_t now = g_get_monotonic_time();
    int64_t first = generation->first_us ? generation->first_us : now;
    /* Before the engine began: in the queue, and while the core was loaded. */
    int64_t waited = MAX(first - generation->submitted_us - (int64_t)generation->prefill_us, 0);
    g_string_append_printf(json,
                           ",\"total_duration\":%" G_GINT64_FORMAT
                           ",\"load_duration\":%" G_GINT64_FORMAT
                           ",\"prompt_eval_count\":%u,\"prompt_eval_duration\":%" G_GUINT64_FORMAT
                           ",\"eval_count\":%u,\"eval_duration\":%" G_GUINT64_FORMAT,
                           (now - generation->submitted_us) * 1000, waited * 1000,
                           sundog_answer_get_n_prompt(answer), generation->prefill_us * 1000,
                           sundog_answer_get_n_produced(answer), generation->decode_us * 1000);
}

static void
append_last(const SundogAnswer *answer, GString *json)
{
    bool is_cut = sundog_answer_get_reason(answer) == SUNDOG_ANSWER_LENGTH;
    g_string_append_printf(json, ",\"done\":true,\"done_reason\":\"%s\"",
                           is_cut ? "length" : "stop");
    append_measured(answer, json);
    g_string_append(json, "}");
}

static void
end_stream(SundogAnswer *answer)
{
    g_autoptr(GString) json = g_string_new(NULL);
    append_head(answer, json);
    if (answer->tool_calls->len) {
        append_text(answer, json, "", 0, NULL, 0, true);
        send_line(answer, json);
        g_string_truncate(json, 0);
        append_head(answer, json);
    }
    append_text(answer, json, "", 0, NULL, 0, false);
    append_scores(answer, json);
    append_last(answer, json);
    g_string_append_c(json, '\n');
    sundog_exchange_send(answer->exchange, json->str, json->len);
    sundog_exchange_end(answer->exchange);
}

static void
reply(SundogAnswer *answer)
{
    g_autoptr(GString) json = g_string_new(NULL);
    append_head(answer, json);
    append_text(answer, json, answer->text->str, answer->text->len, answer->reasoning->str,
                answer->reasoning->len, true);
    append_scores(answer, json);
    append_last(answer, json);
    sundog_exchange_reply_text(answer->exchange, SOUP_STATUS_OK, "application/json", json->str,
                               json->len);
}

const SundogAnswerForm sundog_ollama_generate_form = {.endpoint = "/api/generate",
                                                      .id_prefix = "gen",
                                                      .begin = begin,
                                                      .reasoning = send_reasoning,
                                                      .text = send_text,
                                                      .end_stream = end_stream,
                                                      .reply = reply};
const SundogAnswerForm sundog_ollama_chat_form = {.endpoint = "/api/chat",
                                                  .id_prefix = "chat",
                                                  .begin = begin,
                                                  .reasoning = send_reasoning,
                                                  .text = send_text,
                                                  .end_stream = end_stream,
                                                  .reply = reply};
