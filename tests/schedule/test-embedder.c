/* The engine of vectors over a fake model: what goes into steps, and what comes of them. */

#include "engine/schedule/embedder.h"

#include <math.h>
#include <string.h>

#define MAX_TOKENS 600
#define MAX_SEQUENCES 4
#define MAX_PAGES 10
#define N_OUTPUTS 3

typedef struct {
    SundogStepRunner runner;
    SundogEmbedder *embedder;
    GByteArray *outbox;
    int32_t tokens[MAX_TOKENS];
    int32_t positions[MAX_TOKENS];
    int32_t token_sequence[MAX_TOKENS];
    int32_t token_types[MAX_TOKENS];
    int32_t first_row[MAX_SEQUENCES + 1];
    int32_t start_position[MAX_SEQUENCES];
    int32_t page_table[MAX_SEQUENCES * MAX_PAGES];
    float result[MAX_SEQUENCES * N_OUTPUTS];
    uint32_t n_steps;
    uint32_t n_sequences; /* of the last step */
    bool fails;
} Fixture;

/* The sum of a text's tokens, of their types, and how many there are; pages are used once each. */
static bool
forward(void *data, const SundogStepSize *size, GError **error)
{
    Fixture *fixture = data;
    bool used[MAX_SEQUENCES * MAX_PAGES + 1] = {true};
    fixture->n_steps++;
    fixture->n_sequences = size->n_sequences;
    if (fixture->fails) {
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "the step is broken");
        return false;
    }
    memset(fixture->result, 0, sizeof fixture->result);
    for (uint32_t s = 0; s < size->n_sequences; s++) {
        float *result = fixture->result + s * N_OUTPUTS;
        for (int32_t row = fixture->first_row[s]; row < fixture->first_row[s + 1]; row++) {
            g_assert_cmpint(fixture->positions[row], ==, row - fixture->first_row[s]);
            g_assert_cmpint(fixture->token_sequence[row], ==, s);
            result[0] += (float)fixture->tokens[row];
            result[1] += (float)fixture->token_types[row];
            result[2] += 1;
        }
        for (int32_t p = 0; p * 64 < (int32_t)result[2]; p++) {
            int32_t page = fixture->page_table[s * size->sequence_pages + (uint32_t)p];
            g_assert_false(used[page]);
            used[page] = true;
        }
        if (result[0] == 666)
            result[0] = NAN;
    }
    return true;
}

static void
fixture_init(Fixture *fixture)
{
    *fixture = (Fixture){.outbox = g_byte_array_new()};
    fixture->runner = (SundogStepRunner){
        .max = {.n_tokens = MAX_TOKENS, .n_sequences = MAX_SEQUENCES, .sequence_pages = MAX_PAGES},
        .n_vocabulary = 1000,
        .page_tokens = 64,
        .tokens = fixture->tokens,
        .positions = fixture->positions,
        .token_sequence = fixture->token_sequence,
        .token_types = fixture->token_types,
        .first_row = fixture->first_row,
        .start_position = fixture->start_position,
        .page_table = fixture->page_table,
        .result = fixture->result,
        .n_outputs = N_OUTPUTS,
        .n_token_types = 2,
        .forward = forward,
        .data = fixture};
    fixture->embedder = sundog_embedder_new(&fixture->runner, 550, fixture->outbox);
}

static void
fixture_clear(Fixture *fixture)
{
    sundog_embedder_free(fixture->embedder);
    g_byte_array_unref(fixture->outbox);
}

/* Texts of n tokens of one number. */
static void
submit(Fixture *fixture, uint64_t id, uint32_t n, uint32_t n_first, uint32_t token)
{
    g_autofree uint32_t *tokens = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = token;
    const SundogEmbed embed = {.id = id, .tokens = tokens, .n_tokens = n, .n_first = n_first};
    g_autoptr(GVariant) payload = g_variant_ref_sink(sundog_embed_pack(&embed));
    SundogEmbed unpacked;
    g_assert_true(sundog_embed_unpack(payload, &unpacked, NULL));
    sundog_embedder_submit(fixture->embedder, &unpacked, g_get_monotonic_time());
}

/* "R1=12,1,4 F1=stop" for what was said, in order. */
static char *
take_said(Fixture *fixture)
{
    g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
    g_autoptr(GString) said = g_string_new(NULL);
    uint32_t type;
    GVariant *payload;
    sundog_frame_decoder_feed(decoder, fixture->outbox->data, fixture->outbox->len);
    while (sundog_frame_decoder_next(decoder, &type, &payload, NULL) && payload) {
        SundogResult result;
        SundogFinish finish;
        SundogFault fault;
        if (type == SUNDOG_MESSAGE_RESULT && sundog_result_unpack(payload, &result, NULL))
            g_string_append_printf(said, "R%u=%g,%g,%g ", (unsigned)result.id, result.values[0],
                                   result.values[1], result.values[2]);
        if (type == SUNDOG_MESSAGE_FINISH && sundog_finish_unpack(payload, &finish, NULL))
            g_string_append_printf(said, "F%u=%s ", (unsigned)finish.id,
                                   sundog_finish_reason_text(finish.reason));
        if (type == SUNDOG_MESSAGE_FAULT && sundog_fault_unpack(payload, &fault, NULL))
            g_string_append_printf(said, "X%u=%s ", (unsigned)fault.id,
                                   sundog_fault_code_text(fault.code));
        g_variant_unref(payload);
    }
    sundog_frame_clear(fixture->outbox);
    return g_strdup(said->str);
}

static void
assert_said(Fixture *fixture, const char *expected)
{
    g_autofree char *said = take_said(fixture);
    g_assert_cmpstr(said, ==, expected);
}

/* Several texts a step, as long as the step is short; one alone may be long. */
static void
test_steps(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    submit(&fixture, 1, 3, 2, 5);
    submit(&fixture, 2, 70, 70, 1);
    submit(&fixture, 3, 550, 550, 1);
    submit(&fixture, 4, 1, 1, 9);
    sundog_embedder_step(fixture.embedder);
    g_assert_cmpuint(fixture.n_sequences, ==, 2);
    assert_said(&fixture, "R1=15,1,3 F1=stop R2=70,0,70 F2=stop ");
    sundog_embedder_step(fixture.embedder);
    g_assert_cmpuint(fixture.n_sequences, ==, 1);
    assert_said(&fixture, "R3=550,0,550 F3=stop ");
    sundog_embedder_step(fixture.embedder);
    assert_said(&fixture, "R4=9,0,1 F4=stop ");
    g_assert_false(sundog_embedder_has_work(fixture.embedder));
    sundog_embedder_step(fixture.embedder);
    g_assert_cmpuint(fixture.n_steps, ==, 3);
    fixture_clear(&fixture);
}

static void
test_faults(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    submit(&fixture, 1, 551, 551, 1);
    submit(&fixture, 2, 1, 1, 1000);
    submit(&fixture, 3, 1, 1, 666);
    submit(&fixture, 4, 2, 2, 7);
    sundog_embedder_step(fixture.embedder);
    assert_said(&fixture, "X1=context_length X2=bad_request X3=not_finite R4=14,0,2 F4=stop ");
    fixture.fails = true;
    submit(&fixture, 5, 1, 1, 1);
    sundog_embedder_step(fixture.embedder);
    assert_said(&fixture, "X5=internal ");
    g_assert_false(sundog_embedder_has_work(fixture.embedder));
    fixture_clear(&fixture);
}

static void
test_cancel(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    submit(&fixture, 1, 1, 1, 1);
    submit(&fixture, 2, 1, 1, 2);
    sundog_embedder_cancel(fixture.embedder, 1);
    sundog_embedder_cancel(fixture.embedder, 9);
    sundog_embedder_step(fixture.embedder);
    assert_said(&fixture, "F1=cancelled R2=2,0,1 F2=stop ");
    fixture_clear(&fixture);
}

static void
test_messages(void)
{
    SundogEmbed embed;
    SundogResult result;
    static const struct {
        uint64_t id;
        uint32_t n_tokens, n_first;
    } refused[] = {{0, 1, 1}, {1, 0, 0}, {1, 2, 3}};
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
        g_autoptr(GError) error = NULL;
        const uint32_t tokens[2] = {0};
        const SundogEmbed wrong = {refused[i].id, tokens, refused[i].n_tokens, refused[i].n_first};
        g_autoptr(GVariant) payload = g_variant_ref_sink(sundog_embed_pack(&wrong));
        g_assert_false(sundog_embed_unpack(payload, &embed, &error));
        g_assert_cmpuint(embed.id, ==, refused[i].id);
    }
    g_autoptr(GVariant) odd =
        g_variant_ref_sink(g_variant_new("(t@ay)", (uint64_t)1, g_variant_new_bytestring("ab")));
    g_assert_false(sundog_result_unpack(odd, &result, NULL));
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/embedder/steps", test_steps);
    g_test_add_func("/embedder/faults", test_faults);
    g_test_add_func("/embedder/cancel", test_cancel);
    g_test_add_func("/embedder/messages", test_messages);
    return g_test_run();
}
