/* Chats in OpenAI's form. */

#include "engine/server/openai/messages.h"

#include "engine/server/fields.h"

bool
sundog_openai_messages_read(SundogPrompt *prompt, JsonObject *object, SundogApiError **error)
{
    JsonArray *messages = NULL;
    JsonObject *variables = NULL;
    if (!sundog_field_get_array(object, "messages", &messages, error) ||
        !sundog_field_get_object(object, "chat_template_kwargs", &variables, error) ||
        !sundog_field_get_boolean(object, "add_generation_prompt", &prompt->adds_turn, error))
        return false;
    if (!messages || json_array_get_length(messages) == 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "messages", "messages", NULL);
    prompt->messages = json_array_ref(messages);
    prompt->variables = variables ? json_object_ref(variables) : NULL;
    return true;
}
