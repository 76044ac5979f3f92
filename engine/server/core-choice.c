/* Which core answers for a name, and the text sides of the cores used last. */

#include "engine/server/service.h"

#include "engine/library/folder.h"
#include <glib/gstdio.h>
#include <string.h>

/* Cores whose text side stays read. */
#define MAX_CORE_TEXTS 3

/* A core's text by the name that was asked for, as long as its manifest is the one that was read. */
typedef struct {
    char *asked;
    SundogCoreText *text;
    gint64 modified_ns;
} CoreText;

static void
core_text_free(void *data)
{
    CoreText *cached = data;
    g_free(cached->asked);
    sundog_core_text_unref(cached->text);
    g_free(cached);
}

static gint64
get_modified_ns(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "core.json", NULL);
    GStatBuf status;
    if (g_stat(path, &status) != 0)
        return -1;
    return (gint64)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
}

GPtrArray *
sundog_server_new_core_texts(void)
{
    return g_ptr_array_new_with_free_func(core_text_free);
}

static SundogCoreText *
find_cached(SundogServer *server, const char *asked)
{
    for (guint i = 0; i < server->core_texts->len; i++) {
        CoreText *cached = server->core_texts->pdata[i];
        if (strcmp(cached->asked, asked) != 0)
            continue;
        if (get_modified_ns(cached->text->path) == cached->modified_ns)
            return sundog_core_text_ref(cached->text);
        g_ptr_array_remove_index(server->core_texts, i);
        return NULL;
    }
    return NULL;
}

static void
remember(SundogServer *server, const char *asked, SundogCoreText *text)
{
    CoreText *cached = g_new0(CoreText, 1);
    cached->asked = g_strdup(asked);
    cached->text = sundog_core_text_ref(text);
    cached->modified_ns = get_modified_ns(text->path);
    g_ptr_array_insert(server->core_texts, 0, cached);
    if (server->core_texts->len > MAX_CORE_TEXTS)
        g_ptr_array_set_size(server->core_texts, MAX_CORE_TEXTS);
}

static SundogCoreText *
open_text(SundogServer *server, const char *name, GError **error)
{
    SundogCoreText *cached = find_cached(server, name);
    if (cached)
        return cached;
    g_autoptr(SundogLibraryEntry) entry = sundog_library_find_core(server->library, name, error);
    if (!entry)
        return NULL;
    if (entry->damaged) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID,
                    "The core %s cannot be used: %s", entry->name, entry->problem);
        return NULL;
    }
    SundogCoreText *text =
        sundog_core_text_open(entry, sundog_library_get_keyring(server->library), error);
    if (text)
        remember(server, name, text);
    return text;
}

/* A small core that is not there, or not of this vocabulary, is no reason to be without the large one; where
 * it was meant for whatever it suits, it is not even news. */
static void
choose_draft(SundogServer *server, SundogCoreText *text)
{
    g_autoptr(GError) error = NULL;
    bool is_own;
    g_autofree char *name = sundog_config_dup_draft(server->draft, text->name, &is_own);
    text->is_draft_chosen = true;
    g_autoptr(SundogCoreText) draft = name ? open_text(server, name, &error) : NULL;
    bool is_itself = draft && strcmp(draft->path, text->path) == 0;
    if (draft && !is_itself)
        sundog_core_text_set_draft(text, draft, &error);
    if (error)
        sundog_server_log(server, is_own ? "warning" : "info", "%s", error->message);
}

SundogCoreText *
sundog_server_open_core(SundogServer *server, const char *name, GError **error)
{
    SundogCoreText *text = open_text(server, name, error);
    if (text && !text->is_draft_chosen)
        choose_draft(server, text);
    return text;
}

/* The one that is loaded, else the configured one, else the only one. */
static char *
dup_default_name(SundogServer *server)
{
    const char *configured = sundog_config_get_text(server->config, "server.core");
    if (*configured)
        return g_strdup(configured);
    g_autoptr(GPtrArray) entries = sundog_library_list_cores(server->library);
    const char *only = NULL;
    for (guint i = 0; i < entries->len; i++) {
        const SundogLibraryEntry *entry = entries->pdata[i];
        if (entry->damaged)
            continue;
        if (only)
            return NULL;
        only = entry->name;
    }
    return g_strdup(only);
}

static SundogCoreText *
dup_named(SundogServer *server, const char *model, SundogApiError **error)
{
    if (server->fixed_core)
        return sundog_core_text_ref(server->fixed_core);
    g_autofree char *name = NULL;
    if (model && *model) {
        name = g_strdup(model);
    } else {
        const SundogEngine *loaded = sundog_supervisor_get_current(server->supervisor);
        if (loaded)
            return sundog_core_text_ref(sundog_engine_get_core(loaded));
        name = dup_default_name(server);
    }
    /* A request names a core of the library; files elsewhere are the command line's. */
    bool is_name = name && sundog_library_name_is_valid(name);
    if (name && !is_name) {
        g_autofree char *text = g_strdup_printf("There is no core “%s”", name);
        sundog_api_error_set(error, SUNDOG_API_ERROR_NO_MODEL, "model", text, NULL);
        return NULL;
    }
    if (!name) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_NO_CORE, "model", NULL);
        return NULL;
    }
    g_autoptr(GError) reason = NULL;
    SundogCoreText *core = sundog_server_open_core(server, name, &reason);
    if (!core)
        sundog_api_error_set(error, SUNDOG_API_ERROR_NO_MODEL, "model", reason->message, NULL);
    return core;
}

bool
sundog_server_may_use(const SundogExchange *exchange, const char *name)
{
    const SundogApiKey *key = sundog_exchange_get_key(exchange);
    return !key || sundog_api_key_allows_model(key, name);
}

SundogCoreText *
sundog_server_dup_core(SundogExchange *exchange, const char *model, SundogApiError **error)
{
    g_autoptr(SundogCoreText) core = dup_named(sundog_exchange_get_server(exchange), model, error);
    if (core && !sundog_server_may_use(exchange, core->name)) {
        sundog_api_error_set(error, SUNDOG_API_ERROR_MODEL_NOT_ALLOWED, "model",
                             sundog_exchange_get_key(exchange)->name, core->name, NULL);
        return NULL;
    }
    return g_steal_pointer(&core);
}

static SundogLibraryEntry *
make_entry(const SundogCoreText *core)
{
    SundogLibraryEntry *entry = g_new0(SundogLibraryEntry, 1);
    entry->name = g_strdup(core->name);
    entry->path = g_strdup(core->path);
    entry->n_bytes = sundog_folder_get_bytes(core->path);
    entry->info = json_object_ref(core->manifest);
    return entry;
}

static bool
is_listed(const SundogExchange *exchange, const SundogLibraryEntry *entry, const char *name)
{
    return !entry->damaged && (!name || strcmp(name, entry->name) == 0) &&
           sundog_server_may_use(exchange, entry->name);
}

GPtrArray *
sundog_server_list_cores(SundogExchange *exchange, const char *name)
{
    const SundogServer *server = sundog_exchange_get_server(exchange);
    GPtrArray *entries = NULL;
    if (server->fixed_core) {
        entries = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_library_entry_free);
        g_ptr_array_add(entries, make_entry(server->fixed_core));
    } else {
        entries = sundog_library_list_cores(server->library);
    }
    for (guint i = entries->len; i-- > 0;)
        if (!is_listed(exchange, entries->pdata[i], name))
            g_ptr_array_remove_index(entries, i);
    return entries;
}

void
sundog_server_fail_unknown_core(SundogExchange *exchange)
{
    g_autofree char *text =
        g_strdup_printf("There is no core “%s”", sundog_exchange_get_argument(exchange));
    sundog_exchange_fail(exchange,
                         sundog_api_error_new(SUNDOG_API_ERROR_NO_MODEL, "model", text, NULL));
}

const SundogReady *
sundog_server_get_ready(SundogServer *server, const char *path)
{
    const SundogEngine *engine = sundog_supervisor_find(server->supervisor, path);
    return engine ? sundog_engine_get_ready(engine) : NULL;
}

uint32_t
sundog_server_get_context(SundogServer *server, const SundogCoreText *core)
{
    const SundogReady *ready = sundog_server_get_ready(server, core->path);
    if (ready)
        return ready->context_length;
    int64_t configured = sundog_config_get_integer(server->config, "engine.context");
    uint32_t context = core->context_length ? core->context_length : UINT32_MAX;
    return configured ? MIN(context, (uint32_t)configured) : context;
}
