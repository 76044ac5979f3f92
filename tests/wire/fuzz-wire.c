/* Both ends of the wire: bytes to frames to messages, and what was unpacked packs to the same. */

#include "engine/wire/messages.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

/* Unpacking may refuse, but what it takes must say the same when packed again. */
static void
check_same(GVariant *payload, GVariant *packed)
{
    g_autoptr(GVariant) again = g_variant_ref_sink(packed);
    g_assert_cmpuint(g_variant_get_size(payload), ==, g_variant_get_size(again));
    g_assert_true(memcmp(g_variant_get_data(payload), g_variant_get_data(again),
                         g_variant_get_size(payload)) == 0);
}

static void
touch_tokens(const SundogSubmit *submit)
{
    volatile uint32_t last = 0;
    last += submit->n_prompt ? submit->prompt[submit->n_prompt - 1] : 0;
    last += submit->n_produced ? submit->produced[submit->n_produced - 1] : 0;
    last += submit->n_ends ? submit->ends[submit->n_ends - 1] : 0;
    last += submit->n_automaton ? submit->automaton[submit->n_automaton - 1] : 0;
    last += submit->dry.n_breakers ? submit->dry.breakers[submit->dry.n_breakers - 1] : 0;
    last += submit->n_biases ? submit->biases[submit->n_biases - 1].token : 0;
}

static void
unpack(uint32_t type, GVariant *payload)
{
    SundogSubmit submit;
    SundogReady ready;
    SundogFault fault;
    SundogFinish finish;
    SundogStatistics statistics;
    SundogWireVocabulary vocabulary;
    SundogScores scores;
    switch (type) {
    case SUNDOG_MESSAGE_SUBMIT:
        if (sundog_submit_unpack(payload, &submit, NULL)) {
            touch_tokens(&submit);
            check_same(payload, sundog_submit_pack(&submit));
        }
        break;
    case SUNDOG_MESSAGE_VOCABULARY:
        if (sundog_wire_vocabulary_unpack(payload, &vocabulary, NULL))
            check_same(payload, sundog_wire_vocabulary_pack(&vocabulary));
        break;
    case SUNDOG_MESSAGE_SCORES:
        if (sundog_scores_unpack(payload, &scores, NULL))
            check_same(payload, sundog_scores_pack(&scores));
        break;
    case SUNDOG_MESSAGE_READY:
        if (sundog_ready_unpack(payload, &ready, NULL))
            g_variant_unref(g_variant_ref_sink(sundog_ready_pack(&ready)));
        break;
    case SUNDOG_MESSAGE_FAULT:
        if (sundog_fault_unpack(payload, &fault, NULL))
            check_same(payload, sundog_fault_pack(&fault));
        break;
    case SUNDOG_MESSAGE_FINISH:
        if (sundog_finish_unpack(payload, &finish, NULL))
            check_same(payload, sundog_finish_pack(&finish));
        break;
    case SUNDOG_MESSAGE_STATISTICS:
        if (sundog_statistics_unpack(payload, &statistics, NULL))
            g_variant_unref(g_variant_ref_sink(sundog_statistics_pack(&statistics)));
        break;
    default:
        g_free(g_variant_print(payload, TRUE));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
    /* Fed in two halves: a frame may be cut anywhere. */
    size_t half = n_bytes > 0 ? data[0] % n_bytes : 0;
    sundog_frame_decoder_feed(decoder, data, half);
    for (int part = 0; part < 2; part++) {
        uint32_t type;
        GVariant *payload;
        while (sundog_frame_decoder_next(decoder, &type, &payload, NULL) && payload) {
            unpack(type, payload);
            g_variant_unref(payload);
        }
        sundog_frame_decoder_feed(decoder, data + half, part == 0 ? n_bytes - half : 0);
    }
    return 0;
}

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    static const uint32_t tokens[] = {5, 6, 7, 8, 9}, breakers[] = {1, 5, 2, 6, 7};
    static const SundogTokenBias bias = {2, -1.5};
    const SundogSubmit submit = {.id = 3,
                                 .prompt = tokens,
                                 .n_prompt = 5,
                                 .produced = tokens,
                                 .n_produced = 2,
                                 .max_tokens = 9,
                                 .ends = tokens,
                                 .n_ends = 1,
                                 .top_p = 1,
                                 .repetition_penalty = 1,
                                 .automaton = tokens,
                                 .n_automaton = 2,
                                 .biases = &bias,
                                 .n_biases = 1,
                                 .dry = {1, 2, 2, 9, breakers, 5},
                                 .n_scores = 3};
    static const SundogTokenScore entries[4] = {{1, -2}, {2, -1}, {3, -3}, {2, -1}};
    const SundogScores scores = {3, 5, 2, entries, 2};
    const SundogWireVocabulary vocabulary = {tokens, 4, (const uint8_t *)"abcdefgh", 8};
    const SundogReady ready = {1, 1, 1, 1, 1, 1, 1, 1, "host"};
    const SundogFault fault = {1, SUNDOG_FAULT_INTERNAL, "why"};
    const SundogFinish finish = {.id = 3, .reason = SUNDOG_FINISH_STOP, .n_prompt = 5};
    const SundogStatistics statistics = {.n_steps = 4};
    const struct {
        uint32_t type;
        GVariant *payload;
    } frames[] = {
        {SUNDOG_MESSAGE_SUBMIT, sundog_submit_pack(&submit)},
        {SUNDOG_MESSAGE_VOCABULARY, sundog_wire_vocabulary_pack(&vocabulary)},
        {SUNDOG_MESSAGE_SCORES, sundog_scores_pack(&scores)},
        {SUNDOG_MESSAGE_READY, sundog_ready_pack(&ready)},
        {SUNDOG_MESSAGE_FAULT, sundog_fault_pack(&fault)},
        {SUNDOG_MESSAGE_FINISH, sundog_finish_pack(&finish)},
        {SUNDOG_MESSAGE_STATISTICS, sundog_statistics_pack(&statistics)},
        {SUNDOG_MESSAGE_HELLO, g_variant_new("(uss)", 1, "0", "core")},
        {SUNDOG_MESSAGE_CANCEL, g_variant_new("(t)", (uint64_t)3)},
        {SUNDOG_MESSAGE_TOKENS, g_variant_new_parsed("(@t 3, [(@t 1, @u 2, @u 3)])")},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(frames); i++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        sundog_frame_append(bytes, frames[i].type, frames[i].payload);
        add(bytes->data, bytes->len);
    }
}
