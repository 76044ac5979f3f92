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

static bool
read_infill(SundogPrompt *prompt, const SundogCoreText *core, const char *prefix,
            const char *suffix, SundogApiError **error)
{
    prompt->tokens = sundog_infill_encode(core, prefix, suffix, NULL);
    return prompt->tokens ||
           sundog_api_error_set(error, SUNDOG_API_ERROR_NO_INFILL, "suffix", core->name, NULL);
}

/* A text, or a list of tokens. */
static bool
read_one(SundogPrompt *prompt, const SundogCoreText *core, JsonNode *node, const char *suffix,
         SundogApiError **error)
{
    if (json_node_get_value_type(node) == G_TYPE_STRING && *suffix)
        return read_infill(prompt, core, json_node_get_string(node), suffix, error);
    if (json_node_get_value_type(node) == G_TYPE_STRING) {
        prompt->text = g_strdup(json_node_get_string(node));
        prompt->flags = SUNDOG_TOKENIZE_SPECIAL | SUNDOG_TOKENIZE_ADD;
        return true;
    }
    if (!JSON_NODE_HOLDS_ARRAY(node))
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, "prompt", "prompt",
                                    "a text or a list of tokens", NULL);
    if (*suffix)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "suffix", "suffix",
                                    "before it there must be a text, and no list of tokens", NULL);
    JsonArray *array = json_node_get_array(node);
    prompt->tokens = g_array_new(false, false, sizeof(uint32_t));
    for (guint i = 0; i < json_array_get_length(array); i++)
        if (!add_token(prompt->tokens, json_array_get_element(array, i), core, error))
            return false;
    return true;
}

/* A list of prompts begins with one: numbers are the tokens of one. */
static bool
is_list_of_prompts(JsonNode *node)
{
    JsonArray *array = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    JsonNode *first =
        array && json_array_get_length(array) ? json_array_get_element(array, 0) : NULL;
    return first &&
           (json_node_get_value_type(first) == G_TYPE_STRING || JSON_NODE_HOLDS_ARRAY(first));
}

static bool
read_several(SundogCompletionRequest *request, JsonArray *array, const char *suffix,
             SundogApiError **error)
{
    guint n_prompts = json_array_get_length(array);
    if (n_prompts > SUNDOG_MAX_CHOICES / request->n_choices) {
        g_autofree char *reason =
            g_strdup_printf("at most %u answers in all: here %u prompts with %u each",
                            SUNDOG_MAX_CHOICES, n_prompts, request->n_choices);
        return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "prompt", "prompt",
                                    reason, NULL);
    }
    for (guint i = 0; i < n_prompts; i++) {
        SundogPrompt *prompt =
            i == 0 ? &request->prompt : sundog_completion_request_add_prompt(request);
        if (!read_one(prompt, request->core, json_array_get_element(array, i), suffix, error))
            return false;
    }
    return true;
}

bool
sundog_openai_prompt_read(SundogCompletionRequest *request, JsonObject *object,
                          SundogApiError **error)
{
    JsonNode *node = sundog_field_get(object, "prompt");
    const char *suffix = "";
    if (!sundog_field_read_text(object, SUNDOG_FIELD_SUFFIX, &suffix, error))
        return false;
    if (!node)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "prompt", "prompt", NULL);
    if (is_list_of_prompts(node))
        return read_several(request, json_node_get_array(node), suffix, error);
    return read_one(&request->prompt, request->core, node, suffix, error);
}

void
sundog_completions(SundogExchange *exchange)
{
    sundog_openai_answer(exchange, SUNDOG_OPENAI_COMPLETION, sundog_openai_prompt_read);
}
