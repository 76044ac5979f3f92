#pragma once

/*
 * The server: HTTP on a socket of its own, the library, one engine child, jobs. Start it, run the main
 * loop, and stop it; everything happens on the main context that is the thread's default at start,
 * and on that thread, which must live as long as the server (the engine dies with it). The process
 * must ignore SIGPIPE.
 */

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct SundogServer SundogServer;

typedef struct {
    const char *core;      /* name or path: answers for every model; NULL: by the request's model */
    const char *draft;     /* as the setting "engine.draft"; NULL: as configured */
    int port;              /* 0: any free one; -1: as configured */
    const char *address;   /* NULL: as configured; any but loopback needs a key */
    const char *key;       /* NULL: as configured; "" for none */
    const char *engine;    /* program of the engine; NULL: beside the running program */
    const char *sundog;    /* program that carries out jobs; NULL: beside the running program */
    unsigned ping_seconds; /* of silence after which a stream gets a comment; 0: 10 */
    unsigned idle_seconds; /* after which a connection without a request is closed; 0: 120 */
    pid_t parent;          /* 0, or the process whose end ends this server within two seconds */
    /* Called once when the server has stopped, whoever asked; the user then frees it. May be NULL. */
    void (*stopped)(void *data);
    void *data;
} SundogServerOptions;

/* Listens, publishes server.json and begins to load the core. One server a runtime folder: where
 * another runs, an error with its pid and port. */
SundogServer *sundog_server_start(const SundogServerOptions *options, GError **error);
/* Ends in bounded time: no new requests, running ones have drain_ms, then the engine is ended. */
void sundog_server_stop(SundogServer *server, unsigned drain_ms);
/* Frees at once; an engine that still runs is killed. */
void sundog_server_free(SundogServer *server);

unsigned sundog_server_get_port(const SundogServer *server);
const char *sundog_server_get_address(const SundogServer *server);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogServer, sundog_server_free)
