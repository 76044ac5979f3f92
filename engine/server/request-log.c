/* Requests that are over. */

#include "engine/server/request-log.h"

#define MAX_ENDED 50

struct SundogRequestLog {
    GQueue ended; /* JsonObject, oldest first */
};

SundogRequestLog *
sundog_request_log_new(void)
{
    return g_new0(SundogRequestLog, 1);
}

void
sundog_request_log_free(SundogRequestLog *log)
{
    if (!log)
        return;
    g_queue_clear_full(&log->ended, (GDestroyNotify)json_object_unref);
    g_free(log);
}

void
sundog_request_log_add(SundogRequestLog *log, const SundogGeneration *generation)
{
    g_queue_push_tail(&log->ended, sundog_generation_describe(generation));
    if (log->ended.length > MAX_ENDED)
        json_object_unref(g_queue_pop_head(&log->ended));
}

void
sundog_request_log_describe(const SundogRequestLog *log, JsonArray *array)
{
    for (GList *link = log->ended.tail; link; link = link->prev)
        json_array_add_object_element(array, json_object_ref(link->data));
}
