/* server.json and its lock. */

#include "engine/library/server-file.h"

#include "engine/format/json.h"
#include "engine/library/paths.h"
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Who only asks whether a server runs holds the lock for an instant. */
#define LOCK_TRIES 5
#define LOCK_WAIT_US 10000

struct SundogServerFile {
    int lock_fd;
    bool is_published;
};

static int
open_lock(void)
{
    g_autofree char *path = g_strconcat(sundog_paths_get_server_file(), ".lock", NULL);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static JsonObject *
read_file(void)
{
    g_autofree char *text = NULL;
    size_t n_bytes = 0;
    if (!g_file_get_contents(sundog_paths_get_server_file(), &text, &n_bytes, NULL))
        return NULL;
    g_autoptr(JsonNode) node = sundog_json_parse(text, n_bytes, NULL);
    return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_dup_object(node) : NULL;
}

static void
set_running_error(GError **error)
{
    g_autoptr(JsonObject) other = read_file();
    if (other)
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_EXISTS,
                    "A server runs already: process %" G_GINT64_FORMAT " on port %" G_GINT64_FORMAT
                    "; stop it with “sundog stop”",
                    json_object_get_int_member_with_default(other, "pid", 0),
                    json_object_get_int_member_with_default(other, "port", 0));
    else
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_EXISTS, "A server is starting already");
}

SundogServerFile *
sundog_server_file_take(GError **error)
{
    int fd = open_lock();
    if (fd < 0) {
        g_set_error(error, G_IO_ERROR, (int)g_io_error_from_errno(errno),
                    "The lock beside %s cannot be made: %s", sundog_paths_get_server_file(),
                    g_strerror(errno));
        return NULL;
    }
    bool is_taken = false;
    for (int i = 0; i < LOCK_TRIES && !is_taken; i++) {
        if (i)
            g_usleep(LOCK_WAIT_US);
        is_taken = flock(fd, LOCK_EX | LOCK_NB) == 0;
    }
    if (!is_taken) {
        close(fd);
        set_running_error(error);
        return NULL;
    }
    /* What lies there is of a server that was killed. */
    g_unlink(sundog_paths_get_server_file());
    SundogServerFile *file = g_new0(SundogServerFile, 1);
    file->lock_fd = fd;
    return file;
}

bool
sundog_server_file_publish(SundogServerFile *file, const char *address, unsigned port, bool has_key,
                           const char *started, GError **error)
{
    g_autofree char *stamp = sundog_server_file_dup_stamp();
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "pid", getpid());
    json_object_set_int_member(object, "port", port);
    json_object_set_string_member(object, "address", address);
    if (has_key)
        json_object_set_string_member(object, "key_file", sundog_paths_get_config_file());
    else
        json_object_set_null_member(object, "key_file");
    json_object_set_string_member(object, "stamp", stamp);
    json_object_set_string_member(object, "version", SUNDOG_VERSION);
    json_object_set_string_member(object, "started", started);
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, object);
    g_autofree char *text = sundog_json_print(node, true);
    file->is_published = g_file_set_contents_full(sundog_paths_get_server_file(), text, -1,
                                                  G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
    return file->is_published;
}

void
sundog_server_file_release(SundogServerFile *file)
{
    if (!file)
        return;
    if (file->is_published)
        g_unlink(sundog_paths_get_server_file());
    close(file->lock_fd);
    g_free(file);
}

char *
sundog_server_file_dup_stamp(void)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree char *program = sundog_paths_dup_program("sundog");
    GStatBuf status = {0};
    if (program && g_stat(program, &status) == 0) {
        g_autofree char *facts = g_strdup_printf(
            "%s\n%" G_GINT64_FORMAT ".%09ld\n%" G_GINT64_FORMAT "\n", program,
            (gint64)status.st_mtim.tv_sec, status.st_mtim.tv_nsec, (gint64)status.st_size);
        g_checksum_update(checksum, (const guchar *)facts, -1);
    }
    g_autofree char *settings = NULL;
    size_t n_bytes = 0;
    if (g_file_get_contents(sundog_paths_get_config_file(), &settings, &n_bytes, NULL))
        g_checksum_update(checksum, (const guchar *)settings, (gssize)n_bytes);
    return g_strdup(g_checksum_get_string(checksum));
}

JsonObject *
sundog_server_file_read(void)
{
    int fd = open_lock();
    if (fd < 0)
        return NULL;
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return is_held ? read_file() : NULL;
}
