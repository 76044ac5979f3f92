/* Connections on which nothing has come yet. */

#include "engine/server/silent-connections.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#define N_AT_ONCE 64

struct SundogSilentConnections {
    void (*spoke)(GSocketConnection *connection, void *data);
    void *data;
    int epoll;
    GSource *source;
    GHashTable *connections; /* of GSocketConnection, owned */
};

static void
tell(SundogSilentConnections *silent, GSocketConnection *connection)
{
    int fd = g_socket_get_fd(g_socket_connection_get_socket(connection));
    epoll_ctl(silent->epoll, EPOLL_CTL_DEL, fd, NULL);
    g_hash_table_steal(silent->connections, connection);
    silent->spoke(connection, silent->data);
}

static gboolean
on_spoken(int fd, GIOCondition condition, void *data)
{
    SundogSilentConnections *silent = data;
    struct epoll_event events[N_AT_ONCE];
    int n_events = epoll_wait(fd, events, N_AT_ONCE, 0);
    for (int i = 0; i < n_events; i++)
        tell(silent, events[i].data.ptr);
    return G_SOURCE_CONTINUE;
}

SundogSilentConnections *
sundog_silent_connections_new(void (*spoke)(GSocketConnection *connection, void *data), void *data,
                              GError **error)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) {
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(errno),
                    "No descriptor for waiting connections: %s", g_strerror(errno));
        return NULL;
    }
    SundogSilentConnections *silent = g_new0(SundogSilentConnections, 1);
    silent->spoke = spoke;
    silent->data = data;
    silent->epoll = epoll;
    silent->connections = g_hash_table_new_full(NULL, NULL, g_object_unref, NULL);
    silent->source = g_unix_fd_source_new(epoll, G_IO_IN);
    g_source_set_callback(silent->source, G_SOURCE_FUNC(on_spoken), silent, NULL);
    g_source_attach(silent->source, g_main_context_get_thread_default());
    return silent;
}

void
sundog_silent_connections_free(SundogSilentConnections *silent)
{
    if (!silent)
        return;
    g_source_destroy(silent->source);
    g_source_unref(silent->source);
    g_hash_table_unref(silent->connections);
    close(silent->epoll);
    g_free(silent);
}

void
sundog_silent_connections_add(SundogSilentConnections *silent, GSocketConnection *connection)
{
    GSocket *socket = g_socket_connection_get_socket(connection);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    bool waits = !g_socket_condition_check(socket, G_IO_IN) &&
                 epoll_ctl(silent->epoll, EPOLL_CTL_ADD, g_socket_get_fd(socket), &event) == 0;
    if (waits)
        g_hash_table_add(silent->connections, connection);
    else /* also where the system watches no more: then libsoup does */
        silent->spoke(connection, silent->data);
}
