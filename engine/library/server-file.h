#pragma once

/*
 * How app and command line find the server: server.json in the runtime folder (mode 0600, written
 * beside and renamed, removed at the end), and a lock that the kernel gives back when the server ends,
 * however it ends: who holds it is the one server of the folder.
 *   {"pid", "port", "address", "key_file", "stamp", "version", "started"}
 */

#include <json-glib/json-glib.h>
#include <stdbool.h>

typedef struct SundogServerFile SundogServerFile;

/* Where another server has the folder, an error that gives its pid and port. */
SundogServerFile *sundog_server_file_take(GError **error);
bool sundog_server_file_publish(SundogServerFile *file, const char *address, unsigned port,
                                bool has_key, const char *started, GError **error);
/* Removes server.json and gives the lock back. */
void sundog_server_file_release(SundogServerFile *file);

/* What a server started now would publish as "stamp": a hash of the path, time and size of the program
 * `sundog` beside the running one, and of the settings' text. Owned by the caller. */
char *sundog_server_file_dup_stamp(void);
/* The published file of a server that runs, for clients; NULL where none runs. Owned by the caller. */
JsonObject *sundog_server_file_read(void);
