/*
 * What the engine itself costs a token, outside the replay: over a fake model that does next to
 * nothing, decoding one and eight requests of 1,000 tokens of context, frames written to a pipe's end
 * that takes them at once. The best of several rounds, since the machine is shared.
 */

#include "engine/schedule/scheduler.h"
#include "tests/schedule/fake-model.h"
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 20
#define ROUND_STEPS 100
#define MAX_TOKEN_US 30.0

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static void
submit(SundogScheduler *scheduler, uint64_t id)
{
    static uint32_t prompt[1000];
    prompt[0] = (uint32_t)id;
    SundogSubmit request = {.id = id,
                            .prompt = prompt,
                            .n_prompt = G_N_ELEMENTS(prompt),
                            .max_tokens = 1 << 20,
                            .temperature = 1,
                            .top_p = 1,
                            .repetition_penalty = 1.1,
                            .penalty_window = 64};
    sundog_scheduler_submit(scheduler, &request, g_get_monotonic_time());
}

static void
step(SundogScheduler *scheduler, GByteArray *outbox, int fd)
{
    sundog_scheduler_step(scheduler);
    g_assert_true(sundog_frame_write_bytes(fd, outbox->data, outbox->len, NULL));
    g_byte_array_set_size(outbox, 0);
}

/* Microseconds a step, in the best round. */
static double
measure(uint32_t n_requests)
{
    const FakeModelOptions options = {.page_tokens = 64,
                                      .pool_pages = 1000,
                                      .sequence_pages = 128,
                                      .max_tokens = 512,
                                      .max_sequences = 16,
                                      .history = 256};
    g_autoptr(FakeModel) model = fake_model_new(&options);
    model->checks = false;
    g_autoptr(GByteArray) outbox = g_byte_array_new();
    g_autoptr(SundogScheduler) scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){.context_length = 8192, .max_kept_pages = -1}, &model->runner,
        outbox);
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (uint64_t id = 1; id <= n_requests; id++)
        submit(scheduler, id);
    do { /* prompts */
        step(scheduler, outbox, fd);
    } while (model->n_decoding_rows < n_requests);
    double best_us = G_MAXDOUBLE;
    for (int round = 0; round < ROUNDS; round++) {
        clock_t start = clock();
        for (int i = 0; i < ROUND_STEPS; i++)
            step(scheduler, outbox, fd);
        double step_us = (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC / ROUND_STEPS;
        best_us = MIN(best_us, step_us);
    }
    close(fd);
    return best_us;
}

static void
test_decode(void)
{
    double one_us = measure(1), eight_us = measure(8);
    g_test_message("one request: %.2f us a token; eight: %.2f us a step, %.2f a token", one_us,
                   eight_us, eight_us / 8);
    if (SANITIZED) {
        g_test_skip("sanitizers are slower than any limit");
        return;
    }
    g_assert_cmpfloat(one_us, <, MAX_TOKEN_US);
    g_assert_cmpfloat(eight_us / 8, <, MAX_TOKEN_US);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/overhead/decode", test_decode);
    return g_test_run();
}
