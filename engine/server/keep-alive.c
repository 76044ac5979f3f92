/* Ending an engine that is not used, where a request named a time. */

#include "engine/library/timer.h"
#include "engine/server/service.h"

static gboolean
on_unused(void *data)
{
    SundogServer *server = data;
    const SundogRequestQueue *queue = sundog_supervisor_get_queue(server->supervisor);
    server->keep_timer = 0;
    /* Each of these says at its end how long the engine stays. */
    if (sundog_request_queue_get_n_running(queue) + sundog_request_queue_get_n_waiting(queue) > 0)
        return G_SOURCE_REMOVE;
    sundog_server_log(server, "info", "The core is unloaded, since it was not used any more");
    sundog_supervisor_unload(
        server->supervisor,
        sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, "The core was unloaded", NULL), NULL,
        NULL);
    return G_SOURCE_REMOVE;
}

void
sundog_server_keep(SundogServer *server, int64_t ms)
{
    sundog_timer_stop(&server->keep_timer);
    if (ms < 0 || server->is_stopping)
        return;
    server->keep_end = g_get_real_time() + ms * 1000;
    sundog_timer_start(&server->keep_timer, (unsigned)MIN(ms, INT32_MAX), on_unused, server);
}

char *
sundog_server_dup_keep_end(const SundogServer *server)
{
    if (!server->keep_timer)
        return NULL;
    g_autoptr(GDateTime) end = g_date_time_new_from_unix_utc(server->keep_end / G_USEC_PER_SEC);
    return g_date_time_format_iso8601(end);
}
