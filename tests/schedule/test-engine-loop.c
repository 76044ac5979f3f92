/* The loop and its reader over real pipes, with the fake model in place of a replay. */

#include "engine/schedule/engine-loop.h"
#include "tests/schedule/answers.h"
#include "tests/schedule/fake-model.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct {
    FakeModel *model;
    SundogScheduler *scheduler;
    GByteArray *outbox;
    SundogInbox *inbox;
    int to_engine[2];   /* read end, write end */
    int from_engine[2]; /* read end, write end */
    int stop_fd;
    GThread *reader;
    GThread *loop;
    bool loop_said;
    SundogFrameDecoder *decoder;
    Answers *answers;
} Fixture;

static gpointer
run_reader(gpointer data)
{
    Fixture *fixture = data;
    sundog_inbox_read(fixture->inbox, fixture->to_engine[0], fixture->stop_fd);
    return NULL;
}

static gpointer
run_loop(gpointer data)
{
    Fixture *fixture = data;
    fixture->loop_said = sundog_engine_loop(fixture->scheduler, NULL, fixture->inbox,
                                            fixture->outbox, fixture->from_engine[1], NULL);
    close(fixture->from_engine[1]);
    return NULL;
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    static const FakeModelOptions options = {.page_tokens = 64,
                                             .pool_pages = 64,
                                             .sequence_pages = 32,
                                             .max_tokens = 128,
                                             .max_sequences = 8,
                                             .history = 32};
    fixture->model = fake_model_new(&options);
    fixture->outbox = g_byte_array_new();
    fixture->scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){.context_length = 2048, .max_kept_pages = -1},
        &fixture->model->runner, fixture->outbox);
    fixture->inbox = sundog_inbox_new();
    fixture->answers = answers_new();
    fixture->decoder = sundog_frame_decoder_new();
    g_assert_cmpint(pipe2(fixture->to_engine, O_CLOEXEC), ==, 0);
    g_assert_cmpint(pipe2(fixture->from_engine, O_CLOEXEC), ==, 0);
    fixture->stop_fd = eventfd(0, EFD_CLOEXEC);
    fixture->reader = g_thread_new("reader", run_reader, fixture);
    fixture->loop = g_thread_new("loop", run_loop, fixture);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    if (fixture->to_engine[1] >= 0)
        close(fixture->to_engine[1]);
    g_thread_join(fixture->reader);
    g_thread_join(fixture->loop);
    close(fixture->to_engine[0]);
    close(fixture->from_engine[0]);
    close(fixture->stop_fd);
    sundog_scheduler_free(fixture->scheduler);
    sundog_inbox_free(fixture->inbox);
    g_byte_array_unref(fixture->outbox);
    fake_model_free(fixture->model);
    answers_free(fixture->answers);
    sundog_frame_decoder_free(fixture->decoder);
}

static void
send(Fixture *fixture, uint32_t type, GVariant *payload)
{
    g_assert_true(sundog_frame_write(fixture->to_engine[1], type, payload, NULL));
}

/* One frame; false at the engine's end. */
static bool
receive(Fixture *fixture)
{
    uint32_t type;
    g_autoptr(GVariant) payload = NULL;
    g_autoptr(GError) error = NULL;
    if (!sundog_frame_read(fixture->from_engine[0], fixture->decoder, &type, &payload, &error)) {
        g_assert_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_CLOSED);
        return false;
    }
    answers_take(fixture->answers, type, payload);
    return true;
}

static SundogSubmit
make_request(uint64_t id, uint32_t max_tokens)
{
    static const uint32_t prompt[] = {1, 2, 3, 4, 5};
    return (SundogSubmit){.id = id,
                          .prompt = prompt,
                          .n_prompt = 5,
                          .max_tokens = max_tokens,
                          .top_p = 1,
                          .repetition_penalty = 1};
}

static Answer *
submit(Fixture *fixture, const SundogSubmit *request)
{
    Answer *answer = answers_expect(fixture->answers, request->id, 0);
    send(fixture, SUNDOG_MESSAGE_SUBMIT, sundog_submit_pack(request));
    return answer;
}

static void
test_answers(Fixture *fixture, gconstpointer data)
{
    for (uint64_t id = 1; id <= 40; id++) {
        SundogSubmit request = make_request(id, (uint32_t)id);
        submit(fixture, &request);
    }
    while (fixture->answers->n_ended < 40)
        g_assert_true(receive(fixture));
    while (fixture->answers->statistics.n_finished < 40) /* comes unasked after the last */
        g_assert_true(receive(fixture));
    uint32_t n_statistics = fixture->answers->n_statistics;
    send(fixture, SUNDOG_MESSAGE_STATISTICS_ASKED, g_variant_new("()"));
    while (fixture->answers->n_statistics == n_statistics)
        g_assert_true(receive(fixture));
    g_assert_cmpuint(fixture->answers->statistics.n_finished, ==, 40);
    g_assert_cmpuint(fixture->answers->statistics.n_produced_tokens, ==, 40 * 41 / 2);
}

/* Whether the cancel came in time: the fake model may be done before the reader gets its turn. */
static bool
cancel_one(Fixture *fixture, uint64_t id)
{
    SundogSubmit request = make_request(id, 2000);
    Answer *answer = submit(fixture, &request);
    while (answer->tokens->len < 3)
        g_assert_true(receive(fixture));
    send(fixture, SUNDOG_MESSAGE_CANCEL, g_variant_new("(t)", id));
    send(fixture, SUNDOG_MESSAGE_CANCEL, g_variant_new("(t)", (uint64_t)12345));
    while (!answer->ended)
        g_assert_true(receive(fixture));
    return answer->finish.reason == SUNDOG_FINISH_CANCELLED;
}

static void
test_cancel(Fixture *fixture, gconstpointer data)
{
    uint64_t id = 1;
    while (!cancel_one(fixture, id))
        g_assert_cmpuint(++id, <=, 100);
}

/* A value out of range is the request's fault, not the engine's end. */
static void
test_bad_request(Fixture *fixture, gconstpointer data)
{
    SundogSubmit bad = make_request(1, 5);
    bad.temperature = -1;
    Answer *bad_answer = submit(fixture, &bad);
    SundogSubmit good = make_request(2, 5);
    Answer *good_answer = submit(fixture, &good);
    while (!good_answer->ended)
        g_assert_true(receive(fixture));
    g_assert_true(bad_answer->faulted);
    g_assert_cmpint(bad_answer->fault, ==, SUNDOG_FAULT_BAD_REQUEST);
}

static void
expect_end_after_all(Fixture *fixture, uint32_t n_requests)
{
    while (receive(fixture)) {
    }
    g_assert_cmpuint(fixture->answers->n_ended, ==, n_requests);
    g_thread_join(g_thread_ref(fixture->loop));
    g_assert_true(fixture->loop_said);
}

static void
test_shutdown(Fixture *fixture, gconstpointer data)
{
    for (uint64_t id = 1; id <= 20; id++) {
        SundogSubmit request = make_request(id, 50);
        submit(fixture, &request);
    }
    send(fixture, SUNDOG_MESSAGE_SHUTDOWN, g_variant_new("()"));
    expect_end_after_all(fixture, 20);
}

static void
test_signal_drains(Fixture *fixture, gconstpointer data)
{
    SundogSubmit request = make_request(1, 1500);
    Answer *answer = submit(fixture, &request);
    while (answer->tokens->len == 0)
        g_assert_true(receive(fixture));
    uint64_t one = 1;
    g_assert_cmpint(write(fixture->stop_fd, &one, sizeof one), ==, sizeof one);
    expect_end_after_all(fixture, 1);
    g_assert_cmpuint(answer->tokens->len, ==, 1500);
}

/* Idle, and then the end of input or a broken peer: the loop wakes up and ends. */
static void
test_end_while_idle(Fixture *fixture, gconstpointer data)
{
    g_usleep(20000);
    close(fixture->to_engine[1]);
    fixture->to_engine[1] = -1;
    expect_end_after_all(fixture, 0);
}

static void
test_broken_peer(Fixture *fixture, gconstpointer data)
{
    static const char garbage[] = "this is no frame at all";
    SundogSubmit request = make_request(1, 2000);
    submit(fixture, &request);
    g_assert_cmpint(write(fixture->to_engine[1], garbage, sizeof garbage), ==, sizeof garbage);
    while (receive(fixture)) {
    }
}

static void
test_wrong_way(Fixture *fixture, gconstpointer data)
{
    send(fixture, SUNDOG_MESSAGE_ADMITTED, g_variant_new("(t)", (uint64_t)1));
    while (receive(fixture)) {
    }
    g_thread_join(g_thread_ref(fixture->loop));
    g_assert_false(fixture->loop_said);
}

/* The server stops reading: the engine waits, and goes on where it was. */
static void
test_slow_reader(Fixture *fixture, gconstpointer data)
{
    for (uint64_t id = 1; id <= 8; id++) {
        SundogSubmit request = make_request(id, 2000);
        submit(fixture, &request);
    }
    g_usleep(200000);
    for (uint64_t id = 9; id <= 40; id++) {
        SundogSubmit request = make_request(id, 10);
        submit(fixture, &request);
    }
    while (fixture->answers->n_ended < 40)
        g_assert_true(receive(fixture));
}

int
main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
#define ADD(name, func) g_test_add("/engine-loop/" name, Fixture, NULL, set_up, func, tear_down)
    ADD("answers", test_answers);
    ADD("cancel", test_cancel);
    ADD("bad-request", test_bad_request);
    ADD("shutdown", test_shutdown);
    ADD("signal-drains", test_signal_drains);
    ADD("end-while-idle", test_end_while_idle);
    ADD("broken-peer", test_broken_peer);
    ADD("wrong-way", test_wrong_way);
    ADD("slow-reader", test_slow_reader);
#undef ADD
    return g_test_run();
}
