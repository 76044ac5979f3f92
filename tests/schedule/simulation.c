/* A step runner whose steps are additions to a clock. */

#include "tests/schedule/simulation.h"

#include "engine/schedule/scheduler.h"
#include "tests/schedule/answers.h"

#define PAGE_TOKENS 64
#define N_VOCABULARY 1000
/* What answers repeat is as long. */
#define CYCLE 97

typedef struct World {
    const SimulatedMachine *machine;
    SundogStepRunner runner;
    int32_t *token;
    int64_t now_us;
    struct World *large; /* this one's small core drafts for it; else NULL */
} World;

/* What has been seen of a request. */
typedef struct {
    Answer *answer;
    guint n_seen;
    int64_t last_us;
} Watched;

static double
measure_rows(const World *world, uint32_t n_rows, uint64_t n_attended)
{
    return n_rows * world->machine->row_us + (double)n_attended / 1000 * world->machine->context_us;
}

static bool
forward(void *data, const SundogStepSize *size, GError **error)
{
    World *world = data;
    uint64_t n_attended = 0;
    if (world->large) {
        world->large->now_us += (int64_t)world->machine->draft_us;
        return true;
    }
    for (uint32_t i = 0; i < size->n_tokens; i++)
        n_attended += (uint64_t)world->runner.positions[i] + 1;
    world->now_us +=
        (int64_t)(world->machine->step_us + measure_rows(world, size->n_tokens, n_attended));
    return true;
}

/* From 0 to 1, the same for a token whoever asks. */
static double
draw(const SundogSampling *sampling, uint32_t salt)
{
    uint64_t hash = (sampling->seed * 4096 + salt) * 1000003 + sampling->position;
    hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(hash >> 11) / (double)(UINT64_C(1) << 53);
}

static int32_t
choose(const World *world, const SundogSampling *sampling)
{
    if (draw(sampling, 0) < world->machine->repeats)
        return (int32_t)(sampling->position % CYCLE);
    return (int32_t)(CYCLE + draw(sampling, 1) * (N_VOCABULARY - CYCLE - 1));
}

static bool
sample(void *data, const SundogStepSize *size, GError **error)
{
    World *world = data;
    for (uint32_t i = 0; i < size->n_logit_rows; i++) {
        const SundogSampling *sampling = &world->runner.sampling[i];
        bool errs = world->large && draw(sampling, 2) >= world->machine->agrees;
        world->token[i] = errs ? N_VOCABULARY - 1 : choose(world, sampling);
    }
    return true;
}

static void
copy_state(SundogStateKind kind, int32_t from, int32_t to, void *data)
{
}

static int64_t
tell_time(void *data)
{
    return ((World *)data)->now_us;
}

static void
init_world(World *world, const SimulatedMachine *machine)
{
    uint32_t sequence_pages = (machine->context_length + PAGE_TOKENS - 1) / PAGE_TOKENS;
    uint32_t n_sequences = machine->max_sequences, n_tokens = machine->max_tokens;
    *world = (World){.machine = machine, .token = g_new0(int32_t, n_sequences)};
    world->runner = (SundogStepRunner){
        .max = {n_tokens, n_sequences, n_sequences, sequence_pages, 1},
        .n_vocabulary = N_VOCABULARY,
        .max_drafts = machine->max_drafts,
        .page_tokens = PAGE_TOKENS,
        .pool_pages = machine->pool_pages,
        .tokens = g_new0(int32_t, n_tokens),
        .positions = g_new0(int32_t, n_tokens),
        .token_sequence = g_new0(int32_t, n_tokens),
        .first_row = g_new0(int32_t, n_sequences + 1),
        .start_position = g_new0(int32_t, n_sequences),
        .page_table = g_new0(int32_t, (size_t)n_sequences * sequence_pages),
        .logit_rows = g_new0(int32_t, n_sequences),
        .sampling = g_new0(SundogSampling, n_sequences),
        .history = g_new0(int32_t, n_sequences),
        .token = world->token,
        .forward = forward,
        .sample = sample,
        .data = world,
        .state = {.copy = copy_state, .data = world},
    };
}

static void
clear_world(World *world)
{
    SundogStepRunner *runner = &world->runner;
    void *const buffers[] = {runner->tokens,     runner->positions,      runner->token_sequence,
                             runner->first_row,  runner->start_position, runner->page_table,
                             runner->logit_rows, runner->sampling,       runner->history,
                             world->token};
    for (size_t i = 0; i < G_N_ELEMENTS(buffers); i++)
        g_free(buffers[i]);
}

/* Prompts differ from their first token on: reuse is another matter. */
static Answer *
submit(SundogScheduler *scheduler, Answers *answers, const SimulatedRequest *request, uint64_t id)
{
    g_autofree uint32_t *prompt = g_new(uint32_t, request->n_prompt);
    for (uint32_t i = 0; i < request->n_prompt; i++)
        prompt[i] = i % CYCLE;
    prompt[0] = (uint32_t)(id % N_VOCABULARY);
    Answer *answer = answers_expect(answers, id, 0);
    SundogSubmit submit = {.id = id,
                           .prompt = prompt,
                           .n_prompt = request->n_prompt,
                           .max_tokens = request->n_answer,
                           .top_p = 1,
                           .repetition_penalty = 1,
                           .seed = id,
                           .flags = SUNDOG_SUBMIT_NO_PREFIX};
    sundog_scheduler_submit(scheduler, &submit, request->arrival_us);
    return answer;
}

/* Notes the tokens that the last step brought. */
static void
watch(Watched *watched, const SimulatedRequest *request, int64_t now_us, GArray *firsts,
      GArray *gaps)
{
    guint n_tokens = watched->answer->tokens->len;
    if (n_tokens == watched->n_seen)
        return;
    int64_t time_us = now_us - (watched->n_seen ? watched->last_us : request->arrival_us);
    g_array_append_val(watched->n_seen ? gaps : firsts, time_us);
    watched->n_seen = n_tokens;
    watched->last_us = now_us;
}

static int
compare_times(gconstpointer a, gconstpointer b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return first < second ? -1 : first > second;
}

static int64_t
quantile(const GArray *sorted, double share)
{
    return sorted->len ? g_array_index(sorted, int64_t, (guint)(share * (sorted->len - 1))) : 0;
}

/* The time of a prompt that has the machine alone, in as few steps as may be. */
static int64_t
prompt_us(const World *world, const SimulatedRequest *request)
{
    const SimulatedMachine *machine = world->machine;
    uint64_t n = request->n_prompt;
    uint64_t n_steps = (n + machine->max_tokens - 1) / machine->max_tokens;
    return (int64_t)((double)n_steps * machine->step_us +
                     measure_rows(world, request->n_prompt, n * (n + 1) / 2));
}

static void
find_bounds(const World *world, const SimulatedRequest *requests, uint32_t n_requests,
            SimulationResult *result)
{
    double rows_us = 0, longest_us = 0;
    g_autoptr(GArray) alone = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (uint32_t i = 0; i < n_requests; i++) {
        uint64_t n = requests[i].n_prompt + requests[i].n_answer - 1;
        int64_t own_us = prompt_us(world, &requests[i]);
        double answer_us = (requests[i].n_answer - 1) * world->machine->step_us;
        rows_us += measure_rows(world, (uint32_t)n, n * (n + 1) / 2);
        longest_us = MAX(longest_us, (double)(requests[i].arrival_us + own_us) + answer_us);
        g_array_append_val(alone, own_us);
    }
    g_array_sort(alone, compare_times);
    result->first_bound_us = quantile(alone, 0.5);
    result->end_bound_us = (int64_t)MAX(longest_us, (double)requests[0].arrival_us + rows_us);
}

SimulationResult
simulation_run(const SimulatedMachine *machine, const SimulatedRequest *requests,
               uint32_t n_requests)
{
    World world, small;
    init_world(&world, machine);
    init_world(&small, machine);
    small.large = &world;
    g_autoptr(Answers) answers = answers_new();
    g_autoptr(GByteArray) outbox = g_byte_array_new();
    g_autoptr(SundogScheduler) scheduler = sundog_scheduler_new(
        &(SundogSchedulerOptions){.context_length = machine->context_length,
                                  .max_kept_pages = 0,
                                  .draft_runner = machine->draft_us > 0 ? &small.runner : NULL,
                                  .clock = tell_time,
                                  .clock_data = &world},
        &world.runner, outbox);
    g_autofree Watched *watched = g_new0(Watched, n_requests);
    g_autoptr(GArray) firsts = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_autoptr(GArray) gaps = g_array_new(FALSE, FALSE, sizeof(int64_t));
    uint32_t n_submitted = 0;
    while (n_submitted < n_requests || sundog_scheduler_has_work(scheduler)) {
        if (!sundog_scheduler_has_work(scheduler))
            world.now_us = MAX(world.now_us, requests[n_submitted].arrival_us);
        for (; n_submitted < n_requests && requests[n_submitted].arrival_us <= world.now_us;
             n_submitted++) {
            watched[n_submitted].answer =
                submit(scheduler, answers, &requests[n_submitted], n_submitted + 1);
        }
        sundog_scheduler_step(scheduler);
        answers_take_bytes(answers, outbox);
        for (uint32_t i = 0; i < n_submitted; i++)
            watch(&watched[i], &requests[i], world.now_us, firsts, gaps);
    }
    SundogStatistics statistics;
    sundog_scheduler_get_statistics(scheduler, &statistics);
    g_array_sort(firsts, compare_times);
    g_array_sort(gaps, compare_times);
    SimulationResult result = {.first_p50_us = quantile(firsts, 0.5),
                               .first_p99_us = quantile(firsts, 0.99),
                               .gap_p50_us = quantile(gaps, 0.5),
                               .gap_p99_us = quantile(gaps, 0.99),
                               .gap_max_us = quantile(gaps, 1),
                               .end_us = world.now_us,
                               .n_steps = statistics.n_steps,
                               .n_drafted = statistics.n_drafted_tokens,
                               .n_accepted = statistics.n_accepted_tokens};
    find_bounds(&world, requests, n_requests, &result);
    clear_world(&world);
    clear_world(&small);
    return result;
}
