#pragma once

/* The versions of the chat file and the way from each to the next. */

#include <glib.h>
#include <sqlite3.h>
#include <stdbool.h>

/* Brings an open database to SUNDOG_CHAT_STORE_VERSION; `path` is where it lies, for the copy that is
 * made before an older one is changed. */
bool sundog_chat_schema_migrate(sqlite3 *database, const char *path, GError **error);
