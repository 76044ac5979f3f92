/* Plans of memory: what fits, what is said where nothing does. */

#include "engine/schedule/memory-plan.h"
#include <gio/gio.h>

#define MIB (UINT64_C(1) << 20)

static const SundogMemoryNeeds plain = {.available_bytes = 8000 * MIB,
                                        .fixed_bytes = 400 * MIB,
                                        .page_bytes = 1 * MIB,
                                        .page_tokens = 64,
                                        .context_length = 8192,
                                        .max_sequences = 16,
                                        .max_pages = 100000};

static void
expect(SundogMemoryNeeds needs, int64_t pool_pages, uint32_t context_length)
{
    SundogMemoryPlan plan;
    g_autoptr(GError) error = NULL;
    g_assert_true(sundog_memory_plan_make(&plan, &needs, &error));
    g_assert_cmpint(plan.pool_pages, ==, pool_pages);
    g_assert_cmpuint(plan.context_length, ==, context_length);
}

static void
test_fits(void)
{
    SundogMemoryNeeds needs = plain;
    expect(needs, 128 * 8 + 1, 8192); /* eight contexts */
    needs.available_bytes = 2400 * MIB;
    expect(needs, 500, 8192); /* a quarter of what is left */
    needs.available_bytes = 100000 * MIB;
    needs.max_sequences = 3;
    expect(needs, 128 * 3 + 1, 8192); /* no more than all can use */
    needs.max_sequences = 16;
    needs.max_pages = 700;
    expect(needs, 700, 8192);
    needs = plain;
    needs.available_bytes = 700 * MIB;
    expect(needs, 129, 8192); /* one whole context, though it is more than a quarter */
    needs.available_bytes = 500 * MIB;
    expect(needs, 75, 74 * 64); /* three quarters: a shorter context */
    needs = plain;
    needs.cache_bytes = 10 * MIB;
    expect(needs, 10, 9 * 64);
    needs.cache_bytes = UINT64_MAX; /* asked for more than there is */
    expect(needs, 128 * 16 + 1, 8192);
}

static int64_t
count_windows(SundogMemoryNeeds needs, int64_t pool_pages)
{
    SundogMemoryPlan plan;
    g_autoptr(GError) error = NULL;
    g_assert_true(sundog_memory_plan_make(&plan, &needs, &error));
    g_assert_cmpint(plan.pool_pages, ==, pool_pages);
    return plan.window_pages;
}

/* Windows of 512 tokens hold at most 11 pages, a step of 512 takes 8, and there is a null page and one for
 * copies. */
static void
test_windows(void)
{
    SundogMemoryNeeds needs = plain;
    g_assert_cmpint(count_windows(needs, 128 * 8 + 1), ==, 1);
    needs.window_bytes = 5 * MIB;
    needs.window_tokens = needs.step_tokens = 512;
    needs.available_bytes = 100000 * MIB;
    g_assert_cmpint(count_windows(needs, 128 * 8 + 1), ==, 10 + 8 * 22);
    needs.n_contexts = 1;
    g_assert_cmpint(count_windows(needs, 129), ==, 10 + 22);
    needs.cache_bytes = (128 + 32 * 5) * MIB;
    g_assert_cmpint(count_windows(needs, 128), ==, 10 + 22);
    needs.cache_bytes = 60 * MIB; /* each page has its window */
    g_assert_cmpint(count_windows(needs, 10), ==, 10);
    needs.cache_bytes = 9 * MIB;
    SundogMemoryPlan plan;
    g_assert_false(sundog_memory_plan_make(&plan, &needs, NULL));
}

static int64_t
count_states(SundogMemoryNeeds needs)
{
    SundogMemoryPlan plan;
    g_autoptr(GError) error = NULL;
    g_assert_true(sundog_memory_plan_make(&plan, &needs, &error));
    g_assert_cmpint(plan.pool_pages, >=, 2);
    return plan.pool_states;
}

/* Slots of recurrent state beside the null one: two a sequence, an eighth of what is left, at least two. */
static void
test_states(void)
{
    SundogMemoryNeeds needs = plain;
    g_assert_cmpint(count_states(needs), ==, 1);
    needs.state_bytes = 1 * MIB;
    g_assert_cmpint(count_states(needs), ==, 2 * 16 + 1);
    needs.state_bytes = 95 * MIB;
    g_assert_cmpint(count_states(needs), ==, 10 + 1);
    needs.state_bytes = 2000 * MIB;
    g_assert_cmpint(count_states(needs), ==, 2 + 1);
}

static void
expect_refused(SundogMemoryNeeds needs, const char *text)
{
    SundogMemoryPlan plan;
    g_autoptr(GError) error = NULL;
    g_assert_false(sundog_memory_plan_make(&plan, &needs, &error));
    g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE);
    g_assert_nonnull(g_strstr_len(error->message, -1, text));
}

static void
test_refused(void)
{
    SundogMemoryNeeds needs = plain;
    needs.available_bytes = 300 * MIB;
    expect_refused(needs, "close other programs");
    needs.available_bytes = 401 * MIB;
    expect_refused(needs, "close other programs");
    needs = plain;
    needs.cache_bytes = 1;
    expect_refused(needs, "allow it more");
}

static void
test_this_machine(void)
{
    g_assert_cmpuint(sundog_memory_get_available(), >, 16 * MIB);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/memory-plan/windows", test_windows);
    g_test_add_func("/memory-plan/fits", test_fits);
    g_test_add_func("/memory-plan/refused", test_refused);
    g_test_add_func("/memory-plan/states", test_states);
    g_test_add_func("/memory-plan/this-machine", test_this_machine);
    return g_test_run();
}
