/* The client's side of an engine: a child, three pipes, a bounded end. */

#include "engine/wire/engine-process.h"
#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES (64u << 10)
/* Reads a dispatch, so that a child that writes without end leaves the main loop time for others. */
#define READS_AT_ONCE 4
#define DEFAULT_STOP_MS 5000
/* A grandchild may hold the pipes after the child's end: no more than this is waited for them. */
#define DRAIN_MS 500
/* Between two looks whether a child that has ended can be reaped. */
#define REAP_MS 5
#define MAX_LINE_BYTES 4096

typedef enum {
    STAGE_RUNNING,
    STAGE_ASKED,      /* SHUTDOWN is sent */
    STAGE_TERMINATED, /* SIGTERM is sent */
    STAGE_KILLED,     /* SIGKILL is sent */
} Stage;

typedef struct {
    int fd; /* -1 once closed */
    GSource *source;
} End;

struct SundogEngineProcess {
    int n_references; /* callbacks hold one, so that they may free the process */
    bool freed;
    SundogEngineProcessOptions options;
    GMainContext *context;
    GPid pid;
    bool reaped;
    bool ended;
    int wait_status;
    GSource *child_source;
    GSource *reap_timer; /* while it has ended and is still traced */
    GSource *timer;      /* of the next stage, or of the drain once reaped */
    Stage stage;
    bool wanted;
    GError *error;

    End input; /* the child's standard input */
    GByteArray *queue;
    size_t n_sent; /* of the queue's bytes */

    End output;
    SundogFrameDecoder *decoder;

    End log;
    GString *line;
    GQueue lines; /* of char *, the last ones */
};

static void advance_stage(SundogEngineProcess *process);

static void
end_close(End *end)
{
    if (end->source) {
        g_source_destroy(end->source);
        g_clear_pointer(&end->source, g_source_unref);
    }
    if (end->fd >= 0) {
        close(end->fd);
        end->fd = -1;
    }
}

static void
end_watch(SundogEngineProcess *process, End *end, GIOCondition condition, GUnixFDSourceFunc func)
{
    end->source = g_unix_fd_source_new(end->fd, condition);
    g_source_set_callback(end->source, G_SOURCE_FUNC(func), process, NULL);
    g_source_attach(end->source, process->context);
}

static void
clear_timer(GSource **timer)
{
    if (*timer) {
        g_source_destroy(*timer);
        g_clear_pointer(timer, g_source_unref);
    }
}

static void
set_timer(SundogEngineProcess *process, GSource **timer, unsigned ms, GSourceFunc func)
{
    clear_timer(timer);
    *timer = g_timeout_source_new(ms);
    g_source_set_callback(*timer, func, process, NULL);
    g_source_attach(*timer, process->context);
}

static void
process_unref(SundogEngineProcess *process)
{
    if (--process->n_references > 0)
        return;
    g_byte_array_unref(process->queue);
    sundog_frame_decoder_free(process->decoder);
    g_string_free(process->line, TRUE);
    g_queue_clear_full(&process->lines, g_free);
    g_clear_error(&process->error);
    g_main_context_unref(process->context);
    g_free(process);
}

/* The end */

static char *
describe_end(const SundogEngineProcess *process, const char *log)
{
    GString *text = g_string_new("the engine ");
    if (WIFSIGNALED(process->wait_status)) {
        int number = WTERMSIG(process->wait_status);
        g_string_append_printf(text, "was ended by signal %d (%s)", number, g_strsignal(number));
    } else {
        g_string_append_printf(text, "ended with exit status %d",
                               WEXITSTATUS(process->wait_status));
    }
    if (process->error)
        g_string_append_printf(text, " after it sent %s", process->error->message);
    if (*log)
        g_string_append_printf(text, "; the last it wrote:\n%s", log);
    return g_string_free(text, FALSE);
}

static void
finish(SundogEngineProcess *process)
{
    if (process->ended)
        return;
    process->ended = true;
    clear_timer(&process->timer);
    end_close(&process->input);
    end_close(&process->output);
    end_close(&process->log);
    g_autofree char *log = sundog_engine_process_dup_log(process);
    g_autofree char *text = describe_end(process, log);
    int number = WIFSIGNALED(process->wait_status) ? WTERMSIG(process->wait_status) : 0;
    SundogEngineEnd end = {
        .wanted = process->wanted,
        .exit_status = WIFEXITED(process->wait_status) ? WEXITSTATUS(process->wait_status) : -1,
        .signal = number,
        .is_killed = number == SIGKILL && process->stage < STAGE_KILLED,
        .error = process->error,
        .log = log,
        .text = text,
    };
    if (!process->freed && process->options.ended)
        process->options.ended(process, &end, process->options.data);
}

static gboolean
drain_expired(gpointer data)
{
    SundogEngineProcess *process = data;
    process->n_references++;
    finish(process);
    process_unref(process);
    return G_SOURCE_REMOVE;
}

/* The end is told only after everything the child wrote. */
static void
finish_when_drained(SundogEngineProcess *process)
{
    if (!process->reaped || process->ended)
        return;
    if (process->output.fd < 0 && process->log.fd < 0)
        finish(process);
    else if (!process->timer)
        set_timer(process, &process->timer, DRAIN_MS, drain_expired);
}

static void
take_status(SundogEngineProcess *process, int wait_status)
{
    process->n_references++;
    process->reaped = true;
    process->wait_status = wait_status;
    g_spawn_close_pid(process->pid);
    end_close(&process->input);
    clear_timer(&process->timer);
    finish_when_drained(process);
    process_unref(process);
}

static gboolean
reap_again(gpointer data)
{
    SundogEngineProcess *process = data;
    int wait_status = 0;
    if (waitpid(process->pid, &wait_status, WNOHANG) == 0)
        return G_SOURCE_CONTINUE;
    clear_timer(&process->reap_timer);
    take_status(process, wait_status);
    return G_SOURCE_REMOVE;
}

/* While a child that has ended is still traced (by a debugger, by the leak sanitizer), it is its tracer's
 * alone: GLib is told of the end, gets no status, and says 0. */
static void
child_ended(GPid pid, gint wait_status, gpointer data)
{
    SundogEngineProcess *process = data;
    siginfo_t info;
    g_clear_pointer(&process->child_source, g_source_unref);
    if (wait_status == 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        set_timer(process, &process->reap_timer, REAP_MS, reap_again);
    else
        take_status(process, wait_status);
}

static void
reap_only(GPid pid, gint wait_status, gpointer data)
{
    g_spawn_close_pid(pid);
}

/* Stages of stopping */

static gboolean
stage_expired(gpointer data)
{
    advance_stage(data);
    return G_SOURCE_REMOVE;
}

static void
enter_stage(SundogEngineProcess *process, Stage stage)
{
    if (process->reaped || process->stage >= stage)
        return;
    process->stage = stage;
    if (stage >= STAGE_TERMINATED) {
        end_close(&process->input);
        kill(process->pid, stage == STAGE_KILLED ? SIGKILL : SIGTERM);
    }
    clear_timer(&process->timer);
    if (stage < STAGE_KILLED)
        set_timer(process, &process->timer, process->options.stop_ms, stage_expired);
}

static void
advance_stage(SundogEngineProcess *process)
{
    enter_stage(process, process->stage == STAGE_ASKED ? STAGE_TERMINATED : STAGE_KILLED);
}

/* Standard output: frames */

static void
fail_wire(SundogEngineProcess *process, GError *error)
{
    process->error = error;
    end_close(&process->output);
    enter_stage(process, STAGE_KILLED);
}

static void
hand_out_frames(SundogEngineProcess *process)
{
    while (!process->freed) {
        uint32_t type;
        g_autoptr(GVariant) payload = NULL;
        GError *error = NULL;
        if (!sundog_frame_decoder_next(process->decoder, &type, &payload, &error)) {
            fail_wire(process, error);
            return;
        }
        if (!payload)
            return;
        process->options.frame(process, type, payload, process->options.data);
    }
}

/* Reads what is there, at most a few times; false at the end of the pipe. */
static bool
read_end(SundogEngineProcess *process, End *end,
         void (*take)(SundogEngineProcess *process, const char *data, size_t n_bytes))
{
    char buffer[READ_BYTES];
    for (int i = 0; i < READS_AT_ONCE && end->fd >= 0; i++) {
        ssize_t n_read = read(end->fd, buffer, sizeof buffer);
        if (n_read > 0)
            take(process, buffer, (size_t)n_read);
        else if (n_read == 0)
            return false;
        else if (errno != EINTR)
            return errno == EAGAIN;
    }
    return true;
}

static void
take_output(SundogEngineProcess *process, const char *data, size_t n_bytes)
{
    sundog_frame_decoder_feed(process->decoder, data, n_bytes);
    hand_out_frames(process);
}

static gboolean
output_ready(int fd, GIOCondition condition, gpointer data)
{
    SundogEngineProcess *process = data;
    process->n_references++;
    if (!read_end(process, &process->output, take_output) && !process->freed) {
        end_close(&process->output);
        /* A child that closed its output is of no use, even where it still runs. */
        if (!process->reaped && !process->timer)
            set_timer(process, &process->timer, DRAIN_MS, stage_expired);
    }
    finish_when_drained(process);
    process_unref(process);
    return G_SOURCE_CONTINUE;
}

/* Standard error: lines */

static void
flush_line(SundogEngineProcess *process)
{
    char *line = g_utf8_make_valid(process->line->str, (gssize)process->line->len);
    g_string_truncate(process->line, 0);
    for (char *c = line; *c; c++)
        if (g_ascii_iscntrl(*c) && *c != '\t')
            *c = ' ';
    g_queue_push_tail(&process->lines, line);
    if (g_queue_get_length(&process->lines) > SUNDOG_ENGINE_LOG_LINES)
        g_free(g_queue_pop_head(&process->lines));
    if (!process->freed && process->options.log) {
        g_autofree char *copy = g_strdup(line);
        process->options.log(process, copy, process->options.data);
    }
}

static void
take_log(SundogEngineProcess *process, const char *data, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes && !process->freed; i++) {
        if (data[i] == '\n') {
            flush_line(process);
        } else {
            g_string_append_c(process->line, data[i]);
            if (process->line->len >= MAX_LINE_BYTES)
                flush_line(process);
        }
    }
}

static gboolean
log_ready(int fd, GIOCondition condition, gpointer data)
{
    SundogEngineProcess *process = data;
    process->n_references++;
    if (!read_end(process, &process->log, take_log) && !process->freed) {
        end_close(&process->log);
        if (process->line->len > 0)
            flush_line(process);
    }
    finish_when_drained(process);
    process_unref(process);
    return G_SOURCE_CONTINUE;
}

/* Standard input: the queue */

static size_t
n_queued(const SundogEngineProcess *process)
{
    return process->queue->len - process->n_sent;
}

/* Writes what the pipe takes. A broken pipe drops the queue: the child's end follows by itself. */
static void
write_queue(SundogEngineProcess *process)
{
    while (n_queued(process) > 0) {
        ssize_t n_written =
            write(process->input.fd, process->queue->data + process->n_sent, n_queued(process));
        if (n_written >= 0) {
            process->n_sent += (size_t)n_written;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            end_close(&process->input);
            process->n_sent = process->queue->len;
        }
    }
    if (n_queued(process) == 0) {
        sundog_frame_clear(process->queue);
        process->n_sent = 0;
    } else if (process->n_sent > process->queue->len / 2) {
        g_byte_array_remove_range(process->queue, 0, (guint)process->n_sent);
        process->n_sent = 0;
    }
}

static gboolean
input_ready(int fd, GIOCondition condition, gpointer data)
{
    SundogEngineProcess *process = data;
    write_queue(process);
    if (n_queued(process) > 0)
        return G_SOURCE_CONTINUE;
    g_clear_pointer(&process->input.source, g_source_unref);
    return G_SOURCE_REMOVE;
}

/* Starting */

/* Runs in the child between fork and exec: async-signal-safe calls alone. A parent that died before
 * the prctl has left the child with another parent, which is seen here. */
static void
tie_to_parent(gpointer data)
{
    const pid_t *parent = data;
    /* A terminal sends Ctrl+C to the child as well; what it means is the parent's to say. */
    signal(SIGINT, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != *parent)
        _exit(127);
}

static bool
spawn(SundogEngineProcess *process, GError **error)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    g_ptr_array_add(words, (gpointer)process->options.program);
    for (const char *const *word = process->options.arguments; word && *word; word++)
        g_ptr_array_add(words, (gpointer)*word);
    g_ptr_array_add(words, NULL);
    pid_t parent = getpid();
    return g_spawn_async_with_pipes(NULL, (char **)words->pdata, NULL,
                                    G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_CLOEXEC_PIPES,
                                    tie_to_parent, &parent, &process->pid, &process->input.fd,
                                    &process->output.fd, &process->log.fd, error);
}

static void
watch(SundogEngineProcess *process)
{
    g_unix_set_fd_nonblocking(process->input.fd, TRUE, NULL);
    g_unix_set_fd_nonblocking(process->output.fd, TRUE, NULL);
    g_unix_set_fd_nonblocking(process->log.fd, TRUE, NULL);
    end_watch(process, &process->output, G_IO_IN | G_IO_HUP | G_IO_ERR, output_ready);
    end_watch(process, &process->log, G_IO_IN | G_IO_HUP | G_IO_ERR, log_ready);
    process->child_source = g_child_watch_source_new(process->pid);
    g_source_set_callback(process->child_source, G_SOURCE_FUNC(child_ended), process, NULL);
    g_source_attach(process->child_source, process->context);
}

SundogEngineProcess *
sundog_engine_process_start(const SundogEngineProcessOptions *options, GError **error)
{
    g_return_val_if_fail(options->program && options->frame, NULL);
    SundogEngineProcess *process = g_new0(SundogEngineProcess, 1);
    process->n_references = 1;
    process->options = *options;
    if (process->options.stop_ms == 0)
        process->options.stop_ms = DEFAULT_STOP_MS;
    process->context = g_main_context_ref_thread_default();
    process->queue = g_byte_array_new();
    process->decoder = sundog_frame_decoder_new();
    process->line = g_string_new(NULL);
    g_queue_init(&process->lines);
    process->input.fd = process->output.fd = process->log.fd = -1;
    bool spawned = spawn(process, error);
    process->options.program = NULL;
    process->options.arguments = NULL;
    if (!spawned) {
        process_unref(process);
        return NULL;
    }
    watch(process);
    return process;
}

void
sundog_engine_process_free(SundogEngineProcess *process)
{
    if (!process || process->freed)
        return;
    process->freed = true;
    clear_timer(&process->timer);
    end_close(&process->input);
    end_close(&process->output);
    end_close(&process->log);
    clear_timer(&process->reap_timer);
    if (process->child_source) {
        kill(process->pid, SIGKILL);
        g_source_set_callback(process->child_source, G_SOURCE_FUNC(reap_only), NULL, NULL);
        g_clear_pointer(&process->child_source, g_source_unref);
    }
    process_unref(process);
}

pid_t
sundog_engine_process_get_pid(const SundogEngineProcess *process)
{
    return process->pid;
}

bool
sundog_engine_process_is_running(const SundogEngineProcess *process)
{
    return !process->reaped;
}

char *
sundog_engine_process_dup_log(const SundogEngineProcess *process)
{
    GString *text = g_string_new(NULL);
    for (GList *link = process->lines.head; link; link = link->next)
        g_string_append_printf(text, "%s%s", text->len > 0 ? "\n" : "", (char *)link->data);
    return g_string_free(text, FALSE);
}

bool
sundog_engine_process_send(SundogEngineProcess *process, uint32_t type, GVariant *payload,
                           GError **error)
{
    g_autoptr(GVariant) sunk = g_variant_ref_sink(payload);
    if (process->input.fd < 0) {
        g_set_error_literal(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_CLOSED,
                            "the engine has ended");
        return false;
    }
    if (n_queued(process) + g_variant_get_size(sunk) > SUNDOG_ENGINE_QUEUE_BYTES) {
        g_set_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_CLOSED,
                    "the engine does not read: %zu bytes wait for it", n_queued(process));
        return false;
    }
    sundog_frame_append(process->queue, type, sunk);
    if (!process->input.source) {
        write_queue(process);
        if (n_queued(process) > 0)
            end_watch(process, &process->input, G_IO_OUT | G_IO_ERR | G_IO_HUP, input_ready);
    }
    return true;
}

void
sundog_engine_process_stop(SundogEngineProcess *process, bool now)
{
    process->wanted = true;
    if (process->reaped)
        return;
    if (now) {
        enter_stage(process, STAGE_TERMINATED);
    } else if (process->stage == STAGE_RUNNING) {
        sundog_engine_process_send(process, SUNDOG_MESSAGE_SHUTDOWN, g_variant_new("()"), NULL);
        enter_stage(process, STAGE_ASKED);
    }
}
