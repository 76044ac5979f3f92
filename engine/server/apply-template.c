/* POST /apply-template: {"messages": […], "tools": […]} -> {"prompt"} */

#include "engine/server/completion-request.h"
#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/openai/messages.h"
#include "engine/server/openai/tools.h"
#include "engine/server/routes.h"

static void
reply(SundogExchange *exchange, const SundogCompletionRequest *request,
      const SundogEncoded *encoded)
{
    size_t n_bytes = 0;
    const char *text = sundog_rendering_get_text(encoded->rendering, &n_bytes);
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
    const char *model = NULL;
    g_autoptr(SundogCompletionRequest) request = NULL;
    if (!object)
        return;
    if (sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, &error) &&
        (request = sundog_completion_request_new_for(exchange, model, &error)) &&
        sundog_openai_tools_read(request, object, &error) &&
        sundog_openai_messages_read(&request->prompt, object, &error))
        sundog_completion_request_encode(g_steal_pointer(&request), exchange, reply);
    else
        sundog_exchange_fail(exchange, error);
}
