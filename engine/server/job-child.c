/*
 * Prepare, fit and verify as children: `sundog KIND SUBJECT --json`, whose standard output has one
 * JSON object a line: {"phase", "fraction"}, and last {"done": true, "name"} or {"error": {"message"}}.
 */

#include "engine/server/job.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/library/timer.h"
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

/* From SIGTERM, at which a child removes what is half-made, to SIGKILL. */
#define STOP_MS 5000
#define TELL_US (100 * G_TIME_SPAN_MILLISECOND)

typedef struct {
    SundogJob *job;
    GSubprocess *process;
    GDataInputStream *output;
    GDataInputStream *errors;
    char *last_words; /* last line of standard error */
    char *failure;    /* as the child told it */
    bool is_done;
    int n_open; /* streams and the process itself */
    int64_t told_us;
    gulong cancel_handler;
    guint kill_timer;
} Child;

static void read_line(Child *child, GDataInputStream *stream);

static void
take_object(Child *child, JsonObject *object)
{
    SundogJob *job = child->job;
    JsonNode *error = json_object_get_member(object, "error");
    if (error && JSON_NODE_HOLDS_OBJECT(error)) {
        g_free(child->failure);
        child->failure =
            g_strdup(sundog_json_get_string(json_node_get_object(error), "message", NULL));
    } else if (json_object_get_boolean_member_with_default(object, "done", false)) {
        child->is_done = true;
        const char *name = sundog_json_get_string(object, "name", NULL);
        g_free(job->result);
        job->result = g_strdup(name ? name : job->subject);
    } else {
        const char *phase = sundog_json_get_string(object, "phase", NULL);
        g_free(job->phase);
        job->phase = g_strdup(phase ? phase : "");
        job->fraction =
            CLAMP(json_object_get_double_member_with_default(object, "fraction", 0), 0, 1);
    }
    int64_t now = g_get_monotonic_time();
    if (now - child->told_us >= TELL_US) {
        child->told_us = now;
        sundog_job_changed(job);
    }
}

static void
take_line(Child *child, bool is_output, const char *line)
{
    if (!is_output) {
        g_free(child->last_words);
        child->last_words = g_utf8_make_valid(line, -1);
        if (child->job->jobs && child->job->options->log)
            child->job->options->log("info", child->last_words, child->job->options->data);
        return;
    }
    g_autoptr(JsonNode) node = sundog_json_parse(line, strlen(line), NULL);
    if (node && JSON_NODE_HOLDS_OBJECT(node))
        take_object(child, json_node_get_object(node));
}

static void
finish(Child *child)
{
    SundogJob *job = child->job;
    g_cancellable_disconnect(job->cancellable, child->cancel_handler);
    sundog_timer_stop(&child->kill_timer);
    g_autoptr(GError) error = NULL;
    if (!child->is_done)
        g_set_error(&error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_IO, "%s",
                    child->failure      ? child->failure
                    : child->last_words ? child->last_words
                                        : "The work ended without a word");
    sundog_job_ended(job, error);
    sundog_job_unref(job);
    g_clear_object(&child->process);
    g_clear_object(&child->output);
    g_clear_object(&child->errors);
    g_free(child->last_words);
    g_free(child->failure);
    g_free(child);
}

static void
close_one(Child *child)
{
    if (--child->n_open == 0)
        finish(child);
}

static void
on_line(GObject *source, GAsyncResult *result, void *data)
{
    Child *child = data;
    GDataInputStream *stream = G_DATA_INPUT_STREAM(source);
    g_autofree char *line = g_data_input_stream_read_line_finish(stream, result, NULL, NULL);
    if (!line) {
        close_one(child);
        return;
    }
    take_line(child, stream == child->output, line);
    read_line(child, stream);
}

static void
read_line(Child *child, GDataInputStream *stream)
{
    g_data_input_stream_read_line_async(stream, G_PRIORITY_DEFAULT, NULL, on_line, child);
}

static void
on_exited(GObject *source, GAsyncResult *result, void *data)
{
    g_subprocess_wait_finish(G_SUBPROCESS(source), result, NULL);
    close_one(data);
}

static gboolean
on_stop_over(void *data)
{
    Child *child = data;
    child->kill_timer = 0;
    g_subprocess_force_exit(child->process);
    return G_SOURCE_REMOVE;
}

static void
on_cancelled(GCancellable *cancellable, void *data)
{
    Child *child = data;
    g_subprocess_send_signal(child->process, SIGTERM);
    sundog_timer_start(&child->kill_timer, STOP_MS, on_stop_over, child);
}

/* In the child, before it becomes the program: it ends with the server. */
static void
set_up(void *data)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static GPtrArray *
make_arguments(const SundogJob *job)
{
    static const char *const kinds[] = {
#define X(name, text, key, is_child) text,
        SUNDOG_JOB_KINDS(X)
#undef X
    };
    GPtrArray *arguments = g_ptr_array_new();
    g_ptr_array_add(arguments, (char *)job->options->program);
    g_ptr_array_add(arguments, (char *)kinds[job->kind]);
    g_ptr_array_add(arguments, job->subject);
    g_ptr_array_add(arguments, "--json");
    if (job->activations) {
        g_ptr_array_add(arguments, "--activations");
        g_ptr_array_add(arguments, job->activations);
    }
    if (job->weights) {
        g_ptr_array_add(arguments, "--weights");
        g_ptr_array_add(arguments, job->weights);
    }
    if (job->cache) {
        g_ptr_array_add(arguments, "--cache");
        g_ptr_array_add(arguments, job->cache);
    }
    if (job->name) {
        g_ptr_array_add(arguments, "-o");
        g_ptr_array_add(arguments, job->name);
    }
    g_ptr_array_add(arguments, NULL);
    return arguments;
}

void
sundog_job_child_start(SundogJob *job)
{
    g_autoptr(GPtrArray) arguments = make_arguments(job);
    g_autoptr(GSubprocessLauncher) launcher =
        g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
    g_subprocess_launcher_set_child_setup(launcher, set_up, NULL, NULL);
    g_autoptr(GError) error = NULL;
    GSubprocess *process =
        g_subprocess_launcher_spawnv(launcher, (const char *const *)arguments->pdata, &error);
    if (!process) {
        sundog_job_ended(job, error);
        return;
    }
    Child *child = g_new0(Child, 1);
    child->job = sundog_job_ref(job);
    child->process = process;
    child->output = g_data_input_stream_new(g_subprocess_get_stdout_pipe(process));
    child->errors = g_data_input_stream_new(g_subprocess_get_stderr_pipe(process));
    child->n_open = 3;
    child->cancel_handler =
        g_cancellable_connect(job->cancellable, G_CALLBACK(on_cancelled), child, NULL);
    read_line(child, child->output);
    read_line(child, child->errors);
    g_subprocess_wait_async(process, NULL, on_exited, child);
}
