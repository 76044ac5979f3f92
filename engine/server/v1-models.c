/* GET /v1/models and /v1/models/NAME: the cores that requests may name. */

#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <glib/gstdio.h>
#include <string.h>

static JsonObject *
describe(SundogServer *server, const char *name, const char *path, JsonObject *manifest)
{
    GStatBuf status = {0};
    g_stat(path, &status);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "id", name);
    json_object_set_string_member(object, "object", "model");
    json_object_set_int_member(object, "created", (gint64)status.st_mtime);
    json_object_set_string_member(object, "owned_by", "sundog");
    JsonNode *model = json_object_get_member(manifest, "model");
    if (model && JSON_NODE_HOLDS_OBJECT(model))
        json_object_set_int_member(object, "context_length",
                                   json_object_get_int_member_with_default(
                                       json_node_get_object(model), "context_length", 0));
    return object;
}

/* Under `serve --core` one core answers for all, so it alone is named. */
static JsonArray *
list(SundogServer *server, const char *name)
{
    JsonArray *array = json_array_new();
    const SundogCoreText *fixed = server->fixed_core;
    if (fixed) {
        if (!name || strcmp(name, fixed->name) == 0)
            json_array_add_object_element(
                array, describe(server, fixed->name, fixed->path, fixed->manifest));
        return array;
    }
    g_autoptr(GPtrArray) entries = sundog_library_list_cores(server->library);
    for (guint i = 0; i < entries->len; i++) {
        const SundogLibraryEntry *entry = entries->pdata[i];
        if (!entry->damaged && (!name || strcmp(name, entry->name) == 0))
            json_array_add_object_element(array,
                                          describe(server, entry->name, entry->path, entry->info));
    }
    return array;
}

void
sundog_v1_models_list(SundogExchange *exchange)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "object", "list");
    json_object_set_array_member(object, "data", list(sundog_exchange_get_server(exchange), NULL));
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_v1_models_get(SundogExchange *exchange)
{
    const char *name = sundog_exchange_get_argument(exchange);
    g_autoptr(JsonArray) found = list(sundog_exchange_get_server(exchange), name);
    if (json_array_get_length(found) > 0) {
        JsonObject *object = json_array_get_object_element(found, 0);
        sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, json_object_ref(object));
        return;
    }
    g_autofree char *text = g_strdup_printf("There is no core “%s”", name);
    sundog_exchange_fail(exchange,
                         sundog_api_error_new(SUNDOG_API_ERROR_NO_MODEL, "model", text, NULL));
}
