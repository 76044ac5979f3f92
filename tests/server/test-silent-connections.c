/* Connections on which nothing has come: one descriptor of the main loop for all, each told once it speaks. */

#include "engine/server/silent-connections.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_CONNECTIONS 20

typedef struct {
    int peers[N_CONNECTIONS];
    GSocketConnection *connections[N_CONNECTIONS]; /* borrowed */
    GPtrArray *spoken;                             /* GSocketConnection, owned */
} Room;

static void
on_spoke(GSocketConnection *connection, void *data)
{
    g_ptr_array_add(((Room *)data)->spoken, connection);
}

static int
count_descriptors(void)
{
    GPollFD none;
    int timeout, priority;
    GMainContext *context = g_main_context_default();
    g_main_context_acquire(context);
    g_main_context_prepare(context, &priority);
    int n = g_main_context_query(context, priority, &timeout, &none, 0);
    g_main_context_release(context);
    return n;
}

static void
add_connection(Room *room, SundogSilentConnections *silent, int i)
{
    int sockets[2];
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), ==, 0);
    GError *error = NULL;
    g_autoptr(GSocket) socket = g_socket_new_from_fd(sockets[0], &error);
    g_assert_no_error(error);
    room->peers[i] = sockets[1];
    room->connections[i] = g_socket_connection_factory_create_connection(socket);
    sundog_silent_connections_add(silent, room->connections[i]);
}

static void
test_silence(void)
{
    Room room = {.spoken = g_ptr_array_new_with_free_func(g_object_unref)};
    g_autoptr(GError) error = NULL;
    SundogSilentConnections *silent = sundog_silent_connections_new(on_spoke, &room, &error);
    g_assert_no_error(error);
    int n_descriptors = count_descriptors();
    for (int i = 0; i < N_CONNECTIONS; i++)
        add_connection(&room, silent, i);
    g_assert_cmpint(count_descriptors(), ==, n_descriptors);
    g_assert_cmpuint(room.spoken->len, ==, 0);

    g_assert_cmpint(write(room.peers[3], "G", 1), ==, 1);
    close(room.peers[7]);
    while (room.spoken->len < 2)
        g_main_context_iteration(NULL, true);
    g_assert_true(g_ptr_array_find(room.spoken, room.connections[3], NULL));
    g_assert_true(g_ptr_array_find(room.spoken, room.connections[7], NULL));
    g_assert_cmpint(write(room.peers[3], "E", 1), ==, 1); /* is not told of again */

    sundog_silent_connections_free(silent);
    char byte;
    g_assert_cmpint(read(room.peers[0], &byte, 1), ==, 0);
    g_assert_cmpuint(room.spoken->len, ==, 2);
    g_ptr_array_unref(room.spoken);
    for (int i = 0; i < N_CONNECTIONS; i++)
        if (i != 7)
            close(room.peers[i]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/silent-connections/silence", test_silence);
    return g_test_run();
}
