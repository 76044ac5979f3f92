#pragma once

/* What a running server publishes about itself in `server.json`. Any thread. */

#include <gio/gio.h>
#include <stdbool.h>

typedef struct {
    int pid;
    char *address; /* "http://127.0.0.1:7410" */
    char *key;     /* read from its key file; NULL where it has none */
    char *stamp;
    char *version;
} SundogServerFile;

/* NULL with an error where there is none or it says nonsense. */
SundogServerFile *sundog_server_file_read(const char *path, GError **error);
void sundog_server_file_free(SundogServerFile *file);
/* Whether its process still lives. */
bool sundog_server_file_is_alive(const SundogServerFile *file);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogServerFile, sundog_server_file_free)
