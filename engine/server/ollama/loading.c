/* Loading and unloading by request. */

#include "engine/server/ollama/loading.h"

#include "engine/library/timer.h"
#include "engine/server/ollama/answer.h"
#include "engine/server/service.h"
#include <string.h>

/* Between two looks at the engine's state. */
#define STEP_MS 20

typedef struct {
    SundogExchange *exchange;
    SundogCompletionRequest *request;
    const char *member;
    guint timer;
} Loading;

static void
loading_free(Loading *loading)
{
    sundog_completion_request_free(loading->request);
    sundog_exchange_unref(loading->exchange);
    g_free(loading);
}

static void
reply(Loading *loading, const char *reason)
{
    g_autoptr(GString) json = g_string_new(NULL);
    sundog_ollama_append_head(json, loading->request->core->name);
    g_string_append_printf(json, ",%s,\"done\":true,\"done_reason\":\"%s\"}\n", loading->member,
                           reason);
    sundog_exchange_reply_text(loading->exchange, SOUP_STATUS_OK,
                               loading->request->stream ? "application/x-ndjson"
                                                        : "application/json",
                               json->str, json->len);
    loading_free(loading);
}

static void
on_unloaded(void *data)
{
    reply(data, "unload");
}

static gboolean
on_step(void *data)
{
    Loading *loading = data;
    SundogServer *server = sundog_exchange_get_server(loading->exchange);
    /* The client has left, and with it maybe the server. */
    if (sundog_exchange_is_over(loading->exchange)) {
        loading_free(loading);
        return G_SOURCE_REMOVE;
    }
    const SundogEngine *engine =
        sundog_supervisor_find(server->supervisor, loading->request->core->path);
    SundogEngineState state = engine ? sundog_engine_get_state(engine) : SUNDOG_ENGINE_NONE;
    if (engine && state != SUNDOG_ENGINE_READY && state != SUNDOG_ENGINE_FAILED)
        return G_SOURCE_CONTINUE;
    if (state == SUNDOG_ENGINE_READY) {
        sundog_server_keep(server, loading->request->core, loading->request->keep_alive_ms);
        reply(loading, "load");
        return G_SOURCE_REMOVE;
    }
    const char *message = engine ? sundog_engine_get_message(engine) : "it was unloaded meanwhile";
    sundog_exchange_fail(loading->exchange,
                         sundog_api_error_new(SUNDOG_API_ERROR_ENGINE_FAILED, NULL, message, NULL));
    loading_free(loading);
    return G_SOURCE_REMOVE;
}

void
sundog_ollama_load(SundogExchange *exchange, SundogCompletionRequest *request, const char *member)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    Loading *loading = g_new0(Loading, 1);
    *loading = (Loading){sundog_exchange_ref(exchange), request, member, 0};
    sundog_exchange_set_gone(exchange, NULL, NULL);
    if (request->keep_alive_ms == 0) {
        SundogApiError *reason =
            sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, "The core was unloaded", NULL);
        sundog_supervisor_unload(server->supervisor, request->core->path, reason, on_unloaded,
                                 loading);
        return;
    }
    SundogApiError *refusal = sundog_supervisor_check_memory(server->supervisor, request->core);
    if (refusal) {
        sundog_exchange_fail(exchange, refusal);
        loading_free(loading);
        return;
    }
    sundog_supervisor_load(server->supervisor, request->core);
    sundog_timer_start(&loading->timer, STEP_MS, on_step, loading);
}
