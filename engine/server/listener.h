#pragma once

/*
 * The listening socket: bound and with a deep backlog of its own, since libsoup's backlog of 10 stalls
 * at hundreds of connections. Connections are counted; at the bound no more are accepted, and the
 * kernel keeps them waiting. One on which nothing is answered and nothing comes for idle_seconds is
 * closed, so that forgotten ones do not fill the bound; the kernel's probes find clients that have gone
 * without a word while an answer is made. On the main context of the server.
 */

#include <libsoup/soup.h>
#include <stdbool.h>

typedef struct SundogListener SundogListener;

/* address: an IP address; port 0 for any free one. A port in use is an error that names another one
 * that is free. */
SundogListener *sundog_listener_new(SoupServer *soup, const char *address, unsigned port,
                                    unsigned idle_seconds, GError **error);
/* Stops accepting and closes the socket; open connections stay. */
void sundog_listener_free(SundogListener *listener);
unsigned sundog_listener_get_port(const SundogListener *listener);

/* The socket of a request's connection, borrowed; NULL once it is closed. */
GSocket *sundog_listener_get_socket(SoupServerMessage *message);
/* Its connection is not idle now, nor from set to unset. */
void sundog_listener_touch(SoupServerMessage *message);
void sundog_listener_set_answering(SoupServerMessage *message, bool is_answering);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogListener, sundog_listener_free)
