/* POST /v1/embeddings: a text or texts, or their tokens, to vectors of length 1. */

#include "engine/format/json-members.h"
#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/results.h"
#include "engine/server/routes.h"
#include "engine/server/vector.h"

#include <string.h>

typedef struct {
    bool is_base64;
    int64_t n_dimensions;    /* 0: all */
    const char *prompt_name; /* or NULL; the body's */
} Form;

static void
reply(SundogResults *results, SundogExchange *exchange, void *data)
{
    const Form *form = data;
    guint n_tokens = sundog_results_get_n_tokens(results);
    g_autoptr(GString) json = g_string_new("{\"object\":\"list\",\"data\":[");
    for (guint i = 0; i < sundog_results_get_n(results); i++) {
        uint32_t n;
        g_autofree float *vector = sundog_results_dup_vector(results, i, form->n_dimensions, &n);
        g_string_append_printf(
            json, "%s{\"object\":\"embedding\",\"index\":%u,\"embedding\":", i > 0 ? "," : "", i);
        (form->is_base64 ? sundog_vector_print_base64 : sundog_vector_print)(json, vector, n);
        g_string_append_c(json, '}');
    }
    g_string_append(json, "],\"model\":");
    sundog_json_text_append(json, sundog_results_get_core(results)->name);
    g_string_append_printf(json, ",\"usage\":{\"prompt_tokens\":%u,\"total_tokens\":%u}}", n_tokens,
                           n_tokens);
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "application/json", json->str, json->len);
}

static bool
refuse_input(SundogApiError **error, const char *text)
{
    return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "input", "input", text,
                                NULL);
}

/* NULL where an element is no token's number. */
static GArray *
read_tokens(JsonArray *array)
{
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (guint i = 0; i < json_array_get_length(array); i++) {
        JsonNode *node = json_array_get_element(array, i);
        if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64 ||
            json_node_get_int(node) < 0 || json_node_get_int(node) > UINT32_MAX)
            return NULL;
        uint32_t token = (uint32_t)json_node_get_int(node);
        g_array_append_val(tokens, token);
    }
    return g_steal_pointer(&tokens);
}

static bool
add_list(SundogResults *results, JsonArray *list, SundogApiError **error)
{
    guint n = json_array_get_length(list);
    if (n == 0 || n > SUNDOG_RESULTS_MAX)
        return refuse_input(error, "a list has 1 to 2048 elements");
    bool is_tokens = JSON_NODE_HOLDS_VALUE(json_array_get_element(list, 0)) &&
                     !sundog_json_get_text(json_array_get_element(list, 0));
    for (guint i = 0; i < n && !is_tokens; i++) {
        JsonNode *node = json_array_get_element(list, i);
        GArray *tokens =
            JSON_NODE_HOLDS_ARRAY(node) ? read_tokens(json_node_get_array(node)) : NULL;
        const char *text = sundog_json_get_text(node);
        if (tokens)
            sundog_results_add_tokens(results, tokens);
        else if (text)
            sundog_results_add(results, text, NULL);
        else
            return refuse_input(error, "an element is neither a text nor a list of tokens");
    }
    GArray *tokens = is_tokens ? read_tokens(list) : NULL;
    if (tokens)
        sundog_results_add_tokens(results, tokens);
    return !is_tokens || tokens || refuse_input(error, "an element is no token's number");
}

static bool
add_input(SundogResults *results, JsonObject *object, SundogApiError **error)
{
    JsonNode *input = sundog_field_get(object, "input");
    if (JSON_NODE_HOLDS_ARRAY(input))
        return add_list(results, json_node_get_array(input), error);
    sundog_results_add(results, json_node_get_string(input), NULL);
    return true;
}

static bool
read_form(Form *form, JsonObject *object, SundogApiError **error)
{
    const char *encoding = "float";
    if (!sundog_field_read_text(object, SUNDOG_FIELD_ENCODING_FORMAT, &encoding, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_PROMPT_NAME, &form->prompt_name, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_DIMENSIONS, &form->n_dimensions, error))
        return false;
    form->is_base64 = strcmp(encoding, "base64") == 0;
    if (!form->is_base64 && strcmp(encoding, "float") != 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "encoding_format",
                                    "encoding_format", "it is neither float nor base64", NULL);
    return sundog_results_check_input(object, "input", error);
}

static bool
check_dimensions(const Form *form, const SundogCoreText *core, SundogApiError **error)
{
    if (form->n_dimensions <= core->n_outputs)
        return true;
    g_autofree char *n = g_strdup_printf("%u", core->n_outputs);
    g_autofree char *asked = g_strdup_printf("%" G_GINT64_FORMAT, form->n_dimensions);
    return sundog_api_error_set(error, SUNDOG_API_ERROR_OUT_OF_RANGE, "dimensions", "dimensions",
                                asked, "1", n, NULL);
}

void
sundog_embeddings(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogApiError *error = NULL;
    const char *model = NULL;
    Form *form = g_new0(Form, 1);
    const SundogResultsOptions options = {.endpoint = "/v1/embeddings",
                                          .param = "input",
                                          .keep_alive_ms = sundog_server_get_keep_alive_ms(server),
                                          .reply = reply,
                                          .data = form,
                                          .free_data = g_free};
    SundogResults *results = NULL;
    g_autoptr(SundogCoreText) core = NULL;
    if (object && sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, &error) &&
        read_form(form, object, &error))
        core = sundog_server_dup_core(exchange, model, &error);
    if (core)
        results = sundog_results_new(exchange, core, "embed", &options, &error);
    if (results && check_dimensions(form, core, &error) &&
        sundog_results_set_prompt(results, form->prompt_name, &error) &&
        add_input(results, object, &error)) {
        sundog_results_start(results);
        return;
    }
    if (!results)
        g_free(form);
    sundog_results_free(results);
    if (error)
        sundog_exchange_fail(exchange, error);
}
