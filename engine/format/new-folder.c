/*
 * A folder that appears whole or not at all. It is filled under a hidden name beside its place,
 * ".NAME.part-XXXXXX", and its maker holds a lock on it: a crash at any instruction leaves the old
 * package or the new one, and a folder whose lock is free is a dead maker's and may be removed.
 */

#include "engine/format/package-folder.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANDOM_PART "XXXXXX" /* as g_mkdtemp() fills in */

static bool
is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Calls visit for each entry of an open folder, which stays open. Stops at the first false. */
static bool
visit_entries(int folder, bool (*visit)(int folder, const char *name, void *data), void *data)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (dir == NULL) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool all = true;
    for (struct dirent *entry; all && (entry = readdir(dir)) != NULL;)
        all = is_dot(entry->d_name) || visit(folder, entry->d_name, data);
    closedir(dir);
    return all;
}

/* Removes an entry with all beneath it; a link is removed, never followed. */
static bool
remove_entry(int parent, const char *name, void *data)
{
    if (unlinkat(parent, name, 0) == 0)
        return true;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return false;
    bool emptied = visit_entries(folder, remove_entry, data);
    close(folder);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 && emptied;
}

static bool
sync_entry(int parent, const char *name, void *data)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOTDIR;
    bool synced = visit_entries(folder, sync_entry, data) && fsync(folder) == 0;
    close(folder);
    return synced;
}

static bool
is_any_entry(int folder, const char *name, void *data)
{
    return false;
}

/* What may be replaced: nothing, an empty folder, or what looks like a package even where damaged.
 * Anything else is a person's own, reached by a mistyped path. */
static bool
check_replaceable(const char *target, GError **error)
{
    struct stat status;
    if (lstat(target, &status) != 0 && errno == ENOENT)
        return true;
    int root = sundog_package_open_folder(target, error);
    if (root < 0)
        return false;
    bool is_empty = visit_entries(root, is_any_entry, NULL);
    bool is_package = faccessat(root, SUNDOG_PACKAGE_MANIFEST, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
                      faccessat(root, SUNDOG_PACKAGE_SIGNATURE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    close(root);
    if (!is_empty && !is_package)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s is a folder with other content, not a core: it is not replaced", target);
    return is_empty || is_package;
}

static void
remove_tree(const char *path)
{
    remove_entry(AT_FDCWD, path, NULL);
}

static char *
dup_prefix(const char *target)
{
    g_autofree char *base = g_path_get_basename(target);
    return g_strdup_printf(".%s.part-", base);
}

static void
remove_if_abandoned(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        remove_tree(path);
    close(fd);
}

static void
remove_abandoned(const char *parent, const char *target)
{
    g_autofree char *prefix = dup_prefix(target);
    g_autoptr(GDir) dir = g_dir_open(parent, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = g_build_filename(parent, name, NULL);
        if (g_str_has_prefix(name, prefix) && strlen(name) == strlen(prefix) + strlen(RANDOM_PART))
            remove_if_abandoned(path);
    }
}

static char *
dup_target(const char *target)
{
    char *resolved = realpath(target, NULL);
    char *copy = resolved != NULL ? g_strdup(resolved) : g_canonicalize_filename(target, NULL);
    free(resolved);
    return copy;
}

/* Between making the folder and locking it, another maker may take it for abandoned: then the lock
 * is on a folder without a name, and one tries again. */
static bool
make_locked(SundogNewFolder *folder, const char *parent, GError **error)
{
    g_autofree char *prefix = dup_prefix(folder->target);
    for (;;) {
        struct stat held, named;
        g_autofree char *path = g_strdup_printf("%s/%s" RANDOM_PART, parent, prefix);
        if (g_mkdtemp_full(path, 0777) == NULL)
            return sundog_file_fail(error, "make a folder in", parent);
        int root = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (root >= 0 && flock(root, LOCK_EX | LOCK_NB) == 0 && fstat(root, &held) == 0 &&
            lstat(path, &named) == 0 && held.st_ino == named.st_ino) {
            folder->temporary = g_steal_pointer(&path);
            folder->root = root;
            return true;
        }
        int code = errno;
        if (root >= 0)
            close(root);
        if (root < 0 && code != ENOENT) {
            errno = code;
            return sundog_file_fail(error, "open", path);
        }
    }
}

bool
sundog_new_folder_init(SundogNewFolder *folder, const char *target, GError **error)
{
    *folder = (SundogNewFolder){.root = -1};
    folder->target = dup_target(target);
    g_autofree char *parent = g_path_get_dirname(folder->target);
    if (g_mkdir_with_parents(parent, 0777) != 0)
        return sundog_file_fail(error, "make the folder", parent);
    if (!check_replaceable(folder->target, error))
        return false;
    remove_abandoned(parent, folder->target);
    return make_locked(folder, parent, error);
}

/* After an exchange the old package lies under the temporary name. Where the file system cannot
 * exchange, the old one is set aside first: a crash between the two renames leaves both, hidden. */
static bool
rename_over(const SundogNewFolder *folder)
{
    const char *from = folder->temporary, *to = folder->target;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno == EEXIST && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    g_autofree char *aside = g_strconcat(from, ".old", NULL);
    if (rename(to, aside) != 0 && errno != ENOENT)
        return false;
    if (rename(from, to) != 0)
        return false;
    remove_tree(aside);
    return true;
}

bool
sundog_new_folder_publish(SundogNewFolder *folder, GError **error)
{
    g_autofree char *parent = g_path_get_dirname(folder->target);
    if (!visit_entries(folder->root, sync_entry, NULL) || fsync(folder->root) != 0)
        return sundog_file_fail(error, "sync", folder->temporary);
    if (!check_replaceable(folder->target, error))
        return false;
    if (!rename_over(folder))
        return sundog_file_fail(error, "rename to", folder->target);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    /* Only an exchanged old package is still there under this name. */
    remove_tree(folder->temporary);
    g_clear_pointer(&folder->temporary, g_free);
    return true;
}

void
sundog_new_folder_clear(SundogNewFolder *folder)
{
    if (folder->temporary != NULL)
        remove_tree(folder->temporary);
    if (folder->root >= 0)
        close(folder->root);
    folder->root = -1;
    g_clear_pointer(&folder->temporary, g_free);
    g_clear_pointer(&folder->target, g_free);
}
