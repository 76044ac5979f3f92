/* Partial files. */

#include "engine/library/partial.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/library/folder.h"
#include "engine/library/model-folder.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Validators are short; a host that sends more than this has none that is worth keeping. */
#define MAX_VALIDATOR_BYTES 512
/* Appended bytes that are made durable together, and how long they may wait for it. */
#define SYNC_BYTES (16u << 20)
#define SYNC_US (500 * G_TIME_SPAN_MILLISECOND)

struct SundogPartial {
    char *folder;
    char *name;
    char *path;
    char *state_path;
    char *url;
    char *validator;
    uint64_t total;
    GMutex mutex; /* over all below */
    int fd;
    int state_fd;
    uint64_t n_bytes;
    uint64_t n_synced;
    int64_t synced_at;
};

static bool
fail(const char *path, const char *verb, GError **error)
{
    int reason = errno;
    bool is_full = reason == ENOSPC || reason == EDQUOT;
    g_set_error(error, SUNDOG_LIBRARY_ERROR,
                is_full ? SUNDOG_LIBRARY_ERROR_NO_SPACE : SUNDOG_LIBRARY_ERROR_IO,
                "%s cannot be %s: %s", path, verb, g_strerror(reason));
    return false;
}

static bool
write_all(int fd, const char *data, size_t n_bytes, uint64_t offset, uint64_t *n_written)
{
    *n_written = 0;
    while (n_bytes > 0) {
        ssize_t n = pwrite(fd, data, n_bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        n_bytes -= (size_t)n;
        offset += (uint64_t)n;
        *n_written += (uint64_t)n;
    }
    return true;
}

/* The number is a text of constant width, so that each state is as long as the one before. */
static bool
write_state(SundogPartial *partial, GError **error)
{
    g_autofree char *synced = g_strdup_printf("%020" G_GUINT64_FORMAT, partial->n_synced);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "url", partial->url);
    json_object_set_string_member(object, "validator",
                                  partial->validator ? partial->validator : "");
    json_object_set_int_member(object, "total", (gint64)partial->total);
    json_object_set_string_member(object, "synced", synced);
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(root, object);
    g_autofree char *text = sundog_json_print(root, false);
    uint64_t n_written;
    return write_all(partial->state_fd, text, strlen(text), 0, &n_written) ||
           fail(partial->state_path, "written", error);
}

/* Bytes that may be gone on with; a state that cannot be read or tells of another URL gives none. */
static uint64_t
read_state(SundogPartial *partial)
{
    char text[8192];
    ssize_t n = pread(partial->state_fd, text, sizeof text, 0);
    g_autoptr(JsonNode) root = n > 0 ? sundog_json_parse(text, (size_t)n, NULL) : NULL;
    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        return 0;
    JsonObject *object = json_node_get_object(root);
    if (strcmp(sundog_json_get_string(object, "url", ""), partial->url) != 0)
        return 0;
    const char *validator = sundog_json_get_string(object, "validator", "");
    partial->validator = *validator ? g_strdup(validator) : NULL;
    partial->total = (uint64_t)json_object_get_int_member_with_default(object, "total", 0);
    return g_ascii_strtoull(sundog_json_get_string(object, "synced", ""), NULL, 10);
}

static int
open_file(const char *path, GError **error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        fail(path, "opened", error);
    return fd;
}

SundogPartial *
sundog_partial_open(const char *folder, const char *name, const char *url, GError **error)
{
    g_autoptr(SundogPartial) partial = g_new0(SundogPartial, 1);
    g_mutex_init(&partial->mutex);
    g_autofree char *base = g_build_filename(folder, name, NULL);
    partial->folder = g_strdup(folder);
    partial->name = g_strdup(name);
    partial->url = g_strdup(url);
    partial->path = g_strconcat(base, SUNDOG_PARTIAL_SUFFIX, NULL);
    partial->state_path = g_strconcat(base, SUNDOG_PARTIAL_STATE_SUFFIX, NULL);
    partial->state_fd = -1;
    partial->fd = open_file(partial->path, error);
    if (partial->fd < 0)
        return NULL;
    partial->state_fd = open_file(partial->state_path, error);
    if (partial->state_fd < 0)
        return NULL;
    struct stat status;
    if (fstat(partial->fd, &status) != 0) {
        fail(partial->path, "read", error);
        return NULL;
    }
    uint64_t n_synced = read_state(partial);
    partial->n_bytes = MIN(n_synced, (uint64_t)status.st_size);
    partial->n_synced = partial->n_bytes;
    if (ftruncate(partial->fd, (off_t)partial->n_bytes) != 0) {
        fail(partial->path, "cut", error);
        return NULL;
    }
    return g_steal_pointer(&partial);
}

void
sundog_partial_free(SundogPartial *partial)
{
    if (!partial)
        return;
    if (partial->fd >= 0)
        close(partial->fd);
    if (partial->state_fd >= 0)
        close(partial->state_fd);
    g_free(partial->folder);
    g_free(partial->name);
    g_free(partial->path);
    g_free(partial->state_path);
    g_free(partial->url);
    g_free(partial->validator);
    g_mutex_clear(&partial->mutex);
    g_free(partial);
}

uint64_t
sundog_partial_get_bytes(SundogPartial *partial)
{
    g_mutex_lock(&partial->mutex);
    uint64_t n_bytes = partial->n_bytes;
    g_mutex_unlock(&partial->mutex);
    return n_bytes;
}

const char *
sundog_partial_get_name(const SundogPartial *partial)
{
    return partial->name;
}

const char *
sundog_partial_get_path(const SundogPartial *partial)
{
    return partial->path;
}

const char *
sundog_partial_get_validator(const SundogPartial *partial)
{
    return partial->validator;
}

bool
sundog_partial_restart(SundogPartial *partial, const char *validator, uint64_t total,
                       GError **error)
{
    g_mutex_lock(&partial->mutex);
    g_free(partial->validator);
    bool is_usable = validator && strlen(validator) <= MAX_VALIDATOR_BYTES;
    partial->validator = is_usable ? g_strdup(validator) : NULL;
    partial->total = total;
    partial->n_bytes = 0;
    partial->n_synced = 0;
    partial->synced_at = g_get_monotonic_time();
    bool done = (ftruncate(partial->fd, 0) == 0 && ftruncate(partial->state_fd, 0) == 0) ||
                fail(partial->path, "emptied", error);
    done = done && write_state(partial, error);
    g_mutex_unlock(&partial->mutex);
    return done;
}

static bool
sync_locked(SundogPartial *partial, GError **error)
{
    partial->synced_at = g_get_monotonic_time();
    if (partial->n_synced == partial->n_bytes)
        return true;
    if (fdatasync(partial->fd) != 0)
        return fail(partial->path, "written", error);
    partial->n_synced = partial->n_bytes;
    return write_state(partial, error);
}

bool
sundog_partial_append(SundogPartial *partial, const void *data, size_t n_bytes, GError **error)
{
    g_mutex_lock(&partial->mutex);
    uint64_t n_written;
    bool done = write_all(partial->fd, data, n_bytes, partial->n_bytes, &n_written) ||
                fail(partial->path, "written", error);
    partial->n_bytes += n_written;
    bool is_due = partial->n_bytes - partial->n_synced >= SYNC_BYTES ||
                  g_get_monotonic_time() - partial->synced_at >= SYNC_US;
    if (done && is_due)
        done = sync_locked(partial, error);
    g_mutex_unlock(&partial->mutex);
    return done;
}

bool
sundog_partial_sync(SundogPartial *partial, GError **error)
{
    g_mutex_lock(&partial->mutex);
    bool done = sync_locked(partial, error);
    g_mutex_unlock(&partial->mutex);
    return done;
}

bool
sundog_partial_finish(SundogPartial *partial, GError **error)
{
    g_autofree char *target = g_build_filename(partial->folder, partial->name, NULL);
    if (fsync(partial->fd) != 0)
        return fail(partial->path, "written", error);
    if (rename(partial->path, target) != 0)
        return fail(partial->path, "renamed", error);
    unlink(partial->state_path);
    sundog_folder_sync(partial->folder);
    return true;
}

void
sundog_partial_discard(SundogPartial *partial)
{
    unlink(partial->path);
    unlink(partial->state_path);
}

uint64_t
sundog_partial_get_free_bytes(const SundogPartial *partial)
{
    struct statvfs status;
    if (fstatvfs(partial->fd, &status) != 0)
        return UINT64_MAX;
    return (uint64_t)status.f_bavail * status.f_frsize;
}
