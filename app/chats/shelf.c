/* Two calls after each change, and what they brought. */

#include "app/chats/shelf.h"
#include "engine/format/json-members.h"
#include <string.h>

struct _SundogShelf {
    GObject parent_instance;
    SundogClient *client;
    SundogServerFeed *feed;
    JsonNode *models;
    JsonNode *cores;
    GCancellable *cancellable;
    char *loaded; /* names of the cores that are loaded, as the feed told last */
};

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogShelf, sundog_shelf, G_TYPE_OBJECT)

static void
take(SundogShelf *self, GAsyncResult *result, JsonNode **slot)
{
    g_autoptr(JsonNode) answer = sundog_client_call_finish(self->client, result, NULL);
    if (!answer || !JSON_NODE_HOLDS_OBJECT(answer))
        return;
    g_clear_pointer(slot, json_node_unref);
    *slot = g_steal_pointer(&answer);
    g_signal_emit(self, signals[CHANGED], 0);
}

static void
on_models(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogShelf) self = user_data;
    take(self, result, &self->models);
}

static void
on_cores(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogShelf) self = user_data;
    take(self, result, &self->cores);
}

void
sundog_shelf_refresh(SundogShelf *shelf)
{
    if (!sundog_client_get_address(shelf->client))
        return;
    g_cancellable_cancel(shelf->cancellable);
    g_clear_object(&shelf->cancellable);
    shelf->cancellable = g_cancellable_new();
    sundog_client_call_async(shelf->client, "GET", "/sundog/v1/models", NULL, shelf->cancellable,
                             on_models, g_object_ref(shelf));
    sundog_client_call_async(shelf->client, "GET", "/sundog/v1/cores", NULL, shelf->cancellable,
                             on_cores, g_object_ref(shelf));
}

/* What is loaded is told with the cores: they are asked for again when that is others. */
static void
on_state(SundogShelf *self)
{
    JsonArray *engines = sundog_server_feed_get_engines(self->feed);
    g_autoptr(GString) loaded = g_string_new(NULL);
    for (unsigned i = 0; engines && i < json_array_get_length(engines); i++) {
        JsonObject *engine = sundog_json_get_element(engines, i);
        if (strcmp(sundog_json_get_string(engine, "state", ""), "ready") == 0)
            g_string_append_printf(loaded, "%s\n", sundog_json_get_string(engine, "core", ""));
    }
    if (g_strcmp0(loaded->str, self->loaded) == 0)
        return;
    bool is_first = !self->loaded;
    g_free(self->loaded);
    self->loaded = g_strdup(loaded->str);
    if (!is_first)
        sundog_shelf_refresh(self);
}

static void
on_unloaded(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(JsonNode) answer = sundog_client_call_finish(SUNDOG_CLIENT(source), result, NULL);
}

void
sundog_shelf_unload(SundogShelf *shelf, const char *core)
{
    g_autoptr(JsonObject) object = json_object_new();
    json_object_set_string_member(object, "core", core);
    g_autoptr(JsonNode) body = json_node_init_object(json_node_alloc(), object);
    sundog_client_call_async(shelf->client, "POST", "/sundog/v1/unload", body, NULL, on_unloaded,
                             NULL);
}

static JsonObject *
get_root(JsonNode *node)
{
    return node ? json_node_get_object(node) : NULL;
}

bool
sundog_shelf_is_known(SundogShelf *shelf)
{
    return shelf->cores != NULL;
}

JsonArray *
sundog_shelf_get_models(SundogShelf *shelf)
{
    return sundog_json_get_array(get_root(shelf->models), "models");
}

JsonArray *
sundog_shelf_get_available(SundogShelf *shelf)
{
    return sundog_json_get_array(get_root(shelf->models), "available");
}

JsonArray *
sundog_shelf_get_cores(SundogShelf *shelf)
{
    return sundog_json_get_array(get_root(shelf->cores), "cores");
}

JsonObject *
sundog_shelf_find_core(SundogShelf *shelf, const char *name)
{
    JsonArray *cores = sundog_shelf_get_cores(shelf);
    for (unsigned i = 0; name && cores && i < json_array_get_length(cores); i++) {
        JsonObject *core = sundog_json_get_element(cores, i);
        if (strcmp(sundog_json_get_string(core, "name", ""), name) == 0)
            return core;
    }
    return NULL;
}

bool
sundog_shelf_is_for_chats(JsonObject *core)
{
    const char *purpose = sundog_json_get_string(core, "purpose", "generate");
    return !sundog_json_get_bool(core, "damaged", false) && strcmp(purpose, "generate") == 0;
}

const char *
sundog_shelf_choose_core(SundogShelf *shelf, const char *wanted)
{
    const char *loaded = sundog_server_feed_get_core(shelf->feed);
    JsonArray *cores = sundog_shelf_get_cores(shelf);
    if (wanted && (!cores || sundog_shelf_find_core(shelf, wanted)))
        return wanted;
    JsonObject *known = loaded ? sundog_shelf_find_core(shelf, loaded) : NULL;
    if (loaded && (!known || sundog_shelf_is_for_chats(known)))
        return loaded;
    for (unsigned i = 0; cores && i < json_array_get_length(cores); i++) {
        JsonObject *core = sundog_json_get_element(cores, i);
        if (sundog_shelf_is_for_chats(core))
            return sundog_json_get_string(core, "name", NULL);
    }
    return NULL;
}

static const char *
find_title(JsonArray *entries, const char *name)
{
    for (unsigned i = 0; entries && i < json_array_get_length(entries); i++) {
        JsonObject *entry = sundog_json_get_element(entries, i);
        if (strcmp(sundog_json_get_string(entry, "name", ""), name) == 0)
            return sundog_json_get_string(entry, "title", NULL);
    }
    return NULL;
}

const char *
sundog_shelf_get_title(SundogShelf *shelf, JsonObject *entry)
{
    const char *name = sundog_json_get_string(entry, "name", "");
    const char *title = sundog_json_get_string(entry, "title", NULL);
    if (!title || !*title)
        title = find_title(sundog_shelf_get_models(shelf), name);
    if (!title || !*title)
        title = find_title(sundog_shelf_get_available(shelf), name);
    return title && *title ? title : name;
}

static void
sundog_shelf_finalize(GObject *object)
{
    SundogShelf *self = SUNDOG_SHELF(object);
    g_clear_object(&self->cancellable);
    g_free(self->loaded);
    g_clear_pointer(&self->models, json_node_unref);
    g_clear_pointer(&self->cores, json_node_unref);
    g_object_unref(self->client);
    g_object_unref(self->feed);
    G_OBJECT_CLASS(sundog_shelf_parent_class)->finalize(object);
}

static void
sundog_shelf_class_init(SundogShelfClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_shelf_finalize;
    signals[CHANGED] = g_signal_new("changed", SUNDOG_TYPE_SHELF, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                    NULL, G_TYPE_NONE, 0);
}

static void
sundog_shelf_init(SundogShelf *self)
{
}

SundogShelf *
sundog_shelf_new(SundogClient *client, SundogServerFeed *feed)
{
    SundogShelf *self = g_object_new(SUNDOG_TYPE_SHELF, NULL);
    self->client = g_object_ref(client);
    self->feed = g_object_ref(feed);
    g_signal_connect_object(feed, "library", G_CALLBACK(sundog_shelf_refresh), self,
                            G_CONNECT_SWAPPED);
    g_signal_connect_object(feed, "state", G_CALLBACK(on_state), self, G_CONNECT_SWAPPED);
    return self;
}
