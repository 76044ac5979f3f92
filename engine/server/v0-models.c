/* GET /api/v0/models and /api/v0/models/NAME, as LM Studio has them: editors read state and context. */

#include "engine/format/json-members.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"

#include <string.h>

static JsonObject *
describe(SundogServer *server, const SundogLibraryEntry *entry)
{
    const SundogReady *ready = sundog_server_get_ready(server, entry->path);
    JsonObject *model = sundog_json_get_object(entry->info, "model");
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "id", entry->name);
    json_object_set_string_member(object, "object", "model");
    /* What is not asked to write text is listed as LM Studio does, whose editors leave it out of chats. */
    const char *purpose = sundog_json_get_string(entry->info, "purpose", "generate");
    json_object_set_string_member(object, "type",
                                  strcmp(purpose, "generate") == 0 ? "llm" : "embeddings");
    json_object_set_string_member(object, "publisher", sundog_json_get_string(model, "maker", ""));
    json_object_set_string_member(object, "arch",
                                  sundog_json_get_string(model, "architecture", ""));
    json_object_set_string_member(object, "compatibility_type", "sundog");
    json_object_set_string_member(object, "quantization",
                                  sundog_json_get_string(entry->info, "activations", ""));
    json_object_set_string_member(object, "state", ready ? "loaded" : "not-loaded");
    json_object_set_int_member(object, "max_context_length",
                               (gint64)sundog_json_get_number(model, "context_length", 0));
    if (ready)
        json_object_set_int_member(object, "loaded_context_length", ready->context_length);
    return object;
}

void
sundog_v0_models_list(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    g_autoptr(GPtrArray) entries = sundog_server_list_cores(exchange, NULL);
    JsonArray *data = json_array_new();
    for (guint i = 0; i < entries->len; i++)
        json_array_add_object_element(data, describe(server, entries->pdata[i]));
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "object", "list");
    json_object_set_array_member(object, "data", data);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_v0_models_get(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    g_autoptr(GPtrArray) found =
        sundog_server_list_cores(exchange, sundog_exchange_get_argument(exchange));
    if (found->len > 0)
        sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, describe(server, found->pdata[0]));
    else
        sundog_server_fail_unknown_core(exchange);
}
