/* POST /api/pull: fetches and prepares, as a job that belongs to the server: a client that leaves while
 * it is told of the progress stops nothing. */

#include "engine/format/json-members.h"
#include "engine/library/timer.h"
#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/ollama/fields.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"
#include <string.h>

/* Between two looks at the job. */
#define STEP_MS 100

typedef struct {
    SundogExchange *exchange;
    char *name;
    char *id;   /* of the job that is followed: the pull, then the preparing */
    char *last; /* line that was told last */
    bool stream;
    bool prepares;
    guint timer;
} Following;

static void
following_free(Following *following)
{
    sundog_exchange_unref(following->exchange);
    g_free(following->name);
    g_free(following->id);
    g_free(following->last);
    g_free(following);
}

static void
tell(Following *following, const char *line)
{
    if (!following->stream || g_strcmp0(line, following->last) == 0)
        return;
    g_free(following->last);
    following->last = g_strdup(line);
    sundog_exchange_send(following->exchange, line, strlen(line));
}

static void
tell_progress(Following *following, JsonObject *job)
{
    g_autoptr(GString) line = g_string_new("{\"status\":");
    const char *phase = sundog_json_get_string(job, "phase", "");
    gint64 total = (gint64)sundog_json_get_number(job, "bytes_total", 0);
    g_autofree char *status =
        following->prepares ? g_strdup_printf("preparing %s %.0f%%", phase,
                                              100 * sundog_json_get_number(job, "fraction", 0))
                            : g_strdup_printf("pulling %s", following->name);
    sundog_json_text_append(line, status);
    if (!following->prepares && total > 0) {
        g_string_append(line, ",\"digest\":");
        sundog_json_text_append(line, following->name);
        g_string_append_printf(line,
                               ",\"total\":%" G_GINT64_FORMAT ",\"completed\":%" //
                               G_GINT64_FORMAT,
                               total, (gint64)sundog_json_get_number(job, "bytes_done", 0));
    }
    g_string_append(line, "}\n");
    tell(following, line->str);
}

static void
end_well(Following *following)
{
    static const char line[] = "{\"status\":\"success\"}\n";
    if (following->stream) {
        tell(following, line);
        sundog_exchange_end(following->exchange);
    } else {
        sundog_exchange_reply_text(following->exchange, SOUP_STATUS_OK, "application/json", line,
                                   strlen(line));
    }
}

/* The preparing that a pull went over into, or NULL; owned by the caller. */
static char *
dup_preparing(SundogJobs *jobs, const char *model)
{
    g_autoptr(JsonArray) all = sundog_jobs_describe_all(jobs);
    for (guint i = json_array_get_length(all); i-- > 0;) {
        JsonObject *job = json_array_get_object_element(all, i);
        if (strcmp(sundog_json_get_string(job, "kind", ""), "prepare") == 0 &&
            g_strcmp0(sundog_json_get_string(job, "model", NULL), model) == 0)
            return g_strdup(sundog_json_get_string(job, "id", NULL));
    }
    return NULL;
}

/* False once there is nothing more to follow, and the client has been told. */
static bool
follow(Following *following, SundogServer *server)
{
    g_autoptr(JsonObject) job = sundog_jobs_describe(server->jobs, following->id);
    const char *state = sundog_json_get_string(job, "state", "cancelled");
    bool is_done = strcmp(state, "done") == 0;
    if (is_done && !following->prepares) {
        char *next = dup_preparing(server->jobs, sundog_json_get_string(job, "result", NULL));
        following->prepares = next != NULL;
        g_free(following->id);
        following->id = next;
        if (next)
            return true;
    }
    if (is_done) {
        end_well(following);
        return false;
    }
    if (strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0) {
        const char *message = sundog_json_get_string(job, "message", "It was cancelled");
        sundog_exchange_fail(following->exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, message, NULL));
        return false;
    }
    tell_progress(following, job);
    return true;
}

static gboolean
on_step(void *data)
{
    Following *following = data;
    /* Where the client has left the server may be gone as well. */
    if (!sundog_exchange_is_over(following->exchange) &&
        follow(following, sundog_exchange_get_server(following->exchange)))
        return G_SOURCE_CONTINUE;
    following_free(following);
    return G_SOURCE_REMOVE;
}

static JsonObject *
add_job(SundogServer *server, const char *source, SundogApiError **error)
{
    g_autoptr(JsonObject) request = json_object_new();
    json_object_set_string_member(request, "kind", "pull");
    json_object_set_string_member(request, "source", source);
    json_object_set_boolean_member(request, "then_prepare", true);
    return sundog_jobs_add(server->jobs, request, error);
}

void
sundog_ollama_pull(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    bool stream = true;
    if (!object)
        return;
    g_autofree char *name = sundog_ollama_dup_model(object, &error);
    g_autoptr(JsonObject) job = NULL;
    if (name && sundog_field_read_boolean(object, SUNDOG_FIELD_LINES_STREAM, &stream, &error))
        job = add_job(server, name, &error);
    if (!job) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    Following *following = g_new0(Following, 1);
    *following = (Following){.exchange = sundog_exchange_ref(exchange),
                             .name = g_steal_pointer(&name),
                             .id = g_strdup(json_object_get_string_member(job, "id")),
                             .stream = stream};
    if (stream)
        sundog_exchange_begin_stream(exchange);
    sundog_exchange_set_gone(exchange, NULL, NULL);
    tell(following, "{\"status\":\"pulling manifest\"}\n");
    sundog_timer_start(&following->timer, STEP_MS, on_step, following);
}
