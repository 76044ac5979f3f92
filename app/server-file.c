/* Reading of the server file; its fields are fixed by the server's private API. */

#include "app/server-file.h"
#include "app/json-fields.h"
#include "engine/format/json.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

static char *
read_key(JsonObject *object)
{
    const char *path = sundog_json_get_string(object, "key_file", NULL);
    char *key = NULL;
    if (path && g_file_get_contents(path, &key, NULL, NULL))
        g_strstrip(key);
    return key;
}

/* "address" is a whole URL, or a host whose port stands beside it. */
static char *
make_address(JsonObject *object)
{
    const char *address = sundog_json_get_string(object, "address", NULL);
    int64_t port = (int64_t)sundog_json_get_number(object, "port", 0);
    if (address && g_str_has_prefix(address, "http"))
        return g_strdup(address);
    if (port < 1 || port > 65535)
        return NULL;
    const char *host = address && *address ? address : "127.0.0.1";
    if (strchr(host, ':') && *host != '[')
        return g_strdup_printf("http://[%s]:%d", host, (int)port);
    return g_strdup_printf("http://%s:%d", host, (int)port);
}

SundogServerFile *
sundog_server_file_read(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    gsize n_bytes;
    if (!g_file_get_contents(path, &text, &n_bytes, error))
        return NULL;
    g_autoptr(JsonNode) root = sundog_json_parse(text, n_bytes, error);
    if (!root)
        return NULL;
    g_autoptr(SundogServerFile) file = g_new0(SundogServerFile, 1);
    if (JSON_NODE_HOLDS_OBJECT(root)) {
        JsonObject *object = json_node_get_object(root);
        file->pid = (int)sundog_json_get_number(object, "pid", 0);
        file->address = make_address(object);
        file->key = read_key(object);
        file->stamp = g_strdup(sundog_json_get_string(object, "stamp", NULL));
        file->version = g_strdup(sundog_json_get_string(object, "version", NULL));
    }
    if (file->pid > 1 && file->address)
        return g_steal_pointer(&file);
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s names no process and address",
                path);
    return NULL;
}

void
sundog_server_file_free(SundogServerFile *file)
{
    if (!file)
        return;
    g_free(file->address);
    g_free(file->key);
    g_free(file->stamp);
    g_free(file->version);
    g_free(file);
}

bool
sundog_server_file_is_alive(const SundogServerFile *file)
{
    return kill(file->pid, 0) == 0 || errno == EPERM;
}
