/*
 * The cache against a naive reference. The fake memory of a page holds, for each slot, the tokens
 * that its state was computed from as a hash; whatever is reused must hold exactly the hashes of the
 * sequence that reuses it. Of pages of windows that holds for what the next token sees.
 */

#include "engine/cache/cache.h"
#include "tests/cache/token-hash.h"
#include <string.h>

#define PAGE_TOKENS 4
#define SEQUENCE_PAGES 16
#define MAX_TOKENS (PAGE_TOKENS * SEQUENCE_PAGES)
#define MAX_PAGES 4096
#define WINDOW_TOKENS 6

static uint64_t memory[MAX_PAGES][PAGE_TOKENS];
static uint64_t window_memory[MAX_PAGES][PAGE_TOKENS];

typedef struct {
    SundogSequenceState state;
    int32_t pages[SEQUENCE_PAGES];
    uint32_t tokens[MAX_TOKENS];
    uint32_t n_tokens;
    bool open;
} Sequence;

/* What the reference remembers: token strings, each cut to what may be known of it. */
typedef struct {
    uint32_t tokens[MAX_TOKENS];
    uint32_t n_tokens;
} Known;

static void
copy_state(SundogStateKind kind, int32_t from, int32_t to, void *data)
{
    g_assert_cmpint(to, !=, SUNDOG_NULL_PAGE);
    g_assert_cmpint(from, !=, to);
    if (kind == SUNDOG_STATE_PAGES) {
        memcpy(memory[to], memory[from], sizeof memory[to]);
        return;
    }
    g_assert_cmpint(kind, ==, SUNDOG_STATE_WINDOWS);
    g_assert_cmpint(from, !=, SUNDOG_NULL_PAGE);
    memcpy(window_memory[to], window_memory[from], sizeof window_memory[to]);
}

static SundogCache *
new_windowed_cache(int32_t n_pages, int32_t max_kept, int32_t n_windows)
{
    memset(memory, 0, sizeof memory);
    memset(window_memory, 0, sizeof window_memory);
    return sundog_cache_new(&(SundogCacheOptions){.n_pages = n_pages,
                                                  .page_tokens = PAGE_TOKENS,
                                                  .sequence_pages = SEQUENCE_PAGES,
                                                  .max_kept_pages = max_kept,
                                                  .n_windows = n_windows,
                                                  .window_tokens = WINDOW_TOKENS,
                                                  .step_tokens = MAX_TOKENS,
                                                  .state = {.copy = copy_state}});
}

static SundogCache *
new_cache(int32_t n_pages, int32_t max_kept)
{
    return new_windowed_cache(n_pages, max_kept, 0);
}

/* As a step would: reads what the first of its tokens sees, and writes the state of positions n_valid to n.
 * No shared page may be touched. */
static void
compute(SundogCache *cache, Sequence *sequence, uint32_t n)
{
    int32_t windows[SEQUENCE_PAGES];
    uint32_t n_valid = sequence->state.n_valid;
    sundog_cache_hold_windows(cache, &sequence->state, n);
    sundog_cache_fill_windows(cache, &sequence->state, windows, SEQUENCE_PAGES);
    bool has_windows = windows[(n - 1) / PAGE_TOKENS] != SUNDOG_NULL_PAGE;
    for (uint32_t p = n_valid - MIN(n_valid, WINDOW_TOKENS - 1); has_windows && p < n_valid; p++) {
        g_assert_cmpuint(window_memory[windows[p / PAGE_TOKENS]][p % PAGE_TOKENS], ==,
                         token_hash(sequence->tokens, p + 1));
    }
    for (uint32_t p = n_valid; p < n; p++) {
        g_assert_cmpuint(p / PAGE_TOKENS, >=, sequence->state.n_shared);
        uint64_t hash = token_hash(sequence->tokens, p + 1);
        memory[sequence->state.pages[p / PAGE_TOKENS]][p % PAGE_TOKENS] = hash;
        g_assert_true(!has_windows || windows[p / PAGE_TOKENS] != SUNDOG_NULL_PAGE);
        window_memory[windows[p / PAGE_TOKENS]][p % PAGE_TOKENS] = hash;
    }
}

static void
check_memory(const Sequence *sequence)
{
    for (uint32_t p = 0; p < sequence->state.n_valid; p++) {
        int32_t page = sequence->state.pages[p / PAGE_TOKENS];
        g_assert_cmpint(page, !=, SUNDOG_NULL_PAGE);
        g_assert_cmpuint(memory[page][p % PAGE_TOKENS], ==, token_hash(sequence->tokens, p + 1));
    }
}

static bool
open_sequence(SundogCache *cache, Sequence *sequence, bool keeps)
{
    sequence->state.pages = sequence->pages;
    sequence->open = sundog_cache_open_sequence(cache, &sequence->state, sequence->tokens,
                                                sequence->n_tokens, sequence->n_tokens, keeps);
    return sequence->open;
}

static void
advance(SundogCache *cache, Sequence *sequence, uint32_t n)
{
    compute(cache, sequence, n);
    sundog_cache_advance(cache, &sequence->state, sequence->tokens, n);
    check_memory(sequence);
}

static void
close_sequence(SundogCache *cache, Sequence *sequence)
{
    sundog_cache_close_sequence(cache, &sequence->state, sequence->tokens, SUNDOG_CLOSE_KEEP);
    sequence->open = false;
}

static void
set_tokens(Sequence *sequence, const char *text)
{
    sequence->n_tokens = (uint32_t)strlen(text);
    for (uint32_t i = 0; i < sequence->n_tokens; i++)
        sequence->tokens[i] = (uint8_t)text[i];
}

/* Runs a text whole and returns how much of it was known. */
static uint32_t
run_text(SundogCache *cache, const char *text)
{
    Sequence sequence = {0};
    set_tokens(&sequence, text);
    g_assert_true(open_sequence(cache, &sequence, true));
    uint32_t n_known = sequence.state.n_valid;
    check_memory(&sequence);
    advance(cache, &sequence, sequence.n_tokens);
    close_sequence(cache, &sequence);
    return n_known;
}

static void
test_reuse(void)
{
    g_autoptr(SundogCache) cache = new_cache(64, -1);
    g_assert_cmpuint(run_text(cache, "abcdefghij"), ==, 0);
    g_assert_cmpuint(run_text(cache, "abcdefghij"), ==, 9); /* all but the last token */
    g_assert_cmpuint(run_text(cache, "abcdefgh"), ==, 7);   /* a full page in part: by a copy */
    g_assert_cmpuint(run_text(cache, "abcdefghijklm"), ==, 10);
    g_assert_cmpuint(run_text(cache, "abcdXfghij"), ==, 4);
    g_assert_cmpuint(run_text(cache, "abXd"), ==, 2);
    g_assert_cmpuint(run_text(cache, "Xbcd"), ==, 0);
    g_assert_cmpuint(run_text(cache, "abcdefghijklm"), ==, 12);
    g_assert_cmpint(sundog_cache_get_n_used(cache), ==, 0);
}

static void
test_no_prefix_wanted(void)
{
    g_autoptr(SundogCache) cache = new_cache(64, -1);
    run_text(cache, "abcdefgh");
    int32_t n_kept = sundog_cache_get_n_kept(cache);
    Sequence sequence = {0};
    set_tokens(&sequence, "abcdefghij");
    g_assert_true(open_sequence(cache, &sequence, false));
    g_assert_cmpuint(sequence.state.n_valid, ==, 0);
    advance(cache, &sequence, 10);
    close_sequence(cache, &sequence);
    g_assert_cmpint(sundog_cache_get_n_kept(cache), ==, n_kept);
}

/* A prefill that ends after its first chunk leaves that chunk and no more (H6). */
static void
test_validity(void)
{
    g_autoptr(SundogCache) cache = new_cache(64, -1);
    Sequence sequence = {0};
    set_tokens(&sequence, "abcdefghijklmnop");
    g_assert_true(open_sequence(cache, &sequence, true));
    advance(cache, &sequence, 6);
    /* The second chunk was running when the request was cancelled: its pages hold anything. */
    memset(memory[sequence.pages[2]], 0xff, sizeof memory[0]);
    close_sequence(cache, &sequence);
    g_assert_cmpuint(run_text(cache, "abcdefghijklmnop"), ==, 6);
}

/* State that is not finite is met by no one. */
static void
test_discard(void)
{
    g_autoptr(SundogCache) cache = new_cache(64, -1);
    Sequence sequence = {0};
    set_tokens(&sequence, "abcdefghijklmnop");
    g_assert_true(open_sequence(cache, &sequence, true));
    advance(cache, &sequence, 16);
    sundog_cache_close_sequence(cache, &sequence.state, sequence.tokens, SUNDOG_CLOSE_DISCARD);
    g_assert_cmpint(sundog_cache_get_n_kept(cache), ==, 0);
    g_assert_cmpuint(run_text(cache, "abcdefghijklmnop"), ==, 0);
}

/* Two that run the same prompt at once end up on the same pages. */
static void
test_equal_at_once(void)
{
    g_autoptr(SundogCache) cache = new_cache(64, -1);
    Sequence a = {0}, b = {0};
    set_tokens(&a, "abcdefghij");
    set_tokens(&b, "abcdefghij");
    g_assert_true(open_sequence(cache, &a, true));
    g_assert_true(open_sequence(cache, &b, true));
    g_assert_cmpint(sundog_cache_get_n_used(cache), ==, 6);
    advance(cache, &a, 10);
    advance(cache, &b, 10);
    g_assert_cmpint(sundog_cache_get_n_used(cache), ==, 4);
    g_assert_cmpint(a.pages[1], ==, b.pages[1]);
    g_assert_cmpint(a.pages[2], !=, b.pages[2]);
    close_sequence(cache, &a);
    advance(cache, &b, 10);
    close_sequence(cache, &b);
    g_assert_cmpint(sundog_cache_get_n_kept(cache), ==, 3);
}

static void
test_eviction_order(void)
{
    g_autoptr(SundogCache) cache = new_cache(7, -1); /* six pages */
    run_text(cache, "aaaabbbb");
    run_text(cache, "ccccdddd");
    run_text(cache, "aaaabbbbe"); /* touched: the c's are the oldest now */
    run_text(cache, "ffffgggg");
    g_assert_cmpuint(run_text(cache, "aaaabbbb"), ==, 7);
    g_assert_cmpuint(run_text(cache, "ccccdddd"), <, 4);
}

static void
test_bound(void)
{
    g_autoptr(SundogCache) cache = new_cache(64, 3);
    run_text(cache, "abcdefghijklmnopq");
    g_assert_cmpint(sundog_cache_get_n_kept(cache), ==, 3);
    g_assert_cmpuint(run_text(cache, "abcdefghijklmnopq"), ==,
                     12); /* the beginning stays longest */
    g_autoptr(SundogCache) none = new_cache(64, 0);
    run_text(none, "abcdefg");
    run_text(none, "abc");
    g_assert_cmpint(sundog_cache_get_n_kept(none), ==, 0);
}

/* All or nothing, and never the page that is being copied. */
static void
test_full_pool(void)
{
    g_autoptr(SundogCache) cache = new_cache(4, -1); /* three pages */
    run_text(cache, "abcdefgh");
    Sequence a = {0}, b = {0};
    set_tokens(&a, "abcdefXX");
    g_assert_true(open_sequence(cache, &a, true)); /* shares one, copies one: none is left */
    g_assert_cmpuint(a.state.n_valid, ==, 6);
    check_memory(&a);
    set_tokens(&b, "abcdXXXXX");
    g_assert_false(open_sequence(cache, &b, true));
    g_assert_cmpint(sundog_cache_get_n_used(cache), ==, 2);
    advance(cache, &a, 8);
    g_assert_false(sundog_cache_reserve(cache, &a.state, 17));
    g_assert_cmpuint(a.state.n_pages, ==, 2);
    g_assert_true(sundog_cache_reserve(cache, &a.state, 12)); /* evicts what is kept */
    g_assert_cmpint(sundog_cache_get_n_kept(cache), ==, 0);
    close_sequence(cache, &a);
}

/* What fell out of the window is gone where another needs the room, and a beginning whose window is gone is not
 * taken for known. */
static void
test_windows(void)
{
    int32_t n_least = 2 + SEQUENCE_PAGES + 5; /* one sequence of all that a step takes */
    g_autoptr(SundogCache) cache = new_windowed_cache(200, -1, n_least);
    g_autoptr(SundogCache) plenty = new_windowed_cache(200, -1, 200);
    const char *first = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789";
    const char *second = "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (uint32_t i = 0; i < 2; i++) {
        SundogCache *each = i == 0 ? cache : plenty;
        g_assert_cmpuint(run_text(each, first), ==, 0);
        g_assert_cmpuint(run_text(each, first), ==, 61);
        g_assert_cmpuint(run_text(each, second), ==, 0);
        /* The end of the first was held last of it. */
        g_assert_cmpuint(run_text(each, "abcdefghijklX"), ==, i == 0 ? 0 : 12);
        g_assert_cmpuint(run_text(each, first), ==, 61);
    }
    Sequence a = {0}, b = {0};
    set_tokens(&a, first);
    set_tokens(&b, second);
    g_assert_true(open_sequence(cache, &a, true));
    g_assert_false(open_sequence(cache, &b, true)); /* nothing is left to promise */
    close_sequence(cache, &a);
    g_assert_true(open_sequence(cache, &b, true));
    close_sequence(cache, &b);
}

/* Guesses that are taken back leave the window of what stays. */
static void
test_windows_of_guesses(void)
{
    g_autoptr(SundogCache) cache = new_windowed_cache(40, -1, 2 + SEQUENCE_PAGES + 5);
    Sequence sequence = {0};
    set_tokens(&sequence, "abcdefghijklmnopqrstuvwxyz0123");
    g_assert_true(open_sequence(cache, &sequence, true));
    advance(cache, &sequence, 16);
    compute(cache, &sequence, 20);
    sundog_cache_extend(cache, &sequence.state, 20);
    sundog_cache_advance(cache, &sequence.state, sequence.tokens, 17);
    advance(cache, &sequence, 30);
    close_sequence(cache, &sequence);
    g_assert_cmpuint(run_text(cache, "abcdefghijklmnopqrstuvwxyz0123"), ==, 29);
}

/* The random test */

typedef struct {
    SundogCache *cache;
    GRand *random;
    Sequence sequences[6];
    GArray *known; /* of Known: all that was ever left or completed */
    bool exact;    /* nothing is evicted, so the reference knows what must be found */
} World;

static uint32_t
below(World *world, uint32_t limit)
{
    return g_rand_int(world->random) % limit;
}

static void
remember(World *world, const Sequence *sequence, uint32_t n_tokens)
{
    Known known = {.n_tokens = n_tokens};
    memcpy(known.tokens, sequence->tokens, n_tokens * sizeof *known.tokens);
    g_array_append_val(world->known, known);
}

/* The longest beginning shared with anything known, by looking at everything. */
static uint32_t
naive_match(World *world, const Sequence *sequence)
{
    uint32_t best = 0;
    for (guint i = 0; i < world->known->len; i++) {
        const Known *known = &g_array_index(world->known, Known, i);
        uint32_t limit = MIN(known->n_tokens, sequence->n_tokens - 1);
        uint32_t n = 0;
        while (n < limit && known->tokens[n] == sequence->tokens[n])
            n++;
        best = MAX(best, n);
    }
    return best;
}

static void
random_open(World *world, Sequence *sequence)
{
    sequence->n_tokens = 1 + below(world, MAX_TOKENS - 8);
    for (uint32_t i = 0; i < sequence->n_tokens; i++)
        sequence->tokens[i] = below(world, 8) == 0; /* mostly equal beginnings */
    int32_t n_used = sundog_cache_get_n_used(world->cache);
    if (!open_sequence(world->cache, sequence, below(world, 10) != 0)) {
        g_assert_false(world->exact);
        g_assert_cmpint(sundog_cache_get_n_used(world->cache), ==, n_used);
        return;
    }
    check_memory(sequence);
    uint32_t expected = sequence->state.keeps ? naive_match(world, sequence) : 0;
    if (world->exact)
        g_assert_cmpuint(sequence->state.n_valid, ==, expected);
    else
        g_assert_cmpuint(sequence->state.n_valid, <=, expected);
}

static void
random_step(World *world, Sequence *sequence)
{
    uint32_t n_left = sequence->n_tokens - sequence->state.n_valid;
    if (n_left == 0 && sequence->n_tokens < MAX_TOKENS) { /* decodes one token */
        if (!sundog_cache_reserve(world->cache, &sequence->state, sequence->n_tokens + 1)) {
            g_assert_false(world->exact);
            return;
        }
        sequence->tokens[sequence->n_tokens++] = below(world, 2);
        n_left = 1;
    }
    if (n_left > 0) {
        advance(world->cache, sequence, sequence->state.n_valid + 1 + below(world, n_left));
        if (sequence->state.keeps) {
            uint32_t n_valid = sequence->state.n_valid;
            remember(world, sequence, n_valid - n_valid % PAGE_TOKENS);
        }
    }
}

static void
random_action(World *world)
{
    Sequence *sequence = &world->sequences[below(world, G_N_ELEMENTS(world->sequences))];
    if (!sequence->open) {
        random_open(world, sequence);
    } else if (below(world, 8) == 0) {
        check_memory(sequence);
        if (sequence->state.keeps)
            remember(world, sequence, sequence->state.n_valid);
        close_sequence(world->cache, sequence);
    } else {
        random_step(world, sequence);
    }
}

/* No page is lost and none is counted twice. */
static void
check_accounts(World *world)
{
    bool seen[MAX_PAGES] = {false};
    int32_t n_used = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(world->sequences); i++) {
        const SundogSequenceState *state = &world->sequences[i].state;
        for (uint32_t j = 0; world->sequences[i].open && j < state->n_pages; j++) {
            int32_t page = state->pages[j];
            g_assert_true(!seen[page] || j < state->n_shared);
            n_used += !seen[page];
            seen[page] = true;
        }
    }
    g_assert_cmpint(n_used, ==, sundog_cache_get_n_used(world->cache));
}

static void
run_random(int32_t n_pages, int32_t max_kept, int32_t n_windows, bool exact, uint32_t n_actions)
{
    World world = {.cache = new_windowed_cache(n_pages, max_kept, n_windows),
                   .random = g_rand_new_with_seed(7 + (guint32)n_pages),
                   .known = g_array_new(FALSE, FALSE, sizeof(Known)),
                   .exact = exact};
    for (uint32_t i = 0; i < n_actions; i++) {
        random_action(&world);
        check_accounts(&world);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(world.sequences); i++)
        if (world.sequences[i].open)
            close_sequence(world.cache, &world.sequences[i]);
    g_assert_cmpint(sundog_cache_get_n_used(world.cache), ==, 0);
    sundog_cache_free(world.cache);
    g_rand_free(world.random);
    g_array_unref(world.known);
}

static void
test_random_exact(void)
{
    run_random(MAX_PAGES, -1, 0, true, 2000);
    run_random(MAX_PAGES, -1, MAX_PAGES, true, 2000);
}

static void
test_random_evicting(void)
{
    run_random(40, -1, 0, false, 3000);
    run_random(20, 5, 0, false, 3000);
    run_random(17, 0, 0, false, 3000);
}

static void
test_random_windows(void)
{
    run_random(MAX_PAGES, -1, 2 + SEQUENCE_PAGES + 5, false, 3000);
    run_random(60, -1, 2 + SEQUENCE_PAGES + 14, false, 3000);
    run_random(40, 5, 40, false, 3000);
    run_random(25, 0, 2 + SEQUENCE_PAGES + 5, false, 3000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cache/reuse", test_reuse);
    g_test_add_func("/cache/no-prefix-wanted", test_no_prefix_wanted);
    g_test_add_func("/cache/validity", test_validity);
    g_test_add_func("/cache/discard", test_discard);
    g_test_add_func("/cache/equal-at-once", test_equal_at_once);
    g_test_add_func("/cache/eviction-order", test_eviction_order);
    g_test_add_func("/cache/bound", test_bound);
    g_test_add_func("/cache/full-pool", test_full_pool);
    g_test_add_func("/cache/windows", test_windows);
    g_test_add_func("/cache/windows-of-guesses", test_windows_of_guesses);
    g_test_add_func("/cache/random-windows", test_random_windows);
    g_test_add_func("/cache/random-exact", test_random_exact);
    g_test_add_func("/cache/random-evicting", test_random_evicting);
    return g_test_run();
}
