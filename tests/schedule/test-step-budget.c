/* The budget against made-up machines: steps reach their target time, whatever the machine's speed. */

#include "engine/schedule/step-budget.h"
#include <glib.h>

/* A machine whose prompt token takes token_us and whose step takes step_us besides. */
static int64_t
run_steps(double token_us, double step_us, uint32_t n_decoding, uint32_t max_tokens)
{
    SundogStepBudget budget;
    sundog_step_budget_init(&budget, max_tokens, 50000);
    int64_t last_us = 0;
    for (int i = 0; i < 30; i++) {
        if (i % 3 == 0)
            sundog_step_budget_learn(&budget, 4, 0, 0, (int64_t)step_us);
        uint32_t n = sundog_step_budget_get(&budget, n_decoding);
        g_assert_cmpuint(n, >, 0);
        g_assert_cmpuint(n + n_decoding, <=, max_tokens);
        last_us = (int64_t)(step_us + token_us * n);
        sundog_step_budget_learn(&budget, n_decoding, 0, n, last_us);
    }
    return last_us;
}

static void
test_targets(void)
{
    /* Beside decoding requests: near 50 ms on machines slow and fast. */
    g_assert_cmpint(run_steps(300, 5000, 3, 512), <, 60000);
    g_assert_cmpint(run_steps(300, 5000, 3, 512), >, 35000);
    g_assert_cmpint(run_steps(2000, 20000, 1, 512), <, 80000);
    /* Alone: a quarter of a second, or the whole step where that is shorter. */
    g_assert_cmpint(run_steps(2000, 5000, 0, 512), <, 300000);
    g_assert_cmpint(run_steps(2000, 5000, 0, 512), >, 180000);
    g_assert_cmpint(run_steps(10, 500, 0, 512), ==, 500 + 512 * 10);
}

static void
test_full_of_decoding(void)
{
    SundogStepBudget budget;
    sundog_step_budget_init(&budget, 8, 50000);
    g_assert_cmpuint(sundog_step_budget_get(&budget, 8), ==, 0);
    g_assert_cmpuint(sundog_step_budget_get(&budget, 6), ==, 2);
    /* A clock that stands still divides by nothing. */
    sundog_step_budget_learn(&budget, 0, 0, 8, 0);
    g_assert_cmpuint(sundog_step_budget_get(&budget, 0), ==, 8);
}

/* How many drafts pay where one costs draft_us beside a step of 1,000 us. */
static uint32_t
n_drafts(double draft_us, uint32_t n_decoding, double share)
{
    SundogStepBudget budget;
    sundog_step_budget_init(&budget, 512, 50000);
    sundog_step_budget_learn(&budget, n_decoding, 0, 0, 1000);
    sundog_step_budget_learn(&budget, n_decoding, 4, 0, (int64_t)(1000 + 4 * draft_us));
    SundogDraftWorth worth = {.share = share};
    return sundog_step_budget_get_n_drafts(&budget, n_decoding, &worth, 15);
}

static void
test_drafts(void)
{
    const SundogDraftWorth sure = {.share = 1};
    SundogStepBudget budget;
    sundog_step_budget_init(&budget, 512, 50000);
    g_assert_cmpuint(sundog_step_budget_get_n_drafts(&budget, 1, &sure, 15), ==, 0);
    sundog_step_budget_learn(&budget, 1, 0, 0, 1000);
    g_assert_cmpuint(sundog_step_budget_get_n_drafts(&budget, 1, &sure, 15), ==, 1);
    g_assert_cmpuint(sundog_step_budget_get_n_drafts(&budget, 1, &sure, 0), ==, 0);

    g_assert_cmpuint(n_drafts(100, 1, 0.99), ==, 15); /* sure and cheap */
    g_assert_cmpuint(n_drafts(100, 1, 0.05), ==, 0); /* half of what the step brings in that time */
    g_assert_cmpuint(n_drafts(100, 1, 0.5), >, 0);
    g_assert_cmpuint(n_drafts(100, 1, 0.5), <, 5);
    g_assert_cmpuint(n_drafts(1000, 1, 0.9), ==, 0); /* a draft as dear as a step */
    g_assert_cmpuint(n_drafts(100, 16, 0.9), ==,
                     0); /* sixteen requests use the step well already */
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/step-budget/targets", test_targets);
    g_test_add_func("/step-budget/full-of-decoding", test_full_of_decoding);
    g_test_add_func("/step-budget/drafts", test_drafts);
    return g_test_run();
}
