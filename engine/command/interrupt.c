/* From a signal to a cancellable, by a thread that waits on a pipe, since a handler may do no more
 * than write to one. */

#include "engine/command/interrupt.h"

#include <glib-unix.h>
#include <signal.h>
#include <unistd.h>

static int signal_pipe[2] = {-1, -1};

static void
on_signal(int number)
{
    signal(number, SIG_DFL);
    ssize_t ignored G_GNUC_UNUSED = write(signal_pipe[1], "", 1);
}

static gpointer
wait_for_signal(gpointer data)
{
    char byte;
    while (read(signal_pipe[0], &byte, 1) < 0)
        continue;
    g_cancellable_cancel(data);
    return NULL;
}

GCancellable *
sundog_interrupt_get_cancellable(void)
{
    static GCancellable *cancellable = NULL;
    if (cancellable != NULL)
        return cancellable;
    cancellable = g_cancellable_new();
    if (g_unix_open_pipe(signal_pipe, FD_CLOEXEC, NULL)) {
        g_thread_unref(g_thread_new("interrupt", wait_for_signal, cancellable));
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
    }
    return cancellable;
}
