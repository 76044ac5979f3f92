#pragma once

/* Open files: the few things that the containers do with them. Private to the format house. */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

/* Sets SUNDOG_FORMAT_ERROR_IO from errno: "cannot DOING PATH: reason". Returns false. */
bool sundog_file_fail(GError **error, const char *doing, const char *path);
/* Maps a regular file whole and read-only; anything else is an error. The descriptor stays open. */
GBytes *sundog_file_map(int fd, const char *path, GError **error);
/* Writes everything, however much the system takes at once. */
bool sundog_file_write_all(int fd, const void *data, size_t n_bytes, const char *path,
                           GError **error);
/* Closes in any case; false where the bytes may not have reached the disk. */
bool sundog_file_sync_and_close(int fd, const char *path, GError **error);
