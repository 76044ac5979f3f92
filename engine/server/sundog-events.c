/* GET /sundog/v1/events: first the whole present state, then what changes. */

#include "engine/server/routes.h"
#include "engine/server/service.h"

static void
send_elements(SundogExchange *exchange, const char *name, JsonArray *array)
{
    for (guint i = 0; i < json_array_get_length(array); i++)
        sundog_events_send(exchange, name,
                           json_object_ref(json_array_get_object_element(array, i)));
    json_array_unref(array);
}

void
sundog_events_stream(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    sundog_events_add(server->events, exchange);
    sundog_events_send(exchange, "state", sundog_server_describe(server));
    send_elements(exchange, "job", sundog_jobs_describe_all(server->jobs));
    send_elements(exchange, "request", sundog_server_describe_requests(server));
}
