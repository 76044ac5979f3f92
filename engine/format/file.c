/* Mapping, writing and syncing open files. */

#include "engine/format/file.h"

#include "engine/format/error.h"
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

bool
sundog_file_fail(GError **error, const char *doing, const char *path)
{
    int code = errno;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "cannot %s %s: %s", doing, path,
                g_strerror(code));
    return false;
}

GBytes *
sundog_file_map(int fd, const char *path, GError **error)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        sundog_file_fail(error, "look at", path);
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "%s is not a regular file",
                    path);
        return NULL;
    }
    g_autoptr(GError) local = NULL;
    g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(fd, FALSE, &local);
    if (mapped != NULL)
        return g_mapped_file_get_bytes(mapped);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "cannot map %s: %s", path,
                local->message);
    return NULL;
}

bool
sundog_file_write_all(int fd, const void *data, size_t n_bytes, const char *path, GError **error)
{
    const uint8_t *bytes = data;
    while (n_bytes > 0) {
        ssize_t n = write(fd, bytes, n_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sundog_file_fail(error, "write", path);
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

bool
sundog_file_sync_and_close(int fd, const char *path, GError **error)
{
    bool synced = fsync(fd) == 0 || sundog_file_fail(error, "sync", path);
    if (close(fd) != 0 && synced)
        return sundog_file_fail(error, "close", path);
    return synced;
}
