#pragma once

/* Where the running server is reached, out of what it published in `server.json`. Any thread. */

#include <glib.h>

typedef struct {
    int pid;
    char *url;   /* "http://127.0.0.1:7410" */
    char *key;   /* NULL where it needs none */
    char *stamp; /* of its program and settings */
} SundogServerAddress;

/* NULL where no server runs, or its file says nonsense. */
SundogServerAddress *sundog_server_address_read(void);
void sundog_server_address_free(SundogServerAddress *address);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogServerAddress, sundog_server_address_free)
