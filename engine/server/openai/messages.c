/* Chats in OpenAI's form. */

#include "engine/server/openai/messages.h"

#include "engine/server/fields.h"

bool
sundog_openai_messages_read(SundogPrompt *prompt, JsonObject *object, SundogApiError **error)
{
    JsonArray *messages = NULL;
    JsonObject *variables = NULL;
    if (!sundog_field_read_array(object, SUNDOG_FIELD_MESSAGES, &messages, error) ||
        !sundog_field_read_object(object, SUNDOG_FIELD_CHAT_TEMPLATE_KWARGS, &variables, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_ADD_GENERATION_PROMPT, &prompt->adds_turn,
                                   error))
        return false;
    if (!messages || json_array_get_length(messages) == 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "messages", "messages", NULL);
    prompt->messages = json_array_ref(messages);
    prompt->variables = variables ? json_object_ref(variables) : NULL;
    return true;
}
