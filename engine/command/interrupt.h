#pragma once

/* Ctrl+C and SIGTERM as a cancellable: the first one asks the work to stop and leave nothing
 * half-made, the second ends the process as it always would. */

#include <gio/gio.h>

/* The process's one cancellable; installs the handlers at the first call. Borrowed. */
GCancellable *sundog_interrupt_get_cancellable(void);
