/* POST /completion: {"prompt", "n_predict", …} as llama-server has it. */

#include "engine/server/llama/completion.h"

#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/openai/completions.h"
#include "engine/server/openai/request.h"
#include "engine/server/routes.h"
#include "engine/server/scores.h"
#include <string.h>

static const char *const stop_types[] = {[SUNDOG_ANSWER_STOP] = "eos",
                                         [SUNDOG_ANSWER_STOP_SEQUENCE] = "word",
                                         [SUNDOG_ANSWER_LENGTH] = "limit",
                                         [SUNDOG_ANSWER_TOOL_CALLS] = "eos"};

static void
append_number(GString *json, const char *key, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(json, ",\"%s\":%s", key,
                           g_ascii_formatd(text, sizeof text, "%.3f", value));
}

static void
append_timings(const SundogAnswer *answer, GString *json)
{
    const SundogGeneration *generation = answer->generation;
    guint n_read = sundog_answer_get_n_prompt(answer) - sundog_answer_get_n_cached(answer);
    guint n_produced = sundog_answer_get_n_produced(answer);
    double prefill_ms = (double)generation->prefill_us / 1000;
    double decode_ms = (double)generation->decode_us / 1000;
    g_string_append_printf(json, ",\"timings\":{\"prompt_n\":%u,\"predicted_n\":%u", n_read,
                           n_produced);
    append_number(json, "prompt_ms", prefill_ms);
    append_number(json, "prompt_per_second", prefill_ms > 0 ? n_read * 1000 / prefill_ms : 0);
    append_number(json, "predicted_ms", decode_ms);
    append_number(json, "predicted_per_second", decode_ms > 0 ? n_produced * 1000 / decode_ms : 0);
    g_string_append_c(json, '}');
}

static void
append_last(const SundogAnswer *answer, GString *json)
{
    const char *stop = sundog_answer_get_stop(answer);
    g_string_append(json, ",\"model\":");
    sundog_json_text_append(json, answer->generation->core->name);
    g_string_append_printf(json, ",\"stop_type\":\"%s\",\"stopping_word\":",
                           stop_types[sundog_answer_get_reason(answer)]);
    sundog_json_text_append(json, stop ? stop : "");
    g_string_append_printf(json,
                           ",\"tokens_predicted\":%u,\"tokens_evaluated\":%u,"
                           "\"tokens_cached\":%u,\"truncated\":false",
                           sundog_answer_get_n_produced(answer), sundog_answer_get_n_prompt(answer),
                           sundog_answer_get_n_cached(answer));
    append_timings(answer, json);
}

/* Those of the tokens whose text was told since the last time. */
static void
append_scores(SundogAnswer *answer, GString *json)
{
    guint first, end = sundog_answer_take_scores(answer, &first);
    if (first == end)
        return;
    g_string_append(json, ",\"completion_probabilities\":[");
    sundog_scores_append(json, answer->generation, first, end, true);
    g_string_append_c(json, ']');
}

static GString *
make_object(SundogAnswer *answer, const char *text, size_t n_bytes, bool is_last)
{
    GString *json = g_string_new("{\"index\":0,\"content\":");
    sundog_json_text_append_n(json, text, n_bytes);
    g_string_append_printf(json, ",\"stop\":%s", is_last ? "true" : "false");
    append_scores(answer, json);
    return json;
}

/* llama-server tells log probabilities where it is asked for rivals. */
static bool
read_scores(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    int64_t n_rivals = 0;
    if (request->submit.max_tokens == 0) /* which is for prompts that are echoed, elsewhere */
        return sundog_api_error_set(error, SUNDOG_API_ERROR_OUT_OF_RANGE, "n_predict", "n_predict",
                                    "0", "1", "the context", NULL);
    if (!sundog_field_read_integer(object, SUNDOG_FIELD_N_PROBS, &n_rivals, error))
        return false;
    sundog_completion_request_set_scores(request, n_rivals > 0 ? 1 + (guint)n_rivals : 0);
    return true;
}

static void
send_object(SundogAnswer *answer, const GString *json)
{
    g_autofree char *event = g_strdup_printf("data: %s}\n\n", json->str);
    sundog_exchange_send(answer->exchange, event, strlen(event));
}

static void
send_text(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    g_autoptr(GString) json = make_object(answer, text, n_bytes, false);
    send_object(answer, json);
}

static void
end_stream(SundogAnswer *answer)
{
    g_autoptr(GString) json = make_object(answer, "", 0, true);
    append_last(answer, json);
    send_object(answer, json);
    sundog_exchange_end(answer->exchange);
}

static void
reply(SundogAnswer *answer)
{
    g_autoptr(GString) json = make_object(answer, answer->text->str, answer->text->len, true);
    append_last(answer, json);
    g_string_append_c(json, '}');
    sundog_exchange_reply_text(answer->exchange, SOUP_STATUS_OK, "application/json", json->str,
                               json->len);
}

#define FORM(path, prefix)                                                                  \
    {                                                                                       \
        .endpoint = path, .id_prefix = prefix, .text = send_text, .end_stream = end_stream, \
        .reply = reply,                                                                     \
    }

static const SundogAnswerForm forms[] = {FORM("/completion", "cmpl"), FORM("/infill", "fill")};

void
sundog_llama_answer(SundogExchange *exchange, const char *endpoint,
                    bool (*read_prompt)(SundogCompletionRequest *request, JsonObject *object,
                                        SundogApiError **error))
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    const SundogAnswerForm *form = &forms[strcmp(endpoint, forms[1].endpoint) == 0];
    SundogApiError *error = NULL;
    const char *model = NULL;
    bool include_usage = false;
    g_autoptr(SundogCompletionRequest) request = NULL;
    if (!object)
        return;
    if (sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, &error) &&
        (request = sundog_completion_request_new_for(exchange, model, &error)) &&
        sundog_openai_request_read(request, object, &include_usage, &error) &&
        read_scores(request, object, &error) && read_prompt(request, object, &error))
        sundog_answer_start(exchange, g_steal_pointer(&request), form, NULL);
    else
        sundog_exchange_fail(exchange, error);
}

static bool
read_prompt(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    if (!sundog_openai_prompt_read(request, object, error))
        return false;
    return !request->further ||
           sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "prompt", "prompt",
                                "one here; /v1/completions takes several", NULL);
}

void
sundog_llama_completion(SundogExchange *exchange)
{
    sundog_llama_answer(exchange, "/completion", read_prompt);
}
