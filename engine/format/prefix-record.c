/* One write and one read of a record, hashed on the way. */

#include "engine/format/prefix-record.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include "engine/format/writer.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#define MAGIC "SDPREFIX"
#define VERSION 1
/* Behind the magic, the version, both counts and the key. */
#define PARENT_AT (8 + 4 + 4 + 8 + SUNDOG_RECORD_HASH_BYTES)

G_STATIC_ASSERT(SUNDOG_RECORD_HASH_BYTES == crypto_generichash_BYTES);

void
sundog_prefix_record_get_name(const SundogPrefixRecord *record,
                              uint8_t name[SUNDOG_RECORD_HASH_BYTES])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, SUNDOG_RECORD_HASH_BYTES);
    crypto_generichash_update(&state, record->key, sizeof record->key);
    crypto_generichash_update(&state, record->parent, sizeof record->parent);
    for (uint32_t i = 0; i < record->n_tokens; i++) {
        uint32_t token = GUINT32_TO_LE(record->tokens[i]);
        crypto_generichash_update(&state, (const uint8_t *)&token, sizeof token);
    }
    crypto_generichash_final(&state, name, SUNDOG_RECORD_HASH_BYTES);
}

/* Everything before the state, which is known before the file is read. */
static GBytes *
make_head(const SundogPrefixRecord *record)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_bytes(&writer, MAGIC, strlen(MAGIC));
    sundog_writer_u32(&writer, VERSION);
    sundog_writer_u32(&writer, record->n_tokens);
    sundog_writer_u64(&writer, record->n_bytes);
    sundog_writer_bytes(&writer, record->key, sizeof record->key);
    sundog_writer_bytes(&writer, record->parent, sizeof record->parent);
    for (uint32_t i = 0; i < record->n_tokens; i++)
        sundog_writer_u32(&writer, record->tokens[i]);
    return sundog_writer_steal(&writer);
}

static void
make_hash(GBytes *head, const void *body, size_t n_bytes, uint8_t hash[SUNDOG_RECORD_HASH_BYTES])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, SUNDOG_RECORD_HASH_BYTES);
    crypto_generichash_update(&state, g_bytes_get_data(head, NULL), g_bytes_get_size(head));
    crypto_generichash_update(&state, body, n_bytes);
    crypto_generichash_final(&state, hash, SUNDOG_RECORD_HASH_BYTES);
}

static bool
write_parts(int fd, GBytes *head, const void *body, size_t n_bytes, const char *path,
            GError **error)
{
    uint8_t hash[SUNDOG_RECORD_HASH_BYTES];
    make_hash(head, body, n_bytes, hash);
    return sundog_file_write_all(fd, g_bytes_get_data(head, NULL), g_bytes_get_size(head), path,
                                 error) &&
           sundog_file_write_all(fd, body, n_bytes, path, error) &&
           sundog_file_write_all(fd, hash, sizeof hash, path, error);
}

bool
sundog_prefix_record_write(const SundogPrefixRecord *record, const void *state, const char *path,
                           GError **error)
{
    g_autoptr(GBytes) head = make_head(record);
    g_autofree char *beside = g_strdup_printf("%s.part-%d", path, (int)getpid());
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sundog_file_fail(error, "create", beside);
    bool ok = write_parts(fd, head, state, record->n_bytes, beside, error);
    if (close(fd) != 0 && ok)
        ok = sundog_file_fail(error, "write", beside);
    if (ok && rename(beside, path) != 0)
        ok = sundog_file_fail(error, "rename", beside);
    if (!ok)
        unlink(beside);
    return ok;
}

static bool
read_all(int fd, void *to, size_t n_bytes, const char *path, GError **error)
{
    for (size_t n_done = 0; n_done < n_bytes;) {
        ssize_t n = read(fd, (uint8_t *)to + n_done, n_bytes - n_done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sundog_file_fail(error, "read", path);
        if (n == 0) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_TRUNCATED,
                        "%s ends before its state does", path);
            return false;
        }
        n_done += (size_t)n;
    }
    return true;
}

static bool
read_parts(int fd, GBytes *head, void *state, size_t n_bytes, const char *path, GError **error)
{
    size_t n_head = g_bytes_get_size(head);
    uint8_t hash[SUNDOG_RECORD_HASH_BYTES], there[SUNDOG_RECORD_HASH_BYTES], after;
    g_autofree uint8_t *found = g_malloc(n_head);
    if (!read_all(fd, found, n_head, path, error) || !read_all(fd, state, n_bytes, path, error) ||
        !read_all(fd, there, sizeof there, path, error))
        return false;
    make_hash(head, state, n_bytes, hash);
    if (memcmp(found, g_bytes_get_data(head, NULL), n_head) == 0 &&
        memcmp(hash, there, sizeof hash) == 0 && read(fd, &after, 1) == 0)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "%s is not the record that its name says", path);
    return false;
}

static int
open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

bool
sundog_prefix_record_read(const SundogPrefixRecord *record, void *state, const char *path,
                          GError **error)
{
    int fd = open_to_read(path);
    if (fd < 0)
        return sundog_file_fail(error, "open", path);
    g_autoptr(GBytes) head = make_head(record);
    bool ok = read_parts(fd, head, state, record->n_bytes, path, error);
    close(fd);
    return ok;
}

bool
sundog_prefix_record_read_parent(const char *path, uint8_t parent[SUNDOG_RECORD_HASH_BYTES])
{
    int fd = open_to_read(path);
    if (fd < 0)
        return false;
    ssize_t n = pread(fd, parent, SUNDOG_RECORD_HASH_BYTES, PARENT_AT);
    close(fd);
    return n == SUNDOG_RECORD_HASH_BYTES;
}
