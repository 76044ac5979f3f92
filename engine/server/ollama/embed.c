/* POST /api/embed: a text or texts to vectors; /api/embeddings, the older one, takes one prompt. */

#include "engine/format/json-members.h"
#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/ollama/fields.h"
#include "engine/server/results.h"
#include "engine/server/routes.h"
#include "engine/server/vector.h"

typedef struct {
    bool is_older;
    int64_t n_dimensions; /* 0: all */
} Form;

static void
append_vector(GString *json, const SundogResults *results, guint index, const Form *form)
{
    uint32_t n;
    g_autofree float *vector = sundog_results_dup_vector(results, index, form->n_dimensions, &n);
    sundog_vector_print(json, vector, n);
}

static void
reply(SundogResults *results, SundogExchange *exchange, void *data)
{
    const Form *form = data;
    g_autoptr(GString) json = g_string_new(NULL);
    if (form->is_older) {
        g_string_append(json, "{\"embedding\":");
        append_vector(json, results, 0, form);
        g_string_append_c(json, '}');
    } else {
        g_string_append(json, "{\"model\":");
        sundog_json_text_append(json, sundog_results_get_core(results)->name);
        g_string_append(json, ",\"embeddings\":[");
        for (guint i = 0; i < sundog_results_get_n(results); i++) {
            g_string_append(json, i > 0 ? "," : "");
            append_vector(json, results, i, form);
        }
        g_string_append_printf(json,
                               "],\"total_duration\":%" G_GINT64_FORMAT
                               ",\"load_duration\":0,\"prompt_eval_count\":%u}",
                               sundog_results_get_us(results) * 1000,
                               sundog_results_get_n_tokens(results));
    }
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "application/json", json->str, json->len);
}

static bool
add_text(SundogResults *results, JsonNode *node, const char *key, SundogApiError **error)
{
    const char *text = sundog_json_get_text(node);
    if (!text)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, key, key,
                                    "a text or a list of texts", NULL);
    sundog_results_add(results, text, NULL);
    return true;
}

static bool
add_input(SundogResults *results, JsonObject *object, const char *key, SundogApiError **error)
{
    JsonNode *input = sundog_field_get(object, key);
    if (!JSON_NODE_HOLDS_ARRAY(input))
        return add_text(results, input, key, error);
    JsonArray *list = json_node_get_array(input);
    guint n = json_array_get_length(list);
    if (n == 0 || n > SUNDOG_RESULTS_MAX)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, key, key,
                                    "a list has 1 to 2048 texts", NULL);
    for (guint i = 0; i < n; i++)
        if (!add_text(results, json_array_get_element(list, i), key, error))
            return false;
    return true;
}

static void
embed(SundogExchange *exchange, bool is_older)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogApiError *error = NULL;
    const char *key = is_older ? "prompt" : "input";
    Form *form = g_new0(Form, 1);
    form->is_older = is_older;
    SundogResultsOptions options = {.endpoint = is_older ? "/api/embeddings" : "/api/embed",
                                    .param = key,
                                    .truncates = true,
                                    .keep_alive_ms = sundog_server_get_keep_alive_ms(server),
                                    .reply = reply,
                                    .data = form,
                                    .free_data = g_free};
    SundogResults *results = NULL;
    g_autoptr(SundogCoreText) core = NULL;
    g_autofree char *model = object ? sundog_ollama_dup_model(object, &error) : NULL;
    if (model && sundog_ollama_read_keep_alive(object, &options.keep_alive_ms, &error) &&
        sundog_field_read_boolean(object, SUNDOG_FIELD_TRUNCATE, &options.truncates, &error) &&
        sundog_field_read_integer(object, SUNDOG_FIELD_DIMENSIONS, &form->n_dimensions, &error) &&
        sundog_results_check_input(object, key, &error))
        core = sundog_server_dup_core(exchange, model, &error);
    if (core)
        results = sundog_results_new(exchange, core, "embed", &options, &error);
    if (results && add_input(results, object, key, &error)) {
        sundog_results_start(results);
        return;
    }
    if (!results)
        g_free(form);
    sundog_results_free(results);
    if (error)
        sundog_exchange_fail(exchange, error);
}

void
sundog_ollama_embed(SundogExchange *exchange)
{
    embed(exchange, false);
}

void
sundog_ollama_embeddings(SundogExchange *exchange)
{
    embed(exchange, true);
}
