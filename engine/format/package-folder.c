/* Files beneath a package's folder. */

#include "engine/format/package-folder.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PATH_BYTES 255

static bool
is_path_char(char c)
{
    return g_ascii_isalnum(c) || c == '.' || c == '_' || c == '-' || c == '/';
}

static bool
is_good_part(const char *part, size_t length)
{
    return length > 0 && !(length == 1 && part[0] == '.') &&
           !(length == 2 && part[0] == '.' && part[1] == '.');
}

static bool
is_good_path(const char *path)
{
    for (const char *c = path; *c != '\0'; c++)
        if (!is_path_char(*c))
            return false;
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (!is_good_part(part, length))
            return false;
        part += length;
        if (*part == '\0')
            return (size_t)(part - path) <= MAX_PATH_BYTES;
    }
}

bool
sundog_package_check_path(const char *path, GError **error)
{
    if (strlen(path) <= MAX_PATH_BYTES && is_good_path(path) &&
        strcmp(path, SUNDOG_PACKAGE_MANIFEST) != 0 && strcmp(path, SUNDOG_PACKAGE_SIGNATURE) != 0)
        return true;
    g_autofree char *shown = sundog_format_quote(path, "");
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "the path %s is not allowed: a relative path of letters, digits, '.', '_', "
                "'-' and '/' is expected, without \".\" or \"..\", of up to %d bytes",
                shown, MAX_PATH_BYTES);
    return false;
}

int
sundog_package_open_folder(const char *folder, GError **error)
{
    int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        sundog_file_fail(error, "open the folder", folder);
    return root;
}

/* Opens the folder that holds path's last part, which is returned in *name. Each step refuses a
 * link, so that no part of the way can lead elsewhere. */
static int
open_parent(int root, const char *path, bool make, const char **name)
{
    int parent = fcntl(root, F_DUPFD_CLOEXEC, 0);
    *name = path;
    for (const char *slash; parent >= 0 && (slash = strchr(*name, '/')) != NULL;
         *name = slash + 1) {
        g_autofree char *part = g_strndup(*name, (size_t)(slash - *name));
        if (make && mkdirat(parent, part, 0777) != 0 && errno != EEXIST) {
            close(parent);
            return -1;
        }
        int child = openat(parent, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int code = errno;
        close(parent);
        errno = code;
        parent = child;
    }
    return parent;
}

static int
open_beneath(int root, const char *path, int flags, bool make)
{
    const char *name;
    int parent = open_parent(root, path, make, &name);
    if (parent < 0)
        return -1;
    int fd = openat(parent, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    int code = errno;
    close(parent);
    errno = code;
    return fd;
}

int
sundog_package_open_file(int root, const char *path, uint64_t *n_bytes, GError **error)
{
    struct stat status;
    int fd = open_beneath(root, path, O_RDONLY, false);
    if (fd < 0) {
        sundog_file_fail(error, "open", path);
        return -1;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        *n_bytes = (uint64_t)status.st_size;
        return fd;
    }
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "%s is not a regular file",
                path);
    close(fd);
    return -1;
}

int
sundog_package_create_file(int root, const char *path, GError **error)
{
    int fd = open_beneath(root, path, O_WRONLY | O_CREAT | O_EXCL, true);
    if (fd < 0)
        sundog_file_fail(error, "make", path);
    return fd;
}
