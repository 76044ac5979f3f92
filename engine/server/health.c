/* GET /health: 200 when a request would be answered at once, else 503 and what is missing. */

#include "engine/server/routes.h"
#include "engine/server/service.h"

static JsonObject *
describe(SundogServer *server, bool *is_ok)
{
    JsonObject *object = json_object_new();
    SundogEngineState state = sundog_supervisor_get_state(server->supervisor);
    const char *phase = NULL;
    double progress = sundog_supervisor_get_progress(server->supervisor, &phase);
    const char *message = sundog_supervisor_get_message(server->supervisor);
    *is_ok = state == SUNDOG_ENGINE_READY && !server->is_stopping;
    if (*is_ok) {
        json_object_set_string_member(object, "status", "ok");
    } else if (state == SUNDOG_ENGINE_FAILED) {
        json_object_set_string_member(object, "status", "failed");
        json_object_set_string_member(object, "message", message ? message : "");
    } else if (state == SUNDOG_ENGINE_NONE || server->is_stopping) {
        json_object_set_string_member(object, "status", "no core");
        json_object_set_string_member(object, "message",
                                      server->is_stopping ? "The server is stopping"
                                                          : "No core is loaded");
    } else {
        json_object_set_string_member(object, "status", "loading");
        json_object_set_double_member(object, "progress", progress);
        json_object_set_string_member(object, "phase", phase);
    }
    return object;
}

void
sundog_health(SundogExchange *exchange)
{
    bool is_ok = false;
    JsonObject *object = describe(sundog_exchange_get_server(exchange), &is_ok);
    sundog_exchange_reply_object(exchange, is_ok ? SOUP_STATUS_OK : SOUP_STATUS_SERVICE_UNAVAILABLE,
                                 object);
}
