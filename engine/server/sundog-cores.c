/* GET /sundog/v1/cores, DELETE /sundog/v1/cores/NAME */

#include "engine/format/json-members.h"
#include "engine/library/fit-file.h"
#include "engine/server/describe.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"

static gint64
get_number(JsonObject *object, const char *key)
{
    return object ? json_object_get_int_member_with_default(object, key, 0) : 0;
}

/* What `sundog fit` measured of this very core here, or null. */
static void
set_speed(JsonObject *object, const SundogLibraryEntry *entry)
{
    json_object_set_null_member(object, "speed");
    if (!entry->info || !sundog_library_name_is_valid(entry->name))
        return;
    const char *created = json_object_get_string_member_with_default(entry->info, "created", NULL);
    g_autoptr(JsonObject) fit = sundog_fit_file_read(entry->name, created);
    if (!sundog_json_has(fit, "decode_tokens_per_second"))
        return;
    JsonObject *speed = json_object_new();
    sundog_describe_copy(speed, "prefill_tokens_per_second", fit, "prefill_tokens_per_second");
    sundog_describe_copy(speed, "decode_tokens_per_second", fit, "decode_tokens_per_second");
    json_object_set_object_member(object, "speed", speed);
}

static JsonObject *
describe(SundogServer *server, const SundogLibraryEntry *entry)
{
    JsonObject *object = sundog_describe_entry(entry);
    JsonObject *model = sundog_json_get_object(entry->info, "model");
    JsonObject *plan = sundog_json_get_object(entry->info, "plan");
    const SundogReady *ready = sundog_server_get_ready(server, entry->path);
    sundog_describe_copy(object, "title", model, "title");
    sundog_describe_copy(object, "target", entry->info, "target");
    sundog_describe_copy(object, "activations", entry->info, "activations");
    sundog_describe_copy(object, "purpose", entry->info, "purpose");
    sundog_describe_copy(object, "model", model, "name");
    sundog_describe_copy(object, "context_length", model, "context_length");
    sundog_describe_copy(object, "n_parameters", model, "n_parameters");
    sundog_describe_copy(object, "licence", model, "licence");
    /* As loaded it is known; before, it is weights and arena as planned, without the cache. */
    json_object_set_int_member(object, "memory_bytes",
                               ready ? (gint64)ready->memory_bytes
                                     : get_number(plan, "arena_bytes") +
                                           get_number(plan, "weight_bytes"));
    json_object_set_boolean_member(object, "loaded", ready != NULL);
    set_speed(object, entry);
    return object;
}

void
sundog_cores_list(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    g_autoptr(GPtrArray) entries = sundog_library_list_cores(server->library);
    g_autofree char *problem = sundog_library_dup_problem(server->library);
    JsonArray *cores = json_array_new();
    for (guint i = 0; i < entries->len; i++)
        json_array_add_object_element(cores, describe(server, entries->pdata[i]));
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, "cores", cores);
    if (problem)
        json_object_set_string_member(object, "problem", problem);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

/* Deleting */

typedef struct {
    SundogExchange *exchange;
    SundogLibraryEntry *entry;
} Deletion;

static void
remove_core(void *data)
{
    Deletion *deletion = data;
    SundogServer *server = sundog_exchange_get_server(deletion->exchange);
    g_autoptr(GError) error = NULL;
    uint64_t n_bytes = 0;
    if (sundog_library_remove(server->library, deletion->entry, &n_bytes, &error)) {
        sundog_server_library_changed(server);
        JsonObject *object = json_object_new();
        json_object_set_int_member(object, "bytes_freed", (gint64)n_bytes);
        sundog_exchange_reply_object(deletion->exchange, SOUP_STATUS_OK, object);
    } else {
        sundog_exchange_fail(deletion->exchange, sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT,
                                                                      NULL, error->message, NULL));
    }
    sundog_exchange_unref(deletion->exchange);
    sundog_library_entry_free(deletion->entry);
    g_free(deletion);
}

void
sundog_cores_delete(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    g_autoptr(GError) reason = NULL;
    SundogLibraryEntry *entry =
        sundog_library_find_core(server->library, sundog_exchange_get_argument(exchange), &reason);
    if (!entry) {
        sundog_exchange_fail(
            exchange, sundog_api_error_new(SUNDOG_API_ERROR_NO_ENTRY, NULL, reason->message, NULL));
        return;
    }
    Deletion *deletion = g_new0(Deletion, 1);
    deletion->exchange = sundog_exchange_ref(exchange);
    deletion->entry = entry;
    /* Also a client that leaves meanwhile gets what it asked for. */
    sundog_exchange_set_gone(exchange, NULL, NULL);
    sundog_supervisor_unload(
        server->supervisor, entry->path,
        sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, "The core was deleted", NULL),
        remove_core, deletion);
}
