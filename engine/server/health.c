/* GET /health: 200 when a request for a loaded core would be answered at once, else 503 and what is
 * missing; and how many cores are in which state, without their names, since no key is asked for. */

#include "engine/server/routes.h"
#include "engine/server/service.h"

/* The state that tells most: of a core that is ready, else one that is loading, else one that failed. */
static const SundogEngine *
find_best(const SundogServer *server)
{
    static const int ranks[] = {
        [SUNDOG_ENGINE_READY] = 3,      [SUNDOG_ENGINE_STARTING] = 2, [SUNDOG_ENGINE_LOADING] = 2,
        [SUNDOG_ENGINE_RESTARTING] = 2, [SUNDOG_ENGINE_NONE] = 2,     [SUNDOG_ENGINE_FAILED] = 1,
        [SUNDOG_ENGINE_STOPPING] = 0};
    const GPtrArray *engines = sundog_supervisor_get_engines(server->supervisor);
    const SundogEngine *best = NULL;
    for (guint i = 0; i < engines->len; i++) {
        const SundogEngine *engine = engines->pdata[i];
        if (!best || ranks[sundog_engine_get_state(engine)] > ranks[sundog_engine_get_state(best)])
            best = engine;
    }
    return best;
}

static void
set_counts(JsonObject *object, const SundogServer *server)
{
    const GPtrArray *engines = sundog_supervisor_get_engines(server->supervisor);
    gint64 n_ready = 0;
    for (guint i = 0; i < engines->len; i++)
        n_ready += sundog_engine_get_ready(engines->pdata[i]) != NULL;
    json_object_set_int_member(object, "cores_ready", n_ready);
    json_object_set_int_member(object, "cores_in_use", engines->len);
}

static bool
is_off(const SundogServer *server, const SundogEngine *engine)
{
    return server->is_stopping || !engine ||
           sundog_engine_get_state(engine) == SUNDOG_ENGINE_STOPPING;
}

static JsonObject *
describe(SundogServer *server, bool *is_ok)
{
    JsonObject *object = json_object_new();
    const SundogEngine *engine = find_best(server);
    *is_ok = false;
    set_counts(object, server);
    if (is_off(server, engine)) {
        json_object_set_string_member(object, "status", "no core");
        json_object_set_string_member(object, "message",
                                      server->is_stopping ? "The server is stopping"
                                                          : "No core is loaded");
        return object;
    }
    const char *phase = NULL;
    double progress = sundog_engine_get_progress(engine, &phase);
    const char *message = sundog_engine_get_message(engine);
    SundogEngineState state = sundog_engine_get_state(engine);
    *is_ok = state == SUNDOG_ENGINE_READY;
    if (*is_ok) {
        json_object_set_string_member(object, "status", "ok");
    } else if (state == SUNDOG_ENGINE_FAILED) {
        json_object_set_string_member(object, "status", "failed");
        json_object_set_string_member(object, "message", message ? message : "");
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
