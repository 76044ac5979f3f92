/*
 * Constrained requests over the fake model: what comes is what the automaton takes, whatever runs
 * beside, whether pages run out, drafts are tried, or an engine goes on where another ended.
 */

#include "engine/wire/automaton.h"
#include "tests/schedule/fake-engine.h"
#include <math.h>
#include <string.h>

#define END 999
#define N_REQUESTS 12

static const uint32_t prompt[] = {5, 6, 7, 8, 9, 10};
static const uint32_t ends[] = {END};
static uint32_t *words;
static uint32_t n_words;

/* Digits, whose number is a multiple of three; then, once, an x, after which nothing comes. */
static void
make_automaton(void)
{
    g_autoptr(SundogAutomaton) automaton = sundog_automaton_new(4, 4);
    const SundogAutomatonEdge edges[] = {
        {.kind = SUNDOG_AUTOMATON_BYTES, .low = '0', .high = '9', .to = 1},
        {.kind = SUNDOG_AUTOMATON_BYTES, .low = 'x', .high = 'x', .to = 3},
        {.kind = SUNDOG_AUTOMATON_BYTES, .low = '0', .high = '9', .to = 2},
        {.kind = SUNDOG_AUTOMATON_BYTES, .low = '0', .high = '9', .to = 0},
    };
    const uint32_t first[] = {0, 2, 3, 4, 4};
    memcpy(automaton->edges, edges, sizeof edges);
    memcpy(automaton->first_edges, first, sizeof first);
    automaton->accepting[0] = automaton->accepting[3] = true;
    words = sundog_automaton_write(automaton, &n_words);
}

/* Tokens are their own numbers as text, but that every hundredth is an x and some are letters. */
static char *
text_of(uint32_t token)
{
    if (token % 100 == 50)
        return g_strdup("x");
    return g_strdup_printf(token % 7 == 3 ? "a%u" : "%u", token);
}

static void
set_vocabulary(SundogScheduler *scheduler)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint32_t token_ends[FAKE_VOCABULARY];
    for (uint32_t i = 0; i < FAKE_VOCABULARY; i++) {
        g_autofree char *text = text_of(i);
        g_byte_array_append(bytes, (const uint8_t *)text, (guint)strlen(text));
        token_ends[i] = bytes->len;
    }
    sundog_scheduler_set_vocabulary(
        scheduler, &(SundogWireVocabulary){token_ends, FAKE_VOCABULARY, bytes->data, bytes->len});
}

static FakeEngine
start(int32_t pool_pages, bool drafts)
{
    const FakeModelOptions options = {.page_tokens = 16,
                                      .pool_pages = pool_pages,
                                      .sequence_pages = 16,
                                      .max_tokens = 64,
                                      .max_sequences = 8,
                                      .history = 32,
                                      .max_drafts = 5};
    FakeEngine engine =
        drafts ? fake_engine_start_drafting(&options, &options, 7) : fake_engine_start(&options);
    set_vocabulary(engine.scheduler);
    return engine;
}

static SundogSubmit
request_of(uint64_t id)
{
    return (SundogSubmit){.id = id,
                          .prompt = prompt,
                          .n_prompt = 1 + id % G_N_ELEMENTS(prompt),
                          .max_tokens = 60,
                          .ends = ends,
                          .n_ends = 1,
                          .temperature = 1,
                          .seed = id,
                          .top_p = 1,
                          .repetition_penalty = 1,
                          .top_k = id % 3 == 0 ? FAKE_REPEATS : 0,
                          .automaton = words,
                          .n_automaton = n_words};
}

static void
check_answer(const Answer *answer)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_assert_true(answer->ended && !answer->faulted);
    for (guint i = 0; i < answer->tokens->len; i++) {
        g_autofree char *token = text_of(g_array_index(answer->tokens, uint32_t, i));
        g_string_append(text, token);
    }
    g_assert_cmpuint(strspn(text->str, "0123456789"), >=, text->len - (text->len > 0));
    bool stopped = answer->finish.reason == SUNDOG_FINISH_STOP;
    bool has_x = text->len > 0 && text->str[text->len - 1] == 'x';
    g_assert_true(stopped || !has_x);
    g_assert_true(!stopped || (text->len - has_x) % 3 == 0);
}

static void
test_masks_hold(void)
{
    static const struct {
        int32_t n_pages;
        bool drafts;
    } pools[] = {{200, false}, {20, false}, {200, true}, {20, true}};
    g_autoptr(GPtrArray) first = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (size_t k = 0; k < G_N_ELEMENTS(pools); k++) {
        FakeEngine engine = start(pools[k].n_pages, pools[k].drafts);
        Answer *answers[N_REQUESTS];
        for (uint32_t i = 0; i < N_REQUESTS; i++) {
            SundogSubmit request = request_of(i + 1);
            answers[i] = fake_engine_submit(&engine, &request);
        }
        fake_engine_run(&engine);
        for (uint32_t i = 0; i < N_REQUESTS; i++) {
            check_answer(answers[i]);
            if (k == 0) {
                g_ptr_array_add(first, g_array_ref(answers[i]->tokens));
            } else { /* the same, whoever had to give way, and whoever guessed */
                const GArray *before = first->pdata[i];
                g_assert_cmpmem(answers[i]->tokens->data, answers[i]->tokens->len * 4, before->data,
                                before->len * 4);
            }
        }
        fake_engine_stop(&engine);
    }
}

static void
test_resubmitted(void)
{
    FakeEngine engine = start(200, true);
    SundogSubmit whole = request_of(3);
    Answer *answer = fake_engine_submit(&engine, &whole);
    fake_engine_run(&engine);
    g_assert_cmpuint(answer->tokens->len, >, 2);
    for (uint32_t n = 1; n <= answer->tokens->len && n < whole.max_tokens; n++) {
        SundogSubmit rest = whole;
        rest.id = 100 + n;
        rest.produced = (const uint32_t *)(void *)answer->tokens->data;
        rest.n_produced = n;
        Answer *tail = fake_engine_submit(&engine, &rest);
        fake_engine_run(&engine);
        g_assert_true(tail->ended && !tail->faulted);
        g_assert_cmpint(tail->finish.reason, ==, answer->finish.reason);
        g_assert_cmpmem(tail->tokens->data, tail->tokens->len * 4, answer->tokens->data + n * 4,
                        (answer->tokens->len - n) * 4);
    }
    fake_engine_stop(&engine);
}

static void
test_refused(void)
{
    FakeEngine engine = start(200, true);
    /* Tokens that the automaton does not lead to: nobody can go on from there. */
    const uint32_t wrong[] = {3};
    SundogSubmit request = request_of(1);
    request.produced = wrong;
    request.n_produced = 1;
    Answer *stuck = fake_engine_submit(&engine, &request);
    request = request_of(2);
    request.n_automaton--;
    Answer *malformed = fake_engine_submit(&engine, &request);
    request = request_of(3);
    const SundogTokenBias many[5] = {{1, 1}};
    request.biases = many;
    request.n_biases = 5;
    Answer *biased = fake_engine_submit(&engine, &request);
    fake_engine_run(&engine);
    g_assert_true(stuck->faulted && stuck->fault == SUNDOG_FAULT_CONSTRAINT);
    g_assert_true(malformed->faulted && malformed->fault == SUNDOG_FAULT_CONSTRAINT);
    g_assert_true(biased->faulted && biased->fault == SUNDOG_FAULT_BAD_REQUEST);
    fake_engine_stop(&engine);
}

static void
test_biases_reach_their_rows(void)
{
    FakeEngine engine = start(200, true);
    const SundogTokenBias biases[] = {{77, 5}, {78, -INFINITY}};
    SundogSubmit plain = request_of(1), biased = request_of(2);
    plain.n_automaton = biased.n_automaton = 0;
    biased.biases = biases;
    biased.n_biases = 2;
    Answer *other = fake_engine_submit(&engine, &plain),
           *answer = fake_engine_submit(&engine, &biased);
    fake_engine_run(&engine);
    g_assert_cmpuint(answer->tokens->len, ==, biased.max_tokens);
    for (guint i = 0; i < answer->tokens->len; i++) {
        g_assert_cmpuint(g_array_index(answer->tokens, uint32_t, i), ==, 77);
        g_assert_cmpuint(g_array_index(other->tokens, uint32_t, i), !=, 77);
    }
    fake_engine_stop(&engine);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    make_automaton();
    g_test_add_func("/constrained/masks-hold", test_masks_hold);
    g_test_add_func("/constrained/resubmitted", test_resubmitted);
    g_test_add_func("/constrained/refused", test_refused);
    g_test_add_func("/constrained/biases", test_biases_reach_their_rows);
    int status = g_test_run();
    g_free(words);
    return status;
}
