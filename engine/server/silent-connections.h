#pragma once

/*
 * Connections on which nothing has come yet. All of them wait behind one descriptor of the main loop: GLib looks at
 * each source in each turn, so that a thousand silent ones, each with a source of its own, cost half of the
 * processor's time while tokens are told to the others. On the main context of the server.
 */

#include <gio/gio.h>

typedef struct SundogSilentConnections SundogSilentConnections;

/* spoke is called once for each connection (a reference, taken by it) when something can be read of it, which may be
 * its end. NULL and the reason where the system has no more descriptors. */
SundogSilentConnections *sundog_silent_connections_new(void (*spoke)(GSocketConnection *connection,
                                                                     void *data),
                                                       void *data, GError **error);
/* Closes those that are still silent. */
void sundog_silent_connections_free(SundogSilentConnections *silent);

/* Takes the reference; spoke may be called at once. */
void sundog_silent_connections_add(SundogSilentConnections *silent, GSocketConnection *connection);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSilentConnections, sundog_silent_connections_free)
