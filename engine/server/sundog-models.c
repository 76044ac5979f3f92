/* GET /sundog/v1/models, DELETE /sundog/v1/models/NAME */

#include "engine/server/describe.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"

static JsonObject *
describe_entry(const SundogLibraryEntry *entry)
{
    JsonObject *object = sundog_describe_entry(entry);
    const char *const copied[] = {"title", "licence", "maker", "n_parameters", "context_length"};
    for (size_t i = 0; i < G_N_ELEMENTS(copied); i++)
        sundog_describe_copy(object, copied[i], entry->info, copied[i]);
    json_object_set_string_member(object, "file", entry->path);
    return object;
}

static bool
is_installed(GPtrArray *entries, const char *name)
{
    for (guint i = 0; i < entries->len; i++) {
        const SundogLibraryEntry *entry = entries->pdata[i];
        if (!entry->damaged && g_strcmp0(entry->name, name) == 0)
            return true;
    }
    return false;
}

static JsonArray *
list_available(SundogServer *server, GPtrArray *entries)
{
    JsonArray *array = json_array_new();
    uint32_t n = server->catalogue ? sundog_catalogue_get_n_entries(server->catalogue) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const SundogCatalogueEntry *listed = sundog_catalogue_get_entry(server->catalogue, i);
        JsonObject *object = json_object_new();
        GList *keys = json_object_get_members(listed->json);
        for (GList *key = keys; key; key = key->next)
            json_object_set_member(object, key->data,
                                   json_object_dup_member(listed->json, key->data));
        g_list_free(keys);
        bool is_exact;
        uint64_t n_bytes = sundog_catalogue_entry_get_bytes(listed, &is_exact);
        json_object_set_int_member(object, is_exact ? "bytes" : "estimated_bytes", (gint64)n_bytes);
        json_object_set_boolean_member(object, "installed", is_installed(entries, listed->name));
        json_array_add_object_element(array, object);
    }
    return array;
}

void
sundog_models_list(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    g_autoptr(GPtrArray) entries = sundog_library_list_models(server->library);
    g_autofree char *problem = sundog_library_dup_problem(server->library);
    JsonArray *models = json_array_new();
    for (guint i = 0; i < entries->len; i++)
        json_array_add_object_element(models, describe_entry(entries->pdata[i]));
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, "models", models);
    json_object_set_array_member(object, "available", list_available(server, entries));
    if (problem)
        json_object_set_string_member(object, "problem", problem);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

static SundogApiError *
api_error_of(const GError *error)
{
    bool is_absent = g_error_matches(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND);
    return sundog_api_error_new(is_absent ? SUNDOG_API_ERROR_NO_ENTRY : SUNDOG_API_ERROR_CONFLICT,
                                NULL, error->message, NULL);
}

void
sundog_models_delete(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    const char *name = sundog_exchange_get_argument(exchange);
    g_autoptr(GError) error = NULL;
    uint64_t n_bytes = 0;
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_model(server->library, name, &error);
    if (entry && sundog_jobs_use(server->jobs, entry->name))
        g_set_error(&error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_BUSY,
                    "A job works on the model %s: cancel it first", entry->name);
    if (error || !sundog_library_remove(server->library, entry, &n_bytes, &error)) {
        sundog_exchange_fail(exchange, api_error_of(error));
        return;
    }
    sundog_server_library_changed(server);
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "bytes_freed", (gint64)n_bytes);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}
