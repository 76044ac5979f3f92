/* Pages and states that outlive their cache: kept as records, brought back by another cache, within a
 * budget. */

#include "engine/cache/cache.h"
#include "tests/cache/token-hash.h"
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#define PAGE_TOKENS 4
#define SEQUENCE_PAGES 16
#define MAX_TOKENS (PAGE_TOKENS * SEQUENCE_PAGES)
#define N_PAGES 64
#define PAGE_BYTES 1000
#define N_STATES 6
#define WINDOW_TOKENS 6
/* A sequence's, a step's, one for copies, and the null page. */
#define FEWEST_WINDOWS (5 + 2 + 1 + 1)

static uint8_t memory[N_PAGES][PAGE_BYTES];
static uint64_t slots[N_STATES];
static uint64_t windows[N_PAGES][PAGE_TOKENS];
static char *folder;

typedef struct {
    SundogPageRecorder *recorder;
    SundogCache *cache;
    SundogSequenceState state;
    int32_t pages[SEQUENCE_PAGES];
} World;

static const size_t piece_bytes[SUNDOG_N_STATE_KINDS] = {
    [SUNDOG_STATE_PAGES] = PAGE_BYTES,
    [SUNDOG_STATE_WINDOWS] = sizeof *windows,
    [SUNDOG_STATE_SLOTS] = sizeof *slots,
};

static void *
find_piece(SundogStateKind kind, int32_t piece)
{
    switch (kind) {
    case SUNDOG_STATE_PAGES:
        return memory[piece];
    case SUNDOG_STATE_WINDOWS:
        return windows[piece];
    default:
        return &slots[piece];
    }
}

static void
copy_state(SundogStateKind kind, int32_t from, int32_t to, void *data)
{
    memcpy(find_piece(kind, to), find_piece(kind, from), piece_bytes[kind]);
}

static bool
read_state(SundogStateKind kind, int32_t piece, void *bytes, void *data)
{
    memcpy(bytes, find_piece(kind, piece), piece_bytes[kind]);
    return true;
}

static bool
write_state(SundogStateKind kind, int32_t piece, const void *bytes, void *data)
{
    memcpy(find_piece(kind, piece), bytes, piece_bytes[kind]);
    return true;
}

/* A cache as a new process has it: nothing is left in memory. n_states up to 1: nothing is recurrent; and of
 * n_windows no window has pages of its own. */
static void
start_with(World *world, uint8_t key, uint64_t max_bytes, int32_t n_states, int32_t n_windows)
{
    g_autoptr(GError) error = NULL;
    const SundogStateAccess state = {
        .n_bytes = {piece_bytes[SUNDOG_STATE_PAGES],
                    n_windows > 1 ? piece_bytes[SUNDOG_STATE_WINDOWS] : 0,
                    n_states > 1 ? piece_bytes[SUNDOG_STATE_SLOTS] : 0},
        .copy = copy_state,
        .read = read_state,
        .write = write_state};
    SundogPageRecorderOptions options = {.store =
                                             sundog_record_store_open(folder, max_bytes, &error),
                                         .key = {key},
                                         .n_pages = N_PAGES,
                                         .page_tokens = PAGE_TOKENS,
                                         .n_states = n_states,
                                         .state = state};
    g_assert_no_error(error);
    memset(memory, 0, sizeof memory);
    memset(windows, 0, sizeof windows);
    memset(slots, 0, sizeof slots);
    memset(world, 0, sizeof *world);
    world->state.pages = world->pages;
    world->recorder = sundog_page_recorder_new(&options);
    world->cache = sundog_cache_new(&(SundogCacheOptions){.n_pages = N_PAGES,
                                                          .page_tokens = PAGE_TOKENS,
                                                          .sequence_pages = SEQUENCE_PAGES,
                                                          .max_kept_pages = -1,
                                                          .n_windows = n_windows,
                                                          .window_tokens = WINDOW_TOKENS,
                                                          .step_tokens = WINDOW_TOKENS,
                                                          .n_states = n_states,
                                                          .state = state,
                                                          .recorder = world->recorder});
}

static void
start(World *world, uint8_t key, uint64_t max_bytes)
{
    start_with(world, key, max_bytes, 1, 0);
}

static void
end(World *world)
{
    sundog_cache_free(world->cache);
    sundog_page_recorder_free(world->recorder);
}

static void
fill_tokens(uint32_t *tokens, uint32_t seed)
{
    for (uint32_t i = 0; i < MAX_TOKENS; i++)
        tokens[i] = seed * 1000 + i;
}

/* What a page holds depends on all tokens up to its end, as in a model. */
static uint8_t
byte_of(const uint32_t *tokens, uint32_t n_tokens)
{
    uint32_t hash = 1;
    for (uint32_t i = 0; i < n_tokens; i++)
        hash = hash * 31 + tokens[i];
    return (uint8_t)(hash % 255 + 1);
}

static void
compute(World *world, const uint32_t *tokens, uint32_t n_tokens)
{
    for (uint32_t n = world->state.n_valid; n < n_tokens; n++) {
        int32_t page = world->state.pages[n / PAGE_TOKENS];
        memset(memory[page] + n % PAGE_TOKENS * (PAGE_BYTES / PAGE_TOKENS), byte_of(tokens, n + 1),
               PAGE_BYTES / PAGE_TOKENS);
    }
    slots[world->state.slot] = token_hash(tokens, n_tokens);
    sundog_cache_advance(world->cache, &world->state, tokens, n_tokens);
}

static void
check_valid(const World *world, const uint32_t *tokens)
{
    for (uint32_t n = 0; n < world->state.n_valid; n++) {
        int32_t page = world->state.pages[n / PAGE_TOKENS];
        uint8_t expected = byte_of(tokens, n + 1);
        const uint8_t *slot = memory[page] + n % PAGE_TOKENS * (PAGE_BYTES / PAGE_TOKENS);
        g_assert_cmpint(slot[0], ==, expected);
        g_assert_cmpint(slot[PAGE_BYTES / PAGE_TOKENS - 1], ==, expected);
    }
}

static void
open_sequence(World *world, const uint32_t *tokens, uint32_t n_tokens)
{
    g_assert_true(
        sundog_cache_open_sequence(world->cache, &world->state, tokens, n_tokens, n_tokens, true));
}

static uint32_t
restore(World *world, const uint32_t *tokens, uint32_t n_tokens)
{
    while (sundog_cache_restore(world->cache, &world->state, tokens, n_tokens)) {
    }
    return world->state.n_valid;
}

static void
do_chores(World *world)
{
    while (sundog_cache_has_chores(world->cache))
        sundog_cache_do_chore(world->cache);
}

/* Computes a sequence in a cache of its own and keeps its records. */
static void
keep(uint8_t key, uint32_t seed, uint32_t n_tokens, uint64_t max_bytes)
{
    World world;
    uint32_t tokens[MAX_TOKENS];
    fill_tokens(tokens, seed);
    start(&world, key, max_bytes);
    open_sequence(&world, tokens, n_tokens);
    restore(&world, tokens, n_tokens);
    compute(&world, tokens, n_tokens);
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_KEEP);
    do_chores(&world);
    end(&world);
}

/* How many tokens of a sequence a new cache gets without computing. */
static uint32_t
count_restored(uint8_t key, uint32_t seed, uint32_t n_tokens)
{
    World world;
    uint32_t tokens[MAX_TOKENS];
    fill_tokens(tokens, seed);
    start(&world, key, 1 << 20);
    open_sequence(&world, tokens, n_tokens);
    uint32_t n_restored = restore(&world, tokens, n_tokens);
    check_valid(&world, tokens);
    compute(&world, tokens, n_tokens);
    check_valid(&world, tokens);
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_KEEP);
    g_assert_cmpint(sundog_cache_get_n_used(world.cache), ==, 0);
    end(&world);
    return n_restored;
}

static guint
empty_folder(void)
{
    guint n = 0;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
        n++;
    }
    return n;
}

/* K6: what the tree of a new engine says that it has is there. */
static void
test_restart(void)
{
    keep(1, 5, 42, 1 << 20);
    g_assert_cmpuint(count_restored(1, 5, 42), ==, 40);
    g_assert_cmpuint(count_restored(1, 5, 60), ==, 40); /* the conversation has gone on */
    g_assert_cmpuint(count_restored(1, 5, 40), ==, 36); /* the last token must run */
    g_assert_cmpuint(count_restored(1, 5, 23), ==, 20); /* it branches */
    g_assert_cmpuint(count_restored(1, 6, 42), ==, 0);
    g_assert_cmpuint(count_restored(2, 5, 42), ==, 0); /* another core */
    g_assert_cmpuint(empty_folder(), ==, 10);
}

/* Records go on where the tree in memory ends, also in the middle of a page. */
static void
test_beside_tree(void)
{
    World world;
    uint32_t tokens[MAX_TOKENS];
    keep(1, 5, 42, 1 << 20);
    fill_tokens(tokens, 5);
    start(&world, 1, 1 << 20);
    open_sequence(&world, tokens, 14);
    compute(&world, tokens, 14);
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_KEEP);
    open_sequence(&world, tokens, 50);
    g_assert_cmpuint(world.state.n_valid, ==, 14);
    g_assert_cmpuint(restore(&world, tokens, 50), ==, 40);
    check_valid(&world, tokens);
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_KEEP);
    end(&world);
    empty_folder();
}

/* Short sequences are not kept, nor what the tree has lost before there was time. */
static void
test_not_kept(void)
{
    World world;
    uint32_t tokens[MAX_TOKENS];
    keep(1, 5, 11, 1 << 20);
    g_assert_cmpuint(empty_folder(), ==, 0);

    fill_tokens(tokens, 5);
    start(&world, 1, 1 << 20);
    open_sequence(&world, tokens, 30);
    compute(&world, tokens, 30);
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_DISCARD);
    do_chores(&world);
    end(&world);
    g_assert_cmpuint(empty_folder(), ==, 0);
}

static void
test_damaged(void)
{
    keep(1, 5, 42, 1 << 20);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_autofree char *bytes = NULL;
        size_t n_bytes;
        g_assert_true(g_file_get_contents(path, &bytes, &n_bytes, NULL));
        /* In its place: a new file might be come by again. */
        FILE *file = fopen(path, "r+b");
        g_assert_cmpint(fseek(file, (long)n_bytes / 2, SEEK_SET), ==, 0);
        g_assert_cmpint(fputc(bytes[n_bytes / 2] ^ 1, file), !=, EOF);
        g_assert_cmpint(fclose(file), ==, 0);
    }
    g_assert_cmpuint(count_restored(1, 5, 42), ==, 0);
    g_assert_cmpuint(empty_folder(), ==, 9); /* the one that was tried is gone */
}

/* The budget holds ten records: those of the sequence that was used last stay, and of one that is
 * partly evicted the beginning. */
static void
test_budget(void)
{
    const uint64_t max_bytes = 10 * PAGE_BYTES + 5 * 200;
    keep(1, 5, 34, max_bytes); /* 8 records */
    g_assert_cmpuint(count_restored(1, 5, 34), ==, 32);
    keep(1, 6, 26, max_bytes); /* 6 more */
    g_assert_cmpuint(count_restored(1, 6, 26), ==, 24);
    uint32_t n_left = count_restored(1, 5, 34);
    g_assert_cmpuint(n_left, >, 0);
    g_assert_cmpuint(n_left, <, 20);
    g_assert_cmpuint(empty_folder(), <=, 10);
}

/* A step that reads its window and writes behind it. */
static void
compute_windowed(World *world, const uint32_t *tokens, uint32_t n_tokens)
{
    int32_t row[SEQUENCE_PAGES];
    uint32_t n_valid = world->state.n_valid;
    sundog_cache_hold_windows(world->cache, &world->state, n_tokens);
    sundog_cache_fill_windows(world->cache, &world->state, row, SEQUENCE_PAGES);
    for (uint32_t n = n_valid - MIN(n_valid, WINDOW_TOKENS - 1); n < n_tokens; n++) {
        uint64_t *at = &windows[row[n / PAGE_TOKENS]][n % PAGE_TOKENS];
        g_assert_cmpint(row[n / PAGE_TOKENS], !=, SUNDOG_NULL_PAGE);
        if (n < n_valid)
            g_assert_cmpuint(*at, ==, token_hash(tokens, n + 1));
        else
            *at = token_hash(tokens, n + 1);
    }
    compute(world, tokens, n_tokens);
}

static uint32_t
keep_windowed(uint32_t n_tokens)
{
    World world;
    uint32_t tokens[MAX_TOKENS];
    fill_tokens(tokens, 5);
    start_with(&world, 1, 1 << 20, 1, FEWEST_WINDOWS);
    open_sequence(&world, tokens, n_tokens);
    uint32_t n_restored = restore(&world, tokens, n_tokens);
    check_valid(&world, tokens);
    while (world.state.n_valid < n_tokens)
        compute_windowed(&world, tokens, MIN(world.state.n_valid + WINDOW_TOKENS, n_tokens));
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_KEEP);
    do_chores(&world);
    end(&world);
    return n_restored;
}

/* A sequence is kept whole, though there are pages for its last windows alone. */
static void
test_windows(void)
{
    g_assert_cmpuint(keep_windowed(62), ==, 0);
    g_assert_cmpuint(keep_windowed(62), ==, 60);
    g_assert_cmpuint(keep_windowed(31), ==, 28);
    empty_folder();
}

/* Computes a sequence that has recurrent state and keeps its records. Returns how many tokens were there. */
static uint32_t
keep_states(uint32_t seed, uint32_t n_tokens)
{
    World world;
    uint32_t tokens[MAX_TOKENS];
    fill_tokens(tokens, seed);
    start_with(&world, 1, 1 << 20, N_STATES, 0);
    open_sequence(&world, tokens, n_tokens);
    uint32_t n_restored = restore(&world, tokens, n_tokens);
    check_valid(&world, tokens);
    if (n_restored > 0)
        g_assert_cmpuint(slots[world.state.slot], ==, token_hash(tokens, n_restored));
    while (world.state.n_valid < n_tokens) {
        uint32_t checkpoint = sundog_cache_get_checkpoint(world.cache, &world.state);
        compute(&world, tokens, MIN(checkpoint, n_tokens));
    }
    check_valid(&world, tokens);
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_KEEP);
    do_chores(&world);
    end(&world);
    return n_restored;
}

static void
remove_states(void)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        GStatBuf info;
        g_assert_cmpint(g_stat(path, &info), ==, 0);
        if (info.st_size < PAGE_BYTES)
            g_unlink(path);
    }
}

/* Pages count only as far as a state was kept behind them. */
static void
test_states(void)
{
    g_assert_cmpuint(keep_states(5, 42), ==, 0);
    g_assert_cmpuint(keep_states(5, 42), ==, 40);
    g_assert_cmpuint(keep_states(5, 60), ==, 40);
    g_assert_cmpuint(keep_states(5, 60), ==, 56);
    g_assert_cmpuint(keep_states(5, 50), ==, 40);
    g_assert_cmpuint(keep_states(6, 42), ==, 0);
    remove_states();
    g_assert_cmpuint(keep_states(5, 42), ==, 0);
    empty_folder();
}

/* Where nothing can be written, everything else goes on. */
static void
test_no_folder(void)
{
    World world;
    uint32_t tokens[MAX_TOKENS];
    fill_tokens(tokens, 5);
    start(&world, 1, 1 << 20);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
    open_sequence(&world, tokens, 42);
    compute(&world, tokens, 42);
    sundog_cache_close_sequence(world.cache, &world.state, tokens, SUNDOG_CLOSE_KEEP);
    do_chores(&world);
    end(&world);
    g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
    g_assert_cmpuint(count_restored(1, 5, 42), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("records-XXXXXX", NULL);
    g_test_add_func("/records/windows", test_windows);
    g_test_add_func("/records/restart", test_restart);
    g_test_add_func("/records/beside-tree", test_beside_tree);
    g_test_add_func("/records/not-kept", test_not_kept);
    g_test_add_func("/records/damaged", test_damaged);
    g_test_add_func("/records/budget", test_budget);
    g_test_add_func("/records/states", test_states);
    g_test_add_func("/records/no-folder", test_no_folder);
    int status = g_test_run();
    g_rmdir(folder);
    g_free(folder);
    return status;
}
