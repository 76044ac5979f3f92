/* From a signal to a cancellable, by a thread that waits on a pipe, since a handler may do no more
 * than write to one. */

#include "engine/command/interrupt.h"

#include <glib-unix.h>
#include <signal.h>
#include <unistd.h>

static int signal_pipe[2] = {-1, -1};
static volatile sig_atomic_t last_signal = 0;
static GCancellable *cancellable = NULL;
static void (*volatile farewell)(void) = NULL;

static void
end_at_once(int number)
{
    if (farewell != NULL)
        farewell();
    signal(number, SIG_DFL);
    raise(number);
}

static void
on_signal(int number)
{
    signal(number, end_at_once);
    last_signal = number;
    ssize_t ignored G_GNUC_UNUSED = write(signal_pipe[1], "", 1);
}

static gpointer
wait_for_signal(gpointer data)
{
    for (;;) {
        char byte;
        if (read(signal_pipe[0], &byte, 1) == 1)
            g_cancellable_cancel(cancellable);
    }
    return NULL;
}

GCancellable *
sundog_interrupt_get_cancellable(void)
{
    if (cancellable != NULL)
        return cancellable;
    cancellable = g_cancellable_new();
    if (g_unix_open_pipe(signal_pipe, FD_CLOEXEC, NULL)) {
        g_thread_unref(g_thread_new("interrupt", wait_for_signal, NULL));
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
    }
    return cancellable;
}

void
sundog_interrupt_set_farewell(void (*function)(void))
{
    farewell = function;
}

bool
sundog_interrupt_was_termination(void)
{
    return last_signal == SIGTERM;
}

void
sundog_interrupt_reset(void)
{
    if (last_signal == 0)
        return;
    /* The thread may not have said so yet, and must not say so afterwards. */
    while (!g_cancellable_is_cancelled(cancellable))
        g_usleep(1000);
    last_signal = 0;
    g_cancellable_reset(cancellable);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
}
