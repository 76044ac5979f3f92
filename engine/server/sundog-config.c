/* GET and PATCH /sundog/v1/config */

#include "engine/format/json.h"
#include "engine/server/fields.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"

static void
reply(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "version", SUNDOG_CONFIG_VERSION);
    json_object_set_member(object, "settings", sundog_config_describe(server->config));
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_config_get(SundogExchange *exchange)
{
    reply(exchange);
}

/* As a person would type it; NULL for null, which means the default. */
static bool
dup_value(JsonObject *object, const char *key, char **value, SundogApiError **error)
{
    JsonNode *node = json_object_get_member(object, key);
    if (!JSON_NODE_HOLDS_NULL(node) && !JSON_NODE_HOLDS_VALUE(node))
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, key, key,
                                    "a text, a number, true, false or null", NULL);
    if (JSON_NODE_HOLDS_NULL(node))
        *value = NULL;
    else if (json_node_get_value_type(node) == G_TYPE_STRING)
        *value = json_node_dup_string(node);
    else
        *value = sundog_json_print(node, false);
    return true;
}

static bool
set_one(SundogServer *server, JsonObject *object, const char *key, SundogApiError **error)
{
    g_autofree char *value = NULL;
    g_autoptr(GError) reason = NULL;
    if (!dup_value(object, key, &value, error))
        return false;
    return sundog_config_set(server->config, key, value, &reason) ||
           sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, key, key, reason->message,
                                NULL);
}

void
sundog_config_patch(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    if (!object)
        return;
    g_autoptr(GList) keys = json_object_get_members(object);
    for (GList *key = keys; key && !error; key = key->next)
        set_one(server, object, key->data, &error);
    if (error)
        sundog_exchange_fail(exchange, error);
    else
        reply(exchange);
}
