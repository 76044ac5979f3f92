#pragma once

/* Ctrl+C and SIGTERM as a cancellable: the first one asks the work to stop and leave nothing
 * half-made, the second ends the process as it always would. Main thread. */

#include <gio/gio.h>
#include <stdbool.h>

/* The process's one cancellable; installs the handlers at the first call. Borrowed. */
GCancellable *sundog_interrupt_get_cancellable(void);
/* Whether what came was a SIGTERM, after which the process should end. */
bool sundog_interrupt_was_termination(void);
/* What the signal that ends the process calls before (async-signal-safe), or NULL. */
void sundog_interrupt_set_farewell(void (*function)(void));
/* Makes ready for the next Ctrl+C, once what the last one stopped has stopped. */
void sundog_interrupt_reset(void);
