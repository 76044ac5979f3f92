/* POST /sundog/v1/stop */

#include "engine/server/routes.h"
#include "engine/server/service.h"

#define DRAIN_MS 10000

void
sundog_stop_post(SundogExchange *exchange)
{
    JsonObject *object = json_object_new();
    json_object_set_boolean_member(object, "stopping", true);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
    sundog_server_stop(sundog_exchange_get_server(exchange), DRAIN_MS);
}
