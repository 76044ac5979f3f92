#pragma once

/* Timers and other sources on the thread's default main context, each known by an id that is 0 while it
 * is not there. A callback that returns G_SOURCE_REMOVE sets the id to 0 itself. */

#include <glib.h>

/* The id must be 0. */
void sundog_timer_start(guint *id, unsigned ms, GSourceFunc function, void *data);
/* The same for any source, which is taken. */
void sundog_timer_start_source(guint *id, GSource *source, GSourceFunc function, void *data);
void sundog_timer_stop(guint *id);
