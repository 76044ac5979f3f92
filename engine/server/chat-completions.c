/* POST /v1/chat/completions */

#include "engine/server/openai-answer.h"
#include "engine/server/routes.h"
#include "engine/text/chat.h"

/* The prompt's tokens, or NULL and the reason. */
static GArray *
encode(JsonObject *object, const SundogCoreText *core, SundogApiError **error)
{
    SundogChat chat = {.add_generation_prompt = true};
    if (!sundog_field_get_array(object, "messages", &chat.messages, error) ||
        !sundog_field_get_object(object, "chat_template_kwargs", &chat.extra, error) ||
        !sundog_field_get_boolean(object, "add_generation_prompt", &chat.add_generation_prompt,
                                  error))
        return NULL;
    if (!chat.messages || json_array_get_length(chat.messages) == 0) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "messages", "messages", NULL);
        return NULL;
    }
    if (!core->chat_template) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_NO_TEMPLATE, "model", core->name, NULL);
        return NULL;
    }
    g_autoptr(GError) reason = NULL;
    GArray *prompt = sundog_chat_encode(core->chat_template, core->tokenizer, &chat, NULL, &reason);
    if (prompt && prompt->len > 0)
        return prompt;
    g_clear_pointer(&prompt, g_array_unref);
    sundog_api_error_set(error, SUNDOG_API_ERROR_BAD_MESSAGES, "messages",
                         reason ? reason->message : "they are empty", NULL);
    return NULL;
}

void
sundog_chat_completions(SundogExchange *exchange)
{
    sundog_openai_answer(exchange, SUNDOG_OPENAI_CHAT, encode);
}
