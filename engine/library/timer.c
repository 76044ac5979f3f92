/* Timers. */

#include "engine/library/timer.h"

void
sundog_timer_start_source(guint *id, GSource *source, GSourceFunc function, void *data)
{
    g_source_set_callback(source, function, data, NULL);
    *id = g_source_attach(source, g_main_context_get_thread_default());
    g_source_unref(source);
}

void
sundog_timer_start(guint *id, unsigned ms, GSourceFunc function, void *data)
{
    sundog_timer_start_source(id, g_timeout_source_new(ms), function, data);
}

void
sundog_timer_stop(guint *id)
{
    if (*id)
        g_source_destroy(
            g_main_context_find_source_by_id(g_main_context_get_thread_default(), *id));
    *id = 0;
}
