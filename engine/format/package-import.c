/*
 * Unpacking a `.core` file. libarchive only takes the container apart; every judgement is made here:
 * the manifest must stand first and the signature second, both good before a third entry is looked
 * at; then every entry must be a plain file, named exactly as a member that was not seen yet and
 * exactly of its size, and each segment is compared with its hash before more is read. Anything else
 * ends the import, so a bomb costs at most one segment beyond what was signed for.
 */

#include "engine/format/package.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include "engine/format/package-folder.h"
#include "engine/format/package-private.h"
#include "engine/format/segment-hash.h"
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BLOCK_BYTES (64 * 1024)
#define CHUNK_BYTES (256 * 1024)
/* 128 MiB: what zstd itself asks for at its strongest ordinary level, and its decoder's default. */
#define MAX_WINDOW_LOG 27

typedef struct {
    struct archive *archive;
    const SundogKeyring *keyring;
    SundogNewFolder folder;
    GBytes *manifest_text;
    uint8_t signature[SUNDOG_SIGNATURE_BYTES];
    SundogManifest *manifest;
    GHashTable *seen; /* members, borrowed from the manifest */
} Import;

#define fail(error, code, ...) sundog_error_set(error, SUNDOG_FORMAT_ERROR, code, __VA_ARGS__)

static bool
fail_archive(const Import *import, GError **error)
{
    const char *text = archive_error_string(import->archive);
    g_autofree char *shown = sundog_format_quote(text, "it ends early");
    return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "the archive cannot be read: %s", shown);
}

/* --- The container ------------------------------------------------------------------------------ */

/* The window that a zstd frame asks its reader to keep (RFC 8878, 3.1.1.1). */
static bool
check_window(const uint8_t *frame, size_t n_bytes, GError **error)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (n_bytes < 6 || memcmp(frame, magic, sizeof magic) != 0)
        return true;
    bool is_single_segment = frame[4] & 0x20;
    unsigned window_log = 10 + (frame[5] >> 3);
    if (is_single_segment || window_log <= MAX_WINDOW_LOG)
        return true;
    return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                "the archive asks for a window of 2^%u bytes, expected at most 2^%d", window_log,
                MAX_WINDOW_LOG);
}

static bool
check_file(int fd, const char *file, GError **error)
{
    struct stat status;
    uint8_t head[16];
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return fail(error, SUNDOG_FORMAT_ERROR_IO, "%s is not a regular file", file);
    ssize_t n = pread(fd, head, sizeof head, 0);
    if (n < 0)
        return sundog_file_fail(error, "read", file);
    return check_window(head, (size_t)n, error);
}

static bool
open_archive(Import *import, int fd, GError **error)
{
    import->archive = archive_read_new();
    archive_read_support_format_tar(import->archive);
    /* Any other answer would mean that an outside program is to be run. */
    if (archive_read_support_filter_zstd(import->archive) != ARCHIVE_OK)
        return fail(error, SUNDOG_FORMAT_ERROR_UNSUPPORTED, "this libarchive cannot read zstd");
    return archive_read_open_fd(import->archive, fd, BLOCK_BYTES) == ARCHIVE_OK ||
           fail_archive(import, error);
}

/* --- Entries ------------------------------------------------------------------------------------ */

static bool
check_entry(struct archive_entry *entry, const char *path, GError **error)
{
    if (archive_entry_hardlink(entry) != NULL || archive_entry_symlink(entry) != NULL)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "%s is a link", path);
    if (archive_entry_filetype(entry) != AE_IFREG)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "%s is not a regular file", path);
    if (archive_entry_sparse_count(entry) > 0)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "%s has holes", path);
    if (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "%s has no size", path);
    return true;
}

/* The next entry's header; *path is NULL at the end. Borrowed until the next call. */
static bool
read_header(Import *import, const char **path, uint64_t *n_bytes, GError **error)
{
    struct archive_entry *entry;
    *path = NULL;
    int status = archive_read_next_header(import->archive, &entry);
    if (status == ARCHIVE_EOF)
        return true;
    if (status != ARCHIVE_OK)
        return fail_archive(import, error);
    /* One filter at most, and the end of the chain: frames within frames multiply without bound. */
    if (archive_filter_count(import->archive) > 2)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "the archive is compressed twice");
    const char *name = archive_entry_pathname(entry);
    if (name == NULL)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "an entry has no readable name");
    g_autofree char *shown = sundog_format_quote(name, "");
    if (!check_entry(entry, shown, error))
        return false;
    *path = name;
    *n_bytes = (uint64_t)archive_entry_size(entry);
    return true;
}

/* An entry that must stand here under this name, whole in memory. */
static GBytes *
read_small(Import *import, const char *expected, uint64_t max_bytes, GError **error)
{
    const char *path;
    uint64_t n_bytes;
    if (!read_header(import, &path, &n_bytes, error))
        return NULL;
    if (g_strcmp0(path, expected) != 0) {
        g_autofree char *shown = sundog_format_quote(path, "nothing");
        fail(error, SUNDOG_FORMAT_ERROR_INVALID, "%s found in the archive, expected \"%s\"", shown,
             expected);
        return NULL;
    }
    if (n_bytes > max_bytes) {
        fail(error, SUNDOG_FORMAT_ERROR_INVALID,
             "%s has %" G_GUINT64_FORMAT " bytes, expected at most %" G_GUINT64_FORMAT, expected,
             n_bytes, max_bytes);
        return NULL;
    }
    uint8_t *data = g_malloc(n_bytes);
    la_ssize_t n = archive_read_data(import->archive, data, n_bytes);
    g_autoptr(GBytes) bytes = g_bytes_new_take(data, n_bytes);
    if (n == (la_ssize_t)n_bytes)
        return g_steal_pointer(&bytes);
    fail_archive(import, error);
    return NULL;
}

static bool
read_manifest(Import *import, GError **error)
{
    import->manifest_text =
        read_small(import, SUNDOG_PACKAGE_MANIFEST, SUNDOG_MANIFEST_MAX_BYTES, error);
    if (import->manifest_text == NULL)
        return false;
    g_autoptr(GBytes) signature =
        read_small(import, SUNDOG_PACKAGE_SIGNATURE, SUNDOG_SIGNATURE_BYTES, error);
    if (signature == NULL)
        return false;
    size_t n_bytes, n_signature_bytes;
    const void *text = g_bytes_get_data(import->manifest_text, &n_bytes);
    const void *bytes = g_bytes_get_data(signature, &n_signature_bytes);
    if (n_signature_bytes != SUNDOG_SIGNATURE_BYTES ||
        !sundog_keyring_verify(import->keyring, text, n_bytes, bytes))
        return fail(error, SUNDOG_FORMAT_ERROR_SIGNATURE,
                    SUNDOG_PACKAGE_MANIFEST " is not signed by a trusted key, or was changed "
                                            "since: add its publisher's key if you trust it");
    memcpy(import->signature, bytes, SUNDOG_SIGNATURE_BYTES);
    import->manifest = sundog_manifest_parse(text, n_bytes, error);
    return import->manifest != NULL;
}

/* Asked before the first byte is written rather than when the disk is full. */
static bool
check_space(const Import *import, GError **error)
{
    struct statvfs status;
    if (fstatvfs(import->folder.root, &status) != 0)
        return true;
    uint64_t n_free = (uint64_t)status.f_bavail * status.f_frsize;
    if (n_free >= import->manifest->total_bytes)
        return true;
    return fail(error, SUNDOG_FORMAT_ERROR_IO,
                "the core has %" G_GUINT64_FORMAT " bytes, %" G_GUINT64_FORMAT
                " are free beside %s",
                import->manifest->total_bytes, n_free, import->folder.target);
}

/* Compares the segments that were finished since *n_checked. */
static bool
check_hashes(const SundogMember *member, const SundogSegmentHash *hash, size_t *n_checked,
             GError **error)
{
    for (; *n_checked < hash->hashes->len / SUNDOG_HASH_BYTES; ++*n_checked) {
        size_t offset = *n_checked * SUNDOG_HASH_BYTES;
        if (memcmp(hash->hashes->data + offset, member->hashes + offset, SUNDOG_HASH_BYTES) != 0)
            return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                        "%s is damaged: segment %zu has another hash than the manifest says",
                        member->path, *n_checked);
    }
    return true;
}

static bool
copy_data(Import *import, int fd, const SundogMember *member, SundogSegmentHash *hash,
          GError **error)
{
    g_autofree uint8_t *chunk = g_malloc(CHUNK_BYTES);
    size_t n_checked = 0;
    while (hash->n_bytes < member->n_bytes) {
        size_t n_left = (size_t)MIN(CHUNK_BYTES, member->n_bytes - hash->n_bytes);
        la_ssize_t n = archive_read_data(import->archive, chunk, n_left);
        if (n <= 0)
            return fail_archive(import, error);
        sundog_segment_hash_append(hash, chunk, (size_t)n);
        if (!check_hashes(member, hash, &n_checked, error) ||
            !sundog_file_write_all(fd, chunk, (size_t)n, member->path, error))
            return false;
    }
    sundog_segment_hash_finish(hash);
    return check_hashes(member, hash, &n_checked, error);
}

static bool
extract_member(Import *import, const SundogMember *member, GError **error)
{
    int fd = sundog_package_create_file(import->folder.root, member->path, error);
    if (fd < 0)
        return false;
    SundogSegmentHash hash;
    sundog_segment_hash_init(&hash, member->segment_bytes);
    bool good = copy_data(import, fd, member, &hash, error);
    sundog_segment_hash_clear(&hash);
    if (good)
        return sundog_file_sync_and_close(fd, member->path, error);
    close(fd);
    return false;
}

static bool
take_entry(Import *import, const char *path, uint64_t n_bytes, GError **error)
{
    const SundogMember *member = g_hash_table_lookup(import->manifest->by_path, path);
    g_autofree char *shown = sundog_format_quote(path, "");
    if (member == NULL)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s found in the archive, which the manifest does not name", shown);
    if (!g_hash_table_add(import->seen, (gpointer)member))
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "%s stands twice in the archive", shown);
    if (n_bytes != member->n_bytes)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s has %" G_GUINT64_FORMAT " bytes, expected %" G_GUINT64_FORMAT, shown,
                    n_bytes, member->n_bytes);
    return extract_member(import, member, error);
}

static bool
check_complete(const Import *import, GError **error)
{
    for (guint i = 0; i < import->manifest->members->len; i++) {
        const SundogMember *member = import->manifest->members->pdata[i];
        if (!g_hash_table_contains(import->seen, member))
            return fail(error, SUNDOG_FORMAT_ERROR_TRUNCATED, "%s is missing in the archive",
                        member->path);
    }
    return true;
}

static bool
take_members(Import *import, GError **error)
{
    const char *path;
    uint64_t n_bytes;
    do {
        if (!read_header(import, &path, &n_bytes, error) ||
            (path != NULL && !take_entry(import, path, n_bytes, error)))
            return false;
    } while (path != NULL);
    return check_complete(import, error);
}

/* --- The whole ---------------------------------------------------------------------------------- */

static bool
import_into(Import *import, const char *folder, GError **error)
{
    if (!read_manifest(import, error) || !sundog_new_folder_init(&import->folder, folder, error))
        return false;
    size_t n_bytes;
    const void *text = g_bytes_get_data(import->manifest_text, &n_bytes);
    return check_space(import, error) && take_members(import, error) &&
           sundog_package_write_manifest(import->folder.root, text, n_bytes, import->signature,
                                         error) &&
           sundog_new_folder_publish(&import->folder, error);
}

static void
import_clear(Import *import)
{
    archive_read_free(import->archive);
    sundog_new_folder_clear(&import->folder);
    sundog_manifest_free(import->manifest);
    g_clear_pointer(&import->manifest_text, g_bytes_unref);
    g_hash_table_unref(import->seen);
}

bool
sundog_package_import(const char *file, const char *folder, const SundogKeyring *keyring,
                      GError **error)
{
    g_return_val_if_fail(file != NULL && folder != NULL && keyring != NULL, false);
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sundog_file_fail(error, "open", file);
    Import import = {
        .keyring = keyring,
        .folder.root = -1,
        .seen = g_hash_table_new(NULL, NULL),
    };
    bool good = check_file(fd, file, error) && open_archive(&import, fd, error) &&
                import_into(&import, folder, error);
    import_clear(&import);
    close(fd);
    if (!good)
        g_prefix_error(error, "%s: ", file);
    return good;
}
