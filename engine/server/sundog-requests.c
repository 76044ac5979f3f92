/* GET /sundog/v1/requests, DELETE /sundog/v1/requests/ID */

#include "engine/server/routes.h"
#include "engine/server/service.h"

void
sundog_requests_list(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    SundogRequestQueue *queue = sundog_supervisor_get_queue(server->supervisor);
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, "requests", sundog_request_queue_describe(queue));
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
