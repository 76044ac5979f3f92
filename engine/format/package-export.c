/*
 * Packing an installed folder into a `.core` file: a tar of regular files, the manifest first, the
 * signature second, the members in the manifest's order. It is not compressed: quantized weights,
 * which are nearly all of it, do not get smaller. Times and owners are zero, so that equal cores make
 * equal files.
 */

#include "engine/format/package.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include "engine/format/package-folder.h"
#include "engine/format/package-private.h"
#include "engine/format/segment-hash.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNK_BYTES (256 * 1024)

static bool
fail_archive(struct archive *archive, const char *path, GError **error)
{
    const char *text = archive_error_string(archive);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "cannot write %s: %s", path,
                text != NULL ? text : g_strerror(archive_errno(archive)));
    return false;
}

static bool
write_header(struct archive *archive, const char *path, uint64_t n_bytes, GError **error)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, path);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)n_bytes);
    archive_entry_set_mtime(entry, 0, 0);
    int status = archive_write_header(archive, entry);
    archive_entry_free(entry);
    return status == ARCHIVE_OK || fail_archive(archive, path, error);
}

static bool
write_data(struct archive *archive, const char *path, const void *data, size_t n_bytes,
           GError **error)
{
    return archive_write_data(archive, data, n_bytes) == (la_ssize_t)n_bytes ||
           fail_archive(archive, path, error);
}

static bool
write_small(struct archive *archive, const char *path, const void *data, size_t n_bytes,
            GError **error)
{
    return write_header(archive, path, n_bytes, error) &&
           write_data(archive, path, data, n_bytes, error);
}

static bool
copy_member(struct archive *archive, int fd, const SundogMember *member, SundogSegmentHash *hash,
            GError **error)
{
    g_autofree uint8_t *chunk = g_malloc(CHUNK_BYTES);
    while (hash->n_bytes < member->n_bytes) {
        ssize_t n = read(fd, chunk, (size_t)MIN(CHUNK_BYTES, member->n_bytes - hash->n_bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "cannot read %s: %s",
                        member->path, n < 0 ? g_strerror(errno) : "it became shorter");
            return false;
        }
        sundog_segment_hash_append(hash, chunk, (size_t)n);
        if (!write_data(archive, member->path, chunk, (size_t)n, error))
            return false;
    }
    sundog_segment_hash_finish(hash);
    return true;
}

/* A damaged core is not handed on: what is copied is hashed on the way. */
static bool
write_member(struct archive *archive, const SundogPackage *package, const SundogMember *member,
             GError **error)
{
    uint64_t n_bytes;
    int fd = sundog_package_open_file(package->root, member->path, &n_bytes, error);
    if (fd < 0)
        return false;
    SundogSegmentHash hash;
    sundog_segment_hash_init(&hash, member->segment_bytes);
    bool good = write_header(archive, member->path, member->n_bytes, error) &&
                copy_member(archive, fd, member, &hash, error);
    close(fd);
    if (good && (hash.hashes->len != member->n_segments * SUNDOG_HASH_BYTES ||
                 (hash.hashes->len > 0 &&
                  memcmp(hash.hashes->data, member->hashes, hash.hashes->len) != 0))) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s is damaged: its hashes are not the manifest's", member->path);
        good = false;
    }
    sundog_segment_hash_clear(&hash);
    return good;
}

static bool
write_package(struct archive *archive, const SundogPackage *package, GError **error)
{
    size_t n_bytes;
    const void *text = g_bytes_get_data(package->manifest_text, &n_bytes);
    if (!write_small(archive, SUNDOG_PACKAGE_MANIFEST, text, n_bytes, error) ||
        !write_small(archive, SUNDOG_PACKAGE_SIGNATURE, package->signature, SUNDOG_SIGNATURE_BYTES,
                     error))
        return false;
    for (guint i = 0; i < package->manifest->members->len; i++)
        if (!write_member(archive, package, package->manifest->members->pdata[i], error))
            return false;
    return true;
}

static bool
write_archive(int fd, const SundogPackage *package, GError **error)
{
    struct archive *archive = archive_write_new();
    archive_write_set_format_pax_restricted(archive);
    bool written =
        (archive_write_open_fd(archive, fd) == ARCHIVE_OK ||
         fail_archive(archive, "the archive", error)) &&
        write_package(archive, package, error) &&
        (archive_write_close(archive) == ARCHIVE_OK || fail_archive(archive, "the archive", error));
    archive_write_free(archive);
    return written;
}

bool
sundog_package_export(const char *folder, const char *file, GError **error)
{
    g_autoptr(SundogPackage) package = sundog_package_open_unchecked(folder, error);
    if (package == NULL)
        return false;
    g_autofree char *temporary = g_strconcat(file, ".part-XXXXXX", NULL);
    int fd = g_mkstemp_full(temporary, O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0)
        return sundog_file_fail(error, "make", temporary);
    bool written = write_archive(fd, package, error);
    written = written ? sundog_file_sync_and_close(fd, temporary, error) : (close(fd), false);
    if (written && g_rename(temporary, file) == 0)
        return true;
    if (written)
        sundog_file_fail(error, "rename to", file);
    g_unlink(temporary);
    return false;
}
