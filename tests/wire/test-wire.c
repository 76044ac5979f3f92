/* Frames cut anywhere, messages there and back, and what unpacking refuses. */

#include "engine/wire/messages.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const uint32_t tokens[] = {11, 12, 13, 14};
/* 11 or 12 before 13; 14. */
static const uint32_t breakers[] = {2, 11, 12, 1, 13, 1, 14, 0};
static const SundogTokenBias biases[] = {{3, -INFINITY}, {4, 2.5}};

static SundogSubmit
plain_submit(void)
{
    return (SundogSubmit){
        .id = 7,
        .prompt = tokens,
        .n_prompt = 4,
        .produced = tokens + 1,
        .n_produced = 2,
        .max_tokens = 100,
        .ends = tokens,
        .n_ends = 1,
        .temperature = 0.7,
        .top_p = 0.9,
        .min_p = 0.05,
        .repetition_penalty = 1.1,
        .presence_penalty = -0.5,
        .frequency_penalty = 0.25,
        .penalty_window = 64,
        .top_k = 40,
        .seed = UINT64_MAX,
        .flags = SUNDOG_SUBMIT_NO_PREFIX,
        .automaton = tokens,
        .n_automaton = 3,
        .biases = biases,
        .n_biases = 2,
        .typical_p = 0.95,
        .top_n_sigma = 1.5,
        .xtc_probability = 0.5,
        .xtc_threshold = 0.1,
        .dry = {0.8, 1.75, 2, 4096, breakers, 8},
        .n_scores = 6,
        .follows = 8,
    };
}

static GVariant *
sink(GVariant *payload)
{
    return g_variant_ref_sink(payload);
}

/* A header with whatever numbers, and n_payload zero bytes after it. */
static GByteArray *
raw_frame(uint32_t n_told, uint32_t type, guint n_payload)
{
    GByteArray *bytes = g_byte_array_new();
    uint32_t header[2] = {GUINT32_TO_LE(n_told), GUINT32_TO_LE(type)};
    g_byte_array_append(bytes, (uint8_t *)header, sizeof header);
    g_byte_array_set_size(bytes, bytes->len + n_payload);
    memset(bytes->data + 8, 0, n_payload);
    return bytes;
}

static void
test_cut_anywhere(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    SundogSubmit submit = plain_submit();
    sundog_frame_append(bytes, SUNDOG_MESSAGE_SUBMIT, sundog_submit_pack(&submit));
    sundog_frame_append(bytes, SUNDOG_MESSAGE_SHUTDOWN, g_variant_new("()"));
    sundog_frame_append(bytes, SUNDOG_MESSAGE_CANCEL, g_variant_new("(t)", (uint64_t)9));
    for (guint cut = 0; cut <= bytes->len; cut++) {
        g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
        uint32_t types[4] = {0};
        size_t n_types = 0;
        for (int part = 0; part < 2; part++) {
            sundog_frame_decoder_feed(decoder, bytes->data + (part ? cut : 0),
                                      part ? bytes->len - cut : cut);
            for (;;) {
                g_autoptr(GVariant) payload = NULL;
                g_assert_true(sundog_frame_decoder_next(decoder, &types[n_types], &payload, NULL));
                if (!payload)
                    break;
                g_assert_cmpuint(++n_types, <=, 3);
            }
        }
        g_assert_cmpuint(n_types, ==, 3);
        g_assert_cmpuint(types[0], ==, SUNDOG_MESSAGE_SUBMIT);
        g_assert_cmpuint(types[1], ==, SUNDOG_MESSAGE_SHUTDOWN);
        g_assert_cmpuint(types[2], ==, SUNDOG_MESSAGE_CANCEL);
    }
}

static void
test_malformed(void)
{
    const struct {
        uint32_t n_told, type;
        guint n_payload;
    } cases[] = {
        {SUNDOG_FRAME_MAX_BYTES + 1, SUNDOG_MESSAGE_SUBMIT, 0}, /* told before it is sent */
        {UINT32_MAX, SUNDOG_MESSAGE_CANCEL, 8},
        {8, 0, 8},
        {8, 99, 8},
        {7, SUNDOG_MESSAGE_CANCEL, 7}, /* a u64 of seven bytes */
        {16, SUNDOG_MESSAGE_CANCEL, 16},
        {0, SUNDOG_MESSAGE_SUBMIT, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GByteArray) bytes = raw_frame(cases[i].n_told, cases[i].type, cases[i].n_payload);
        g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
        sundog_frame_decoder_feed(decoder, bytes->data, bytes->len);
        uint32_t type;
        GVariant *payload;
        g_autoptr(GError) error = NULL;
        g_assert_false(sundog_frame_decoder_next(decoder, &type, &payload, &error));
        g_assert_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED);
        /* And it stays so, whatever comes after. */
        g_autoptr(GByteArray) good = raw_frame(8, SUNDOG_MESSAGE_CANCEL, 8);
        sundog_frame_decoder_feed(decoder, good->data, good->len);
        g_assert_false(sundog_frame_decoder_next(decoder, &type, &payload, NULL));
    }
}

static void
test_submit(void)
{
    SundogSubmit submit = plain_submit();
    g_autoptr(GVariant) payload = sink(sundog_submit_pack(&submit));
    SundogSubmit again;
    g_autoptr(GError) error = NULL;
    g_assert_true(sundog_submit_unpack(payload, &again, &error));
    g_assert_no_error(error);
    g_assert_cmpmem(again.prompt, again.n_prompt * 4, tokens, 16);
    g_assert_cmpmem(again.produced, again.n_produced * 4, tokens + 1, 8);
    g_assert_cmpmem(again.ends, again.n_ends * 4, tokens, 4);
    g_assert_cmpmem(again.automaton, again.n_automaton * 4, tokens, 12);
    g_assert_cmpuint(again.n_biases, ==, 2);
    g_assert_true(again.biases[0].token == 3 && isinf(again.biases[0].amount));
    g_assert_true(again.biases[1].token == 4 && again.biases[1].amount == 2.5);
    g_assert_cmpmem(again.dry.breakers, again.dry.n_breakers * 4, breakers, sizeof breakers);
    g_assert_cmpfloat(again.dry.base, ==, 1.75);
    g_assert_cmpfloat(again.xtc_threshold, ==, 0.1);
    g_assert_true(again.n_scores == 6 && again.follows == 8);
    g_autoptr(GVariant) packed = sink(sundog_submit_pack(&again));
    g_assert_true(g_variant_equal(payload, packed));
    g_assert_cmpfloat(again.min_p, ==, submit.min_p);
    g_assert_cmpuint(again.seed, ==, submit.seed);
}

static void
expect_refused(const SundogSubmit *submit)
{
    g_autoptr(GVariant) payload = sink(sundog_submit_pack(submit));
    SundogSubmit again;
    g_autoptr(GError) error = NULL;
    g_assert_false(sundog_submit_unpack(payload, &again, &error));
    g_assert_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED);
    g_assert_cmpuint(again.id, ==, submit->id);
}

static void
test_submit_ranges(void)
{
#define REFUSE(field, value)                  \
    do {                                      \
        SundogSubmit submit = plain_submit(); \
        submit.field = (value);               \
        expect_refused(&submit);              \
    } while (0)
    REFUSE(id, 0);
    REFUSE(n_prompt, 0);
    REFUSE(max_tokens, 2); /* two are produced already */
    REFUSE(temperature, -0.1);
    REFUSE(temperature, NAN);
    REFUSE(temperature, INFINITY);
    REFUSE(top_p, 0);
    REFUSE(top_p, 1.01);
    REFUSE(min_p, -1);
    REFUSE(min_p, NAN);
    REFUSE(repetition_penalty, 0);
    REFUSE(presence_penalty, -INFINITY);
    REFUSE(frequency_penalty, NAN);
    REFUSE(top_k, -1);
    REFUSE(typical_p, 1.5);
    REFUSE(top_n_sigma, -1);
    REFUSE(xtc_probability, NAN);
    REFUSE(xtc_threshold, 2);
    REFUSE(dry.multiplier, -1);
    REFUSE(dry.base, NAN);
    for (uint32_t n = 1; n < 8; n++)
        if (n != 5) /* where the first breaker ends */
            REFUSE(dry.n_breakers, n);
    REFUSE(n_scores, SUNDOG_WIRE_MAX_SCORES + 1);
    REFUSE(flags, SUNDOG_SUBMIT_ALL_FLAGS + 1);
#undef REFUSE
}

static void
test_scores(void)
{
    SundogTokenScore entries[6] = {{1, -2}, {2, -INFINITY}, {3, 0}, {4, -1}, {5, -1.5}, {6, -1.6}};
    const SundogScores scores = {7, 12, 3, entries, 2};
    SundogScores again;
    g_autoptr(GVariant) payload = sink(sundog_scores_pack(&scores));
    g_assert_true(sundog_scores_unpack(payload, &again, NULL));
    g_assert_true(again.id == 7 && again.position == 12 && again.n_each == 3);
    g_assert_cmpuint(again.n_tokens, ==, 2);
    g_assert_cmpuint(again.entries[4].token, ==, 5);
    g_assert_cmpfloat(again.entries[4].log_probability, ==, -1.5);
    static const char *const bad[] = {
        "(@t 1, @u 0, @u 1, [(@u 1, -1.0)])", "(@t 1, @u 1, @u 0, [(@u 1, -1.0)])",
        "(@t 1, @u 1, @u 2, [(@u 1, -1.0)])", "(@t 1, @u 1, @u 1, @a(ud) [])",
        "(@t 1, @u 1, @u 1, [(@u 1, 2.0)])",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GVariant) wrong = sink(g_variant_new_parsed(bad[i]));
        g_autoptr(GError) error = NULL;
        g_assert_false(sundog_scores_unpack(wrong, &again, &error));
        g_assert_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED);
    }
}

static void
test_others(void)
{
    SundogReady ready = {2048, 49152, 16, 512, 64, 1000, 123456, 2, "host: plain, 2 threads"};
    SundogReady ready_again;
    g_autoptr(GVariant) ready_payload = sink(sundog_ready_pack(&ready));
    g_assert_true(sundog_ready_unpack(ready_payload, &ready_again, NULL));
    g_assert_cmpuint(ready_again.pool_pages, ==, 1000);
    g_assert_cmpstr(ready_again.device, ==, ready.device);
    ready.page_tokens = 0;
    g_autoptr(GVariant) bad_ready = sink(sundog_ready_pack(&ready));
    g_assert_false(sundog_ready_unpack(bad_ready, &ready_again, NULL));

    SundogFinish finish = {9, SUNDOG_FINISH_LENGTH, 10, 4, 3, 1, 2, 3, 77};
    SundogFinish finish_again;
    g_autoptr(GVariant) finish_payload = sink(sundog_finish_pack(&finish));
    g_assert_true(sundog_finish_unpack(finish_payload, &finish_again, NULL));
    g_assert_cmpuint(finish_again.step, ==, 77);
    g_assert_cmpint(finish_again.reason, ==, SUNDOG_FINISH_LENGTH);
    g_autoptr(GVariant) bad_finish =
        sink(g_variant_new_parsed("(@t 1, 'why', @u 1, @u 0, @u 0, @t 0, @t 0, @t 0, @t 0)"));
    g_assert_false(sundog_finish_unpack(bad_finish, &finish_again, NULL));

    SundogFault fault = {9, SUNDOG_FAULT_NOT_FINITE, "NaN in row 3"};
    SundogFault fault_again;
    g_autoptr(GVariant) fault_payload = sink(sundog_fault_pack(&fault));
    g_assert_true(sundog_fault_unpack(fault_payload, &fault_again, NULL));
    g_assert_cmpint(fault_again.code, ==, SUNDOG_FAULT_NOT_FINITE);
    g_assert_cmpstr(fault_again.text, ==, fault.text);

    SundogStatistics statistics = {.n_steps = 5, .step_us = 6};
    SundogStatistics statistics_again;
    g_autoptr(GVariant) statistics_payload = sink(sundog_statistics_pack(&statistics));
    g_assert_true(sundog_statistics_unpack(statistics_payload, &statistics_again, NULL));
    g_assert_cmpmem(&statistics, sizeof statistics, &statistics_again, sizeof statistics_again);
    /* A payload of another message is refused, not read. */
    g_assert_false(sundog_statistics_unpack(finish_payload, &statistics_again, NULL));
}

static gpointer
write_large(gpointer data)
{
    int fd = GPOINTER_TO_INT(data);
    g_autofree uint32_t *many = g_new0(uint32_t, 1 << 20);
    many[(1 << 20) - 1] = 42;
    SundogSubmit submit = plain_submit();
    submit.prompt = many;
    submit.n_prompt = 1 << 20;
    g_assert_true(sundog_frame_write(fd, SUNDOG_MESSAGE_SUBMIT, sundog_submit_pack(&submit), NULL));
    close(fd);
    return NULL;
}

/* A frame larger than the pipe, through ends that would rather not block. */
static void
test_pipe(void)
{
    int fds[2];
    g_assert_cmpint(pipe2(fds, O_NONBLOCK | O_CLOEXEC), ==, 0);
    GThread *thread = g_thread_new("writer", write_large, GINT_TO_POINTER(fds[1]));
    g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
    uint32_t type;
    g_autoptr(GVariant) payload = NULL;
    g_assert_true(sundog_frame_read(fds[0], decoder, &type, &payload, NULL));
    SundogSubmit submit;
    g_assert_true(sundog_submit_unpack(payload, &submit, NULL));
    g_assert_cmpuint(submit.n_prompt, ==, 1 << 20);
    g_assert_cmpuint(submit.prompt[(1 << 20) - 1], ==, 42);
    GVariant *none;
    g_autoptr(GError) error = NULL;
    g_assert_false(sundog_frame_read(fds[0], decoder, &type, &none, &error));
    g_assert_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_CLOSED);
    g_thread_join(thread);
    close(fds[0]);
}

static void
test_nobody_reads(void)
{
    int fds[2];
    g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
    close(fds[0]);
    g_autoptr(GError) error = NULL;
    g_assert_false(
        sundog_frame_write(fds[1], SUNDOG_MESSAGE_SHUTDOWN, g_variant_new("()"), &error));
    g_assert_error(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_CLOSED);
    close(fds[1]);
}

int
main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/wire/cut-anywhere", test_cut_anywhere);
    g_test_add_func("/wire/malformed", test_malformed);
    g_test_add_func("/wire/submit", test_submit);
    g_test_add_func("/wire/submit-ranges", test_submit_ranges);
    g_test_add_func("/wire/scores", test_scores);
    g_test_add_func("/wire/others", test_others);
    g_test_add_func("/wire/pipe", test_pipe);
    g_test_add_func("/wire/nobody-reads", test_nobody_reads);
    return g_test_run();
}
