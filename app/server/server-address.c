/* The published fields as an address that this computer can use. */

#include "app/server/server-address.h"
#include "engine/format/json-members.h"
#include "engine/library/config.h"
#include "engine/library/server-file.h"
#include <string.h>

/* The key stands among the settings. */
static char *
read_key(JsonObject *object)
{
    if (!sundog_json_get_string(object, "key_file", NULL))
        return NULL;
    g_autoptr(SundogConfig) config = sundog_config_open(NULL);
    const char *key = config ? sundog_config_get_text(config, "server.key") : "";
    return *key ? g_strdup(key) : NULL;
}

/* A server that listens on every address is reached over loopback. */
static char *
make_url(JsonObject *object)
{
    const char *host = sundog_json_get_string(object, "address", "127.0.0.1");
    int port = (int)sundog_json_get_number(object, "port", 0);
    if (port < 1 || port > 65535)
        return NULL;
    if (strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "::") == 0)
        host = "::1";
    if (strchr(host, ':'))
        return g_strdup_printf("http://[%s]:%d", host, port);
    return g_strdup_printf("http://%s:%d", host, port);
}

SundogServerAddress *
sundog_server_address_read(void)
{
    g_autoptr(JsonObject) object = sundog_server_file_read();
    int pid = (int)sundog_json_get_number(object, "pid", 0);
    char *url = object && pid > 1 ? make_url(object) : NULL;
    if (!url)
        return NULL;
    SundogServerAddress *address = g_new0(SundogServerAddress, 1);
    address->pid = pid;
    address->url = url;
    address->key = read_key(object);
    address->stamp = g_strdup(sundog_json_get_string(object, "stamp", NULL));
    return address;
}

void
sundog_server_address_free(SundogServerAddress *address)
{
    if (!address)
        return;
    g_free(address->url);
    g_free(address->key);
    g_free(address->stamp);
    g_free(address);
}
