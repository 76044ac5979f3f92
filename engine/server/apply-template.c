/* POST /apply-template: {"messages": […]} -> {"prompt"} */

#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"
#include "engine/text/chat.h"

static bool
read_chat(JsonObject *object, SundogChat *chat, const char **model, SundogApiError **error)
{
    if (!sundog_field_get_array(object, "messages", &chat->messages, error) ||
        !sundog_field_get_object(object, "chat_template_kwargs", &chat->extra, error) ||
        !sundog_field_get_boolean(object, "add_generation_prompt", &chat->add_generation_prompt,
                                  error) ||
        !sundog_field_get_text(object, "model", model, error))
        return false;
    return chat->messages ||
           sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "messages", "messages", NULL);
}

static void
reply(SundogExchange *exchange, const SundogRendering *rendering)
{
    size_t n_bytes = 0;
    const char *text = sundog_rendering_get_text(rendering, &n_bytes);
    g_autoptr(GString) json = g_string_new("{\"prompt\":");
    sundog_json_text_append_n(json, text, n_bytes);
    g_string_append_c(json, '}');
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "application/json", json->str, json->len);
}

void
sundog_apply_template(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    SundogChat chat = {.add_generation_prompt = true};
    const char *model = NULL;
    g_autoptr(SundogCoreText) core = NULL;
    g_autoptr(SundogRendering) rendering = NULL;
    g_autoptr(GError) reason = NULL;
    if (!object)
        return;
    if (read_chat(object, &chat, &model, &error))
        core = sundog_server_dup_core(sundog_exchange_get_server(exchange), model, &error);
    if (core && !core->chat_template)
        sundog_api_error_set(&error, SUNDOG_API_ERROR_NO_TEMPLATE, "model", core->name, NULL);
    if (!error) {
        g_autoptr(GArray) tokens =
            sundog_chat_encode(core->chat_template, core->tokenizer, &chat, &rendering, &reason);
        if (!tokens)
            sundog_api_error_set(&error, SUNDOG_API_ERROR_BAD_MESSAGES, "messages", reason->message,
                                 NULL);
    }
    if (error)
        sundog_exchange_fail(exchange, error);
    else
        reply(exchange, rendering);
}
