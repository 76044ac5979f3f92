/*
 * Engines. pump() is the heart: it gives a process that is ready the requests that may go to it, and
 * tells the supervisor; everything that happens ends with a call of it.
 */

#include "engine/server/engine.h"

#include "engine/format/json-members.h"
#include "engine/library/fit-file.h"
#include "engine/library/timer.h"
#include "engine/server/engine-private.h"
#include "engine/server/memory-kills.h"

#define DEFAULT_STOP_MS 3000
/* Deaths without a token in between: the first is answered at once, since it is mostly one bad moment. */
#define FIRST_BACKOFF_MS 20
#define MAX_BACKOFF_MS 5000
#define MAX_BACKOFF_AFTER_KILL_MS 100
#define MAX_WEIGHT_IN_LOAD (3 * SUNDOG_DEATH_BY_FAULT)
/* Once it was ready it can be, and what is killed from outside says nothing of the core. */
#define MAX_WEIGHT_OTHERWISE (10 * SUNDOG_DEATH_BY_FAULT)

typedef struct {
    void (*done)(void *data);
    void *data;
} Unload;

static void pump(SundogEngine *engine);
static void start_process(SundogEngine *engine);

void
sundog_engine_say(SundogEngine *engine, const char *level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    engine->calls->log(level, text, engine->calls->data);
}

void
sundog_engine_set_state(SundogEngine *engine, SundogEngineState state)
{
    engine->state = state;
    engine->calls->state_changed(engine, engine->calls->data);
}

/* Requests */

void
sundog_engine_tell_request(SundogEngine *engine, SundogGeneration *generation)
{
    generation->told_us = g_get_monotonic_time();
    engine->calls->request_changed(generation, engine->calls->data);
}

void
sundog_engine_send(SundogEngine *engine, uint32_t type, GVariant *payload)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) owned = g_variant_ref_sink(payload);
    /* A frame that cannot be sent means a process that is ending, which is told by itself. */
    if (!engine->process || !sundog_engine_process_send(engine->process, type, owned, &error))
        sundog_engine_say(engine, "warning", "A frame did not reach the engine: %s",
                          error ? error->message : "it has ended");
}

void
sundog_engine_cancel_in_process(SundogEngine *engine, const SundogGeneration *generation)
{
    if (generation->id && engine->state == SUNDOG_ENGINE_READY)
        sundog_engine_send(engine, SUNDOG_MESSAGE_CANCEL, g_variant_new("(t)", generation->id));
}

static void
count_end(SundogEngine *engine, const SundogGeneration *generation)
{
    SundogEngineCounters *counters = engine->counters;
    SundogGenerationState state = generation->state;
    counters->n_finished += state == SUNDOG_GENERATION_STOP || state == SUNDOG_GENERATION_LENGTH;
    counters->n_cancelled += state == SUNDOG_GENERATION_CANCELLED;
    counters->n_failed += state == SUNDOG_GENERATION_FAILED;
    counters->prefill_us += generation->prefill_us;
    counters->decode_us += generation->decode_us;
}

void
sundog_engine_end_request(SundogEngine *engine, SundogGeneration *generation,
                          SundogGenerationState state, SundogApiError *error)
{
    sundog_generation_ref(generation);
    sundog_generation_end(generation, state, error);
    count_end(engine, generation);
    sundog_request_queue_remove(engine->queue, generation);
    engine->calls->request_ended(generation, engine->calls->data);
    sundog_engine_tell_request(engine, generation);
    sundog_generation_unref(generation);
}

/* The error is taken. */
static void
fail_all(SundogEngine *engine, SundogApiError *error)
{
    g_autoptr(SundogApiError) owned = error;
    g_autoptr(GPtrArray) all = sundog_request_queue_dup_all(engine->queue);
    for (guint i = 0; i < all->len; i++) {
        if (sundog_generation_is_over(all->pdata[i])) /* another choice of one that was failed */
            continue;
        sundog_engine_cancel_in_process(engine, all->pdata[i]);
        sundog_engine_end_request(engine, all->pdata[i], SUNDOG_GENERATION_FAILED,
                                  sundog_api_error_copy(owned));
    }
}

/* The process may have less room than the core was made for. */
static bool
fits(SundogEngine *engine, SundogGeneration *generation)
{
    uint32_t n_prompt = generation->prompt->len;
    uint32_t context = engine->ready.context_length;
    bool only_prompt = generation->submit.max_tokens == 0;
    if (n_prompt < context + only_prompt) {
        generation->submit.max_tokens = MIN(generation->submit.max_tokens, context - n_prompt);
        return true;
    }
    g_autofree char *prompt_text = g_strdup_printf("%u", n_prompt);
    g_autofree char *context_text = g_strdup_printf("%u", context);
    sundog_engine_end_request(engine, generation, SUNDOG_GENERATION_FAILED,
                              sundog_api_error_new(SUNDOG_API_ERROR_CONTEXT_LENGTH, "messages",
                                                   prompt_text, context_text, NULL));
    return false;
}

/* A process may die between an answer's last token and its word that this was the last. */
static bool
is_complete(SundogEngine *engine, SundogGeneration *generation)
{
    if (generation->produced->len == 0 || generation->produced->len < generation->submit.max_tokens)
        return false;
    sundog_engine_end_request(engine, generation, SUNDOG_GENERATION_LENGTH, NULL);
    return true;
}

static void
submit_to_process(SundogEngine *engine, SundogGeneration *generation)
{
    if (!fits(engine, generation) || is_complete(engine, generation))
        return;
    uint64_t id = sundog_request_queue_start(engine->queue, generation);
    if (generation->automaton && !engine->has_vocabulary) {
        engine->has_vocabulary = true;
        sundog_engine_send(engine, SUNDOG_MESSAGE_VOCABULARY,
                           sundog_core_text_get_vocabulary(generation->core));
    }
    sundog_engine_send(engine,
                       generation->wants_result ? SUNDOG_MESSAGE_EMBED : SUNDOG_MESSAGE_SUBMIT,
                       sundog_generation_pack(generation, id));
    if (generation->calls.progress && !generation->produced->len)
        generation->calls.progress(generation, "queue", 0, generation->data);
}

static SundogGeneration *
get_next(SundogEngine *engine)
{
    if (engine->state != SUNDOG_ENGINE_READY)
        return NULL;
    SundogGeneration *next = sundog_request_queue_peek(engine->queue);
    bool waits = next && engine->yield_us && next->submitted_us >= engine->yield_us;
    return waits ? NULL : next;
}

static void
pump(SundogEngine *engine)
{
    SundogGeneration *next;
    while ((next = get_next(engine)))
        submit_to_process(engine, next);
    if (engine->state != SUNDOG_ENGINE_READY ||
        sundog_request_queue_get_n_running(engine->queue) == 0)
        engine->calls->settled(engine, engine->calls->data);
}

void
sundog_engine_submit(SundogEngine *engine, SundogGeneration *generation)
{
    engine->counters->n_requests++;
    engine->counters->n_prompt_tokens += generation->prompt->len;
    engine->used_us = g_get_monotonic_time();
    sundog_engine_keep(engine, -1);
    sundog_request_queue_push(engine->queue, generation);
    sundog_engine_tell_request(engine, generation);
    pump(engine);
}

void
sundog_engine_abandon(SundogEngine *engine, SundogGeneration *generation)
{
    sundog_engine_cancel_in_process(engine, generation);
    sundog_generation_abandon(generation);
    sundog_engine_end_request(engine, generation, SUNDOG_GENERATION_CANCELLED, NULL);
    pump(engine);
}

void
sundog_engine_cancel(SundogEngine *engine, SundogGeneration *generation)
{
    sundog_engine_cancel_in_process(engine, generation);
    sundog_engine_end_request(engine, generation, SUNDOG_GENERATION_CANCELLED, NULL);
    pump(engine);
}

/* The end of the process */

static void
finish_unload(SundogEngine *engine)
{
    g_autoptr(GArray) unloads = g_steal_pointer(&engine->unloads);
    engine->unloads = g_array_new(false, false, sizeof(Unload));
    g_clear_pointer(&engine->message, g_free);
    sundog_engine_set_state(engine, SUNDOG_ENGINE_NONE);
    for (guint i = 0; i < unloads->len; i++) {
        const Unload *unload = &g_array_index(unloads, Unload, i);
        if (unload->done)
            unload->done(unload->data);
    }
}

void
sundog_engine_refuse(SundogEngine *engine, SundogApiError *reason)
{
    g_free(engine->message);
    engine->message = g_strdup(reason->text);
    engine->failed_at = g_get_monotonic_time();
    engine->death_weight = 0;
    engine->wanted_us = 0;
    sundog_engine_say(engine, "error", "The core %s cannot be loaded: %s", engine->core->name,
                      engine->message);
    sundog_engine_set_state(engine, SUNDOG_ENGINE_FAILED);
    fail_all(engine, reason);
}

static void
fail_to_load(SundogEngine *engine, const char *text)
{
    g_autofree char *message = g_strdup(engine->message ? engine->message : text);
    sundog_engine_refuse(engine,
                         sundog_api_error_new(SUNDOG_API_ERROR_ENGINE_FAILED, NULL, message, NULL));
}

static gboolean
on_backoff_over(void *data)
{
    SundogEngine *engine = data;
    engine->backoff_timer = 0;
    start_process(engine);
    return G_SOURCE_REMOVE;
}

static void
restart_later(SundogEngine *engine, SundogDeathWeight weight)
{
    unsigned n_deaths = engine->death_weight / weight, ms = FIRST_BACKOFF_MS;
    unsigned most = weight == SUNDOG_DEATH_BY_KILL ? MAX_BACKOFF_AFTER_KILL_MS : MAX_BACKOFF_MS;
    for (unsigned i = 1; i < n_deaths && ms < most; i++)
        ms *= 4;
    engine->counters->n_restarts++;
    sundog_engine_set_state(engine, SUNDOG_ENGINE_RESTARTING);
    sundog_timer_start(&engine->backoff_timer, MIN(ms, most), on_backoff_over, engine);
}

static void
give_up_poison(SundogEngine *engine, SundogDeathWeight weight, const char *reason)
{
    g_autoptr(GPtrArray) given_up = sundog_request_queue_put_back(engine->queue, weight);
    for (guint i = 0; i < given_up->len; i++) {
        SundogGeneration *generation = given_up->pdata[i];
        if (sundog_generation_is_over(generation))
            continue;
        sundog_engine_say(engine, "error", "The request %s is given up: the engine ended with it",
                          generation->name);
        sundog_engine_end_request(
            engine, generation, SUNDOG_GENERATION_FAILED,
            sundog_api_error_new(SUNDOG_API_ERROR_POISON, NULL, generation->name, reason, NULL));
    }
}

/* It said why it cannot load: once, others may make room for it. */
static void
on_load_failed(SundogEngine *engine, const char *text)
{
    bool has_room = !engine->had_room_made && engine->calls->make_room(engine, engine->calls->data);
    engine->had_room_made = true;
    if (!has_room) {
        fail_to_load(engine, text);
        return;
    }
    engine->death_weight = 0;
    if (!engine->wanted_us)
        engine->wanted_us = g_get_monotonic_time();
    sundog_engine_set_state(engine, SUNDOG_ENGINE_NONE);
}

/* What the kernel kills for want of memory, it may kill for what was asked of it. */
static SundogDeathWeight
weigh(const SundogEngine *engine, const SundogEngineEnd *end)
{
    bool lacked_memory = sundog_memory_kills_count(NULL) > engine->n_memory_kills;
    return end->is_killed && !lacked_memory ? SUNDOG_DEATH_BY_KILL : SUNDOG_DEATH_BY_FAULT;
}

static void
on_death(SundogEngine *engine, const SundogEngineEnd *end)
{
    SundogDeathWeight weight = weigh(engine, end);
    sundog_engine_say(engine, "error", "%s", end->text);
    engine->death_weight += weight;
    give_up_poison(engine, weight, end->text);
    bool is_own_fault = !engine->was_ready && !end->is_killed;
    unsigned max_weight = is_own_fault ? MAX_WEIGHT_IN_LOAD : MAX_WEIGHT_OTHERWISE;
    if (!engine->was_ready && engine->message)
        on_load_failed(engine, end->text);
    else if (engine->death_weight >= max_weight)
        fail_to_load(engine, end->text);
    else
        restart_later(engine, weight);
}

static void
on_ended(SundogEngineProcess *process, const SundogEngineEnd *end, void *data)
{
    SundogEngine *engine = data;
    g_clear_pointer(&engine->process, sundog_engine_process_free);
    engine->statistics = (SundogStatistics){0};
    engine->ready = (SundogReady){0};
    if (engine->unloads->len > 0)
        finish_unload(engine);
    else if (engine->state == SUNDOG_ENGINE_STOPPING)
        sundog_engine_set_state(engine, SUNDOG_ENGINE_NONE);
    else
        on_death(engine, end);
    pump(engine);
}

static void
stop_process(SundogEngine *engine)
{
    sundog_engine_set_state(engine, SUNDOG_ENGINE_STOPPING);
    sundog_engine_process_stop(engine->process, true);
}

void
sundog_engine_evict(SundogEngine *engine)
{
    g_return_if_fail(engine->process && sundog_request_queue_get_n_running(engine->queue) == 0);
    engine->wanted_us = 0;
    stop_process(engine);
}

void
sundog_engine_yield(SundogEngine *engine, int64_t before_us)
{
    bool goes_on = engine->yield_us && !before_us;
    engine->yield_us = before_us;
    if (goes_on)
        pump(engine);
}

void
sundog_engine_unload(SundogEngine *engine, SundogApiError *reason, void (*done)(void *data),
                     void *data)
{
    Unload unload = {done, data};
    g_array_append_val(engine->unloads, unload);
    engine->wanted_us = 0;
    sundog_timer_stop(&engine->backoff_timer);
    sundog_timer_stop(&engine->keep_timer);
    fail_all(engine, reason);
    if (engine->process)
        stop_process(engine);
    else
        finish_unload(engine);
}

/* Starting */

static void
on_frame(SundogEngineProcess *process, uint32_t type, GVariant *payload, void *data)
{
    SundogEngine *engine = data;
    /* One that is being ended has nothing to tell any more: its requests are over. */
    if (engine->state == SUNDOG_ENGINE_STOPPING)
        return;
    sundog_engine_take_frame(engine, type, payload);
    pump(engine);
}

static void
on_log(SundogEngineProcess *process, const char *line, void *data)
{
    sundog_engine_say(data, "info", "Engine: %s", line);
}

static void
add_number(GPtrArray *arguments, const char *option, uint64_t value)
{
    if (!value)
        return;
    g_ptr_array_add(arguments, g_strdup(option));
    g_ptr_array_add(arguments, g_strdup_printf("%" G_GUINT64_FORMAT, value));
}

static GPtrArray *
make_arguments(const SundogEngine *engine)
{
    const SundogEngineSettings *settings = engine->settings;
    GPtrArray *arguments = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(arguments, g_strdup(engine->core->path));
    g_ptr_array_add(arguments, g_strdup("--keys"));
    g_ptr_array_add(arguments, g_strdup(settings->keys));
    add_number(arguments, "--threads", settings->n_threads);
    add_number(arguments, "--context", settings->context_length);
    add_number(arguments, "--cache-bytes", settings->cache_bytes);
    add_number(arguments, "--memory-bytes", engine->granted_bytes);
    if (settings->record_bytes) {
        g_ptr_array_add(arguments, g_strdup("--records"));
        g_ptr_array_add(arguments, g_strdup(settings->records));
        add_number(arguments, "--record-bytes", settings->record_bytes);
    }
    add_number(arguments, "--gap-ms", settings->gap_ms);
    if (engine->core->draft) {
        g_ptr_array_add(arguments, g_strdup("--draft"));
        g_ptr_array_add(arguments, g_strdup(engine->core->draft->path));
    }
    g_auto(GStrv) fitted = sundog_fit_file_dup_arguments(
        engine->core->name, sundog_json_get_string(engine->core->manifest, "created", NULL));
    for (char **word = fitted; *word; word++)
        g_ptr_array_add(arguments, g_strdup(*word));
    g_ptr_array_add(arguments, NULL);
    return arguments;
}

static void
start_process(SundogEngine *engine)
{
    g_autoptr(GPtrArray) arguments = make_arguments(engine);
    g_clear_pointer(&engine->message, g_free);
    g_clear_pointer(&engine->phase, g_free);
    engine->progress = 0;
    engine->yield_us = 0;
    engine->was_ready = false;
    engine->has_vocabulary = false;
    engine->n_memory_kills = sundog_memory_kills_count(NULL);
    sundog_engine_set_state(engine, SUNDOG_ENGINE_STARTING);
    g_autoptr(GError) error = NULL;
    engine->process = sundog_engine_process_start(
        &(SundogEngineProcessOptions){
            .program = engine->settings->program,
            .arguments = (const char *const *)arguments->pdata,
            .stop_ms = engine->settings->stop_ms ? engine->settings->stop_ms : DEFAULT_STOP_MS,
            .frame = on_frame,
            .log = on_log,
            .ended = on_ended,
            .data = engine},
        &error);
    if (!engine->process)
        fail_to_load(engine, error->message);
}

void
sundog_engine_start(SundogEngine *engine, uint64_t needed_bytes, uint64_t granted_bytes)
{
    g_return_if_fail(!engine->process && !engine->backoff_timer);
    engine->needed_bytes = needed_bytes;
    engine->granted_bytes = granted_bytes;
    engine->death_weight = 0;
    engine->failed_at = 0;
    engine->used_us = g_get_monotonic_time();
    start_process(engine);
}

SundogEngine *
sundog_engine_new(SundogCoreText *core, const SundogEngineSettings *settings,
                  const SundogEngineCalls *calls, SundogEngineCounters *counters)
{
    SundogEngine *engine = g_new0(SundogEngine, 1);
    engine->core = sundog_core_text_ref(core);
    engine->settings = settings;
    engine->calls = calls;
    engine->counters = counters;
    engine->queue = sundog_request_queue_new();
    engine->unloads = g_array_new(false, false, sizeof(Unload));
    engine->used_us = g_get_monotonic_time();
    return engine;
}

void
sundog_engine_free(SundogEngine *engine)
{
    if (!engine)
        return;
    sundog_timer_stop(&engine->backoff_timer);
    sundog_timer_stop(&engine->keep_timer);
    sundog_engine_process_free(engine->process);
    g_autoptr(GPtrArray) all = sundog_request_queue_dup_all(engine->queue);
    for (guint i = 0; i < all->len; i++)
        sundog_generation_abandon(all->pdata[i]);
    sundog_request_queue_free(engine->queue);
    sundog_core_text_unref(engine->core);
    g_array_unref(engine->unloads);
    g_free(engine->phase);
    g_free(engine->message);
    g_free(engine);
}
