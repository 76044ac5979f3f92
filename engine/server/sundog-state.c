/* GET /sundog/v1/state: what the server is and does. */

#include "engine/server/describe.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <unistd.h>

static JsonObject *
describe_statistics(SundogServer *server)
{
    SundogStatistics statistics = sundog_supervisor_get_statistics(server->supervisor);
    SundogEngineCounters counters = sundog_supervisor_get_counters(server->supervisor, NULL);
    JsonObject *object = json_object_new();
#define X(name) json_object_set_int_member(object, #name, (gint64)statistics.name);
    SUNDOG_STATISTICS(X)
#undef X
    json_object_set_int_member(object, "n_produced_tokens", (gint64)counters.n_produced_tokens);
    json_object_set_double_member(object, "tokens_per_second",
                                  counters.decode_us ? (double)counters.n_produced_tokens * 1e6 /
                                                           (double)counters.decode_us
                                                     : 0);
    return object;
}

static JsonArray *
describe_engines(const SundogServer *server)
{
    const GPtrArray *engines = sundog_supervisor_get_engines(server->supervisor);
    JsonArray *array = json_array_new();
    for (guint i = 0; i < engines->len; i++)
        json_array_add_object_element(array, sundog_engine_describe(engines->pdata[i]));
    return array;
}

JsonObject *
sundog_server_describe(SundogServer *server)
{
    const SundogEngine *current = sundog_supervisor_get_current(server->supervisor);
    const SundogReady *ready = current ? sundog_engine_get_ready(current) : NULL;
    g_autofree char *problem = sundog_library_dup_problem(server->library);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "version", SUNDOG_VERSION);
    json_object_set_int_member(object, "pid", getpid());
    json_object_set_int_member(object, "port", sundog_server_get_port(server));
    json_object_set_string_member(object, "address", server->address);
    json_object_set_string_member(object, "started", server->started);
    json_object_set_boolean_member(object, "stopping", server->is_stopping);
    sundog_describe_text(object, "device", ready ? ready->device : NULL);
    if (problem)
        json_object_set_string_member(object, "problem", problem);
    json_object_set_int_member(object, "memory_budget",
                               (gint64)sundog_supervisor_get_memory_budget(server->supervisor));
    json_object_set_object_member(object, "engine", sundog_engine_describe(current));
    json_object_set_array_member(object, "engines", describe_engines(server));
    json_object_set_object_member(object, "statistics", describe_statistics(server));
    return object;
}

void
sundog_state_get(SundogExchange *exchange)
{
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK,
                                 sundog_server_describe(sundog_exchange_get_server(exchange)));
}
