/* What is told of an engine, and how long it is kept. */

#include "engine/library/timer.h"
#include "engine/server/describe.h"
#include "engine/server/engine-private.h"

/* A core that could not be loaded is not tried again for every request that comes. */
#define RETRY_US (10 * G_TIME_SPAN_SECOND)
#define STATISTICS_US (200 * G_TIME_SPAN_MILLISECOND)

/* How long */

void
sundog_engine_want(SundogEngine *engine)
{
    bool is_on =
        (engine->process && engine->state != SUNDOG_ENGINE_STOPPING) || engine->backoff_timer;
    engine->used_us = g_get_monotonic_time();
    if (!is_on && !engine->wanted_us)
        engine->wanted_us = engine->used_us;
}

static gboolean
on_unused(void *data)
{
    SundogEngine *engine = data;
    engine->keep_timer = 0;
    /* Each request says at its end how long the engine stays. */
    if (!sundog_engine_is_idle(engine))
        return G_SOURCE_REMOVE;
    sundog_engine_say(engine, "info", "The core %s is unloaded, since it was not used any more",
                      engine->core->name);
    sundog_engine_unload(
        engine,
        sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, "The core was unloaded", NULL), NULL,
        NULL);
    return G_SOURCE_REMOVE;
}

void
sundog_engine_keep(SundogEngine *engine, int64_t ms)
{
    sundog_timer_stop(&engine->keep_timer);
    engine->is_kept = ms < 0;
    if (ms < 0)
        return;
    engine->keep_end = g_get_real_time() + ms * 1000;
    sundog_timer_start(&engine->keep_timer, (unsigned)MIN(ms, INT32_MAX), on_unused, engine);
}

char *
sundog_engine_dup_keep_end(const SundogEngine *engine)
{
    if (!engine->keep_timer)
        return NULL;
    g_autoptr(GDateTime) end = g_date_time_new_from_unix_utc(engine->keep_end / G_USEC_PER_SEC);
    return g_date_time_format_iso8601(end);
}

bool
sundog_engine_is_kept(const SundogEngine *engine)
{
    return engine->is_kept;
}

/* State */

SundogEngineState
sundog_engine_get_state(const SundogEngine *engine)
{
    return engine->state;
}

SundogCoreText *
sundog_engine_get_core(const SundogEngine *engine)
{
    return engine->core;
}

const char *
sundog_engine_get_message(const SundogEngine *engine)
{
    return engine->message;
}

double
sundog_engine_get_progress(const SundogEngine *engine, const char **phase)
{
    *phase = engine->phase ? engine->phase : "start";
    return engine->progress;
}

const SundogReady *
sundog_engine_get_ready(const SundogEngine *engine)
{
    return engine->state == SUNDOG_ENGINE_READY ? &engine->ready : NULL;
}

const SundogStatistics *
sundog_engine_get_statistics(SundogEngine *engine)
{
    int64_t now = g_get_monotonic_time();
    if (engine->state == SUNDOG_ENGINE_READY &&
        now - engine->statistics_asked_at >= STATISTICS_US) {
        engine->statistics_asked_at = now;
        sundog_engine_send(engine, SUNDOG_MESSAGE_STATISTICS_ASKED, g_variant_new("()"));
    }
    return &engine->statistics;
}

SundogRequestQueue *
sundog_engine_get_queue(SundogEngine *engine)
{
    return engine->queue;
}

bool
sundog_engine_is_idle(const SundogEngine *engine)
{
    return sundog_request_queue_get_n_running(engine->queue) == 0 &&
           sundog_request_queue_get_n_waiting(engine->queue) == 0;
}

bool
sundog_engine_is_wanting(const SundogEngine *engine)
{
    bool is_off = engine->state == SUNDOG_ENGINE_NONE || engine->state == SUNDOG_ENGINE_FAILED;
    return is_off && engine->unloads->len == 0 &&
           (engine->wanted_us || sundog_request_queue_get_n_waiting(engine->queue) > 0);
}

int64_t
sundog_engine_get_wanted_us(const SundogEngine *engine)
{
    int64_t oldest_us = sundog_request_queue_get_oldest_us(engine->queue);
    return engine->wanted_us ? MIN(engine->wanted_us, oldest_us) : oldest_us;
}

bool
sundog_engine_is_unused(const SundogEngine *engine)
{
    return engine->state == SUNDOG_ENGINE_NONE && !engine->wanted_us && engine->unloads->len == 0 &&
           sundog_engine_is_idle(engine);
}

bool
sundog_engine_has_failed_lately(const SundogEngine *engine)
{
    return engine->state == SUNDOG_ENGINE_FAILED &&
           g_get_monotonic_time() - engine->failed_at < RETRY_US;
}

bool
sundog_engine_waits_for_others(const SundogEngine *engine)
{
    return engine->had_room_made;
}

static uint64_t
get_bytes(const SundogEngine *engine, uint64_t before_ready)
{
    bool is_on = engine->process || engine->backoff_timer;
    if (!is_on || !engine->granted_bytes)
        return 0;
    return engine->ready.memory_bytes ? engine->ready.memory_bytes : before_ready;
}

uint64_t
sundog_engine_get_least_bytes(const SundogEngine *engine)
{
    return get_bytes(engine, engine->needed_bytes);
}

uint64_t
sundog_engine_get_most_bytes(const SundogEngine *engine)
{
    return get_bytes(engine, engine->granted_bytes);
}

int64_t
sundog_engine_get_used_us(const SundogEngine *engine)
{
    return engine->used_us;
}

/* Description */

const char *
sundog_engine_state_text(SundogEngineState state)
{
    static const char *const texts[] = {"none",       "starting", "loading", "ready",
                                        "restarting", "failed",   "stopping"};
    return texts[state];
}

static uint32_t
get_context(const SundogEngine *engine)
{
    const SundogReady *ready = sundog_engine_get_ready(engine);
    return ready ? ready->context_length : engine->core->context_length;
}

JsonObject *
sundog_engine_describe(const SundogEngine *engine)
{
    JsonObject *object = json_object_new();
    const SundogReady *ready = engine ? sundog_engine_get_ready(engine) : NULL;
    g_autofree char *keep_end = engine ? sundog_engine_dup_keep_end(engine) : NULL;
    SundogEngineState state = engine ? engine->state : SUNDOG_ENGINE_NONE;
    json_object_set_string_member(object, "state", sundog_engine_state_text(state));
    sundog_describe_text(object, "core", engine ? engine->core->name : NULL);
    sundog_describe_text(object, "draft",
                         engine && engine->core->draft ? engine->core->draft->name : NULL);
    sundog_describe_text(object, "phase", engine ? engine->phase : NULL);
    json_object_set_double_member(object, "progress", engine ? engine->progress : 0);
    sundog_describe_text(object, "message", engine ? engine->message : NULL);
    sundog_describe_text(object, "device", ready ? ready->device : NULL);
    json_object_set_int_member(object, "context_length", engine ? get_context(engine) : 0);
    json_object_set_int_member(object, "memory_bytes", ready ? (gint64)ready->memory_bytes : 0);
    json_object_set_int_member(object, "restarts",
                               engine ? (gint64)engine->counters->n_restarts : 0);
    if (!engine)
        return object;
    json_object_set_int_member(object, "running",
                               sundog_request_queue_get_n_running(engine->queue));
    json_object_set_int_member(object, "waiting",
                               sundog_request_queue_get_n_waiting(engine->queue));
    sundog_describe_text(object, "kept_until", keep_end);
    return object;
}
