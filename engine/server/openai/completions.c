/* POST /v1/completions */

#include "engine/server/openai/completions.h"

#include "engine/server/fields.h"
#include "engine/server/llama/infill.h"
#include "engine/server/openai/answer.h"
#include "engine/server/routes.h"

static bool
add_token(GArray *prompt, JsonNode *node, const SundogCoreText *core, SundogApiError **error)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(core->tokenizer);
    if (json_node_get_value_type(node) != G_TYPE_INT64)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, "prompt", "prompt",
                                    "a text or a list of tokens", NULL);
    int64_t token = json_node_get_int(node);
    if (token < 0 || token >= vocabulary->n_tokens) {
        g_autofree char *token_text = g_strdup_printf("%" G_GINT64_FORMAT, token);
        g_autofree char *last_text = g_strdup_printf("%u", vocabulary->n_tokens - 1);
        return sundog_api_error_set(error, SUNDOG_API_ERROR_OUT_OF_RANGE, "prompt", "prompt",
                                    token_text, "0", last_text, NULL);
    }
    uint32_t value = (uint32_t)token;
    g_array_append_val(prompt, value);
    return true;
}

/* A text, a list of tokens, or a list with one of these. */
static bool
read_node(SundogCompletionRequest *request, JsonNode *node, bool may_nest, SundogApiError **error)
{
    SundogPrompt *prompt = &request->prompt;
    if (json_node_get_value_type(node) == G_TYPE_STRING) {
        prompt->text = g_strdup(json_node_get_string(node));
        prompt->flags = SUNDOG_TOKENIZE_SPECIAL | SUNDOG_TOKENIZE_ADD;
        return true;
    }
    if (!JSON_NODE_HOLDS_ARRAY(node))
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, "prompt", "prompt",
                                    "a text or a list of tokens", NULL);
    JsonArray *array = json_node_get_array(node);
    guint n = json_array_get_length(array);
    JsonNode *first = n ? json_array_get_element(array, 0) : NULL;
    bool is_nested = first && json_node_get_value_type(first) != G_TYPE_INT64;
    if (is_nested && n > 1)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "prompt", "prompt",
                                    "only one prompt a request", NULL);
    if (is_nested && may_nest)
        return read_node(request, first, false, error);
    prompt->tokens = g_array_new(false, false, sizeof(uint32_t));
    for (guint i = 0; i < n; i++)
        if (!add_token(prompt->tokens, json_array_get_element(array, i), request->core, error))
            return false;
    return true;
}

static bool
read_infill(SundogCompletionRequest *request, const char *prefix, const char *suffix,
            SundogApiError **error)
{
    request->prompt.tokens = sundog_infill_encode(request->core, prefix, suffix, NULL);
    return request->prompt.tokens || sundog_api_error_set(error, SUNDOG_API_ERROR_NO_INFILL,
                                                          "suffix", request->core->name, NULL);
}

bool
sundog_openai_prompt_read(SundogCompletionRequest *request, JsonObject *object,
                          SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, "prompt");
    const char *suffix = "";
    if (!sundog_field_read_text(object, SUNDOG_FIELD_SUFFIX, &suffix, error))
        return false;
    if (*suffix && node && json_node_get_value_type(node) == G_TYPE_STRING)
        return read_infill(request, json_node_get_string(node), suffix, error);
    if (!node)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "prompt", "prompt", NULL);
    return read_node(request, node, true, error);
}

void
sundog_completions(SundogExchange *exchange)
{
    sundog_openai_answer(exchange, SUNDOG_OPENAI_COMPLETION, sundog_openai_prompt_read);
}
