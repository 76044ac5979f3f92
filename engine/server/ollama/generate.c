/* POST /api/generate: a prompt, by the chat template with an optional system turn, or "raw". */

#include "engine/server/fields.h"
#include "engine/server/llama/infill.h"
#include "engine/server/ollama/answer.h"
#include "engine/server/ollama/fields.h"
#include "engine/server/ollama/loading.h"
#include "engine/server/routes.h"

static void
add_message(JsonArray *messages, const char *role, const char *content)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    json_object_set_string_member(message, "content", content);
    json_array_add_object_element(messages, message);
}

static bool
read_prompt(SundogPrompt *prompt, const SundogCoreText *core, JsonObject *object,
            SundogApiError **error)
{
    const char *text = "", *system = "", *suffix = "";
    bool is_raw = false;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_PROMPT, &text, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_SYSTEM_TEXT, &system, error) ||
        !sundog_field_read_text(object, SUNDOG_FIELD_SUFFIX, &suffix, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_RAW, &is_raw, error))
        return false;
    if (*suffix) {
        prompt->tokens = sundog_infill_encode(core, text, suffix, NULL);
        return prompt->tokens ||
               sundog_api_error_set(error, SUNDOG_API_ERROR_NO_INFILL, "suffix", core->name, NULL);
    }
    if (is_raw) {
        prompt->text = g_strdup(text);
        prompt->flags = SUNDOG_TOKENIZE_SPECIAL | SUNDOG_TOKENIZE_ADD;
        return true;
    }
    prompt->messages = json_array_new();
    if (*system)
        add_message(prompt->messages, "system", system);
    add_message(prompt->messages, "user", text);
    return true;
}

static bool
is_without_prompt(JsonObject *object)
{
    JsonNode *node = sundog_field_get(object, "prompt");
    return !node ||
           (json_node_get_value_type(node) == G_TYPE_STRING && !*json_node_get_string(node));
}

void
sundog_ollama_generate(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    if (!object)
        return;
    g_autoptr(SundogCompletionRequest) request =
        sundog_ollama_request_read(exchange, object, &error);
    if (request && is_without_prompt(object))
        sundog_ollama_load(exchange, g_steal_pointer(&request), "\"response\":\"\"");
    else if (request && read_prompt(&request->prompt, request->core, object, &error))
        sundog_answer_start(exchange, g_steal_pointer(&request), &sundog_ollama_generate_form,
                            NULL);
    else
        sundog_exchange_fail(exchange, error);
}
