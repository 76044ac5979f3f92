/* The listening socket and its connections. */

#include "engine/server/listener.h"

#include "engine/library/timer.h"
#include "engine/server/silent-connections.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#define BACKLOG 4096
#define MAX_CONNECTIONS 2048
/* After accepting failed (no descriptors left), and while at the bound. */
#define PAUSE_MS 50
#define CONNECTION_KEY "sundog-connection"
#define REMOTE_KEY "sundog-remote-address"

/* Kept with the remote address, which libsoup hands on with every message of the connection. */
typedef struct {
    SundogListener *listener; /* NULL once that is gone */
    GWeakRef reference;       /* GSocketConnection */
    int64_t active_at;
    bool is_answering;
} Connection;

struct SundogListener {
    SoupServer *soup;
    GSocket *socket;
    GMainContext *idle; /* where libsoup waits for connections and never gets one */
    GSource *source;    /* NULL while paused */
    guint pause_timer;
    unsigned port;
    unsigned *n_connections; /* outlives the listener, with the last connection */
    unsigned idle_seconds;
    GHashTable *connections; /* Connection, borrowed */
    SundogSilentConnections *silent;
    guint sweep_timer; /* while there are connections */
};

static void watch(SundogListener *listener);

static void
connection_free(void *data)
{
    Connection *connection = data;
    if (connection->listener)
        g_hash_table_remove(connection->listener->connections, connection);
    g_weak_ref_clear(&connection->reference);
    g_free(connection);
}

static void
close_connection(Connection *connection)
{
    g_autoptr(GSocketConnection) stream = g_weak_ref_get(&connection->reference);
    if (stream && !g_io_stream_is_closed(G_IO_STREAM(stream)))
        g_socket_shutdown(g_socket_connection_get_socket(stream), true, true, NULL);
}

static gboolean
on_sweep_due(void *data)
{
    SundogListener *listener = data;
    int64_t oldest = g_get_monotonic_time() - listener->idle_seconds * G_USEC_PER_SEC;
    GHashTableIter iter;
    void *key;
    g_hash_table_iter_init(&iter, listener->connections);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        Connection *connection = key;
        if (!connection->is_answering && connection->active_at < oldest)
            close_connection(connection);
    }
    if (g_hash_table_size(listener->connections) > 0)
        return G_SOURCE_CONTINUE;
    listener->sweep_timer = 0;
    return G_SOURCE_REMOVE;
}

static Connection *
connection_new(SundogListener *listener, GSocketConnection *stream)
{
    Connection *connection = g_new0(Connection, 1);
    connection->listener = listener;
    connection->active_at = g_get_monotonic_time();
    g_weak_ref_init(&connection->reference, stream);
    g_hash_table_add(listener->connections, connection);
    if (!listener->sweep_timer) {
        GSource *source = g_timeout_source_new_seconds(MAX(listener->idle_seconds / 5, 1));
        sundog_timer_start_source(&listener->sweep_timer, source, on_sweep_due, listener);
    }
    return connection;
}

static void
on_connection_gone(void *data, GObject *connection)
{
    unsigned *n_connections = data;
    (*n_connections)--;
    g_rc_box_release(n_connections);
}

static gboolean
on_pause_over(void *data)
{
    SundogListener *listener = data;
    listener->pause_timer = 0;
    watch(listener);
    return G_SOURCE_REMOVE;
}

static void
pause_accepting(SundogListener *listener)
{
    sundog_timer_start(&listener->pause_timer, PAUSE_MS, on_pause_over, listener);
    g_clear_pointer(&listener->source, g_source_unref);
}

/* libsoup hands the addresses given here on with every message of the connection; so the remote one
 * carries the way back to the connection. */
static void
on_spoke(GSocketConnection *stream, void *data)
{
    SundogListener *listener = data;
    g_autoptr(GSocketConnection) connection = stream;
    GSocket *socket = g_socket_connection_get_socket(connection);
    g_autoptr(GSocketAddress) local = g_socket_get_local_address(socket, NULL);
    GSocketAddress *remote = g_object_get_data(G_OBJECT(connection), REMOTE_KEY);
    if (local)
        soup_server_accept_iostream(listener->soup, G_IO_STREAM(connection), local, remote, NULL);
}

static void
take_connection(SundogListener *listener, GSocket *socket)
{
    g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1, NULL);
    g_socket_set_keepalive(socket, true);
    GSocketAddress *remote = g_socket_get_remote_address(socket, NULL);
    if (!remote)
        return;
    GSocketConnection *connection = g_socket_connection_factory_create_connection(socket);
    g_object_set_data_full(G_OBJECT(remote), CONNECTION_KEY, connection_new(listener, connection),
                           connection_free);
    g_object_set_data_full(G_OBJECT(connection), REMOTE_KEY, remote, g_object_unref);
    (*listener->n_connections)++;
    g_object_weak_ref(G_OBJECT(connection), on_connection_gone,
                      g_rc_box_acquire(listener->n_connections));
    sundog_silent_connections_add(listener->silent, connection);
}

static gboolean
on_connecting(GSocket *socket, GIOCondition condition, void *data)
{
    SundogListener *listener = data;
    if (*listener->n_connections >= MAX_CONNECTIONS) {
        pause_accepting(listener);
        return G_SOURCE_REMOVE;
    }
    g_autoptr(GError) error = NULL;
    g_autoptr(GSocket) accepted = g_socket_accept(socket, NULL, &error);
    if (accepted) {
        take_connection(listener, accepted);
    } else if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
        pause_accepting(listener);
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

static void
watch(SundogListener *listener)
{
    listener->source = g_socket_create_source(listener->socket, G_IO_IN, NULL);
    g_source_set_callback(listener->source, G_SOURCE_FUNC(on_connecting), listener, NULL);
    g_source_attach(listener->source, g_main_context_get_thread_default());
}

/* The soft limit of 1,024 descriptors is there for programs that use select(). */
static void
allow_descriptors(void)
{
    struct rlimit limit;
    rlim_t wanted = 2 * MAX_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = MIN(limit.rlim_max, wanted);
    setrlimit(RLIMIT_NOFILE, &limit);
}

static GSocket *
bind_socket(const char *address, unsigned port, GError **error)
{
    g_autoptr(GSocketAddress) place = g_inet_socket_address_new_from_string(address, port);
    if (!place) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "“%s” is no IP address",
                    address);
        return NULL;
    }
    g_autoptr(GSocket) socket = g_socket_new(g_socket_address_get_family(place),
                                             G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, error);
    if (!socket)
        return NULL;
    g_socket_set_blocking(socket, false);
    g_socket_set_listen_backlog(socket, BACKLOG);
    if (!g_socket_bind(socket, place, true, error) || !g_socket_listen(socket, error))
        return NULL;
    return g_steal_pointer(&socket);
}

/* libsoup keeps a connection for another request only while it listens somewhere itself. So it gets the
 * socket, on a context that never runs: connections are accepted, and counted, here. */
static bool
keep_connections(SundogListener *listener, GError **error)
{
    listener->idle = g_main_context_new();
    g_main_context_push_thread_default(listener->idle);
    bool listens = soup_server_listen_socket(listener->soup, listener->socket, 0, error);
    g_main_context_pop_thread_default(listener->idle);
    return listens;
}

static unsigned
get_socket_port(GSocket *socket)
{
    g_autoptr(GSocketAddress) local = g_socket_get_local_address(socket, NULL);
    return local ? g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(local)) : 0;
}

/* Names the reason and a port that works, which was just tried. */
static void
explain(const char *address, unsigned port, GError **error)
{
    g_autoptr(GError) reason = g_steal_pointer(error);
    g_autoptr(GSocket) other = port ? bind_socket(address, 0, NULL) : NULL;
    const char *advice = reason->code == G_IO_ERROR_PERMISSION_DENIED
                             ? "the system keeps it for others"
                             : "another program uses it";
    if (!other || reason->code == G_IO_ERROR_INVALID_ARGUMENT)
        g_set_error(error, reason->domain, reason->code, "The server cannot listen on %s: %s",
                    address, reason->message);
    else
        g_set_error(error, reason->domain, reason->code,
                    "Port %u on %s cannot be used, %s (%s): end that program, or take another "
                    "port, for example %u",
                    port, address, advice, reason->message, get_socket_port(other));
}

SundogListener *
sundog_listener_new(SoupServer *soup, const char *address, unsigned port, unsigned idle_seconds,
                    GError **error)
{
    g_autoptr(GError) reason = NULL;
    GSocket *socket = bind_socket(address, port, &reason);
    if (!socket) {
        explain(address, port, &reason);
        g_propagate_error(error, g_steal_pointer(&reason));
        return NULL;
    }
    allow_descriptors();
    SundogListener *listener = g_new0(SundogListener, 1);
    listener->soup = soup;
    listener->socket = socket;
    listener->port = get_socket_port(socket);
    listener->n_connections = g_rc_box_new0(unsigned);
    listener->idle_seconds = idle_seconds;
    listener->connections = g_hash_table_new(NULL, NULL);
    listener->silent = sundog_silent_connections_new(on_spoke, listener, error);
    if (!listener->silent || !keep_connections(listener, error)) {
        sundog_listener_free(listener);
        return NULL;
    }
    watch(listener);
    return listener;
}

void
sundog_listener_free(SundogListener *listener)
{
    if (!listener)
        return;
    if (listener->source) {
        g_source_destroy(listener->source);
        g_source_unref(listener->source);
    }
    sundog_timer_stop(&listener->pause_timer);
    sundog_timer_stop(&listener->sweep_timer);
    sundog_silent_connections_free(listener->silent);
    GHashTableIter iter;
    void *key;
    g_hash_table_iter_init(&iter, listener->connections);
    while (g_hash_table_iter_next(&iter, &key, NULL))
        ((Connection *)key)->listener = NULL;
    g_hash_table_unref(listener->connections);
    g_socket_close(listener->socket, NULL);
    g_object_unref(listener->socket);
    g_rc_box_release(listener->n_connections);
    g_clear_pointer(&listener->idle, g_main_context_unref);
    g_free(listener);
}

unsigned
sundog_listener_get_port(const SundogListener *listener)
{
    return listener->port;
}

static Connection *
find_connection(SoupServerMessage *message)
{
    GSocketAddress *remote = soup_server_message_get_remote_address(message);
    return remote ? g_object_get_data(G_OBJECT(remote), CONNECTION_KEY) : NULL;
}

GSocket *
sundog_listener_get_socket(SoupServerMessage *message)
{
    Connection *connection = find_connection(message);
    g_autoptr(GSocketConnection) stream =
        connection ? g_weak_ref_get(&connection->reference) : NULL;
    if (!stream || g_io_stream_is_closed(G_IO_STREAM(stream)))
        return NULL;
    /* The message's connection outlives the message. */
    return g_socket_connection_get_socket(stream);
}

void
sundog_listener_touch(SoupServerMessage *message)
{
    Connection *connection = find_connection(message);
    if (connection)
        connection->active_at = g_get_monotonic_time();
}

void
sundog_listener_set_answering(SoupServerMessage *message, bool is_answering)
{
    Connection *connection = find_connection(message);
    if (!connection)
        return;
    connection->is_answering = is_answering;
    connection->active_at = g_get_monotonic_time();
}
