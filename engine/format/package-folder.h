#pragma once

/*
 * Files beneath a package's folder: names that cannot lead out of it, opens that follow no link,
 * and a new folder that appears under its name whole or not at all. Private to the format house.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_PACKAGE_MANIFEST "core.json"
#define SUNDOG_PACKAGE_SIGNATURE "signature"

/* Whether a member may have this path: letters, digits, '.', '_', '-' and '/', each part neither
 * empty nor "." nor "..", and neither the manifest nor the signature. */
bool sundog_package_check_path(const char *path, GError **error);

/* Opens a folder, itself no link to be followed later; -1 on failure. */
int sundog_package_open_folder(const char *folder, GError **error);
/* Opens a regular file beneath `root` for reading, through no link; its size goes to *n_bytes. */
int sundog_package_open_file(int root, const char *path, uint64_t *n_bytes, GError **error);
/* Makes a file that must not be there yet, with its folders; open for writing. */
int sundog_package_create_file(int root, const char *path, GError **error);
/* A new folder beside its final place, hidden, locked while its maker lives. */
typedef struct {
    char *target;    /* absolute, links resolved where it exists */
    char *temporary; /* NULL once published or removed */
    int root;
} SundogNewFolder;

/* Makes it, after removing what makers that died left behind. Refuses a target that exists and is
 * not a package or an empty folder, since publishing replaces it. */
bool sundog_new_folder_init(SundogNewFolder *folder, const char *target, GError **error);
/* Syncs and renames, exchanging with an old package, which is then removed. */
bool sundog_new_folder_publish(SundogNewFolder *folder, GError **error);
/* Removes the folder unless it was published. */
void sundog_new_folder_clear(SundogNewFolder *folder);
