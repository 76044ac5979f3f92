/* How long cores stay loaded. */

#include "engine/server/service.h"

int64_t
sundog_server_get_keep_alive_ms(const SundogServer *server)
{
    int64_t seconds = sundog_config_get_integer(server->config, "engine.keep_alive");
    return seconds < 0 ? -1 : seconds * 1000;
}

void
sundog_server_keep(SundogServer *server, const SundogCoreText *core, int64_t ms)
{
    SundogEngine *engine = sundog_supervisor_find(server->supervisor, core->path);
    if (engine && !server->is_stopping)
        sundog_engine_keep(engine, ms);
}

void
sundog_server_load(SundogServer *server, SundogCoreText *core)
{
    sundog_supervisor_load(server->supervisor, core);
    sundog_server_keep(server, core, sundog_server_get_keep_alive_ms(server));
}
