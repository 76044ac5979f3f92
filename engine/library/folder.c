/* Folders of the library: size, removal, listing. */

#include "engine/library/folder.h"

#include "engine/library/library.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors that a walk keeps open; deeper trees are walked all the same, only slower. */
#define WALK_DESCRIPTORS 16

/* nftw() hands no user data on. Walks are short and each thread has its own. */
static _Thread_local struct {
    uint64_t n_bytes;
    int first_errno;
    char *first_path;
} walk;

static int
count_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    if (kind == FTW_F && S_ISREG(status->st_mode))
        walk.n_bytes += (uint64_t)status->st_size;
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    if (remove(path) == 0) {
        /* Another name of the same file keeps its bytes. */
        if (kind == FTW_F && S_ISREG(status->st_mode) && status->st_nlink == 1)
            walk.n_bytes += (uint64_t)status->st_size;
    } else if (!walk.first_errno) {
        walk.first_errno = errno;
        walk.first_path = g_strdup(path);
    }
    return 0;
}

uint64_t
sundog_folder_get_bytes(const char *path)
{
    walk.n_bytes = 0;
    nftw(path, count_one, WALK_DESCRIPTORS, FTW_PHYS);
    return walk.n_bytes;
}

bool
sundog_folder_remove(const char *path, uint64_t *n_bytes, GError **error)
{
    walk.n_bytes = 0;
    walk.first_errno = 0;
    walk.first_path = NULL;
    nftw(path, remove_one, WALK_DESCRIPTORS, FTW_PHYS | FTW_DEPTH);
    g_autofree char *stuck = g_steal_pointer(&walk.first_path);
    if (n_bytes)
        *n_bytes = walk.n_bytes;
    struct stat status;
    if (lstat(path, &status) != 0 && errno == ENOENT)
        return true;
    int reason = walk.first_errno ? walk.first_errno : EBUSY;
    g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_IO, "%s cannot be removed: %s",
                stuck ? stuck : path, g_strerror(reason));
    return false;
}

void
sundog_folder_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *
sundog_folder_list(const char *path, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, error);
    if (!dir)
        return NULL;
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    while ((name = g_dir_read_name(dir)))
        if (name[0] != '.')
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    return names;
}
