/* The event stream into a few arrays. */

#include "app/server/server-feed.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include <string.h>

#define RECONNECT_MS 1000

enum { STATE, JOBS, REQUESTS, LIBRARY, LOG, N_SIGNALS };
static const char *const signal_names[N_SIGNALS] = {"state", "jobs", "requests", "library", "log"};
static guint signals[N_SIGNALS];

struct _SundogServerFeed {
    GObject parent_instance;
    SundogClient *client;
    SundogSupervisor *supervisor;
    GCancellable *cancellable; /* of the running stream, NULL while there is none */
    JsonObject *state;
    GPtrArray *jobs;
    GPtrArray *requests;
    GPtrArray *log;
    unsigned reconnect_timer;
    unsigned tell_idle;
    bool pending[N_SIGNALS];
};

G_DEFINE_FINAL_TYPE(SundogServerFeed, sundog_server_feed, G_TYPE_OBJECT)

static gboolean
tell(gpointer user_data)
{
    SundogServerFeed *self = user_data;
    self->tell_idle = 0;
    for (int i = 0; i < N_SIGNALS; i++) {
        bool pending = self->pending[i];
        self->pending[i] = false;
        if (pending)
            g_signal_emit(self, signals[i], 0);
    }
    return G_SOURCE_REMOVE;
}

static void
schedule(SundogServerFeed *self, int signal)
{
    self->pending[signal] = true;
    if (!self->tell_idle)
        self->tell_idle = g_idle_add_full(G_PRIORITY_DEFAULT, tell, self, NULL);
}

static int
find_by_id(GPtrArray *array, JsonObject *object)
{
    const char *id = sundog_json_get_string(object, "id", "");
    for (unsigned i = 0; i < array->len; i++)
        if (strcmp(sundog_json_get_string(array->pdata[i], "id", ""), id) == 0)
            return i;
    return -1;
}

static void
take_job(SundogServerFeed *self, JsonObject *job)
{
    int at = find_by_id(self->jobs, job);
    const char *state = sundog_json_get_string(job, "state", "");
    if (strcmp(state, "forgotten") == 0) {
        if (at >= 0)
            g_ptr_array_remove_index(self->jobs, at);
    } else if (at < 0)
        g_ptr_array_add(self->jobs, json_object_ref(job));
    else {
        json_object_unref(self->jobs->pdata[at]);
        self->jobs->pdata[at] = json_object_ref(job);
    }
    schedule(self, JOBS);
}

static void
take_request(SundogServerFeed *self, JsonObject *request)
{
    int at = find_by_id(self->requests, request);
    if (at < 0) {
        g_ptr_array_insert(self->requests, 0, json_object_ref(request));
        if (self->requests->len > SUNDOG_FEED_MAX_REQUESTS)
            g_ptr_array_set_size(self->requests, SUNDOG_FEED_MAX_REQUESTS);
    } else {
        json_object_unref(self->requests->pdata[at]);
        self->requests->pdata[at] = json_object_ref(request);
    }
    schedule(self, REQUESTS);
}

static void
take_log(SundogServerFeed *self, JsonObject *line)
{
    if (self->log->len >= SUNDOG_FEED_MAX_LOG_LINES)
        g_ptr_array_remove_range(self->log, 0, SUNDOG_FEED_MAX_LOG_LINES / 4);
    g_ptr_array_add(self->log, json_object_ref(line));
    schedule(self, LOG);
}

static void
on_event(const char *name, const char *data, gpointer user_data)
{
    SundogServerFeed *self = user_data;
    g_autoptr(JsonNode) root = sundog_json_parse(data, strlen(data), NULL);
    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        return;
    JsonObject *object = json_node_get_object(root);
    if (strcmp(name, "state") == 0) {
        g_clear_pointer(&self->state, json_object_unref);
        self->state = json_object_ref(object);
        schedule(self, STATE);
    } else if (strcmp(name, "job") == 0)
        take_job(self, object);
    else if (strcmp(name, "request") == 0)
        take_request(self, object);
    else if (strcmp(name, "log") == 0)
        take_log(self, object);
    else if (strcmp(name, "library") == 0)
        schedule(self, LIBRARY);
}

static void
forget(SundogServerFeed *self)
{
    g_clear_pointer(&self->state, json_object_unref);
    g_ptr_array_set_size(self->jobs, 0);
    g_ptr_array_set_size(self->requests, 0);
    schedule(self, STATE);
    schedule(self, JOBS);
    schedule(self, REQUESTS);
}

static void subscribe(SundogServerFeed *self);

static gboolean
on_reconnect(gpointer user_data)
{
    SundogServerFeed *self = user_data;
    self->reconnect_timer = 0;
    subscribe(self);
    return G_SOURCE_REMOVE;
}

static void
on_stream_end(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogServerFeed) self = user_data;
    g_autoptr(GError) error = NULL;
    sundog_client_stream_finish(SUNDOG_CLIENT(source), result, &error);
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return;
    g_clear_object(&self->cancellable);
    sundog_supervisor_check(self->supervisor);
    if (!self->reconnect_timer)
        self->reconnect_timer = g_timeout_add(RECONNECT_MS, on_reconnect, self);
}

static void
subscribe(SundogServerFeed *self)
{
    if (self->cancellable ||
        sundog_supervisor_get_state(self->supervisor) != SUNDOG_SUPERVISOR_READY)
        return;
    g_clear_handle_id(&self->reconnect_timer, g_source_remove);
    g_ptr_array_set_size(self->jobs, 0);
    g_ptr_array_set_size(self->requests, 0);
    g_ptr_array_set_size(self->log, 0);
    SundogSseHandler handler = {on_event, NULL, self};
    self->cancellable = g_cancellable_new();
    sundog_client_stream_async(self->client, "GET", "/sundog/v1/events", NULL, &handler,
                               self->cancellable, on_stream_end, g_object_ref(self));
    schedule(self, LIBRARY);
}

static void
on_supervisor_state(SundogServerFeed *self)
{
    if (sundog_supervisor_get_state(self->supervisor) == SUNDOG_SUPERVISOR_READY) {
        subscribe(self);
        return;
    }
    g_cancellable_cancel(self->cancellable);
    g_clear_object(&self->cancellable);
    g_clear_handle_id(&self->reconnect_timer, g_source_remove);
    forget(self);
}

JsonObject *
sundog_server_feed_get_state(SundogServerFeed *feed)
{
    return feed->state;
}

JsonObject *
sundog_server_feed_get_engine(SundogServerFeed *feed)
{
    return sundog_json_get_object(feed->state, "engine");
}

const char *
sundog_server_feed_get_core(SundogServerFeed *feed)
{
    return sundog_json_get_string(sundog_server_feed_get_engine(feed), "core", NULL);
}

JsonArray *
sundog_server_feed_get_engines(SundogServerFeed *feed)
{
    return sundog_json_get_array(feed->state, "engines");
}

JsonObject *
sundog_server_feed_find_engine(SundogServerFeed *feed, const char *core)
{
    JsonArray *engines = sundog_server_feed_get_engines(feed);
    for (unsigned i = 0; core && engines && i < json_array_get_length(engines); i++) {
        JsonObject *engine = sundog_json_get_element(engines, i);
        if (strcmp(sundog_json_get_string(engine, "core", ""), core) == 0)
            return engine;
    }
    return NULL;
}

const char *
sundog_server_feed_get_engine_state(SundogServerFeed *feed)
{
    return sundog_json_get_string(sundog_server_feed_get_engine(feed), "state", "none");
}

GPtrArray *
sundog_server_feed_get_jobs(SundogServerFeed *feed)
{
    return feed->jobs;
}

GPtrArray *
sundog_server_feed_get_requests(SundogServerFeed *feed)
{
    return feed->requests;
}

GPtrArray *
sundog_server_feed_get_log(SundogServerFeed *feed)
{
    return feed->log;
}

static void
sundog_server_feed_finalize(GObject *object)
{
    SundogServerFeed *self = SUNDOG_SERVER_FEED(object);
    g_clear_handle_id(&self->reconnect_timer, g_source_remove);
    g_clear_handle_id(&self->tell_idle, g_source_remove);
    g_clear_object(&self->cancellable);
    g_clear_pointer(&self->state, json_object_unref);
    g_ptr_array_unref(self->jobs);
    g_ptr_array_unref(self->requests);
    g_ptr_array_unref(self->log);
    g_object_unref(self->client);
    g_object_unref(self->supervisor);
    G_OBJECT_CLASS(sundog_server_feed_parent_class)->finalize(object);
}

static void
sundog_server_feed_class_init(SundogServerFeedClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_server_feed_finalize;
    for (int i = 0; i < N_SIGNALS; i++)
        signals[i] = g_signal_new(signal_names[i], SUNDOG_TYPE_SERVER_FEED, G_SIGNAL_RUN_LAST, 0,
                                  NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
sundog_server_feed_init(SundogServerFeed *self)
{
    self->jobs = g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
    self->requests = g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
    self->log = g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
}

SundogServerFeed *
sundog_server_feed_new(SundogClient *client, SundogSupervisor *supervisor)
{
    SundogServerFeed *self = g_object_new(SUNDOG_TYPE_SERVER_FEED, NULL);
    self->client = g_object_ref(client);
    self->supervisor = g_object_ref(supervisor);
    g_signal_connect_object(supervisor, "notify::state", G_CALLBACK(on_supervisor_state), self,
                            G_CONNECT_SWAPPED);
    return self;
}
