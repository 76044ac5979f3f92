/* The lock of a model's one writer. */

#include "engine/library/pull-lock.h"

#include "engine/library/library.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct SundogPullLock {
    int fd;
    char *path;
};

static bool
is_same_file(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static SundogPullLock *
fail(const char *path, const char *name, int reason, GError **error)
{
    if (reason == EWOULDBLOCK)
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_BUSY,
                    "The model %s is being fetched or removed by another job", name);
    else
        g_set_error(error, SUNDOG_LIBRARY_ERROR,
                    reason == ENOSPC ? SUNDOG_LIBRARY_ERROR_NO_SPACE : SUNDOG_LIBRARY_ERROR_IO,
                    "The lock %s cannot be made: %s", path, g_strerror(reason));
    return NULL;
}

SundogPullLock *
sundog_pull_lock_take(const char *name, GError **error)
{
    g_autofree char *file = g_strdup_printf(".%s.lock", name);
    g_autofree char *path = g_build_filename(sundog_paths_get_models(), file, NULL);
    /* The holder removes the file before it lets go, so what was opened may be gone by the time it is
     * locked; then the lock of the new file counts. */
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return fail(path, name, errno, error);
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            int reason = errno;
            close(fd);
            return fail(path, name, reason, error);
        }
        if (is_same_file(fd, path)) {
            SundogPullLock *lock = g_new0(SundogPullLock, 1);
            lock->fd = fd;
            lock->path = g_steal_pointer(&path);
            return lock;
        }
        close(fd);
    }
}

void
sundog_pull_lock_release(SundogPullLock *lock)
{
    if (!lock)
        return;
    unlink(lock->path);
    close(lock->fd);
    g_free(lock->path);
    g_free(lock);
}
