/* Writing a package: members in turn, hashed while they are written, then manifest, signature and
 * one rename. */

#include "engine/format/package.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include "engine/format/json.h"
#include "engine/format/package-folder.h"
#include "engine/format/package-private.h"
#include "engine/format/segment-hash.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Small enough to fetch again alone, large enough that hashes stay a millionth of the bytes. */
#define SEGMENT_BYTES (8u << 20)

struct SundogPackageWriter {
    SundogNewFolder folder;
    GPtrArray *members;     /* SundogMember, finished ones */
    SundogMember *open;     /* being written, or NULL */
    SundogSegmentHash hash; /* of the open member */
    int fd;                 /* of the open member */
};

SundogPackageWriter *
sundog_package_writer_new(const char *folder, GError **error)
{
    g_return_val_if_fail(folder != NULL, NULL);
    g_autoptr(SundogPackageWriter) writer = g_new0(SundogPackageWriter, 1);
    writer->fd = -1;
    writer->members = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_member_free);
    return sundog_new_folder_init(&writer->folder, folder, error) ? g_steal_pointer(&writer) : NULL;
}

bool
sundog_package_writer_begin(SundogPackageWriter *writer, const char *path, GError **error)
{
    g_return_val_if_fail(writer->open == NULL, false);
    if (!sundog_package_check_path(path, error))
        return false;
    writer->fd = sundog_package_create_file(writer->folder.root, path, error);
    if (writer->fd < 0)
        return false;
    writer->open = g_new0(SundogMember, 1);
    writer->open->path = g_strdup(path);
    writer->open->segment_bytes = SEGMENT_BYTES;
    sundog_segment_hash_init(&writer->hash, SEGMENT_BYTES);
    return true;
}

bool
sundog_package_writer_append(SundogPackageWriter *writer, const void *data, size_t n_bytes,
                             GError **error)
{
    g_return_val_if_fail(writer->open != NULL, false);
    sundog_segment_hash_append(&writer->hash, data, n_bytes);
    return sundog_file_write_all(writer->fd, data, n_bytes, writer->open->path, error);
}

bool
sundog_package_writer_append_hole(SundogPackageWriter *writer, uint64_t n_bytes, GError **error)
{
    g_return_val_if_fail(writer->open != NULL && writer->hash.n_bytes == 0, false);
    sundog_segment_hash_append_zeros(&writer->hash, n_bytes);
    if (ftruncate(writer->fd, (off_t)n_bytes) == 0 &&
        lseek(writer->fd, (off_t)n_bytes, SEEK_SET) >= 0)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "%s: %s", writer->open->path,
                g_strerror(errno));
    return false;
}

bool
sundog_package_writer_end(SundogPackageWriter *writer, GError **error)
{
    g_return_val_if_fail(writer->open != NULL, false);
    SundogMember *member = g_steal_pointer(&writer->open);
    sundog_segment_hash_finish(&writer->hash);
    member->n_bytes = writer->hash.n_bytes;
    member->n_segments = writer->hash.hashes->len / SUNDOG_HASH_BYTES;
    member->hashes = g_byte_array_free(g_steal_pointer(&writer->hash.hashes), FALSE);
    g_ptr_array_add(writer->members, member);
    int fd = writer->fd;
    writer->fd = -1;
    return sundog_file_sync_and_close(fd, member->path, error);
}

static bool
write_file(int root, const char *path, const void *data, size_t n_bytes, GError **error)
{
    int fd = sundog_package_create_file(root, path, error);
    if (fd < 0)
        return false;
    bool written = sundog_file_write_all(fd, data, n_bytes, path, error);
    if (!written) {
        close(fd);
        return false;
    }
    return sundog_file_sync_and_close(fd, path, error);
}

bool
sundog_package_write_manifest(int root, const void *text, size_t n_bytes,
                              const uint8_t signature[SUNDOG_SIGNATURE_BYTES], GError **error)
{
    return write_file(root, SUNDOG_PACKAGE_MANIFEST, text, n_bytes, error) &&
           write_file(root, SUNDOG_PACKAGE_SIGNATURE, signature, SUNDOG_SIGNATURE_BYTES, error);
}

bool
sundog_package_writer_finish(SundogPackageWriter *writer, JsonObject *manifest,
                             const SundogKeyring *keyring, GError **error)
{
    g_return_val_if_fail(writer->open == NULL, false);
    json_object_set_int_member(manifest, "format", SUNDOG_PACKAGE_FORMAT);
    json_object_set_array_member(manifest, "members", sundog_members_dup_json(writer->members));
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), manifest);
    g_autofree char *text = sundog_json_print(node, true);
    size_t n_bytes = strlen(text);
    if (n_bytes > SUNDOG_MANIFEST_MAX_BYTES) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "the manifest has %zu bytes, expected at most %u", n_bytes,
                    SUNDOG_MANIFEST_MAX_BYTES);
        return false;
    }
    uint8_t signature[SUNDOG_SIGNATURE_BYTES];
    sundog_keyring_sign(keyring, text, n_bytes, signature);
    return sundog_package_write_manifest(writer->folder.root, text, n_bytes, signature, error) &&
           sundog_new_folder_publish(&writer->folder, error);
}

void
sundog_package_writer_free(SundogPackageWriter *writer)
{
    if (writer == NULL)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    sundog_segment_hash_clear(&writer->hash);
    sundog_member_free(writer->open);
    g_ptr_array_unref(writer->members);
    sundog_new_folder_clear(&writer->folder);
    g_free(writer);
}
