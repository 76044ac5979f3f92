/* GET /api/tags, /api/ps and /api/version, POST /api/show and /api/copy, DELETE /api/delete; GET / */

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/library/copy-core.h"
#include "engine/server/fields.h"
#include "engine/server/llama/infill.h"
#include "engine/server/ollama/fields.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <glib/gstdio.h>
#include <string.h>

/* Of Ollama's API that is answered here: clients ask for it before they use what came later. */
#define API_VERSION "0.12.6"
/* What never ends, as Ollama writes it. */
#define NO_END "2318-12-31T23:59:59Z"

static void
set_digest(JsonObject *object, JsonObject *manifest)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(node, manifest);
    g_autofree char *text = sundog_json_print(node, false);
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
    json_object_set_string_member(object, "digest", digest);
}

static void
set_modified(JsonObject *object, const char *folder)
{
    GStatBuf status = {0};
    g_stat(folder, &status);
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(status.st_mtime);
    g_autofree char *text = g_date_time_format_iso8601(time);
    json_object_set_string_member(object, "modified_at", text);
}

/* "135M" */
static char *
dup_size(double n)
{
    if (n <= 0)
        return g_strdup("");
    return n >= 1e9 ? g_strdup_printf("%.1fB", n / 1e9) : g_strdup_printf("%.0fM", n / 1e6);
}

static JsonObject *
describe_details(JsonObject *manifest)
{
    JsonObject *model = sundog_json_get_object(manifest, "model");
    const char *family = sundog_json_get_string(model, "architecture", "");
    g_autofree char *size = dup_size(sundog_json_get_number(model, "n_parameters", 0));
    JsonArray *families = json_array_new();
    json_array_add_string_element(families, family);
    JsonObject *details = json_object_new();
    json_object_set_string_member(details, "parent_model", "");
    json_object_set_string_member(details, "format", "sundog");
    json_object_set_string_member(details, "family", family);
    json_object_set_array_member(details, "families", families);
    json_object_set_string_member(details, "parameter_size", size);
    json_object_set_string_member(details, "quantization_level",
                                  sundog_json_get_string(manifest, "quantization", ""));
    return details;
}

static JsonObject *
describe(const char *name, JsonObject *manifest, uint64_t n_bytes)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "name", name);
    json_object_set_string_member(object, "model", name);
    json_object_set_int_member(object, "size", (gint64)n_bytes);
    set_digest(object, manifest);
    json_object_set_object_member(object, "details", describe_details(manifest));
    return object;
}

static void
reply_models(SundogExchange *exchange, JsonArray *models)
{
    JsonObject *object = json_object_new();
    json_object_set_array_member(object, "models", models);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_ollama_tags(SundogExchange *exchange)
{
    JsonArray *models = json_array_new();
    g_autoptr(GPtrArray) entries = sundog_server_list_cores(exchange, NULL);
    for (guint i = 0; i < entries->len; i++) {
        const SundogLibraryEntry *entry = entries->pdata[i];
        JsonObject *object = describe(entry->name, entry->info, entry->n_bytes);
        set_modified(object, entry->path);
        json_array_add_object_element(models, object);
    }
    reply_models(exchange, models);
}

static JsonObject *
describe_loaded(const SundogEngine *engine)
{
    const SundogReady *ready = sundog_engine_get_ready(engine);
    const SundogCoreText *core = sundog_engine_get_core(engine);
    JsonObject *object = describe(core->name, core->manifest, ready->memory_bytes);
    g_autofree char *end = sundog_engine_dup_keep_end(engine);
    bool is_host = g_str_has_prefix(ready->device, "host");
    json_object_set_string_member(object, "expires_at", end ? end : NO_END);
    json_object_set_int_member(object, "size_vram", is_host ? 0 : (gint64)ready->memory_bytes);
    json_object_set_int_member(object, "context_length", ready->context_length);
    return object;
}

void
sundog_ollama_ps(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    const GPtrArray *engines = sundog_supervisor_get_engines(server->supervisor);
    JsonArray *models = json_array_new();
    for (guint i = 0; i < engines->len; i++)
        if (sundog_engine_get_ready(engines->pdata[i]) &&
            sundog_server_may_use(exchange, sundog_engine_get_core(engines->pdata[i])->name))
            json_array_add_object_element(models, describe_loaded(engines->pdata[i]));
    reply_models(exchange, models);
}

static SundogCoreText *
dup_core(SundogExchange *exchange, JsonObject *object, SundogApiError **error)
{
    g_autofree char *name = sundog_ollama_dup_model(object, error);
    return name ? sundog_server_dup_core(exchange, name, error) : NULL;
}

static JsonObject *
describe_info(const SundogCoreText *core)
{
    JsonObject *model = sundog_json_get_object(core->manifest, "model");
    const char *family = sundog_json_get_string(model, "architecture", "unknown");
    g_autofree char *context_key = g_strconcat(family, ".context_length", NULL);
    JsonObject *info = json_object_new();
    json_object_set_string_member(info, "general.architecture", family);
    json_object_set_string_member(info, "general.basename", core->name);
    json_object_set_int_member(info, "general.parameter_count",
                               (gint64)sundog_json_get_number(model, "n_parameters", 0));
    json_object_set_int_member(info, context_key, core->context_length);
    return info;
}

/* The core's sampling, a line a value. */
static char *
dup_parameters(const SundogCoreText *core)
{
    static const char *const keys[] = {"temperature", "top_k", "top_p", "min_p"};
    JsonObject *sampling = sundog_json_get_object(core->manifest, "sampling");
    JsonObject *profile = sundog_json_get_object(sampling, "default");
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        double value;
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        if (sundog_json_get_double(profile, keys[i], &value))
            g_string_append_printf(text, "%s%s %s", text->len ? "\n" : "", keys[i],
                                   g_ascii_formatd(number, sizeof number, "%.6g", value));
    }
    return g_string_free(text, false);
}

static JsonArray *
list_capabilities(const SundogCoreText *core)
{
    JsonArray *capabilities = json_array_new();
    if (strcmp(core->purpose, "generate") != 0) {
        json_array_add_string_element(capabilities,
                                      strcmp(core->purpose, "embed") == 0 ? "embedding" : "rerank");
        return capabilities;
    }
    g_autoptr(GArray) infill = sundog_infill_encode(core, "", "", NULL);
    json_array_add_string_element(capabilities, "completion");
    if (core->syntax)
        json_array_add_string_element(capabilities, "tools");
    if (core->syntax && core->syntax->reasoning_open)
        json_array_add_string_element(capabilities, "thinking");
    if (infill)
        json_array_add_string_element(capabilities, "insert");
    return capabilities;
}

void
sundog_ollama_show(SundogExchange *exchange)
{
    JsonObject *request = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    if (!request)
        return;
    g_autoptr(SundogCoreText) core = dup_core(exchange, request, &error);
    if (!core) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    JsonObject *model = sundog_json_get_object(core->manifest, "model");
    g_autofree char *parameters = dup_parameters(core);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "license", sundog_json_get_string(model, "licence", ""));
    json_object_set_string_member(object, "modelfile", "");
    json_object_set_string_member(object, "parameters", parameters);
    json_object_set_string_member(object, "template",
                                  core->template_source ? core->template_source : "");
    json_object_set_object_member(object, "details", describe_details(core->manifest));
    json_object_set_object_member(object, "model_info", describe_info(core));
    json_object_set_array_member(object, "capabilities", list_capabilities(core));
    set_modified(object, core->path);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_ollama_delete(SundogExchange *exchange)
{
    JsonObject *request = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    if (!request)
        return;
    g_autofree char *name = sundog_ollama_dup_model(request, &error);
    if (!name) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    sundog_exchange_set_argument(exchange, name);
    sundog_cores_delete(exchange);
}

void
sundog_ollama_copy(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *request = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    const char *source = NULL, *destination = NULL;
    g_autoptr(GError) reason = NULL;
    if (!request)
        return;
    if (!sundog_field_read_text(request, SUNDOG_FIELD_SOURCE, &source, &error) ||
        !sundog_field_read_text(request, SUNDOG_FIELD_DESTINATION, &destination, &error)) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    /* Names of the library alone: files elsewhere are the command line's. */
    bool is_name = source && sundog_library_name_is_valid(source);
    g_autoptr(SundogLibraryEntry) entry =
        is_name ? sundog_library_find_core(server->library, source, &reason) : NULL;
    if (!is_name)
        error = sundog_api_error_new(SUNDOG_API_ERROR_NO_MODEL, "source",
                                     "The source is no name of a core", NULL);
    else if (!entry)
        error = sundog_api_error_new(SUNDOG_API_ERROR_NO_MODEL, "source", reason->message, NULL);
    else if (!sundog_library_copy_core(server->library, entry, destination ? destination : "",
                                       &reason))
        error =
            sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, "destination", reason->message, NULL);
    if (error) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    sundog_server_library_changed(server);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, json_object_new());
}

void
sundog_ollama_version(SundogExchange *exchange)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "version", API_VERSION);
    json_object_set_string_member(object, "sundog", SUNDOG_VERSION);
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}

void
sundog_root(SundogExchange *exchange)
{
    static const char text[] = "Sundog is running\n";
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "text/plain", text, strlen(text));
}

/* What this server has no equal of. */
void
sundog_ollama_refuse(SundogExchange *exchange)
{
    sundog_exchange_fail(exchange, sundog_api_error_new(SUNDOG_API_ERROR_NOT_IMPLEMENTED, NULL,
                                                        sundog_exchange_get_path(exchange), NULL));
}
