/* Opening an installed package and reading its members. */

#include "engine/format/package.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include "engine/format/package-folder.h"
#include "engine/format/package-private.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Reads a small file whole, into memory of our own: what is verified must be what is parsed. */
static GBytes *
read_file(int root, const char *path, uint64_t max_bytes, GError **error)
{
    uint64_t n_bytes;
    int fd = sundog_package_open_file(root, path, &n_bytes, error);
    if (fd < 0)
        return NULL;
    g_autoptr(GBytes) bytes = NULL;
    if (n_bytes > max_bytes) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s has %" G_GUINT64_FORMAT " bytes, expected at most %" G_GUINT64_FORMAT, path,
                    n_bytes, max_bytes);
    } else {
        uint8_t *data = g_malloc(n_bytes);
        ssize_t n = pread(fd, data, n_bytes, 0);
        bytes = g_bytes_new_take(data, n_bytes);
        if (n != (ssize_t)n_bytes) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "cannot read %s: %s",
                        path, n < 0 ? g_strerror(errno) : "it became shorter");
            g_clear_pointer(&bytes, g_bytes_unref);
        }
    }
    close(fd);
    return g_steal_pointer(&bytes);
}

static bool
read_signature(SundogPackage *package, GError **error)
{
    g_autoptr(GBytes) bytes =
        read_file(package->root, SUNDOG_PACKAGE_SIGNATURE, SUNDOG_SIGNATURE_BYTES, error);
    if (bytes == NULL)
        return false;
    if (g_bytes_get_size(bytes) != SUNDOG_SIGNATURE_BYTES) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_SIGNATURE,
                    "the signature has %zu bytes, expected %d", g_bytes_get_size(bytes),
                    SUNDOG_SIGNATURE_BYTES);
        return false;
    }
    memcpy(package->signature, g_bytes_get_data(bytes, NULL), SUNDOG_SIGNATURE_BYTES);
    return true;
}

static bool
check_signature(const SundogPackage *package, const SundogKeyring *keyring, GError **error)
{
    size_t n_bytes;
    const void *text = g_bytes_get_data(package->manifest_text, &n_bytes);
    if (keyring == NULL || sundog_keyring_verify(keyring, text, n_bytes, package->signature))
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_SIGNATURE,
                SUNDOG_PACKAGE_MANIFEST " is not signed by a trusted key, or was changed since: "
                                        "prepare the core again, or add its publisher's key");
    return false;
}

static bool
fail_size(const char *path, uint64_t n_bytes, uint64_t n_expected, GError **error)
{
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_TRUNCATED,
                "%s has %" G_GUINT64_FORMAT " bytes, expected %" G_GUINT64_FORMAT, path, n_bytes,
                n_expected);
    return false;
}

static bool
check_sizes(const SundogPackage *package, GError **error)
{
    for (guint i = 0; i < package->manifest->members->len; i++) {
        const SundogMember *member = package->manifest->members->pdata[i];
        uint64_t n_bytes;
        int fd = sundog_package_open_file(package->root, member->path, &n_bytes, error);
        if (fd < 0)
            return false;
        close(fd);
        if (n_bytes != member->n_bytes)
            return fail_size(member->path, n_bytes, member->n_bytes, error);
    }
    return true;
}

static bool
read_package(SundogPackage *package, const SundogKeyring *keyring, GError **error)
{
    package->root = sundog_package_open_folder(package->path, error);
    if (package->root < 0)
        return false;
    package->manifest_text =
        read_file(package->root, SUNDOG_PACKAGE_MANIFEST, SUNDOG_MANIFEST_MAX_BYTES, error);
    /* Nothing is parsed before its signature is found good. */
    if (package->manifest_text == NULL || !read_signature(package, error) ||
        !check_signature(package, keyring, error))
        return false;
    size_t n_bytes;
    const char *text = g_bytes_get_data(package->manifest_text, &n_bytes);
    package->manifest = sundog_manifest_parse(text, n_bytes, error);
    return package->manifest != NULL && check_sizes(package, error);
}

static SundogPackage *
open_package(const char *folder, const SundogKeyring *keyring, GError **error)
{
    g_autoptr(SundogPackage) package = g_new0(SundogPackage, 1);
    package->path = g_strdup(folder);
    if (read_package(package, keyring, error))
        return g_steal_pointer(&package);
    g_prefix_error(error, "%s: ", folder);
    return NULL;
}

SundogPackage *
sundog_package_open(const char *folder, const SundogKeyring *keyring, GError **error)
{
    g_return_val_if_fail(folder != NULL && keyring != NULL, NULL);
    return open_package(folder, keyring, error);
}

SundogPackage *
sundog_package_open_unchecked(const char *folder, GError **error)
{
    return open_package(folder, NULL, error);
}

void
sundog_package_free(SundogPackage *package)
{
    if (package == NULL)
        return;
    sundog_manifest_free(package->manifest);
    g_clear_pointer(&package->manifest_text, g_bytes_unref);
    if (package->root >= 0)
        close(package->root);
    g_free(package->path);
    g_free(package);
}

const char *
sundog_package_get_path(const SundogPackage *package)
{
    return package->path;
}

JsonObject *
sundog_package_get_manifest(const SundogPackage *package)
{
    return json_node_get_object(package->manifest->root);
}

uint64_t
sundog_package_get_bytes(const SundogPackage *package)
{
    return package->manifest->total_bytes + g_bytes_get_size(package->manifest_text) +
           SUNDOG_SIGNATURE_BYTES;
}

int
sundog_package_open_member(const SundogPackage *package, const char *path, GError **error)
{
    const SundogMember *member = g_hash_table_lookup(package->manifest->by_path, path);
    if (member == NULL) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s: the manifest names no member %s", package->path, path);
        return -1;
    }
    uint64_t n_bytes;
    int fd = sundog_package_open_file(package->root, path, &n_bytes, error);
    if (fd >= 0 && n_bytes == member->n_bytes)
        return fd;
    if (fd >= 0) {
        close(fd);
        fail_size(path, n_bytes, member->n_bytes, error);
    }
    g_prefix_error(error, "%s: ", package->path);
    return -1;
}

GBytes *
sundog_package_dup_member(const SundogPackage *package, const char *path, GError **error)
{
    int fd = sundog_package_open_member(package, path, error);
    if (fd < 0)
        return NULL;
    GBytes *bytes = sundog_file_map(fd, path, error);
    close(fd);
    return bytes;
}
