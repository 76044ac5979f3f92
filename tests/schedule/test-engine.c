/*
 * sundog-engine with a real core, through its pipe. Arguments: the engine, a GGUF file; or `--cached`
 * and the name of one in the tests' cache, which is skipped where it is missing; or `--recurrent` and a
 * file of a model with recurrent state, whose prefixes are reused at checkpoints alone. What is asked of a
 * large model is less, for the time it takes; with `--scheme` before the file, what its cache can do alone.
 */

#include "tests/anonymous-memory.h"
#include "tests/schedule/engine-client.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROMPT 300

#ifdef __SANITIZE_ADDRESS__
#define KEEPS_FREED_MEMORY true
#else
#define KEEPS_FREED_MEMORY false
#endif

static const char *engine;
static const char *model;
static bool large;
static bool few; /* cases of many alike */

static uint32_t n_prompt; /* the tiny model's context is shorter */
static uint32_t prompt[MAX_PROMPT];

/* A request that samples: its tokens change with the last bit of its logits, if not at once. */
static SundogSubmit
make_request(const uint32_t *tokens, uint32_t n_tokens, uint32_t max_tokens)
{
    return (SundogSubmit){.prompt = tokens,
                          .n_prompt = n_tokens,
                          .max_tokens = max_tokens,
                          .temperature = 1.5,
                          .top_p = 1,
                          .repetition_penalty = 1.1,
                          .penalty_window = 64,
                          .seed = 11};
}

static void
start(EngineClient *client)
{
    engine_client_start(client, engine, engine_client_get_core(model), NULL);
    g_assert_true(client->answers->ready_seen);
    for (uint32_t i = 0; i < n_prompt; i++)
        prompt[i] = (i * 7919 + i * i + 3) % client->answers->ready.n_vocabulary;
}

static void
check_equal(const Answer *answer, const Answer *expected)
{
    g_assert_true(answer->ended && !answer->faulted);
    g_assert_cmpmem(answer->tokens->data, answer->tokens->len * 4, expected->tokens->data,
                    expected->tokens->len * 4);
}

static Answer *
run_alone(EngineClient *client, SundogSubmit request)
{
    request.flags = SUNDOG_SUBMIT_NO_PREFIX;
    Answer *answer = engine_client_submit(client, &request);
    engine_client_wait_ended(client, answer);
    g_assert_false(answer->faulted);
    g_assert_cmpuint(answer->finish.n_cached, ==, 0);
    return answer;
}

static void
test_ready(void)
{
    EngineClient client;
    start(&client);
    const SundogReady *ready = &client.answers->ready;
    g_assert_cmpuint(ready->page_tokens, ==, 64);
    g_assert_cmpuint(ready->context_length, >, n_prompt);
    g_assert_cmpuint(ready->pool_pages, >, ready->context_length / 64);
    g_assert_true(g_str_has_prefix(ready->device, "host: "));
    engine_client_clear(&client);
}

/* Beside others, in whatever chunks and steps: the tokens of the same request alone. */
static void
test_several(void)
{
    EngineClient client;
    start(&client);
    SundogSubmit requests[10];
    Answer *alone[G_N_ELEMENTS(requests)], *together[G_N_ELEMENTS(requests)];
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        requests[i] = make_request(prompt + i, 1 + i * 24, 5 + i * 3);
        requests[i].seed = i;
        requests[i].temperature = i % 3;
        alone[i] = run_alone(&client, requests[i]);
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++)
        together[i] = engine_client_submit(&client, &requests[i]);
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        engine_client_wait_ended(&client, together[i]);
        check_equal(together[i], alone[i]);
    }
    engine_client_clear(&client);
}

/* A prompt that shares its first `split` tokens with one before, hit against miss (K3). */
static void
check_split(EngineClient *client, uint32_t split)
{
    uint32_t tokens[MAX_PROMPT];
    memcpy(tokens, prompt, sizeof tokens);
    if (split < n_prompt)
        tokens[split] = (tokens[split] + 1) % client->answers->ready.n_vocabulary;
    SundogSubmit whole = make_request(prompt, n_prompt, 1);
    engine_client_wait_ended(client, engine_client_submit(client, &whole));
    SundogSubmit request = make_request(tokens, n_prompt, 4);
    request.seed = split;
    Answer *miss = run_alone(client, request);
    Answer *hit = engine_client_submit(client, &request);
    engine_client_wait_ended(client, hit);
    g_assert_cmpuint(hit->finish.n_cached, ==, MIN(split, n_prompt - 1));
    check_equal(hit, miss);
}

static void
test_every_split(void)
{
    EngineClient client;
    start(&client);
    for (uint32_t split = 1; split <= n_prompt; split++) {
        bool at_border = split % 64 == 0 || split % 64 == 1 || split % 64 == 63;
        if (!few || split % 97 == 5 || (at_border && split > 180) || split == n_prompt)
            check_split(&client, split);
    }
    engine_client_clear(&client);
}

static void
test_turns(void)
{
    EngineClient client;
    start(&client);
    g_autoptr(GArray) talk = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t turn = 0; turn < 3; turn++) {
        uint32_t n_known = talk->len;
        g_array_append_vals(talk, prompt + turn * 40, 40);
        SundogSubmit request = make_request((uint32_t *)talk->data, talk->len, 30);
        Answer *miss = run_alone(&client, request);
        Answer *hit = engine_client_submit(&client, &request);
        engine_client_wait_ended(&client, hit);
        check_equal(hit, miss);
        g_assert_cmpuint(hit->finish.n_cached, ==, n_known > 0 ? n_known - 1 : 0);
        g_array_append_vals(talk, hit->tokens->data, hit->tokens->len);
    }
    engine_client_clear(&client);
}

/* Cancels a request as it decodes and one that has just come, beside one that goes on. Returns whether
 * both cancels came in time: the tiny model may be done before this process gets its turn. */
static bool
cancel_two(EngineClient *client, SundogSubmit request, const Answer *expected)
{
    request.flags = SUNDOG_SUBMIT_NO_DRAFTS; /* which end this repetitive answer too soon */
    Answer *decoding = engine_client_submit(client, &request);
    Answer *staying = engine_client_submit(client, &request);
    engine_client_wait_tokens(client, decoding, 3);
    SundogSubmit long_request = make_request(prompt, n_prompt, 100);
    long_request.flags = SUNDOG_SUBMIT_NO_PREFIX;
    Answer *early = engine_client_submit(client, &long_request);
    engine_client_cancel(client, early); /* in the queue, or in its first step */
    engine_client_cancel(client, decoding);
    engine_client_wait_ended(client, early);
    engine_client_wait_ended(client, decoding);
    g_assert_cmpmem(decoding->tokens->data, decoding->tokens->len * 4, expected->tokens->data,
                    decoding->tokens->len * 4);
    engine_client_wait_ended(client, staying);
    check_equal(staying, expected);
    return early->finish.reason == SUNDOG_FINISH_CANCELLED &&
           decoding->finish.reason == SUNDOG_FINISH_CANCELLED;
}

/* Cancelled queued, while its prompt runs and while it decodes; the others go on. */
static void
test_cancel(void)
{
    EngineClient client;
    start(&client);
    SundogSubmit request = make_request(prompt, 20, 200);
    Answer *expected = run_alone(&client, request);
    uint32_t n_tries = 1;
    while (!cancel_two(&client, request, expected))
        g_assert_cmpuint(++n_tries, <=, 100);
    engine_client_clear(&client);
}

static bool
is_admitted(const void *data)
{
    const Answer *answer = data;
    return answer->admitted || answer->ended;
}

/* Cancelled in the middle of its prompt, then the same: equal to the clean run (H6). */
static void
test_cancel_in_prefill(void)
{
    EngineClient client;
    start(&client);
    SundogSubmit request = make_request(prompt, n_prompt, 20);
    Answer *clean = run_alone(&client, request);
    SundogSubmit other = make_request(prompt + 7, 5, 200);
    other.flags = SUNDOG_SUBMIT_NO_DRAFTS;
    Answer *beside = engine_client_submit(&client, &other); /* keeps the chunks small */
    engine_client_wait_tokens(&client, beside, 2);
    Answer *cancelled = engine_client_submit(&client, &request);
    engine_client_wait(&client, is_admitted, cancelled);
    engine_client_cancel(&client, cancelled);
    engine_client_wait_ended(&client, cancelled);
    Answer *again = engine_client_submit(&client, &request);
    engine_client_wait_ended(&client, again);
    check_equal(again, clean);
    engine_client_clear(&client);
}

/* Ends at and around the borders of pages, a shorter one after each (G14). */
static void
test_page_borders(void)
{
    static const uint32_t lengths[] = {63, 64, 65, 127, 128, 129};
    EngineClient client;
    start(&client);
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        SundogSubmit request = make_request(prompt + i, 40, lengths[i] - 40);
        Answer *miss = run_alone(&client, request);
        g_assert_cmpuint(miss->tokens->len, ==, lengths[i] - 40);
        Answer *hit = engine_client_submit(&client, &request);
        SundogSubmit brief = make_request(prompt + 1, 2, 1);
        Answer *after = engine_client_submit(&client, &brief);
        engine_client_wait_ended(&client, hit);
        engine_client_wait_ended(&client, after);
        check_equal(hit, miss);
    }
    engine_client_clear(&client);
}

/* A context of 64, run past its end, at three sizes of prompt (K9). */
static void
test_context_end(void)
{
    EngineClient client;
    engine_client_start(&client, engine, engine_client_get_core(model), "--context", "64",
                        "--threads", "1", NULL);
    g_assert_true(client.answers->ready_seen);
    g_assert_cmpuint(client.answers->ready.context_length, ==, 64);
    SundogSubmit request = make_request(prompt, 10, 1000);
    Answer *answer = engine_client_submit(&client, &request);
    SundogSubmit last = make_request(prompt, 63, 1000);
    Answer *last_answer = engine_client_submit(&client, &last);
    SundogSubmit over = make_request(prompt, 64, 1000);
    Answer *over_answer = engine_client_submit(&client, &over);
    engine_client_wait_ended(&client, answer);
    engine_client_wait_ended(&client, last_answer);
    engine_client_wait_ended(&client, over_answer);
    g_assert_cmpuint(answer->tokens->len, ==, 54);
    g_assert_cmpint(answer->finish.reason, ==, SUNDOG_FINISH_LENGTH);
    g_assert_cmpuint(last_answer->tokens->len, ==, 1);
    g_assert_cmpint(over_answer->fault, ==, SUNDOG_FAULT_CONTEXT_LENGTH);
    engine_client_clear(&client);
}

/* Killed in mid-answer: a new engine goes on with the very tokens that were to come. */
static void
test_killed_and_resubmitted(void)
{
    EngineClient client, next;
    start(&client);
    SundogSubmit request = make_request(prompt, 50, 40);
    Answer *whole = run_alone(&client, request);
    Answer *cut = engine_client_submit(&client, &request);
    engine_client_wait_tokens(&client, cut, 15);
    kill(sundog_engine_process_get_pid(client.process), SIGKILL);
    engine_client_wait_exit(&client);
    g_assert_cmpint(client.signal, ==, SIGKILL);

    start(&next);
    request.produced = (uint32_t *)cut->tokens->data;
    request.n_produced = cut->tokens->len;
    Answer *rest = engine_client_submit(&next, &request);
    engine_client_wait_ended(&next, rest);
    g_assert_cmpuint(cut->tokens->len + rest->tokens->len, ==, whole->tokens->len);
    g_assert_cmpmem(rest->tokens->data, rest->tokens->len * 4,
                    whole->tokens->data + cut->tokens->len * 4, rest->tokens->len * 4);
    engine_client_clear(&client);
    engine_client_clear(&next);
}

/* The same tokens with drafts as without, greedy and sampled, in fewer steps where the model repeats itself,
 * as a random one does. */
static void
test_drafts(void)
{
    EngineClient client;
    start(&client);
    for (int i = 0; i < 4; i++) {
        SundogSubmit request = make_request(prompt, 60, 200);
        request.temperature = i * 0.3;
        request.seed = 5;
        Answer *with_drafts = run_alone(&client, request);
        request.flags = SUNDOG_SUBMIT_NO_PREFIX | SUNDOG_SUBMIT_NO_DRAFTS;
        Answer *without = engine_client_submit(&client, &request);
        engine_client_wait_ended(&client, without);
        check_equal(with_drafts, without);
    }
    engine_client_clear(&client);
}

/* A small core drafts, here the core itself, which is always right: the tokens without it, greedy and
 * sampled over many seeds, so that what is sampled keeps its distribution. */
static void
test_draft_core(void)
{
    EngineClient client;
    const char *core = engine_client_get_core(model);
    engine_client_start(&client, engine, core, "--draft", core, NULL);
    g_assert_true(client.answers->ready_seen);
    for (uint32_t seed = 0; seed < (few ? 3 : 24); seed++) {
        SundogSubmit request = make_request(prompt, 30 + seed, 40);
        request.temperature = seed % 4 * 0.5;
        request.seed = seed;
        Answer *with_drafts = engine_client_submit(&client, &request);
        SundogSubmit beside = make_request(prompt, 20, 30);
        Answer *other = engine_client_submit(&client, &beside);
        engine_client_wait_ended(&client, with_drafts);
        engine_client_wait_ended(&client, other);
        request.flags = SUNDOG_SUBMIT_NO_PREFIX | SUNDOG_SUBMIT_NO_DRAFTS;
        Answer *without = engine_client_submit(&client, &request);
        engine_client_wait_ended(&client, without);
        check_equal(with_drafts, without);
    }
    engine_client_clear(&client);
}

/* With a cache of at most so many pages, whatever their size, and records. */
static void
start_with_pages(EngineClient *client, uint64_t n_pages)
{
    const char *core = engine_client_get_core(model);
    g_autofree char *folder = g_build_filename(g_get_user_cache_dir(), "pressure", NULL);
    uint64_t cache_bytes = 64 << 20;
    for (;;) {
        g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, cache_bytes);
        engine_client_start(client, engine, core, "--cache-bytes", text, "--records", folder,
                            "--record-bytes", "100000000", NULL);
        g_assert_true(client->answers->ready_seen);
        uint64_t n_there = client->answers->ready.pool_pages;
        if (n_there <= n_pages)
            return;
        cache_bytes = cache_bytes * n_pages / n_there;
        engine_client_clear(client);
    }
}

/* A cache that cannot hold all, with drafts and records: who gives way comes back, and none loses a token. */
static void
test_pressure(void)
{
    EngineClient client, small;
    SundogSubmit requests[5];
    Answer *alone[G_N_ELEMENTS(requests)], *together[G_N_ELEMENTS(requests)];
    start(&client);
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        requests[i] = make_request(prompt + i, n_prompt - 40, 200);
        requests[i].seed = i;
        alone[i] = run_alone(&client, requests[i]);
    }
    start_with_pages(&small, 12);
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++)
        together[i] = engine_client_submit(&small, &requests[i]);
    for (uint32_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        engine_client_wait_ended(&small, together[i]);
        check_equal(together[i], alone[i]);
    }
    engine_client_clear(&small);
    engine_client_clear(&client);
}

/* K6: an engine that was told to end leaves records, and the next one goes on from them with the same
 * bits. */
static void
test_records(void)
{
    EngineClient client, next;
    g_autofree char *folder = g_build_filename(g_get_user_cache_dir(), "records", NULL);
    const char *core = engine_client_get_core(model);
    engine_client_start(&client, engine, core, "--records", folder, "--record-bytes", "100000000",
                        NULL);
    SundogSubmit request = make_request(prompt, n_prompt, 20);
    Answer *first = engine_client_submit(&client, &request);
    engine_client_wait_ended(&client, first);
    g_assert_cmpuint(first->finish.n_cached, ==, 0);
    sundog_engine_process_stop(client.process, false);
    engine_client_wait_exit(&client);

    engine_client_start(&next, engine, core, "--records", folder, "--record-bytes", "100000000",
                        NULL);
    Answer *second = engine_client_submit(&next, &request);
    engine_client_wait_ended(&next, second);
    g_assert_cmpuint(second->finish.n_cached, ==, (n_prompt - 1) / 64 * 64);
    check_equal(second, first);
    engine_client_clear(&client);
    engine_client_clear(&next);
}

static void
test_shutdown_drains(void)
{
    EngineClient client;
    start(&client);
    SundogSubmit request = make_request(prompt, 30, 60);
    Answer *by_message = engine_client_submit(&client, &request);
    sundog_engine_process_stop(client.process, false);
    engine_client_wait_exit(&client);
    g_assert_cmpint(client.exit_status, ==, 0);
    g_assert_cmpuint(by_message->tokens->len, ==, 60);
    engine_client_clear(&client);

    start(&client);
    Answer *by_signal = engine_client_submit(&client, &request);
    engine_client_wait_tokens(&client, by_signal, 1);
    kill(sundog_engine_process_get_pid(client.process), SIGTERM);
    engine_client_wait_exit(&client);
    g_assert_cmpint(client.exit_status, ==, 0);
    g_assert_cmpuint(by_signal->tokens->len, ==, 60);
    engine_client_clear(&client);
}

static void
expect_load_fault(const char *core, const char *option, const char *value, const char *text)
{
    EngineClient client;
    engine_client_start(&client, engine, core, option, value, NULL);
    g_assert_false(client.answers->ready_seen);
    g_assert_cmpint(client.exit_status, ==, 1);
    g_assert_nonnull(client.answers->load_fault);
    if (!strstr(client.answers->load_fault, text))
        g_error("\"%s\" where \"%s\" was expected", client.answers->load_fault, text);
    engine_client_clear(&client);
}

static void
test_load_faults(void)
{
    const char *core = engine_client_get_core(model);
    g_autofree char *empty = g_build_filename(g_get_home_dir(), "empty", NULL);
    g_autofree char *keys = g_build_filename(g_get_home_dir(), "other-keys", NULL);
    g_assert_cmpint(g_mkdir_with_parents(empty, 0700), ==, 0);
    g_assert_cmpint(g_mkdir_with_parents(keys, 0700), ==, 0);
    expect_load_fault(core, "--cache-bytes", "1", "allow it more");
    expect_load_fault(core, "--threads", "1000", "1000 threads");
    expect_load_fault(core, "--keys", "nowhere-at-all", "nowhere-at-all");
    expect_load_fault(core, "--keys", keys, "sign"); /* signed by nobody who is trusted here */
    expect_load_fault(empty, "--threads", "1", "core.json");
    expect_load_fault("nowhere-at-all", "--threads", "1", "nowhere-at-all");
}

/* Words that cannot be meant are refused before anything is opened. */
static void
test_wrong_arguments(void)
{
    static const char *const wrong[][2] = {
        {"--ladder", "2,1"},  {"--ladder", "1,1"}, {"--ladder", "0"},
        {"--ladder", "1,,2"}, {"--ladder", "1,x"}, {"--ladder", "1,99999999999"},
        {"--threads", "-1"},  {"--gap-ms", "1e9"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        const char *words[] = {engine, "core", "--keys", "keys", wrong[i][0], wrong[i][1], NULL};
        g_autoptr(GError) error = NULL;
        g_autofree char *said = NULL;
        int status;
        g_spawn_sync(NULL, (char **)words, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                     &said, &status, &error);
        g_assert_no_error(error);
        g_assert_true(WIFEXITED(status));
        g_assert_cmpint(WEXITSTATUS(status), ==, 2);
        g_assert_true(g_str_has_prefix(said, "sundog-engine: "));
    }
}

/* Thousands of requests: memory stays where it was after the first hundreds (G9). */
static void
test_memory_flat(void)
{
    EngineClient client;
    engine_client_start(&client, engine, engine_client_get_core(model), "--cache-bytes",
                        large ? "10000000" : "4000000", NULL);
    g_assert_true(client.answers->ready_seen);
    uint32_t n_requests = large ? 200 : 4000;
    int64_t n_bytes = 0;
    for (uint32_t i = 0; i < n_requests; i++) {
        SundogSubmit request = make_request(prompt + i % 200, 1 + i % 40, 1 + i % 3);
        request.seed = i;
        Answer *answer = engine_client_submit(&client, &request);
        if (i % 5 == 0)
            engine_client_cancel(&client, answer);
        engine_client_wait_ended(&client, answer);
        if (i == n_requests / 2)
            n_bytes = anonymous_memory_get(sundog_engine_process_get_pid(client.process));
    }
    int64_t n_more = anonymous_memory_get(sundog_engine_process_get_pid(client.process)) - n_bytes;
    g_test_message("%" G_GINT64_FORMAT " bytes of memory, %" G_GINT64_FORMAT " more at the end",
                   n_bytes, n_more);
    if (KEEPS_FREED_MEMORY)
        g_test_skip("the address sanitizer keeps what was freed");
    else
        g_assert_cmpint(n_more, <, 2 << 20);
    engine_client_clear(&client);
}

/* In a forked process: starts an engine that decodes, tells its pid, and waits to be killed. */
static void
be_a_parent(int fd)
{
    EngineClient client;
    start(&client);
    SundogSubmit request = make_request(prompt, 200, 100000);
    engine_client_submit(&client, &request);
    pid_t pid = sundog_engine_process_get_pid(client.process);
    g_assert_cmpint(write(fd, &pid, sizeof pid), ==, sizeof pid);
    for (;;)
        g_main_context_iteration(NULL, TRUE);
}

/* kill -9 of the parent ends the engine (G3), which the kernel tells. */
static void
test_parent_killed(void)
{
    engine_client_get_core(model);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int fds[2];
    g_assert_cmpint(pipe(fds), ==, 0);
    pid_t parent = fork();
    if (parent == 0)
        be_a_parent(fds[1]);
    pid_t child;
    g_assert_cmpint(read(fds[0], &child, sizeof child), ==, sizeof child);
    kill(parent, SIGKILL);
    g_assert_cmpint(waitpid(parent, NULL, 0), ==, parent);
    pid_t reaped = 0;
    int64_t end_us = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    while (reaped == 0 && g_get_monotonic_time() < end_us) {
        reaped = waitpid(child, NULL, WNOHANG);
        g_usleep(10000);
    }
    g_assert_cmpint(reaped, ==, child);
    close(fds[0]);
    close(fds[1]);
}

static void
test_skipped(void)
{
    g_test_skip("the model is not in the tests' cache");
}

static void
add_tests(void)
{
    g_test_add_func("/engine/parent-killed", test_parent_killed); /* first: it forks */
    g_test_add_func("/engine/ready", test_ready);
    g_test_add_func("/engine/several", test_several);
    g_test_add_func("/engine/every-split", test_every_split);
    g_test_add_func("/engine/turns", test_turns);
    g_test_add_func("/engine/cancel", test_cancel);
    g_test_add_func("/engine/cancel-in-prefill", test_cancel_in_prefill);
    g_test_add_func("/engine/page-borders", test_page_borders);
    g_test_add_func("/engine/context-end", test_context_end);
    g_test_add_func("/engine/killed-and-resubmitted", test_killed_and_resubmitted);
    g_test_add_func("/engine/drafts", test_drafts);
    g_test_add_func("/engine/draft-core", test_draft_core);
    g_test_add_func("/engine/pressure", test_pressure);
    g_test_add_func("/engine/records", test_records);
    g_test_add_func("/engine/shutdown-drains", test_shutdown_drains);
    g_test_add_func("/engine/load-faults", test_load_faults);
    g_test_add_func("/engine/wrong-arguments", test_wrong_arguments);
    g_test_add_func("/engine/memory-flat", test_memory_flat);
}

/* Where there is recurrent state, what a prompt shares with another in its beginning alone is there as far as
 * a checkpoint was taken: at the last border of pages, and where a second has branched off. */
static void
test_branches(void)
{
    static const struct {
        uint32_t split, n_cached;
    } cases[] = {{150, 0}, {160, 128}, {200, 192}, {70, 0}, {80, 64}, {30, 0}};
    EngineClient client;
    start(&client);
    SundogSubmit whole = make_request(prompt, n_prompt, 1);
    engine_client_wait_ended(&client, engine_client_submit(&client, &whole));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint32_t tokens[MAX_PROMPT];
        memcpy(tokens, prompt, sizeof tokens);
        uint32_t *split = &tokens[cases[i].split];
        *split = (*split + 1) % client.answers->ready.n_vocabulary;
        SundogSubmit request = make_request(tokens, n_prompt, 4);
        Answer *miss = run_alone(&client, request);
        Answer *hit = engine_client_submit(&client, &request);
        engine_client_wait_ended(&client, hit);
        g_assert_cmpuint(hit->finish.n_cached, ==, cases[i].n_cached);
        check_equal(hit, miss);
    }
    engine_client_clear(&client);
}

/* A turn whose template drops what the last one ended with. */
static void
test_dropped_end(void)
{
    EngineClient client;
    start(&client);
    SundogSubmit first = make_request(prompt, 140, 20);
    engine_client_wait_ended(&client, engine_client_submit(&client, &first));
    uint32_t tokens[MAX_PROMPT];
    memcpy(tokens, prompt, sizeof tokens);
    for (uint32_t i = 137; i < 180; i++)
        tokens[i] = prompt[i + 1];
    SundogSubmit next = make_request(tokens, 180, 20);
    Answer *miss = run_alone(&client, next);
    Answer *hit = engine_client_submit(&client, &next);
    engine_client_wait_ended(&client, hit);
    g_assert_cmpuint(hit->finish.n_cached, ==, 128);
    check_equal(hit, miss);
    engine_client_clear(&client);
}

static void
add_scheme_tests(bool is_recurrent)
{
    g_test_add_func("/engine/several", test_several);
    g_test_add_func("/engine/turns", test_turns);
    if (is_recurrent) {
        g_test_add_func("/engine/branches", test_branches);
        g_test_add_func("/engine/dropped-end", test_dropped_end);
    } else {
        g_test_add_func("/engine/every-split", test_every_split);
    }
    g_test_add_func("/engine/killed-and-resubmitted", test_killed_and_resubmitted);
    g_test_add_func("/engine/drafts", test_drafts);
    g_test_add_func("/engine/draft-core", test_draft_core);
    g_test_add_func("/engine/pressure", test_pressure);
    g_test_add_func("/engine/records", test_records);
}

int
main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, >=, 3);
    engine = argv[1];
    bool is_scheme = g_str_equal(argv[2], "--scheme");
    large = g_str_equal(argv[2], "--cached");
    few = large || is_scheme;
    n_prompt = large ? MAX_PROMPT : 240;
    bool is_recurrent = g_str_equal(argv[2], "--recurrent");
    model = is_recurrent || is_scheme ? argv[3]
            : large ? g_build_filename(g_getenv("SUNDOG_TEST_CACHE"), argv[3], NULL)
                    : argv[2];
    if (is_recurrent || is_scheme)
        add_scheme_tests(is_recurrent);
    else if (g_file_test(model, G_FILE_TEST_EXISTS))
        add_tests();
    else
        g_test_add_func("/engine/skipped", test_skipped);
    return g_test_run();
}
