/* An engine as a child, with a scripted one: frames, words, and every way to end in bounded time. */

#include "engine/wire/engine-process.h"
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *scripted_engine;

/* Longer than anything takes on a busy machine. */
#define WAIT_SECONDS 40u

typedef struct {
    char *folder;
    char *script;
    GMainLoop *loop;
    SundogEngineProcess *process;
    bool free_at_ready;
    uint32_t n_frames;
    uint32_t n_ended;
    bool ready;
    GArray *tokens;
    GString *log;
    bool wanted;
    int exit_status;
    int signal;
    bool malformed;
    char *text;
    char *fault;
} Fixture;

static void
take_tokens(Fixture *fixture, GVariant *payload)
{
    g_autoptr(GVariant) rows = g_variant_get_child_value(payload, 1);
    for (gsize i = 0; i < g_variant_n_children(rows); i++) {
        uint64_t id;
        uint32_t index, token;
        g_variant_get_child(rows, i, "(tuu)", &id, &index, &token);
        g_assert_cmpuint(index, ==, fixture->tokens->len);
        g_array_append_val(fixture->tokens, token);
    }
}

static void
on_frame(SundogEngineProcess *process, uint32_t type, GVariant *payload, void *data)
{
    Fixture *fixture = data;
    fixture->n_frames++;
    if (type == SUNDOG_MESSAGE_READY) {
        fixture->ready = true;
        if (fixture->free_at_ready)
            sundog_engine_process_free(g_steal_pointer(&fixture->process));
        g_main_loop_quit(fixture->loop);
    } else if (type == SUNDOG_MESSAGE_TOKENS) {
        take_tokens(fixture, payload);
    } else if (type == SUNDOG_MESSAGE_FAULT) {
        SundogFault fault;
        g_assert_true(sundog_fault_unpack(payload, &fault, NULL));
        fixture->fault = g_strdup(fault.text);
    } else if (type == SUNDOG_MESSAGE_FINISH) {
        g_main_loop_quit(fixture->loop);
    }
}

static void
on_log(SundogEngineProcess *process, const char *line, void *data)
{
    Fixture *fixture = data;
    g_assert_true(g_utf8_validate(line, -1, NULL));
    g_string_append_printf(fixture->log, "[%s]", line);
}

static void
on_ended(SundogEngineProcess *process, const SundogEngineEnd *end, void *data)
{
    Fixture *fixture = data;
    fixture->n_ended++;
    fixture->wanted = end->wanted;
    fixture->exit_status = end->exit_status;
    fixture->signal = end->signal;
    fixture->malformed =
        g_error_matches(end->error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED);
    fixture->text = g_strdup(end->text);
    sundog_engine_process_free(g_steal_pointer(&fixture->process));
    g_main_loop_quit(fixture->loop);
}

/* A child is given stop_ms to end by itself, and again after SIGTERM. */
static void
start_with(Fixture *fixture, const char *script, unsigned stop_ms)
{
    g_assert_true(g_file_set_contents(fixture->script, script, -1, NULL));
    const char *arguments[] = {fixture->script, "--keys", "nowhere", NULL};
    SundogEngineProcessOptions options = {.program = scripted_engine,
                                          .arguments = arguments,
                                          .stop_ms = stop_ms,
                                          .frame = on_frame,
                                          .log = on_log,
                                          .ended = on_ended,
                                          .data = fixture};
    g_autoptr(GError) error = NULL;
    fixture->process = sundog_engine_process_start(&options, &error);
    g_assert_no_error(error);
}

static void
start(Fixture *fixture, const char *script)
{
    start_with(fixture, script, WAIT_SECONDS * 1000);
}

static gboolean
give_up(gpointer data)
{
    g_error("nothing happened for %u seconds", WAIT_SECONDS);
    return G_SOURCE_REMOVE;
}

/* Runs until a READY, a FINISH or the end. */
static void
run(Fixture *fixture)
{
    guint timer = g_timeout_add_seconds(WAIT_SECONDS, give_up, NULL);
    g_main_loop_run(fixture->loop);
    g_source_remove(timer);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->folder = g_dir_make_tmp("sundog-test-XXXXXX", NULL);
    fixture->script = g_build_filename(fixture->folder, "script", NULL);
    fixture->loop = g_main_loop_new(NULL, FALSE);
    fixture->tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    fixture->log = g_string_new(NULL);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    sundog_engine_process_free(fixture->process);
    g_autofree char *log = g_strconcat(fixture->script, ".log", NULL);
    g_unlink(log);
    g_unlink(fixture->script);
    g_assert_cmpint(g_rmdir(fixture->folder), ==, 0);
    g_free(fixture->folder);
    g_free(fixture->script);
    g_main_loop_unref(fixture->loop);
    g_array_unref(fixture->tokens);
    g_string_free(fixture->log, TRUE);
    g_free(fixture->text);
    g_free(fixture->fault);
}

static void
submit(Fixture *fixture, uint32_t n_prompt)
{
    g_autofree uint32_t *prompt = g_new0(uint32_t, n_prompt);
    SundogSubmit request = {.id = 1,
                            .prompt = prompt,
                            .n_prompt = n_prompt,
                            .max_tokens = 100,
                            .top_p = 1,
                            .repetition_penalty = 1};
    g_assert_true(sundog_engine_process_send(fixture->process, SUNDOG_MESSAGE_SUBMIT,
                                             sundog_submit_pack(&request), NULL));
}

static void
test_answer(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{\"requests\":[{\"tokens\":[3,1,4],\"prefill_ms\":5,\"token_ms\":1}]}");
    run(fixture);
    g_assert_true(fixture->ready);
    submit(fixture, 4);
    run(fixture);
    const uint32_t expected[] = {3, 1, 4};
    g_assert_cmpmem(fixture->tokens->data, fixture->tokens->len * 4, expected, sizeof expected);
    sundog_engine_process_stop(fixture->process, false);
    run(fixture);
    g_assert_cmpint(fixture->exit_status, ==, 0);
    g_assert_true(fixture->wanted);
    g_assert_null(fixture->process);
}

/* More than a pipe holds goes out while the child is not reading: nothing blocks, all arrives. Were it
 * to block, it would for ever, since the child waits for what comes after. */
static void
test_large_queue(Fixture *fixture, gconstpointer data)
{
    g_autofree char *gate = g_strconcat(fixture->script, ".gate", NULL);
    start(fixture, "{\"load\":{\"gate\":true},\"requests\":[{\"tokens\":[1]}]}");
    submit(fixture, 1 << 20);
    g_assert_true(g_file_set_contents(gate, "", 0, NULL));
    run(fixture);
    g_assert_true(fixture->ready);
    run(fixture);
    g_assert_cmpuint(fixture->tokens->len, ==, 1);
    g_unlink(gate);
}

static void
test_exit_with_odd_words(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{\"stderr\":\"r\\u0007st \\u00e4\\nno newline\","
                   "\"load\":{\"die\":\"exit\",\"status\":3,\"last_words\":\"\\nwhy: 42\\n\"}}");
    run(fixture);
    g_assert_cmpint(fixture->exit_status, ==, 3);
    g_assert_cmpint(fixture->signal, ==, 0);
    g_assert_false(fixture->wanted);
    g_assert_cmpstr(fixture->log->str, ==, "[r st ä][no newline][why: 42]");
    g_assert_nonnull(strstr(fixture->text, "exit status 3"));
    g_assert_nonnull(strstr(fixture->text, "why: 42"));
}

static void
test_abort(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{\"requests\":[{\"tokens\":[1,2,3],\"die\":\"abort\",\"at\":2}]}");
    run(fixture);
    submit(fixture, 1);
    run(fixture);
    g_assert_cmpint(fixture->signal, ==, SIGABRT);
    g_assert_cmpuint(fixture->tokens->len, ==, 2); /* all that came before is handed out */
    g_assert_nonnull(strstr(fixture->text, "signal 6"));
}

static void
test_load_fault(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{\"load\":{\"fault\":\"no memory: 3 GB short\"}}");
    run(fixture);
    g_assert_cmpint(fixture->exit_status, ==, 1);
    g_assert_cmpstr(fixture->fault, ==, "no memory: 3 GB short");
}

static void
test_garbage(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{\"load\":{\"die\":\"garbage\"}}");
    run(fixture);
    g_assert_true(fixture->malformed);
    g_assert_cmpint(fixture->signal, ==, SIGKILL);
}

static void
test_closed_output(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{\"load\":{\"die\":\"close\"}}");
    run(fixture);
    g_assert_cmpint(fixture->signal, ==, SIGKILL);
}

/* A child that hears nothing is killed (G4). */
static void
test_stubborn(Fixture *fixture, gconstpointer data)
{
    start_with(fixture, "{\"ignore_shutdown\":true}", 200);
    run(fixture);
    sundog_engine_process_stop(fixture->process, false);
    run(fixture);
    g_assert_cmpint(fixture->signal, ==, SIGKILL);
    g_assert_true(fixture->wanted);
}

static void
test_stop_while_loading(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{\"load\":{\"stall\":true}}");
    sundog_engine_process_stop(fixture->process, true);
    run(fixture);
    g_assert_cmpint(fixture->signal, ==, SIGTERM);
}

static void
test_free_in_callback(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{}");
    pid_t pid = sundog_engine_process_get_pid(fixture->process);
    fixture->free_at_ready = true;
    run(fixture);
    for (unsigned i = 0; i < 50 * WAIT_SECONDS && kill(pid, 0) == 0; i++) {
        g_main_context_iteration(NULL, FALSE);
        g_usleep(20000);
    }
    g_assert_cmpint(kill(pid, 0), ==, -1); /* killed and reaped */
    g_assert_cmpuint(fixture->n_ended, ==, 0);
}

/* A process that traces the engine and lets go, by its end, when the pipe is written to; -1 where it may
 * not. */
static pid_t
start_tracer(pid_t engine, int input)
{
    int fds[2];
    g_assert_cmpint(pipe(fds), ==, 0);
    pid_t tracer = fork();
    if (tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails */
        char byte = ptrace(PTRACE_SEIZE, engine, NULL, NULL) == 0;
        if (write(fds[1], &byte, 1) == 1 && byte)
            byte = (char)read(input, &byte, 1);
        _exit(0);
    }
    char is_tracing = 0;
    g_assert_cmpint(read(fds[0], &is_tracing, 1), ==, 1);
    close(fds[0]);
    close(fds[1]);
    if (is_tracing)
        return tracer;
    g_assert_cmpint(waitpid(tracer, NULL, 0), ==, tracer);
    return -1;
}

static gboolean
write_byte(gpointer data)
{
    g_assert_cmpint(write(*(int *)data, "", 1), ==, 1);
    return G_SOURCE_REMOVE;
}

/* The end is told when there is a status, not when GLib believes so. */
static void
test_traced(Fixture *fixture, gconstpointer data)
{
    start(fixture, "{}");
    run(fixture);
    pid_t engine = sundog_engine_process_get_pid(fixture->process);
    int fds[2];
    g_assert_cmpint(pipe(fds), ==, 0);
    pid_t tracer = start_tracer(engine, fds[0]);
    if (tracer < 0) {
        g_test_skip("processes may not be traced here");
    } else {
        g_assert_cmpint(kill(engine, SIGKILL), ==, 0);
        g_timeout_add(100, write_byte, &fds[1]);
        run(fixture);
        g_assert_cmpint(fixture->signal, ==, SIGKILL);
        g_assert_cmpint(kill(engine, 0), ==, -1);
        g_assert_cmpint(waitpid(tracer, NULL, 0), ==, tracer);
    }
    close(fds[0]);
    close(fds[1]);
}

static void
test_not_found(Fixture *fixture, gconstpointer data)
{
    SundogEngineProcessOptions options = {.program = "/nowhere/engine", .frame = on_frame};
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_engine_process_start(&options, &error));
    g_assert_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT);
    g_assert_true(g_file_set_contents(fixture->script, "", -1, NULL));
}

static void
write_pid(SundogEngineProcess *process, uint32_t type, GVariant *payload, void *data)
{
    if (type == SUNDOG_MESSAGE_READY) {
        pid_t pid = sundog_engine_process_get_pid(process);
        g_assert_cmpint(write(*(int *)data, &pid, sizeof pid), ==, sizeof pid);
    }
}

/* In a forked process: starts an engine that ignores its end of input, and waits to be killed. */
static void
be_a_parent(const char *script, int fd)
{
    const char *arguments[] = {script, NULL};
    SundogEngineProcessOptions options = {
        .program = scripted_engine, .arguments = arguments, .frame = write_pid, .data = &fd};
    g_assert_nonnull(sundog_engine_process_start(&options, NULL));
    for (;;)
        g_main_context_iteration(NULL, TRUE);
}

/* kill -9 of the parent ends the child (G3), which the kernel tells; two seconds are enough where it gets
 * to run. */
static void
test_parent_killed(Fixture *fixture, gconstpointer data)
{
    g_assert_true(g_file_set_contents(fixture->script, "{\"ignore_shutdown\":true}", -1, NULL));
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int fds[2];
    g_assert_cmpint(pipe(fds), ==, 0);
    pid_t parent = fork();
    if (parent == 0)
        be_a_parent(fixture->script, fds[1]);
    close(fds[1]); /* so that a parent that fails is the end of the pipe */
    pid_t engine;
    g_assert_cmpint(read(fds[0], &engine, sizeof engine), ==, sizeof engine);
    g_assert_cmpint(kill(parent, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(parent, NULL, 0), ==, parent);
    int status = 0;
    int64_t end_us = g_get_monotonic_time() + WAIT_SECONDS * G_USEC_PER_SEC;
    pid_t reaped = 0;
    while (reaped == 0 && g_get_monotonic_time() < end_us) {
        reaped = waitpid(engine, &status, WNOHANG);
        g_usleep(10000);
    }
    g_assert_cmpint(reaped, ==, engine);
    g_assert_true(WIFSIGNALED(status));
    close(fds[0]);
}

int
main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    scripted_engine = argv[1];
#define ADD(name, func) g_test_add("/engine-process/" name, Fixture, NULL, set_up, func, tear_down)
    ADD("parent-killed", test_parent_killed); /* first: it forks */
    ADD("answer", test_answer);
    ADD("large-queue", test_large_queue);
    ADD("exit-with-odd-words", test_exit_with_odd_words);
    ADD("abort", test_abort);
    ADD("load-fault", test_load_fault);
    ADD("garbage", test_garbage);
    ADD("closed-output", test_closed_output);
    ADD("stubborn", test_stubborn);
    ADD("stop-while-loading", test_stop_while_loading);
    ADD("free-in-callback", test_free_in_callback);
    ADD("traced", test_traced);
    ADD("not-found", test_not_found);
#undef ADD
    return g_test_run();
}
