/* GET /sundog/v1/log?level=&after= */

#include "engine/server/routes.h"
#include "engine/server/service.h"

void
sundog_log_get(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    g_autofree char *level = sundog_exchange_dup_query(exchange, "level");
    g_autofree char *after = sundog_exchange_dup_query(exchange, "after");
    if (level && *level && !sundog_log_level_is_known(level)) {
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, "level", "level",
                                                  "it is debug, info, warning or error", NULL));
        return;
    }
    JsonObject *object = json_object_new();
    json_object_set_array_member(
        object, "lines",
        sundog_log_describe(server->log, level && *level ? level : NULL,
                            after ? g_ascii_strtoull(after, NULL, 10) : 0));
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}
