/* GET /v1/models and /v1/models/NAME: the cores that requests may name, with the members that OpenAI's
 * clients read and those that Anthropic's do. */

#include "engine/format/json-members.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <glib/gstdio.h>

static JsonObject *
describe(const SundogLibraryEntry *entry)
{
    GStatBuf status = {0};
    g_stat(entry->path, &status);
    g_autoptr(GDateTime) created = g_date_time_new_from_unix_utc(status.st_mtime);
    g_autofree char *created_text = g_date_time_format_iso8601(created);
    JsonObject *model = sundog_json_get_object(entry->info, "model");
    gint64 n_context = (gint64)sundog_json_get_number(model, "context_length", 0);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "id", entry->name);
    json_object_set_string_member(object, "object", "model");
    json_object_set_string_member(object, "type", "model");
    json_object_set_int_member(object, "created", (gint64)status.st_mtime);
    json_object_set_string_member(object, "created_at", created_text);
    json_object_set_string_member(object, "owned_by", "sundog");
    json_object_set_string_member(object, "display_name",
                                  sundog_json_get_string(model, "name", entry->name));
    json_object_set_int_member(object, "context_length", n_context);
    json_object_set_int_member(object, "max_model_len", n_context);
    return object;
}

static void
set_end(JsonObject *object, const char *key, GPtrArray *entries, bool is_first)
{
    if (entries->len == 0) {
        json_object_set_null_member(object, key);
        return;
    }
    const SundogLibraryEntry *entry = entries->pdata[is_first ? 0 : entries->len - 1];
    json_object_set_string_member(object, key, entry->name);
}

void
sundog_v1_models_list(SundogExchange *exchange)
{
    g_autoptr(GPtrArray) entries = sundog_server_list_cores(exchange, NULL);
    JsonArray *data = json_array_new();
    for (guint i = 0; i < entries->len; i++)
        json_array_add_object_element(data, describe(entries->pdata[i]));
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "object", "list");
    json_object_set_array_member(object, "data", data);
    json_object_set_boolean_member(object, "has_more", false);
    set_end(object, "first_id", entries, true);
    set_end(object, "last_id", entries, false);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_v1_models_get(SundogExchange *exchange)
{
    g_autoptr(GPtrArray) found =
        sundog_server_list_cores(exchange, sundog_exchange_get_argument(exchange));
    if (found->len > 0)
        sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, describe(found->pdata[0]));
    else
        sundog_server_fail_unknown_core(exchange);
}
