/* What the scheduler's policy promises, on simulated machines and loads. */

#include "tests/schedule/simulation.h"

#include "engine/schedule/step-runner.h"

/* A laptop's processor with a small model, and one with a model ten times as large. */
static const SimulatedMachine fast = {.step_us = 1600,
                                      .row_us = 300,
                                      .context_us = 40,
                                      .max_tokens = 512,
                                      .max_sequences = 64,
                                      .context_length = 8192,
                                      .pool_pages = 64 * 128};
static const SimulatedMachine slow = {.step_us = 18000,
                                      .row_us = 3000,
                                      .context_us = 300,
                                      .max_tokens = 512,
                                      .max_sequences = 64,
                                      .context_length = 8192,
                                      .pool_pages = 64 * 128};

static SimulationResult
run(const SimulatedMachine *machine, const SimulatedRequest *requests, uint32_t n_requests)
{
    SimulationResult result = simulation_run(machine, requests, n_requests);
    g_test_message("first token %.1f ms, p99 %.1f (alone %.1f); gaps %.1f ms, p99 %.1f, most %.1f; "
                   "ends after %.2f s, bound %.2f",
                   (double)result.first_p50_us / 1e3, (double)result.first_p99_us / 1e3,
                   (double)result.first_bound_us / 1e3, (double)result.gap_p50_us / 1e3,
                   (double)result.gap_p99_us / 1e3, (double)result.gap_max_us / 1e3,
                   (double)result.end_us / 1e6, (double)result.end_bound_us / 1e6);
    if (machine->max_drafts == 0)
        g_assert_cmpint(result.end_us, >=, result.end_bound_us);
    return result;
}

/* One alone: nothing is lost but the first, small step, from which the policy learns. */
static void
test_alone(void)
{
    const SimulatedRequest request = {.n_prompt = 3000, .n_answer = 200};
    SimulationResult result = run(&fast, &request, 1);
    g_assert_cmpint(result.first_p50_us, <, result.first_bound_us * 6 / 5);
    g_assert_cmpint(result.end_us, <, result.end_bound_us * 6 / 5);
    result = run(&slow, &request, 1);
    g_assert_cmpint(result.first_p50_us, <, result.first_bound_us * 6 / 5);
}

/* A prompt of 6,000 tokens comes beside four chats: their tokens keep coming. */
static void
test_long_prompt(void)
{
    const SimulatedRequest requests[] = {
        {0, 60, 400}, {0, 80, 400}, {0, 20, 400}, {0, 90, 400}, {300000, 6000, 20}};
    SimulationResult result = run(&fast, requests, G_N_ELEMENTS(requests));
    g_assert_cmpint(result.gap_p99_us, <, 80000);
    g_assert_cmpint(result.gap_max_us, <, 200000);
    result = run(&slow, requests, G_N_ELEMENTS(requests));
    /* A step with the least chunk takes longer than the target on such a machine. */
    g_assert_cmpint(result.gap_p99_us, <, 130000);
}

/* Fifty at once: the machine works near its bound, and the oldest are served first. */
static void
test_burst(void)
{
    SimulatedRequest requests[50];
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++)
        requests[i] = (SimulatedRequest){.n_prompt = 100 + i * 37 % 400, .n_answer = 50};
    SimulationResult result = run(&fast, requests, G_N_ELEMENTS(requests));
    g_assert_cmpint(result.end_us, <, result.end_bound_us * 5 / 4);
    /* Where each step reads weights for as long as six rows take, short steps cost a quarter. */
    result = run(&slow, requests, G_N_ELEMENTS(requests));
    g_assert_cmpint(result.end_us, <, result.end_bound_us * 7 / 5);
}

/* Pages for two long requests where ten come: each gets its turn, and little is computed twice. */
static void
test_few_pages(void)
{
    SimulatedMachine machine = fast;
    machine.pool_pages = 2 * 40;
    SimulatedRequest requests[10];
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++)
        requests[i] = (SimulatedRequest){.n_prompt = 1500, .n_answer = 700};
    SimulationResult result = run(&machine, requests, G_N_ELEMENTS(requests));
    g_assert_cmpint(result.end_us, <, 3 * result.end_bound_us);
}

/* Two chats without guesses, and with them. */
static double
get_gain(const SimulatedMachine *machine)
{
    const SimulatedRequest requests[] = {{0, 400, 800}, {50000, 200, 800}};
    SimulatedMachine without = *machine;
    without.max_drafts = 0;
    SimulationResult alone = run(&without, requests, G_N_ELEMENTS(requests));
    SimulationResult drafted = run(machine, requests, G_N_ELEMENTS(requests));
    double gain = (double)alone.end_us / (double)drafted.end_us;
    g_test_message("repeats %.2f, agrees %.2f: %.2f times as fast, %" G_GUINT64_FORMAT
                   " of %" G_GUINT64_FORMAT " guesses right",
                   machine->repeats, machine->agrees, gain, drafted.n_accepted, drafted.n_drafted);
    return gain;
}

/* Guesses pay where they are right, and cost little where they are not. */
static void
test_ngrams(void)
{
    static const struct {
        double repeats, least;
    } cases[] = {{0, 0.97}, {0.3, 0.97}, {0.6, 1.0}, {0.9, 1.5}, {1, 4}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        SimulatedMachine machine = slow;
        machine.max_drafts = SUNDOG_MAX_DRAFTS;
        machine.row_us = 1000;
        machine.repeats = cases[i].repeats;
        g_assert_cmpfloat(get_gain(&machine), >, cases[i].least);
    }
}

static void
test_small_core(void)
{
    static const struct {
        double draft_us, agrees, least;
    } cases[] = {
        {2000, 0, 0.93}, {2000, 0.5, 1.0}, {2000, 0.8, 1.4}, {2000, 0.95, 2.2}, {15000, 0.5, 0.93}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        SimulatedMachine machine = slow;
        machine.max_drafts = SUNDOG_MAX_DRAFTS;
        machine.row_us = 1000;
        machine.draft_us = cases[i].draft_us;
        machine.agrees = cases[i].agrees;
        g_assert_cmpfloat(get_gain(&machine), >, cases[i].least);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/simulation/alone", test_alone);
    g_test_add_func("/simulation/long-prompt", test_long_prompt);
    g_test_add_func("/simulation/burst", test_burst);
    g_test_add_func("/simulation/few-pages", test_few_pages);
    g_test_add_func("/simulation/ngrams", test_ngrams);
    g_test_add_func("/simulation/small-core", test_small_core);
    return g_test_run();
}
