/* GET and DELETE /v1/responses/ID, POST /v1/responses/ID/cancel */

#include "engine/server/openai/stored-responses.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <string.h>

static void
fail_unknown(SundogExchange *exchange, const char *id)
{
    sundog_exchange_fail(exchange,
                         sundog_api_error_new(SUNDOG_API_ERROR_NO_RESPONSE, NULL, id, NULL));
}

void
sundog_responses_get(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    const char *id = sundog_exchange_get_argument(exchange);
    JsonObject *response = sundog_stored_responses_get(server->stored_responses, id);
    if (response)
        sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, json_object_ref(response));
    else
        fail_unknown(exchange, id);
}

void
sundog_responses_delete(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    const char *id = sundog_exchange_get_argument(exchange);
    if (!sundog_stored_responses_remove(server->stored_responses, id)) {
        fail_unknown(exchange, id);
        return;
    }
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "id", id);
    json_object_set_string_member(object, "object", "response");
    json_object_set_boolean_member(object, "deleted", true);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_responses_cancel(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    g_auto(GStrv) parts = g_strsplit(sundog_exchange_get_argument(exchange), "/", 3);
    if (g_strv_length(parts) != 2 || strcmp(parts[1], "cancel") != 0) {
        const char *path = sundog_exchange_get_path(exchange);
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_NOT_FOUND, NULL, path, NULL));
        return;
    }
    /* One that is over stays as it is. */
    sundog_supervisor_cancel(server->supervisor, parts[0]);
    sundog_exchange_set_argument(exchange, parts[0]);
    sundog_responses_get(exchange);
}
