/* GET /sundog/v1/requests, DELETE /sundog/v1/requests/ID */

#include "engine/server/routes.h"
#include "engine/server/service.h"

JsonArray *
sundog_server_describe_requests(SundogServer *server)
{
    const GPtrArray *engines = sundog_supervisor_get_engines(server->supervisor);
    JsonArray *array = json_array_new();
    for (guint i = 0; i < engines->len; i++) {
        g_autoptr(GPtrArray) all =
            sundog_request_queue_dup_all(sundog_engine_get_queue(engines->pdata[i]));
        for (guint j = 0; j < all->len; j++)
            json_array_add_object_element(array, sundog_generation_describe(all->pdata[j]));
    }
    sundog_request_log_describe(server->request_log, array);
    return array;
}

void
sundog_requests_list(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, "requests", sundog_server_describe_requests(server));
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_requests_delete(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    const char *id = sundog_exchange_get_argument(exchange);
    if (sundog_supervisor_cancel(server->supervisor, id))
        sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, json_object_new());
    else
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_NO_REQUEST, NULL, id, NULL));
}
