/* A chat completion's stream into a message. */

#include "app/conversation/generation.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <glib/gi18n.h>
#include <string.h>

#define RETRY_MS 1000

struct _SundogGeneration {
    GObject parent_instance;
    SundogClient *client;
    SundogChat *chat;
    SundogMessage *answer;
    JsonNode *body;
    GCancellable *cancellable;
    SundogPhase phase;
    double progress;
    unsigned retry_timer;
    unsigned changed_idle; /* tells listeners once a batch */
    bool finished;         /* a finish_reason came */
    JsonObject *figures;
};

enum { CHANGED, ENDED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogGeneration, sundog_generation, G_TYPE_OBJECT)

static void send_request(SundogGeneration *self);

static void
set_phase(SundogGeneration *self, SundogPhase phase, double progress)
{
    if (self->phase == SUNDOG_PHASE_ENDED || (self->phase == phase && self->progress == progress))
        return;
    self->phase = phase;
    self->progress = progress;
    g_signal_emit(self, signals[CHANGED], 0);
}

/* What is sent. */

static void
append_message(JsonBuilder *builder, const char *role, const char *content)
{
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "role");
    json_builder_add_string_value(builder, role);
    json_builder_set_member_name(builder, "content");
    json_builder_add_string_value(builder, content);
    json_builder_end_object(builder);
}

static void
append_messages(JsonBuilder *builder, SundogChat *chat, GPtrArray *messages)
{
    json_builder_set_member_name(builder, "messages");
    json_builder_begin_array(builder);
    if (chat->instructions && *chat->instructions)
        append_message(builder, "system", chat->instructions);
    for (unsigned i = 0; i < messages->len; i++) {
        SundogMessage *message = messages->pdata[i];
        bool user = message->role == SUNDOG_ROLE_USER;
        if (user || message->content->len > 0)
            append_message(builder, user ? "user" : "assistant", message->content->str);
    }
    json_builder_end_array(builder);
}

static void
append_switches(JsonBuilder *builder)
{
    json_builder_set_member_name(builder, "stream");
    json_builder_add_boolean_value(builder, TRUE);
    json_builder_set_member_name(builder, "stream_options");
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "include_usage");
    json_builder_add_boolean_value(builder, TRUE);
    json_builder_end_object(builder);
    json_builder_set_member_name(builder, "sundog");
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "progress");
    json_builder_add_boolean_value(builder, TRUE);
    json_builder_end_object(builder);
}

/* The chat's parameters have the API's own names, so they are merged as they are. */
static void
append_parameters(JsonObject *body, const char *parameters)
{
    g_autoptr(JsonNode) root =
        parameters ? sundog_json_parse(parameters, strlen(parameters), NULL) : NULL;
    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        return;
    JsonObjectIter iter;
    const char *name;
    JsonNode *value;
    json_object_iter_init(&iter, json_node_get_object(root));
    while (json_object_iter_next(&iter, &name, &value))
        json_object_set_member(body, name, json_node_copy(value));
}

static JsonNode *
make_body(SundogChat *chat, GPtrArray *messages, const char *core)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    json_builder_begin_object(builder);
    json_builder_set_member_name(builder, "model");
    json_builder_add_string_value(builder, core ? core : "default");
    append_messages(builder, chat, messages);
    append_switches(builder);
    json_builder_end_object(builder);
    JsonNode *body = json_builder_get_root(builder);
    append_parameters(json_node_get_object(body), chat->parameters);
    return body;
}

/* What comes. */

static gboolean
tell_changed(gpointer user_data)
{
    SundogGeneration *self = user_data;
    self->changed_idle = 0;
    sundog_message_changed(self->answer);
    return G_SOURCE_REMOVE;
}

static void
schedule_changed(SundogGeneration *self)
{
    if (!self->changed_idle)
        self->changed_idle = g_idle_add_full(G_PRIORITY_DEFAULT, tell_changed, self, NULL);
}

static void
take_delta(SundogGeneration *self, JsonObject *delta)
{
    const char *content = sundog_json_get_string(delta, "content", NULL);
    const char *reasoning = sundog_json_get_string(delta, "reasoning_content", NULL);
    if (!(content && *content) && !(reasoning && *reasoning))
        return;
    set_phase(self, SUNDOG_PHASE_WRITING, -1);
    g_string_append(self->answer->content, content ? content : "");
    g_string_append(self->answer->reasoning, reasoning ? reasoning : "");
    schedule_changed(self);
}

static void
take_finish(SundogGeneration *self, const char *reason)
{
    if (!reason)
        return;
    self->finished = true;
    self->answer->state =
        strcmp(reason, "length") == 0 ? SUNDOG_MESSAGE_LENGTH : SUNDOG_MESSAGE_DONE;
}

static void
take_figures(SundogGeneration *self, JsonObject *from)
{
    JsonObjectIter iter;
    const char *name;
    JsonNode *value;
    if (!from)
        return;
    json_object_iter_init(&iter, from);
    while (json_object_iter_next(&iter, &name, &value))
        if (JSON_NODE_HOLDS_VALUE(value))
            json_object_set_member(self->figures, name, json_node_copy(value));
}

static void
take_error(SundogGeneration *self, JsonObject *error)
{
    const char *text = sundog_json_get_string(error, "message", NULL);
    sundog_generation_fail(self, _("The answer could not be finished."), text ? text : "error");
}

static void
take_chunk(SundogGeneration *self, JsonObject *chunk)
{
    if (json_object_has_member(chunk, "error")) {
        take_error(self, sundog_json_get_object(chunk, "error"));
        return;
    }
    const char *model = sundog_json_get_string(chunk, "model", NULL);
    if (model && !self->answer->model)
        self->answer->model = g_strdup(model);
    take_figures(self, sundog_json_get_object(chunk, "usage"));
    take_figures(self, sundog_json_get_object(chunk, "sundog"));
    JsonObject *choice = sundog_json_get_element(sundog_json_get_array(chunk, "choices"), 0);
    if (!choice)
        return;
    take_delta(self, sundog_json_get_object(choice, "delta"));
    take_finish(self, sundog_json_get_string(choice, "finish_reason", NULL));
}

static void
on_event(const char *name, const char *data, gpointer user_data)
{
    SundogGeneration *self = user_data;
    if (self->phase == SUNDOG_PHASE_ENDED || strcmp(name, "message") != 0 ||
        strcmp(data, "[DONE]") == 0)
        return;
    g_autoptr(JsonNode) root = sundog_json_parse(data, strlen(data), NULL);
    if (root && JSON_NODE_HOLDS_OBJECT(root))
        take_chunk(self, json_node_get_object(root));
}

static void
on_comment(const char *text, gpointer user_data)
{
    SundogGeneration *self = user_data;
    if (*text != '{' || self->phase >= SUNDOG_PHASE_WRITING)
        return;
    g_autoptr(JsonNode) root = sundog_json_parse(text, strlen(text), NULL);
    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        return;
    JsonObject *object = json_node_get_object(root);
    const char *phase = sundog_json_get_string(object, "phase", NULL);
    double progress = sundog_json_get_number(object, "progress", -1);
    if (g_strcmp0(phase, "prefill") == 0)
        set_phase(self, SUNDOG_PHASE_READING, progress);
    else if (g_strcmp0(phase, "queue") == 0)
        set_phase(self, SUNDOG_PHASE_QUEUED, progress);
    else
        set_phase(self, SUNDOG_PHASE_LOADING, progress);
}

/* How it ends. */

static void
end(SundogGeneration *self, SundogMessageState state)
{
    if (self->phase == SUNDOG_PHASE_ENDED)
        return;
    g_clear_handle_id(&self->retry_timer, g_source_remove);
    g_clear_handle_id(&self->changed_idle, g_source_remove);
    self->phase = SUNDOG_PHASE_ENDED;
    self->answer->state = state;
    if (json_object_get_size(self->figures) > 0) {
        g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), self->figures);
        g_free(self->answer->statistics);
        self->answer->statistics = sundog_json_print(node, false);
    }
    g_cancellable_cancel(self->cancellable);
    sundog_message_changed(self->answer);
    g_signal_emit(self, signals[ENDED], 0);
}

void
sundog_generation_fail(SundogGeneration *generation, const char *problem, const char *details)
{
    if (generation->phase == SUNDOG_PHASE_ENDED)
        return;
    g_free(generation->answer->problem);
    g_free(generation->answer->details);
    generation->answer->problem = g_strdup(problem);
    generation->answer->details = g_strdup(details);
    end(generation, SUNDOG_MESSAGE_FAILED);
}

static gboolean
on_retry(gpointer user_data)
{
    SundogGeneration *self = user_data;
    self->retry_timer = 0;
    send_request(self);
    return G_SOURCE_REMOVE;
}

static bool
has_text(SundogGeneration *self)
{
    return self->answer->content->len + self->answer->reasoning->len > 0;
}

/* Before the first token nothing is lost by asking again; after it, the answer would be another. */
static void
wait_for_server(SundogGeneration *self, SundogPhase phase)
{
    set_phase(self, phase, -1);
    if (!self->retry_timer)
        self->retry_timer = g_timeout_add(RETRY_MS, on_retry, self);
}

static void
interrupt(SundogGeneration *self, const char *details)
{
    g_free(self->answer->details);
    self->answer->details = g_strdup(details);
    end(self, SUNDOG_MESSAGE_INTERRUPTED);
}

static void
end_with_error(SundogGeneration *self, GError *error)
{
    bool ours = error->domain == SUNDOG_CLIENT_ERROR;
    if (ours && error->code == SUNDOG_CLIENT_ERROR_BUSY && !has_text(self))
        wait_for_server(self, SUNDOG_PHASE_LOADING);
    else if (ours && error->code <= SUNDOG_CLIENT_ERROR_BUSY && !has_text(self))
        wait_for_server(self, SUNDOG_PHASE_SERVER);
    else if (ours && error->code <= SUNDOG_CLIENT_ERROR_BUSY)
        interrupt(self, error->message);
    else
        sundog_generation_fail(self, _("The server refused this message."), error->message);
}

static void
on_stream_end(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogGeneration) self = user_data;
    g_autoptr(GError) error = NULL;
    bool whole = sundog_client_stream_finish(SUNDOG_CLIENT(source), result, &error);
    if (self->phase == SUNDOG_PHASE_ENDED)
        return;
    if (self->finished)
        end(self, self->answer->state);
    else if (whole && has_text(self))
        interrupt(self, "the stream ended without a finish_reason");
    else if (whole)
        wait_for_server(self, SUNDOG_PHASE_SERVER);
    else
        end_with_error(self, error);
}

static void
send_request(SundogGeneration *self)
{
    SundogSseHandler handler = {on_event, on_comment, self};
    sundog_client_stream_async(self->client, "POST", "/v1/chat/completions", self->body, &handler,
                               self->cancellable, on_stream_end, g_object_ref(self));
}

void
sundog_generation_start(SundogGeneration *generation)
{
    generation->answer->state = SUNDOG_MESSAGE_STREAMING;
    send_request(generation);
}

void
sundog_generation_retry(SundogGeneration *generation)
{
    if (!generation->retry_timer)
        return;
    g_clear_handle_id(&generation->retry_timer, g_source_remove);
    send_request(generation);
}

void
sundog_generation_stop(SundogGeneration *generation)
{
    end(generation, SUNDOG_MESSAGE_STOPPED);
}

SundogPhase
sundog_generation_get_phase(SundogGeneration *generation)
{
    return generation->phase;
}

double
sundog_generation_get_progress(SundogGeneration *generation)
{
    return generation->progress;
}

char *
sundog_generation_dup_activity(SundogGeneration *generation)
{
    int percent = (int)(generation->progress * 100);
    switch (generation->phase) {
    case SUNDOG_PHASE_SERVER:
        return g_strdup(_("Waiting for the server"));
    case SUNDOG_PHASE_LOADING:
        return percent >= 0 && generation->progress >= 0
                   ? g_strdup_printf(_("Loading the model, %d %%"), percent)
                   : g_strdup(_("Loading the model"));
    case SUNDOG_PHASE_QUEUED:
        return g_strdup(_("Waiting for its turn"));
    case SUNDOG_PHASE_READING:
        return generation->progress >= 0 ? g_strdup_printf(_("Reading, %d %%"), percent)
                                         : g_strdup(_("Reading"));
    case SUNDOG_PHASE_WRITING:
        return g_strdup(_("Writing"));
    default:
        return g_strdup("");
    }
}

SundogMessage *
sundog_generation_get_answer(SundogGeneration *generation)
{
    return generation->answer;
}

SundogChat *
sundog_generation_get_chat(SundogGeneration *generation)
{
    return generation->chat;
}

static void
sundog_generation_finalize(GObject *object)
{
    SundogGeneration *self = SUNDOG_GENERATION(object);
    g_clear_handle_id(&self->retry_timer, g_source_remove);
    g_clear_handle_id(&self->changed_idle, g_source_remove);
    g_object_unref(self->client);
    g_object_unref(self->chat);
    g_object_unref(self->answer);
    g_object_unref(self->cancellable);
    json_node_unref(self->body);
    json_object_unref(self->figures);
    G_OBJECT_CLASS(sundog_generation_parent_class)->finalize(object);
}

static void
sundog_generation_class_init(SundogGenerationClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_generation_finalize;
    signals[CHANGED] = g_signal_new("changed", SUNDOG_TYPE_GENERATION, G_SIGNAL_RUN_LAST, 0, NULL,
                                    NULL, NULL, G_TYPE_NONE, 0);
    signals[ENDED] = g_signal_new("ended", SUNDOG_TYPE_GENERATION, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 0);
}

static void
sundog_generation_init(SundogGeneration *self)
{
    self->cancellable = g_cancellable_new();
    self->figures = json_object_new();
    self->phase = SUNDOG_PHASE_QUEUED;
    self->progress = -1;
}

SundogGeneration *
sundog_generation_new(SundogClient *client, SundogChat *chat, GPtrArray *messages,
                      SundogMessage *answer, const char *core)
{
    SundogGeneration *self = g_object_new(SUNDOG_TYPE_GENERATION, NULL);
    self->client = g_object_ref(client);
    self->chat = g_object_ref(chat);
    self->answer = g_object_ref(answer);
    self->body = make_body(chat, messages, core);
    return self;
}
