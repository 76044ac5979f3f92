/*
 * A stand-in for sundog-engine that speaks the wire and plays a script: for tests of the server, the
 * command line and the app, where only tokens, their timing and faults matter.
 *
 *     scripted-engine CORE [any further arguments are ignored]
 *
 * CORE is what a supervisor passes. The script is CORE itself where it is a file, else CORE/script.json,
 * else CORE.json; without any, the defaults below hold. Beside the script it appends to SCRIPT.log one
 * JSON object a line, and counts its starts there:
 *     {"event":"start","pid":1,"n":0}
 *     {"event":"draft","core":"small"}           it was given a small core of that name
 *     {"event":"submit","id":7,"entry":0,"prompt":[1,2],"produced":[],"max_tokens":16,"seed":5,
 *      "temperature":0,"ends":[2],"breakers":[]}
 *     {"event":"cancel","id":7,"sent":3}         sent: tokens written before the cancel was read
 *     {"event":"finish","id":7,"reason":"cancelled","sent":3,"after_cancel":0}
 *     {"event":"end","why":"shutdown"}
 *
 * The script, every member optional (default in brackets):
 *   "hello":  {"version": [1], "core": ["scripted"]}
 *   "load":   {"ms": [0], "steps": [4]          PROGRESS frames over that time
 *              "stall": [false]                 never gets ready
 *              "gate": [false]                  waits for the gate after these steps
 *              "fault": TEXT                    FAULT load_failed with that text, then exit 1
 *              DEATH}                           dies after half of the steps
 *   "ready":  {"context_length": [2048], "n_vocabulary": [49152], "max_sequences": [16],
 *              "max_step_tokens": [512], "page_tokens": [64], "pool_pages": [1024],
 *              "memory_bytes": [1000000], "n_threads": [1], "device": ["scripted"]}
 *   "requests": [ENTRY, …]   the n-th SUBMIT of this process takes the n-th, the last one repeats;
 *                            an entry with "prompt_has": TOKEN is taken by any prompt that holds it,
 *                            before the order is asked
 *   "ignore_shutdown": [false]   reads on after SHUTDOWN, end of input and SIGTERM: only SIGKILL helps
 *   "stderr": TEXT           written to standard error at the start, as it is
 *   "starts": [SCRIPT, …]    members that replace those above at the n-th start of this script;
 *                            the last one repeats
 * ENTRY:
 *   "tokens": [TOKEN, …]     what is produced; without it max_tokens tokens that are a function of
 *                            seed, prompt and index (so a resubmitted request goes on the same)
 *   "repeat": [false]        go round "tokens" until max_tokens
 *   "prefill_ms": [0], "prefill_steps": [1]     PREFILL frames over that time
 *   "stall_prefill": [false] ADMITTED and then nothing, but a cancel is heard
 *   "token_ms": [0]          between two tokens
 *   "gate_at": [none]        the token of that index waits for the gate
 *   "n_cached": [0]          reported as taken from the cache
 *   "reason": ["stop"]       of FINISH where the tokens end before max_tokens, else "length"
 *   "fault": CODE, "fault_at": [0]   FAULT of that code in place of the token of that index
 *   "late_cancel": [0]       tokens still written after a cancel; -1: cancels are ignored
 *   "at": [0], DEATH         dies in place of the token of that index (those resumed are counted)
 * Scores, where a request wants them: a token's log probability is its number modulo 64, negative, over 8;
 * its rivals are the tokens that follow it by number. A prompt's come once it was read.
 *
 * DEATH is one of
 *   "die": "exit" with "status": [1] | "abort" | "kill" | "close" (closes its output and sleeps)
 *        | "garbage" (writes bytes that are no frame and sleeps)
 * each with "last_words": TEXT for standard error. A resubmitted request starts at index n_produced.
 *
 * The gate is open while the file SCRIPT.gate is there: so a test decides what happens first, however
 * fast the machine is. Whoever comes to it while it is closed appends {"event":"held"} to the log.
 */

#include "engine/wire/messages.h"
#include "tests/wire/script.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Between two looks at the gate. */
#define GATE_MS 2

typedef struct {
    uint64_t id;
    JsonObject *entry; /* borrowed from the script, or NULL */
    JsonArray *tokens; /* borrowed, or NULL: made up */
    uint64_t salt;     /* of the tokens that are made up */
    uint32_t n_prompt;
    uint32_t n_resumed;
    uint32_t index; /* of the next token */
    uint32_t max_tokens;
    uint32_t n_sent;
    int64_t n_late; /* tokens still to come after a cancel */
    uint32_t n_after_cancel;
    int64_t n_prefill_left; /* steps */
    bool admitted;
    bool held; /* at the gate, and the log has it */
    bool cancelled;
    uint32_t n_scores;
    uint32_t *scored; /* [n_prompt] the prompt, where it is to be scored */
    int64_t submitted_us;
    int64_t first_us; /* of the first token, or 0 */
    int64_t next_us;  /* when to act next; INT64_MAX: never */
} Request;

static GPtrArray *requests;
static uint32_t n_submitted;
static uint64_t step;
static SundogStatistics statistics;

/* Writing */

static void
end(const char *why)
{
    script_note("{\"event\":\"end\",\"why\":\"%s\"}", why);
    exit(0);
}

static void
send(SundogMessage type, GVariant *payload)
{
    g_autoptr(GError) error = NULL;
    if (!sundog_frame_write(STDOUT_FILENO, type, payload, &error))
        end("nobody reads");
}

static void
sleep_ms(int64_t ms)
{
    g_usleep((gulong)MAX(ms, 0) * 1000);
}

static G_GNUC_NORETURN void
sleep_for_ever(void)
{
    for (;;)
        pause();
}

static void
die(JsonObject *how)
{
    const char *kind = script_get_text(how, "die", NULL);
    const char *words = script_get_text(how, "last_words", "");
    script_note("{\"event\":\"end\",\"why\":\"%s\"}", kind);
    if (write(STDERR_FILENO, words, strlen(words)) < 0)
        return;
    if (strcmp(kind, "abort") == 0) {
        abort();
    } else if (strcmp(kind, "kill") == 0) {
        kill(getpid(), SIGKILL);
    } else if (strcmp(kind, "exit") == 0) {
        _exit((int)script_get_int(how, "status", 1));
    } else if (strcmp(kind, "close") == 0) {
        close(STDOUT_FILENO);
        sleep_for_ever();
    } else if (strcmp(kind, "garbage") == 0) {
        static const char garbage[] = "Segmentation fault? No: just no frame at all.";
        if (write(STDOUT_FILENO, garbage, sizeof garbage) > 0)
            sleep_for_ever();
    }
    g_printerr("scripted-engine: no death is called \"%s\"\n", kind);
    _exit(2);
}

/* Loading */

static void
load(void)
{
    JsonObject *hello = script_find_object("hello");
    send(SUNDOG_MESSAGE_HELLO,
         g_variant_new("(uss)", (uint32_t)script_get_int(hello, "version", SUNDOG_WIRE_VERSION),
                       SUNDOG_VERSION, script_get_text(hello, "core", "scripted")));
    JsonObject *how = script_find_object("load");
    int64_t n_steps = MAX(script_get_int(how, "steps", 4), 1);
    for (int64_t i = 0; i < n_steps; i++) {
        send(SUNDOG_MESSAGE_PROGRESS,
             g_variant_new("(sd)", "weights", (double)i / (double)n_steps));
        sleep_ms(script_get_int(how, "ms", 0) / n_steps);
        if (script_member(how, "die") && i >= n_steps / 2)
            die(how);
    }
    bool held = false;
    while (script_get_bool(how, "gate") && !script_passes_gate(&held))
        sleep_ms(GATE_MS);
    if (script_get_bool(how, "stall"))
        sleep_for_ever();
    const char *fault = script_get_text(how, "fault", NULL);
    if (fault) {
        send(SUNDOG_MESSAGE_FAULT,
             sundog_fault_pack(&(SundogFault){.code = SUNDOG_FAULT_LOAD_FAILED, .text = fault}));
        _exit(1);
    }
}

static void
get_ready(void)
{
    JsonObject *how = script_find_object("ready");
    SundogReady ready = {
        .context_length = (uint32_t)script_get_int(how, "context_length", 2048),
        .n_vocabulary = (uint32_t)script_get_int(how, "n_vocabulary", 49152),
        .max_sequences = (uint32_t)script_get_int(how, "max_sequences", 16),
        .max_step_tokens = (uint32_t)script_get_int(how, "max_step_tokens", 512),
        .page_tokens = (uint32_t)script_get_int(how, "page_tokens", 64),
        .pool_pages = (uint64_t)script_get_int(how, "pool_pages", 1024),
        .memory_bytes = (uint64_t)script_get_int(how, "memory_bytes", 1000000),
        .n_threads = (uint32_t)script_get_int(how, "n_threads", 1),
    };
    g_strlcpy(ready.device, script_get_text(how, "device", "scripted"), sizeof ready.device);
    send(SUNDOG_MESSAGE_READY, sundog_ready_pack(&ready));
}

/* Requests */

static bool
holds(const SundogSubmit *submit, int64_t token)
{
    for (uint32_t i = 0; i < submit->n_prompt; i++)
        if (submit->prompt[i] == token)
            return true;
    return false;
}

/* Index of the entry for a request, or -1 where the script names none. */
static int
choose_entry(const SundogSubmit *submit, JsonArray *entries)
{
    int n_entries = entries ? (int)json_array_get_length(entries) : 0;
    for (int i = 0; i < n_entries; i++) {
        JsonNode *token =
            script_member(json_array_get_object_element(entries, (guint)i), "prompt_has");
        if (token && holds(submit, json_node_get_int(token)))
            return i;
    }
    int last = -1;
    int64_t n_left = n_submitted++;
    for (int i = 0; i < n_entries && n_left >= 0; i++) {
        if (!script_member(json_array_get_object_element(entries, (guint)i), "prompt_has")) {
            last = i;
            n_left--;
        }
    }
    return last;
}

static char *
print_tokens(const uint32_t *tokens, uint32_t n_tokens)
{
    GString *text = g_string_new("[");
    for (uint32_t i = 0; i < n_tokens; i++)
        g_string_append_printf(text, "%s%u", i > 0 ? "," : "", tokens[i]);
    return g_string_free(g_string_append_c(text, ']'), FALSE);
}

static void
request_free(void *data)
{
    g_free(((Request *)data)->scored);
    g_free(data);
}

static void
note_submit(const SundogSubmit *submit, int entry)
{
    g_autofree char *prompt = print_tokens(submit->prompt, submit->n_prompt);
    g_autofree char *produced = print_tokens(submit->produced, submit->n_produced);
    g_autofree char *ends = print_tokens(submit->ends, submit->n_ends);
    g_autofree char *breakers = print_tokens(submit->dry.breakers, submit->dry.n_breakers);
    script_note(
        "{\"event\":\"submit\",\"id\":%" G_GUINT64_FORMAT
        ",\"entry\":%d,\"prompt\":%s,\"produced\":%s,\"max_tokens\":%u,\"seed\":%" G_GUINT64_FORMAT
        ",\"temperature\":%g,\"ends\":%s,\"breakers\":%s}",
        submit->id, entry, prompt, produced, submit->max_tokens, submit->seed, submit->temperature,
        ends, breakers);
}

static void
submit_request(GVariant *payload)
{
    SundogSubmit submit;
    g_autoptr(GError) error = NULL;
    if (!sundog_submit_unpack(payload, &submit, &error)) {
        send(SUNDOG_MESSAGE_FAULT, sundog_fault_pack(&(SundogFault){
                                       submit.id, SUNDOG_FAULT_BAD_REQUEST, error->message}));
        return;
    }
    JsonNode *node = script_find("requests");
    JsonArray *entries = node ? json_node_get_array(node) : NULL;
    int chosen = choose_entry(&submit, entries);
    JsonObject *entry = chosen >= 0 ? json_array_get_object_element(entries, (guint)chosen) : NULL;
    note_submit(&submit, chosen);

    Request *request = g_new0(Request, 1);
    *request = (Request){
        .id = submit.id,
        .entry = entry,
        .tokens =
            script_member(entry, "tokens") ? json_object_get_array_member(entry, "tokens") : NULL,
        .salt = submit.seed,
        .n_prompt = submit.n_prompt,
        .n_resumed = submit.n_produced,
        .index = submit.n_produced,
        .max_tokens = submit.max_tokens,
        .n_prefill_left = MAX(script_get_int(entry, "prefill_steps", 1), 1),
        .submitted_us = g_get_monotonic_time(),
    };
    request->n_scores = submit.n_scores;
    if (submit.flags & SUNDOG_SUBMIT_SCORE_PROMPT)
        request->scored = g_memdup2(submit.prompt, submit.n_prompt * sizeof *submit.prompt);
    for (uint32_t i = 0; i < submit.n_prompt; i++)
        request->salt = request->salt * 31 + submit.prompt[i];
    request->next_us = request->submitted_us;
    g_ptr_array_add(requests, request);
}

static void
finish(Request *request, SundogFinishReason reason)
{
    int64_t now = g_get_monotonic_time();
    int64_t first = request->first_us ? request->first_us : now;
    send(SUNDOG_MESSAGE_FINISH,
         sundog_finish_pack(&(SundogFinish){
             .id = request->id,
             .reason = reason,
             .n_prompt = request->n_prompt,
             .n_cached =
                 (uint32_t)MIN(script_get_int(request->entry, "n_cached", 0), request->n_prompt),
             .n_produced = request->index,
             .prefill_us = (uint64_t)(first - request->submitted_us),
             .decode_us = (uint64_t)(now - first),
             .step = step,
         }));
    script_note("{\"event\":\"finish\",\"id\":%" G_GUINT64_FORMAT
                ",\"reason\":\"%s\",\"sent\":%u,\"after_cancel\":%u}",
                request->id, sundog_finish_reason_text(reason), request->n_sent,
                request->n_after_cancel);
    *(reason == SUNDOG_FINISH_CANCELLED ? &statistics.n_cancelled : &statistics.n_finished) += 1;
    g_ptr_array_remove(requests, request);
}

static void
cancel_request(uint64_t id)
{
    for (guint i = 0; i < requests->len; i++) {
        Request *request = requests->pdata[i];
        if (request->id == id && !request->cancelled) {
            script_note("{\"event\":\"cancel\",\"id\":%" G_GUINT64_FORMAT ",\"sent\":%u}", id,
                        request->n_sent);
            request->cancelled = true;
            request->n_late = script_get_int(request->entry, "late_cancel", 0);
            if (request->n_late == 0)
                finish(request, SUNDOG_FINISH_CANCELLED);
            return;
        }
    }
}

static uint32_t
next_token(const Request *request)
{
    if (request->tokens) {
        guint n_tokens = json_array_get_length(request->tokens);
        return (uint32_t)json_array_get_int_element(request->tokens, request->index % n_tokens);
    }
    uint64_t mixed = (request->salt + request->index) * 0x9e3779b97f4a7c15u;
    return (uint32_t)((mixed >> 33) %
                      (uint64_t)script_get_int(script_find_object("ready"), "n_vocabulary", 49152));
}

static void
send_scores(const Request *request, uint32_t position, const uint32_t *tokens, uint32_t n_tokens)
{
    uint32_t n = n_tokens * request->n_scores;
    if (n == 0)
        return;
    g_autofree SundogTokenScore *entries = g_new0(SundogTokenScore, n);
    for (uint32_t i = 0; i < n; i++) {
        entries[i].token = tokens[i / request->n_scores] + i % request->n_scores;
        entries[i].log_probability = -(double)(entries[i].token % 64) / 8;
    }
    const SundogScores scores = {request->id, position, request->n_scores, entries, n_tokens};
    send(SUNDOG_MESSAGE_SCORES, sundog_scores_pack(&scores));
}

static void
prefill(Request *request)
{
    if (!request->admitted) {
        request->admitted = true;
        send(SUNDOG_MESSAGE_ADMITTED, g_variant_new("(t)", request->id));
        if (script_get_bool(request->entry, "stall_prefill")) {
            request->next_us = INT64_MAX;
            return;
        }
    } else {
        request->n_prefill_left--;
        int64_t n_steps = MAX(script_get_int(request->entry, "prefill_steps", 1), 1);
        int64_t n_done = request->n_prompt * (n_steps - request->n_prefill_left) / n_steps;
        uint32_t n_cached = (uint32_t)script_get_int(request->entry, "n_cached", 0);
        send(SUNDOG_MESSAGE_PREFILL,
             g_variant_new("(tuuu)", request->id, (uint32_t)n_done, request->n_prompt, n_cached));
        if (request->scored && request->n_prefill_left == 0)
            send_scores(request, 1, request->scored + 1, request->n_prompt - 1);
    }
    if (request->n_prefill_left > 0) {
        int64_t n_steps = MAX(script_get_int(request->entry, "prefill_steps", 1), 1);
        request->next_us += script_get_int(request->entry, "prefill_ms", 0) * 1000 / n_steps;
    }
}

/* True where the request lives on and its token belongs into this step. */
static bool
produce(Request *request, uint32_t *token)
{
    if (script_member(request->entry, "die") &&
        request->index == script_get_int(request->entry, "at", 0))
        die(request->entry);
    if (request->tokens && !script_get_bool(request->entry, "repeat") &&
        request->index >= json_array_get_length(request->tokens)) {
        const char *reason = script_get_text(request->entry, "reason", "stop");
        finish(request, strcmp(reason, "length") == 0 ? SUNDOG_FINISH_LENGTH : SUNDOG_FINISH_STOP);
        return false;
    }
    if (request->index >= request->max_tokens) {
        finish(request, SUNDOG_FINISH_LENGTH);
        return false;
    }
    if (script_member(request->entry, "gate_at") &&
        request->index >= script_get_int(request->entry, "gate_at", 0) &&
        !script_passes_gate(&request->held)) {
        request->next_us = g_get_monotonic_time() + GATE_MS * 1000;
        return false;
    }
    const char *fault = script_get_text(request->entry, "fault", NULL);
    if (fault && request->index == script_get_int(request->entry, "fault_at", 0)) {
        send(SUNDOG_MESSAGE_FAULT,
             g_variant_new("(tss)", request->id, fault, "the script wants this fault"));
        g_ptr_array_remove(requests, request);
        return false;
    }
    *token = next_token(request);
    return true;
}

static void
count_token(Request *request, int64_t now)
{
    request->first_us = request->first_us ? request->first_us : now;
    request->next_us += script_get_int(request->entry, "token_ms", 0) * 1000;
    request->index++;
    request->n_sent++;
    statistics.n_produced_tokens++;
    if (request->cancelled) {
        request->n_after_cancel++;
        if (request->n_late > 0 && --request->n_late == 0)
            finish(request, SUNDOG_FINISH_CANCELLED);
    }
}

/* Everything that is due: the tokens of all requests in one frame, as of one step. */
static void
play(void)
{
    int64_t now = g_get_monotonic_time();
    GVariantBuilder rows;
    g_variant_builder_init(&rows, G_VARIANT_TYPE("a(tuu)"));
    g_autoptr(GPtrArray) in_step = g_ptr_array_new();
    for (guint i = requests->len; i-- > 0;) {
        Request *request = requests->pdata[i];
        uint32_t token;
        if (request->next_us > now)
            continue;
        if (request->n_prefill_left > 0) {
            prefill(request);
        } else if (produce(request, &token)) {
            send_scores(request, request->n_prompt + request->index, &token, 1);
            g_variant_builder_add(&rows, "(tuu)", request->id, request->index, token);
            g_ptr_array_add(in_step, request);
        }
    }
    g_autoptr(GVariant) payload =
        g_variant_ref_sink(g_variant_new("(t@a(tuu))", ++step, g_variant_builder_end(&rows)));
    statistics.n_steps++;
    if (in_step->len > 0)
        send(SUNDOG_MESSAGE_TOKENS, payload);
    for (guint i = 0; i < in_step->len; i++)
        count_token(in_step->pdata[i], now);
}

static int
wait_ms(void)
{
    int64_t next = INT64_MAX;
    for (guint i = 0; i < requests->len; i++)
        next = MIN(next, ((Request *)requests->pdata[i])->next_us);
    if (next == INT64_MAX)
        return -1;
    int64_t left_us = next - g_get_monotonic_time();
    return (int)CLAMP((left_us + 999) / 1000, 0, 1000);
}

/* The loop */

static void
leave(const char *why)
{
    JsonNode *node = script_find("ignore_shutdown");
    if (node && json_node_get_boolean(node))
        script_note("{\"event\":\"ignored\",\"why\":\"%s\"}", why);
    else
        end(why);
}

static void
take_frame(uint32_t type, GVariant *payload)
{
    switch (type) {
    case SUNDOG_MESSAGE_SUBMIT:
        submit_request(payload);
        break;
    case SUNDOG_MESSAGE_CANCEL: {
        uint64_t id;
        g_variant_get(payload, "(t)", &id);
        cancel_request(id);
        break;
    }
    case SUNDOG_MESSAGE_STATISTICS_ASKED:
        statistics.n_running = requests->len;
        send(SUNDOG_MESSAGE_STATISTICS, sundog_statistics_pack(&statistics));
        break;
    case SUNDOG_MESSAGE_VOCABULARY: /* what comes is as scripted */
        break;
    case SUNDOG_MESSAGE_SHUTDOWN:
        leave("shutdown");
        break;
    default:
        g_printerr("scripted-engine: message %u does not go this way\n", type);
        exit(2);
    }
}

/* Reads once and takes all whole frames; false at the end of input. */
static bool
read_frames(SundogFrameDecoder *decoder)
{
    char buffer[65536];
    ssize_t n_read = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n_read <= 0)
        return n_read < 0 && errno == EINTR;
    sundog_frame_decoder_feed(decoder, buffer, (size_t)n_read);
    for (;;) {
        uint32_t type;
        g_autoptr(GVariant) payload = NULL;
        g_autoptr(GError) error = NULL;
        if (!sundog_frame_decoder_next(decoder, &type, &payload, &error)) {
            g_printerr("scripted-engine: %s\n", error->message);
            exit(2);
        }
        if (!payload)
            return true;
        take_frame(type, payload);
    }
}

static void
loop(void)
{
    g_autoptr(SundogFrameDecoder) decoder = sundog_frame_decoder_new();
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    for (;;) {
        poll(&input, 1, wait_ms());
        if (input.fd >= 0 && input.revents && !read_frames(decoder)) {
            input.fd = -1;
            leave("end of input");
        }
        play();
    }
}

static void
note_draft(char **words)
{
    for (; words[0] && words[1]; words++) {
        if (g_str_equal(words[0], "--draft")) {
            g_autofree char *name = g_path_get_basename(words[1]);
            script_note("{\"event\":\"draft\",\"core\":\"%s\"}", name);
        }
    }
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        g_printerr("usage: scripted-engine CORE [ignored …]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    requests = g_ptr_array_new_with_free_func(request_free);
    script_open(argv[1]);
    note_draft(argv);
    JsonNode *ignores = script_find("ignore_shutdown");
    if (ignores && json_node_get_boolean(ignores))
        signal(SIGTERM, SIG_IGN);
    JsonNode *words = script_find("stderr");
    if (words)
        fputs(json_node_get_string(words), stderr); /* g_printerr() would recode it */
    load();
    get_ready();
    loop();
}
