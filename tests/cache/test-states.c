/*
 * Sequences with recurrent state, against fake slots that hold a hash of the tokens that they have taken
 * in: whatever a sequence goes on from must be the hash of exactly its own tokens.
 */

#include "engine/cache/cache.h"
#include "tests/cache/token-hash.h"
#include <string.h>

#define PAGE_TOKENS 4
#define SEQUENCE_PAGES 12
#define MAX_TOKENS (PAGE_TOKENS * SEQUENCE_PAGES)
#define MAX_STATES 8
#define N_SEQUENCES 6

static uint64_t slots[MAX_STATES];

typedef struct {
    SundogSequenceState state;
    int32_t pages[SEQUENCE_PAGES];
    uint32_t tokens[MAX_TOKENS];
    uint32_t n_tokens;
    bool open;
} Sequence;

static void
copy_state(SundogStateKind kind, int32_t from, int32_t to, void *data)
{
    g_assert_cmpint(from, !=, to);
    if (kind == SUNDOG_STATE_PAGES)
        return;
    g_assert_cmpint(kind, ==, SUNDOG_STATE_SLOTS);
    g_assert_cmpint(from, !=, SUNDOG_NULL_STATE);
    slots[to] = slots[from];
}

static SundogCache *
new_cache(int32_t n_pages, int32_t n_states)
{
    memset(slots, 0, sizeof slots);
    return sundog_cache_new(&(SundogCacheOptions){.n_pages = n_pages,
                                                  .page_tokens = PAGE_TOKENS,
                                                  .sequence_pages = SEQUENCE_PAGES,
                                                  .max_kept_pages = -1,
                                                  .n_states = n_states,
                                                  .state = {.copy = copy_state}});
}

static bool
open_sequence(SundogCache *cache, Sequence *sequence)
{
    sequence->state.pages = sequence->pages;
    sequence->open = sundog_cache_open_sequence(cache, &sequence->state, sequence->tokens,
                                                sequence->n_tokens, sequence->n_tokens, true);
    if (sequence->open) {
        g_assert_cmpuint(sequence->state.n_valid, <, sequence->n_tokens);
        g_assert_cmpint(sequence->state.slot, !=, SUNDOG_NULL_STATE);
        if (sequence->state.n_valid > 0) {
            g_assert_cmpuint(slots[sequence->state.slot], ==,
                             token_hash(sequence->tokens, sequence->state.n_valid));
        }
    }
    return sequence->open;
}

/* As a step would: the state takes tokens in up to n. */
static void
advance(SundogCache *cache, Sequence *sequence, uint32_t n)
{
    slots[sequence->state.slot] = token_hash(sequence->tokens, n);
    sundog_cache_advance(cache, &sequence->state, sequence->tokens, n);
}

static void
close_sequence(SundogCache *cache, Sequence *sequence, SundogClose how)
{
    sundog_cache_close_sequence(cache, &sequence->state, sequence->tokens, how);
    sequence->open = false;
}

static void
set_tokens(Sequence *sequence, const char *text)
{
    sequence->n_tokens = (uint32_t)strlen(text);
    for (uint32_t i = 0; i < sequence->n_tokens; i++)
        sequence->tokens[i] = (uint8_t)text[i];
}

/* A talk goes on from its last answer, in the middle of a page; a shorter or another beginning does not. */
static void
test_reuse(void)
{
    SundogCache *cache = new_cache(40, 4);
    Sequence sequence = {0};
    set_tokens(&sequence, "question answer");
    g_assert_true(open_sequence(cache, &sequence));
    advance(cache, &sequence, 7);
    advance(cache, &sequence, 15);
    close_sequence(cache, &sequence, SUNDOG_CLOSE_KEEP);

    static const struct {
        const char *text;
        uint32_t n_valid;
    } cases[] = {{"question answer and more", 15},
                 {"question answers", 15},
                 {"question answer", 0},
                 {"question and", 0},
                 {"other", 0}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Sequence next = {0};
        set_tokens(&next, cases[i].text);
        g_assert_true(open_sequence(cache, &next));
        g_assert_cmpuint(next.state.n_valid, ==, cases[i].n_valid);
        close_sequence(cache, &next, SUNDOG_CLOSE_DISCARD);
    }
    sundog_cache_free(cache);
}

/* A state that is no good is met by nobody. */
static void
test_discard(void)
{
    SundogCache *cache = new_cache(40, 3);
    Sequence sequence = {0};
    set_tokens(&sequence, "abcdefgh");
    g_assert_true(open_sequence(cache, &sequence));
    advance(cache, &sequence, 8);
    close_sequence(cache, &sequence, SUNDOG_CLOSE_DISCARD);
    set_tokens(&sequence, "abcdefghi");
    g_assert_true(open_sequence(cache, &sequence));
    g_assert_cmpuint(sequence.state.n_valid, ==, 0);
    close_sequence(cache, &sequence, SUNDOG_CLOSE_KEEP);
    sundog_cache_free(cache);
}

/* One slot serves one talk after the other, and the same one again. */
static void
test_one_slot(void)
{
    SundogCache *cache = new_cache(40, 2);
    Sequence first = {0}, second = {0};
    set_tokens(&first, "abcdef");
    set_tokens(&second, "xyz");
    g_assert_true(open_sequence(cache, &first));
    g_assert_false(open_sequence(cache, &second));
    advance(cache, &first, 6);
    close_sequence(cache, &first, SUNDOG_CLOSE_KEEP);
    set_tokens(&first, "abcdefg");
    g_assert_true(open_sequence(cache, &first));
    g_assert_cmpuint(first.state.n_valid, ==, 6);
    close_sequence(cache, &first, SUNDOG_CLOSE_KEEP);
    g_assert_true(open_sequence(cache, &second));
    advance(cache, &second, 3);
    close_sequence(cache, &second, SUNDOG_CLOSE_KEEP);
    g_assert_true(open_sequence(cache, &first));
    g_assert_cmpuint(first.state.n_valid, ==, 0);
    close_sequence(cache, &first, SUNDOG_CLOSE_KEEP);
    sundog_cache_free(cache);
}

/* Runs to the end as steps do that stop at every checkpoint. Returns how many tokens ran. */
static uint32_t
run(SundogCache *cache, Sequence *sequence)
{
    uint32_t n_before = sequence->state.n_valid;
    g_assert_true(sundog_cache_reserve(cache, &sequence->state, sequence->n_tokens));
    while (sequence->state.n_valid < sequence->n_tokens) {
        uint32_t checkpoint = sundog_cache_get_checkpoint(cache, &sequence->state);
        g_assert_cmpuint(checkpoint, >, sequence->state.n_valid);
        advance(cache, sequence, MIN(checkpoint, sequence->n_tokens));
    }
    return sequence->n_tokens - n_before;
}

static uint32_t
run_whole(SundogCache *cache, const char *text)
{
    Sequence sequence = {0};
    set_tokens(&sequence, text);
    g_assert_true(open_sequence(cache, &sequence));
    uint32_t n_run = run(cache, &sequence);
    close_sequence(cache, &sequence, SUNDOG_CLOSE_KEEP);
    return n_run;
}

/* A prompt whose end the next turn does not repeat is gone on with from its last border of pages (K4); where
 * a second prompt leaves the first, a third that does so goes on from there. */
static void
test_checkpoints(void)
{
    SundogCache *cache = new_cache(60, 8);
    g_assert_cmpuint(run_whole(cache, "system: help. user: abcd<m>"), ==, 27);
    g_assert_cmpuint(run_whole(cache, "system: help. user: abcd and b<m>"), ==, 33 - 24);
    g_assert_cmpuint(run_whole(cache, "system: help. model: c"), ==, 22);
    g_assert_cmpuint(run_whole(cache, "system: help. agent: d"), ==, 22 - 12);
    sundog_cache_free(cache);
}

/* The answer's last border is kept as well, and only the last. */
static void
test_answer_border(void)
{
    SundogCache *cache = new_cache(60, 8);
    Sequence sequence = {0};
    set_tokens(&sequence, "question");
    g_assert_true(open_sequence(cache, &sequence));
    run(cache, &sequence);
    set_tokens(&sequence, "questionanswer12");
    run(cache, &sequence);
    set_tokens(&sequence, "questionanswer1234");
    run(cache, &sequence);
    close_sequence(cache, &sequence, SUNDOG_CLOSE_KEEP);
    g_assert_cmpuint(run_whole(cache, "questionanswer12!"), ==, 1);
    g_assert_cmpuint(run_whole(cache, "questionanswer!"), ==, 15 - 4);
    sundog_cache_free(cache);
}

/* Guesses that prove right stay; where one does not, the state is as before them. */
static void
test_guesses(void)
{
    SundogCache *cache = new_cache(40, 4);
    Sequence sequence = {0};
    set_tokens(&sequence, "abcdef");
    g_assert_true(open_sequence(cache, &sequence));
    advance(cache, &sequence, 5);
    g_assert_true(sundog_cache_guess(cache, &sequence.state));
    slots[sequence.state.slot] = token_hash(sequence.tokens, 6);
    sundog_cache_extend(cache, &sequence.state, 6);
    sundog_cache_advance(cache, &sequence.state, sequence.tokens, 6);
    g_assert_cmpuint(sequence.state.n_valid, ==, 6);

    g_assert_true(sundog_cache_guess(cache, &sequence.state));
    slots[sequence.state.slot] = 1;
    set_tokens(&sequence, "abcdefgh");
    sundog_cache_extend(cache, &sequence.state, 8);
    sundog_cache_advance(cache, &sequence.state, sequence.tokens, 7);
    g_assert_cmpuint(sequence.state.n_valid, ==, 6);
    g_assert_cmpuint(slots[sequence.state.slot], ==, token_hash(sequence.tokens, 6));
    close_sequence(cache, &sequence, SUNDOG_CLOSE_KEEP);

    sundog_cache_free(cache);
    cache = new_cache(40, 2);
    g_assert_true(open_sequence(cache, &sequence));
    g_assert_false(sundog_cache_guess(cache, &sequence.state)); /* there is no second slot */
    close_sequence(cache, &sequence, SUNDOG_CLOSE_KEEP);
    sundog_cache_free(cache);
}

/* Tokens of few kinds, so that beginnings are often the same. */
static void
extend(Sequence *sequence, GRand *random)
{
    uint32_t n = (uint32_t)g_rand_int_range(random, 1, 7);
    while (n-- > 0 && sequence->n_tokens < MAX_TOKENS)
        sequence->tokens[sequence->n_tokens++] = (uint32_t)g_rand_int_range(random, 0, 2);
}

/* A step of guesses of which some are right. */
static void
guess(SundogCache *cache, Sequence *sequence, GRand *random)
{
    uint32_t n_before = sequence->state.n_valid;
    uint32_t n_left = sequence->n_tokens - n_before;
    uint32_t n_right = (uint32_t)g_rand_int_range(random, 1, (int)n_left + 1);
    if (!sundog_cache_guess(cache, &sequence->state))
        return;
    slots[sequence->state.slot] =
        n_right < n_left ? 1 : token_hash(sequence->tokens, sequence->n_tokens);
    sundog_cache_extend(cache, &sequence->state, sequence->n_tokens);
    if (g_rand_int_range(random, 0, 8) == 0) {
        close_sequence(cache, sequence, SUNDOG_CLOSE_DISCARD);
        return;
    }
    sundog_cache_advance(cache, &sequence->state, sequence->tokens, n_before + n_right);
    g_assert_cmpuint(sequence->state.n_valid, ==, n_right < n_left ? n_before : n_before + n_left);
    if (sequence->state.n_valid > 0) {
        g_assert_cmpuint(slots[sequence->state.slot], ==,
                         token_hash(sequence->tokens, sequence->state.n_valid));
    }
}

static void
move(SundogCache *cache, Sequence *sequence, GRand *random)
{
    if (!sequence->open) {
        if (g_rand_int_range(random, 0, 3) == 0 || sequence->n_tokens == MAX_TOKENS)
            sequence->n_tokens = 0;
        extend(sequence, random);
        open_sequence(cache, sequence);
    } else if (sequence->state.n_valid < sequence->n_tokens &&
               g_rand_int_range(random, 0, 3) == 0) {
        guess(cache, sequence, random);
    } else if (sequence->state.n_valid < sequence->n_tokens) {
        uint32_t n_left = sequence->n_tokens - sequence->state.n_valid;
        advance(cache, sequence,
                sequence->state.n_valid + (uint32_t)g_rand_int_range(random, 1, (int)n_left + 1));
    } else {
        close_sequence(cache, sequence,
                       g_rand_int_range(random, 0, 8) == 0 ? SUNDOG_CLOSE_DISCARD
                                                           : SUNDOG_CLOSE_KEEP);
    }
}

static void
test_random(void)
{
    static const int32_t pools[][2] = {{400, MAX_STATES}, {40, 4}, {20, 3}, {14, 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(pools); i++) {
        GRand *random = g_rand_new_with_seed((guint32)(100 + i));
        SundogCache *cache = new_cache(pools[i][0], pools[i][1]);
        Sequence sequences[N_SEQUENCES] = {0};
        for (int step = 0; step < 4000; step++)
            move(cache, &sequences[g_rand_int_range(random, 0, N_SEQUENCES)], random);
        for (int s = 0; s < N_SEQUENCES; s++)
            if (sequences[s].open)
                close_sequence(cache, &sequences[s], SUNDOG_CLOSE_KEEP);
        g_assert_cmpint(sundog_cache_get_n_used(cache), ==, 0);
        sundog_cache_free(cache);
        g_rand_free(random);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/states/reuse", test_reuse);
    g_test_add_func("/states/discard", test_discard);
    g_test_add_func("/states/one-slot", test_one_slot);
    g_test_add_func("/states/checkpoints", test_checkpoints);
    g_test_add_func("/states/answer-border", test_answer_border);
    g_test_add_func("/states/guesses", test_guesses);
    g_test_add_func("/states/random", test_random);
    return g_test_run();
}
