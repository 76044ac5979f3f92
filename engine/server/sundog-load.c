/* POST /sundog/v1/load: {"core": NAME}, and POST /sundog/v1/unload: {"core": NAME}, or {} for all */

#include "engine/server/fields.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"

void
sundog_load_post(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    const char *name = NULL;
    g_autoptr(SundogCoreText) core = NULL;
    if (!object)
        return;
    if (sundog_field_read_text(object, SUNDOG_FIELD_CORE, &name, &error))
        core = sundog_server_dup_core(exchange, name, &error);
    if (!core) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    SundogApiError *refusal = sundog_supervisor_check_memory(server->supervisor, core);
    if (refusal) {
        sundog_exchange_fail(exchange, refusal);
        return;
    }
    sundog_server_load(server, core);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_ACCEPTED, sundog_server_describe(server));
}

static void
on_unloaded(void *data)
{
    SundogExchange *exchange = data;
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK,
                                 sundog_server_describe(sundog_exchange_get_server(exchange)));
    sundog_exchange_unref(exchange);
}

void
sundog_unload_post(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    const char *name = NULL;
    g_autoptr(SundogCoreText) core = NULL;
    if (!object)
        return;
    if (sundog_field_read_text(object, SUNDOG_FIELD_CORE, &name, &error) && name)
        core = sundog_server_dup_core(exchange, name, &error);
    if (error) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    SundogApiError *reason =
        sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, "The core was unloaded", NULL);
    sundog_exchange_set_gone(exchange, NULL, NULL);
    sundog_supervisor_unload(server->supervisor, core ? core->path : NULL, reason, on_unloaded,
                             sundog_exchange_ref(exchange));
}
