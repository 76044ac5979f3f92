/* A small state machine: search, start, watch, wait, again. */

#include "app/server/supervisor.h"
#include "app/server/server-address.h"
#include "engine/library/server-file.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* While a server starts its address is looked for this often, and for no longer than this. */
#define POLL_MS 40
#define START_TIMEOUT_MS 30000
/* A server that lived this long is healthy: its next death starts the delays anew. */
#define HEALTHY_US (20 * G_USEC_PER_SEC)
#define MAX_DEATHS 6
#define FIRST_DELAY_MS 250
#define MAX_DELAY_MS 8000
#define MAX_PROBLEM_LINES 20

struct _SundogSupervisor {
    GObject parent_instance;
    SundogClient *client;
    char *program;
    SundogSupervisorState state;
    GSubprocess *child;
    GCancellable *cancellable; /* of whatever runs for the present state */
    GQueue lines;              /* the child's last words, each a char * */
    char *problem;
    unsigned timer;
    unsigned n_polls;
    unsigned n_deaths;
    int64_t started_us;
    bool was_ready;   /* the present or last server came up */
    int replaced_pid; /* of a stale server that was told to stop */
};

enum { PROP_0, PROP_STATE, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];

G_DEFINE_FINAL_TYPE(SundogSupervisor, sundog_supervisor, G_TYPE_OBJECT)

static void search(SundogSupervisor *self);

static void
set_state(SundogSupervisor *self, SundogSupervisorState state)
{
    if (self->state == state)
        return;
    self->state = state;
    if (state != SUNDOG_SUPERVISOR_READY)
        sundog_client_set_server(self->client, NULL, NULL);
    g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_STATE]);
}

static void
drop_pending(SundogSupervisor *self)
{
    g_clear_handle_id(&self->timer, g_source_remove);
    g_cancellable_cancel(self->cancellable);
    g_clear_object(&self->cancellable);
    self->cancellable = g_cancellable_new();
}

static void
become_ready(SundogSupervisor *self, const SundogServerAddress *address)
{
    drop_pending(self);
    self->started_us = g_get_monotonic_time();
    self->was_ready = true;
    g_clear_pointer(&self->problem, g_free);
    sundog_client_set_server(self->client, address->url, address->key);
    set_state(self, SUNDOG_SUPERVISOR_READY);
}

static void
keep_problem(SundogSupervisor *self)
{
    GString *text = g_string_new(NULL);
    for (GList *line = self->lines.head; line; line = line->next)
        g_string_append_printf(text, "%s%s", text->len ? "\n" : "", (char *)line->data);
    g_free(self->problem);
    self->problem = g_string_free(text, text->len == 0);
}

static gboolean
on_delay(gpointer user_data)
{
    SundogSupervisor *self = user_data;
    self->timer = 0;
    search(self);
    return G_SOURCE_REMOVE;
}

/* After a death: wait longer each time, and give up where it never stays. */
static void
start_later(SundogSupervisor *self)
{
    drop_pending(self);
    if (self->started_us && g_get_monotonic_time() - self->started_us > HEALTHY_US)
        self->n_deaths = 0;
    self->started_us = 0;
    if (++self->n_deaths >= MAX_DEATHS) {
        set_state(self, SUNDOG_SUPERVISOR_FAILED);
        return;
    }
    unsigned delay = MIN(FIRST_DELAY_MS << (self->n_deaths - 1), MAX_DELAY_MS);
    self->timer = g_timeout_add(delay, on_delay, self);
    set_state(self, SUNDOG_SUPERVISOR_WAITING);
}

static void
on_child_exit(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogSupervisor) self = user_data;
    g_subprocess_wait_finish(G_SUBPROCESS(source), result, NULL);
    if (self->child != G_SUBPROCESS(source))
        return;
    g_clear_object(&self->child);
    keep_problem(self);
    if (self->state != SUNDOG_SUPERVISOR_STOPPED)
        start_later(self);
}

static void
on_line(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogSupervisor) self = user_data;
    char *line =
        g_data_input_stream_read_line_finish_utf8(G_DATA_INPUT_STREAM(source), result, NULL, NULL);
    if (!line)
        return;
    g_queue_push_tail(&self->lines, line);
    while (self->lines.length > MAX_PROBLEM_LINES)
        g_free(g_queue_pop_head(&self->lines));
    g_data_input_stream_read_line_async(G_DATA_INPUT_STREAM(source), G_PRIORITY_LOW, NULL, on_line,
                                        g_object_ref(self));
}

static void
read_lines(SundogSupervisor *self)
{
    g_autoptr(GDataInputStream) lines =
        g_data_input_stream_new(g_subprocess_get_stderr_pipe(self->child));
    g_data_input_stream_read_line_async(lines, G_PRIORITY_LOW, NULL, on_line, g_object_ref(self));
}

static gboolean
on_poll(gpointer user_data)
{
    SundogSupervisor *self = user_data;
    g_autoptr(SundogServerAddress) address = sundog_server_address_read();
    const char *id = g_subprocess_get_identifier(self->child);
    if (address && id && address->pid == atoi(id)) {
        self->timer = 0;
        become_ready(self, address);
        return G_SOURCE_REMOVE;
    }
    if (++self->n_polls * POLL_MS > START_TIMEOUT_MS) {
        self->timer = 0;
        g_subprocess_force_exit(self->child);
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

/* A port that another program holds would keep the server from ever starting: once that may be the
 * reason, any free port will do. */
static GSubprocess *
spawn(SundogSupervisor *self, GError **error)
{
    g_autofree char *parent = g_strdup_printf("%d", (int)getpid());
    const char *any_port[] = {"--port", "0"};
    bool failed_before = self->n_deaths > 0 && !self->was_ready;
    const char *const argv[] = {
        self->program, "serve", "--parent", parent, failed_before ? any_port[0] : NULL,
        any_port[1],   NULL};
    return g_subprocess_newv(
        argv, G_SUBPROCESS_FLAGS_STDOUT_SILENCE | G_SUBPROCESS_FLAGS_STDERR_PIPE, error);
}

static void
start_child(SundogSupervisor *self)
{
    g_autoptr(GError) error = NULL;
    g_queue_clear_full(&self->lines, g_free);
    g_clear_object(&self->child);
    self->child = spawn(self, &error);
    if (!self->child) {
        g_queue_push_tail(&self->lines, g_strdup(error->message));
        keep_problem(self);
        self->n_deaths = MAX_DEATHS;
        start_later(self);
        return;
    }
    read_lines(self);
    g_subprocess_wait_async(self->child, NULL, on_child_exit, g_object_ref(self));
    self->n_polls = 0;
    self->timer = g_timeout_add(POLL_MS, on_poll, self);
    set_state(self, SUNDOG_SUPERVISOR_STARTING);
}

static gboolean
on_replace_poll(gpointer user_data)
{
    SundogSupervisor *self = user_data;
    bool alive = kill(self->replaced_pid, 0) == 0 || errno == EPERM;
    if (alive && ++self->n_polls * POLL_MS < START_TIMEOUT_MS)
        return G_SOURCE_CONTINUE;
    self->timer = 0;
    start_child(self);
    return G_SOURCE_REMOVE;
}

static void
on_stale_stopped(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogSupervisor) self = user_data;
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) answer = sundog_client_call_finish(self->client, result, &error);
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
        return;
    self->n_polls = 0;
    self->timer = g_timeout_add(POLL_MS, on_replace_poll, self);
}

typedef struct {
    SundogSupervisor *supervisor;
    SundogServerAddress *address;
} Probe;

static void
use_found(SundogSupervisor *self, SundogServerAddress *address)
{
    g_autofree char *stamp = sundog_server_file_dup_stamp();
    if (g_strcmp0(stamp, address->stamp) == 0) {
        become_ready(self, address);
        return;
    }
    self->replaced_pid = address->pid;
    sundog_client_call_async(self->client, "POST", "/sundog/v1/stop", NULL, self->cancellable,
                             on_stale_stopped, g_object_ref(self));
}

static void
on_health(GObject *source, GAsyncResult *result, gpointer user_data)
{
    Probe *probe = user_data;
    SundogSupervisor *self = probe->supervisor;
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) answer = sundog_client_call_finish(self->client, result, &error);
    bool cancelled = g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    bool answered = answer || g_error_matches(error, SUNDOG_CLIENT_ERROR, SUNDOG_CLIENT_ERROR_BUSY);
    if (!cancelled && answered)
        use_found(self, probe->address);
    else if (!cancelled)
        start_child(self);
    sundog_server_address_free(probe->address);
    g_object_unref(self);
    g_free(probe);
}

/* A address alone proves nothing: its writer may be dead and its port another program's. */
static void
search(SundogSupervisor *self)
{
    drop_pending(self);
    g_autoptr(SundogServerAddress) address = sundog_server_address_read();
    if (!address) {
        start_child(self);
        return;
    }
    set_state(self, SUNDOG_SUPERVISOR_SEARCHING);
    sundog_client_set_server(self->client, address->url, address->key);
    Probe *probe = g_new0(Probe, 1);
    probe->supervisor = g_object_ref(self);
    probe->address = g_steal_pointer(&address);
    sundog_client_call_async(self->client, "GET", "/health", NULL, self->cancellable, on_health,
                             probe);
}

void
sundog_supervisor_start(SundogSupervisor *supervisor)
{
    if (supervisor->child || supervisor->state == SUNDOG_SUPERVISOR_READY)
        return;
    supervisor->n_deaths = 0;
    search(supervisor);
}

void
sundog_supervisor_check(SundogSupervisor *supervisor)
{
    if (supervisor->state == SUNDOG_SUPERVISOR_READY && !supervisor->child)
        search(supervisor);
}

void
sundog_supervisor_stop(SundogSupervisor *supervisor)
{
    drop_pending(supervisor);
    if (supervisor->child)
        g_subprocess_send_signal(supervisor->child, SIGTERM);
    g_clear_object(&supervisor->child);
    set_state(supervisor, SUNDOG_SUPERVISOR_STOPPED);
}

SundogSupervisorState
sundog_supervisor_get_state(SundogSupervisor *supervisor)
{
    return supervisor->state;
}

bool
sundog_supervisor_owns_server(SundogSupervisor *supervisor)
{
    return supervisor->child != NULL;
}

const char *
sundog_supervisor_get_problem(SundogSupervisor *supervisor)
{
    return supervisor->problem;
}

static void
sundog_supervisor_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    g_value_set_int(value, SUNDOG_SUPERVISOR(object)->state);
}

static void
sundog_supervisor_finalize(GObject *object)
{
    SundogSupervisor *self = SUNDOG_SUPERVISOR(object);
    g_clear_handle_id(&self->timer, g_source_remove);
    g_clear_object(&self->child);
    g_clear_object(&self->cancellable);
    g_clear_object(&self->client);
    g_queue_clear_full(&self->lines, g_free);
    g_free(self->program);
    g_free(self->problem);
    G_OBJECT_CLASS(sundog_supervisor_parent_class)->finalize(object);
}

static void
sundog_supervisor_class_init(SundogSupervisorClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_supervisor_finalize;
    G_OBJECT_CLASS(class)->get_property = sundog_supervisor_get_property;
    properties[PROP_STATE] =
        g_param_spec_int("state", NULL, NULL, SUNDOG_SUPERVISOR_STOPPED, SUNDOG_SUPERVISOR_FAILED,
                         SUNDOG_SUPERVISOR_STOPPED, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
    g_object_class_install_properties(G_OBJECT_CLASS(class), N_PROPERTIES, properties);
}

static void
sundog_supervisor_init(SundogSupervisor *self)
{
    g_queue_init(&self->lines);
    self->cancellable = g_cancellable_new();
}

SundogSupervisor *
sundog_supervisor_new(SundogClient *client, const char *program)
{
    SundogSupervisor *self = g_object_new(SUNDOG_TYPE_SUPERVISOR, NULL);
    self->client = g_object_ref(client);
    self->program = g_strdup(program);
    return self;
}
