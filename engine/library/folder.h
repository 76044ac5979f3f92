#pragma once

/* Folders of the library as trees of files: their size and their removal, without following links. */

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes of all regular files below path; 0 where it is not there. A link counts as nothing, since
 * nothing comes back when it goes. */
uint64_t sundog_folder_get_bytes(const char *path);
/* Removes path and all below it; goes on past failures and reports the first. True only if nothing
 * is left. *n_bytes, where wanted, is what was removed. */
bool sundog_folder_remove(const char *path, uint64_t *n_bytes, GError **error);
/* Makes renames and new names in the folder durable. */
void sundog_folder_sync(const char *path);
/* Names in the folder, sorted, without hidden ones; owned by the caller. NULL and an error of
 * G_FILE_ERROR where it cannot be read. */
GPtrArray *sundog_folder_list(const char *path, GError **error);
