/* Two counts and a delayed call. */

#include "app/conversation/context-meter.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <string.h>

#define DELAY_MS 400

struct _SundogContextMeter {
    GObject parent_instance;
    SundogClient *client;
    SundogServerFeed *feed;
    SundogShelf *shelf;
    SundogChat *chat;
    GCancellable *cancellable;
    char *text;
    unsigned timer;
    int n_answer;
    int n_text;
};

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogContextMeter, sundog_context_meter, G_TYPE_OBJECT)

static void
tell(SundogContextMeter *self)
{
    g_signal_emit(self, signals[CHANGED], 0);
}

static const char *
get_core(SundogContextMeter *self)
{
    return sundog_shelf_choose_core(self->shelf, self->chat ? self->chat->core : NULL);
}

void
sundog_context_meter_set_chat(SundogContextMeter *meter, SundogChat *chat)
{
    g_set_object(&meter->chat, chat);
    tell(meter);
}

void
sundog_context_meter_set_answer(SundogContextMeter *meter, SundogMessage *last)
{
    const char *statistics = last ? last->statistics : NULL;
    g_autoptr(JsonNode) root =
        statistics ? sundog_json_parse(statistics, strlen(statistics), NULL) : NULL;
    JsonObject *object = root && JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
    double read = sundog_json_get_number(object, "prompt_tokens", 0);
    double written = sundog_json_get_number(object, "completion_tokens", 0);
    meter->n_answer = (int)sundog_json_get_number(object, "context_used", read + written);
    tell(meter);
}

static void
on_tokens(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogContextMeter) self = user_data;
    g_autoptr(JsonNode) root = sundog_client_call_finish(self->client, result, NULL);
    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        return;
    JsonArray *tokens = sundog_json_get_array(json_node_get_object(root), "tokens");
    self->n_text = tokens ? (int)json_array_get_length(tokens) : 0;
    tell(self);
}

static gboolean
on_timer(gpointer user_data)
{
    SundogContextMeter *self = user_data;
    self->timer = 0;
    const char *core = get_core(self);
    g_autoptr(JsonObject) object = json_object_new();
    if (core)
        json_object_set_string_member(object, "model", core);
    json_object_set_string_member(object, "content", self->text);
    json_object_set_boolean_member(object, "add_special", FALSE);
    g_autoptr(JsonNode) body = json_node_init_object(json_node_alloc(), object);
    self->cancellable = g_cancellable_new();
    sundog_client_call_async(self->client, "POST", "/tokenize", body, self->cancellable, on_tokens,
                             g_object_ref(self));
    return G_SOURCE_REMOVE;
}

void
sundog_context_meter_set_text(SundogContextMeter *meter, const char *text)
{
    g_clear_handle_id(&meter->timer, g_source_remove);
    g_cancellable_cancel(meter->cancellable);
    g_clear_object(&meter->cancellable);
    g_free(meter->text);
    meter->text = g_strdup(text);
    if (*text) {
        meter->timer = g_timeout_add(DELAY_MS, on_timer, meter);
        return;
    }
    meter->n_text = 0;
    tell(meter);
}

int
sundog_context_meter_get_used(SundogContextMeter *meter)
{
    return meter->n_answer + meter->n_text;
}

int
sundog_context_meter_get_total(SundogContextMeter *meter)
{
    const char *core = get_core(meter);
    JsonObject *engine = sundog_server_feed_find_engine(meter->feed, core);
    /* One that is not loaded is known by what it was made for. */
    double made_for =
        sundog_json_get_number(sundog_shelf_find_core(meter->shelf, core), "context_length", 0);
    return (int)sundog_json_get_number(engine, "context_length", made_for);
}

static void
sundog_context_meter_finalize(GObject *object)
{
    SundogContextMeter *self = SUNDOG_CONTEXT_METER(object);
    g_clear_handle_id(&self->timer, g_source_remove);
    g_clear_object(&self->cancellable);
    g_free(self->text);
    g_object_unref(self->client);
    g_object_unref(self->feed);
    g_object_unref(self->shelf);
    g_clear_object(&self->chat);
    G_OBJECT_CLASS(sundog_context_meter_parent_class)->finalize(object);
}

static void
sundog_context_meter_class_init(SundogContextMeterClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_context_meter_finalize;
    signals[CHANGED] = g_signal_new("changed", SUNDOG_TYPE_CONTEXT_METER, G_SIGNAL_RUN_LAST, 0,
                                    NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
sundog_context_meter_init(SundogContextMeter *self)
{
}

SundogContextMeter *
sundog_context_meter_new(SundogClient *client, SundogServerFeed *feed, SundogShelf *shelf)
{
    SundogContextMeter *self = g_object_new(SUNDOG_TYPE_CONTEXT_METER, NULL);
    self->client = g_object_ref(client);
    self->feed = g_object_ref(feed);
    self->shelf = g_object_ref(shelf);
    g_signal_connect_object(feed, "state", G_CALLBACK(tell), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(shelf, "changed", G_CALLBACK(tell), self, G_CONNECT_SWAPPED);
    return self;
}
