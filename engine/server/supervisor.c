/*
 * The supervisor. pump() is its heart: with what is known now, it starts or changes the engine, or gives
 * it the next request; everything that happens ends with a call of it.
 */

#include "engine/server/supervisor.h"

#include "engine/library/timer.h"
#include "engine/server/supervisor-private.h"
#include <string.h>

#define DEFAULT_STOP_MS 3000
/* Deaths without a token in between: the first is answered at once, since it is mostly one bad moment. */
#define FIRST_BACKOFF_MS 20
#define MAX_BACKOFF_MS 5000
#define MAX_DEATHS_IN_LOAD 3
#define MAX_DEATHS_IDLE 6
/* A core that could not be loaded is not tried again for every request that comes. */
#define RETRY_US (10 * G_TIME_SPAN_SECOND)
#define STATISTICS_US (200 * G_TIME_SPAN_MILLISECOND)

static void pump(SundogSupervisor *supervisor);

void
sundog_supervisor_say(SundogSupervisor *supervisor, const char *level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (supervisor->options.log)
        supervisor->options.log(level, text, supervisor->options.data);
}

void
sundog_supervisor_set_state(SundogSupervisor *supervisor, SundogEngineState state)
{
    supervisor->state = state;
    if (supervisor->options.changed)
        supervisor->options.changed(supervisor->options.data);
}

void
sundog_supervisor_tell_request(SundogSupervisor *supervisor, SundogGeneration *generation)
{
    generation->told_us = g_get_monotonic_time();
    if (supervisor->options.request_changed)
        supervisor->options.request_changed(generation, supervisor->options.data);
}

void
sundog_supervisor_send(SundogSupervisor *supervisor, uint32_t type, GVariant *payload)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) owned = g_variant_ref_sink(payload);
    /* A frame that cannot be sent means an engine that is ending, which is told by itself. */
    if (!supervisor->process ||
        !sundog_engine_process_send(supervisor->process, type, owned, &error))
        sundog_supervisor_say(supervisor, "warning", "A frame did not reach the engine: %s",
                              error ? error->message : "it has ended");
}

void
sundog_supervisor_cancel_in_engine(SundogSupervisor *supervisor, const SundogGeneration *generation)
{
    if (generation->id && supervisor->state == SUNDOG_ENGINE_READY)
        sundog_supervisor_send(supervisor, SUNDOG_MESSAGE_CANCEL,
                               g_variant_new("(t)", generation->id));
}

static void
count_end(SundogSupervisor *supervisor, const SundogGeneration *generation,
          SundogGenerationState state)
{
    SundogSupervisorCounters *counters = &supervisor->counters;
    counters->n_finished += state == SUNDOG_GENERATION_STOP || state == SUNDOG_GENERATION_LENGTH;
    counters->n_cancelled += state == SUNDOG_GENERATION_CANCELLED;
    counters->n_failed += state == SUNDOG_GENERATION_FAILED;
    counters->prefill_us += generation->prefill_us;
    counters->decode_us += generation->decode_us;
}

/* Ends it for its user, then takes it out, so that its last state is what is remembered. */
void
sundog_supervisor_end_request(SundogSupervisor *supervisor, SundogGeneration *generation,
                              SundogGenerationState state, SundogApiError *error)
{
    sundog_generation_ref(generation);
    sundog_generation_end(generation, state, error);
    count_end(supervisor, generation, generation->state);
    sundog_request_queue_remove(supervisor->queue, generation);
    sundog_supervisor_tell_request(supervisor, generation);
    sundog_generation_unref(generation);
}

static void
fail_all(SundogSupervisor *supervisor, SundogApiErrorCode code, const char *text)
{
    g_autoptr(GPtrArray) all = sundog_request_queue_dup_all(supervisor->queue);
    for (guint i = 0; i < all->len; i++)
        sundog_supervisor_end_request(supervisor, all->pdata[i], SUNDOG_GENERATION_FAILED,
                                      sundog_api_error_new(code, NULL, text, NULL));
}

static void
on_frame(SundogEngineProcess *process, uint32_t type, GVariant *payload, void *data)
{
    SundogSupervisor *supervisor = data;
    /* One that is being ended has nothing to tell any more: its requests are over. */
    if (supervisor->state == SUNDOG_ENGINE_STOPPING)
        return;
    sundog_supervisor_take_frame(supervisor, type, payload);
    pump(supervisor);
}

static void
on_log(SundogEngineProcess *process, const char *line, void *data)
{
    sundog_supervisor_say(data, "info", "Engine: %s", line);
}

/* The end of the engine */

static void
finish_unload(SundogSupervisor *supervisor)
{
    supervisor->is_unloading = false;
    g_clear_pointer(&supervisor->core, sundog_core_text_unref);
    sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_NONE);
    void (*unloaded)(void *data) = g_steal_pointer(&supervisor->unloaded);
    if (unloaded)
        unloaded(supervisor->unloaded_data);
}

static void
fail_core(SundogSupervisor *supervisor, const char *text)
{
    if (!supervisor->message)
        supervisor->message = g_strdup(text);
    supervisor->failed_at = g_get_monotonic_time();
    supervisor->n_deaths_in_row = 0;
    sundog_supervisor_say(supervisor, "error", "The core %s cannot be loaded: %s",
                          supervisor->core->name, supervisor->message);
    sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_FAILED);
    g_autofree char *message = g_strdup(supervisor->message);
    fail_all(supervisor, SUNDOG_API_ERROR_ENGINE_FAILED, message);
}

static gboolean
on_backoff_over(void *data)
{
    SundogSupervisor *supervisor = data;
    supervisor->backoff_timer = 0;
    sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_NONE);
    pump(supervisor);
    return G_SOURCE_REMOVE;
}

static void
restart_later(SundogSupervisor *supervisor)
{
    unsigned ms = FIRST_BACKOFF_MS;
    for (unsigned i = 1; i < supervisor->n_deaths_in_row && ms < MAX_BACKOFF_MS; i++)
        ms *= 4;
    supervisor->counters.n_restarts++;
    sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_RESTARTING);
    sundog_timer_start(&supervisor->backoff_timer, MIN(ms, MAX_BACKOFF_MS), on_backoff_over,
                       supervisor);
}

static void
give_up_poison(SundogSupervisor *supervisor, const char *reason)
{
    g_autoptr(GPtrArray) given_up = sundog_request_queue_put_back(supervisor->queue);
    for (guint i = 0; i < given_up->len; i++) {
        SundogGeneration *generation = given_up->pdata[i];
        sundog_supervisor_say(supervisor, "error",
                              "The request %s is given up: the engine ended with it", //
                              generation->name);
        sundog_supervisor_end_request(
            supervisor, generation, SUNDOG_GENERATION_FAILED,
            sundog_api_error_new(SUNDOG_API_ERROR_POISON, NULL, generation->name, reason, NULL));
    }
}

static void
on_death(SundogSupervisor *supervisor, const SundogEngineEnd *end)
{
    sundog_supervisor_say(supervisor, "error", "%s", end->text);
    supervisor->n_deaths_in_row++;
    give_up_poison(supervisor, end->text);
    bool load_failed = !supervisor->was_ready && supervisor->message;
    unsigned max_deaths = supervisor->was_ready ? MAX_DEATHS_IDLE : MAX_DEATHS_IN_LOAD;
    if (load_failed || supervisor->n_deaths_in_row >= max_deaths)
        fail_core(supervisor, end->text);
    else
        restart_later(supervisor);
}

static void
on_ended(SundogEngineProcess *process, const SundogEngineEnd *end, void *data)
{
    SundogSupervisor *supervisor = data;
    g_clear_pointer(&supervisor->process, sundog_engine_process_free);
    supervisor->statistics = (SundogStatistics){0};
    supervisor->ready = (SundogReady){0};
    if (supervisor->is_unloading)
        finish_unload(supervisor);
    else if (supervisor->state == SUNDOG_ENGINE_STOPPING)
        sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_NONE);
    else
        on_death(supervisor, end);
    pump(supervisor);
}

/* Starting, changing */

static void
add_number(GPtrArray *arguments, const char *option, uint64_t value)
{
    if (!value)
        return;
    g_ptr_array_add(arguments, g_strdup(option));
    g_ptr_array_add(arguments, g_strdup_printf("%" G_GUINT64_FORMAT, value));
}

static void
start_engine(SundogSupervisor *supervisor)
{
    g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(arguments, g_strdup(supervisor->core->path));
    g_ptr_array_add(arguments, g_strdup("--keys"));
    g_ptr_array_add(arguments, g_strdup(supervisor->keys));
    add_number(arguments, "--threads", supervisor->options.n_threads);
    add_number(arguments, "--context", supervisor->options.context_length);
    add_number(arguments, "--cache-bytes", supervisor->options.cache_bytes);
    if (supervisor->options.record_bytes) {
        g_ptr_array_add(arguments, g_strdup("--records"));
        g_ptr_array_add(arguments, g_strdup(supervisor->options.records));
        add_number(arguments, "--record-bytes", supervisor->options.record_bytes);
    }
    add_number(arguments, "--gap-ms", supervisor->options.gap_ms);
    g_ptr_array_add(arguments, NULL);
    g_clear_pointer(&supervisor->message, g_free);
    g_clear_pointer(&supervisor->phase, g_free);
    supervisor->progress = 0;
    supervisor->was_ready = false;
    supervisor->has_vocabulary = false;
    sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_STARTING);
    g_autoptr(GError) error = NULL;
    supervisor->process = sundog_engine_process_start(
        &(SundogEngineProcessOptions){.program = supervisor->program,
                                      .arguments = (const char *const *)arguments->pdata,
                                      .stop_ms = supervisor->options.stop_ms,
                                      .frame = on_frame,
                                      .log = on_log,
                                      .ended = on_ended,
                                      .data = supervisor},
        &error);
    if (!supervisor->process)
        fail_core(supervisor, error->message);
}

static void
change_core(SundogSupervisor *supervisor, SundogCoreText *core)
{
    sundog_core_text_ref(core);
    g_clear_pointer(&supervisor->core, sundog_core_text_unref);
    supervisor->core = core;
    supervisor->n_deaths_in_row = 0;
    supervisor->failed_at = 0;
    if (supervisor->process) {
        sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_STOPPING);
        sundog_engine_process_stop(supervisor->process, true);
    } else if (!supervisor->backoff_timer) {
        start_engine(supervisor);
    }
}

/* The engine may have less room than the core was made for. */
static bool
fits(SundogSupervisor *supervisor, SundogGeneration *generation)
{
    uint32_t n_prompt = generation->prompt->len;
    uint32_t context = supervisor->ready.context_length;
    if (n_prompt < context) {
        generation->submit.max_tokens = MIN(generation->submit.max_tokens, context - n_prompt);
        return true;
    }
    g_autofree char *prompt_text = g_strdup_printf("%u", n_prompt);
    g_autofree char *context_text = g_strdup_printf("%u", context);
    sundog_supervisor_end_request(supervisor, generation, SUNDOG_GENERATION_FAILED,
                                  sundog_api_error_new(SUNDOG_API_ERROR_CONTEXT_LENGTH, "messages",
                                                       prompt_text, context_text, NULL));
    return false;
}

static void
submit_next(SundogSupervisor *supervisor, SundogGeneration *generation)
{
    if (!fits(supervisor, generation))
        return;
    uint64_t id = sundog_request_queue_start(supervisor->queue, generation);
    if (generation->automaton && !supervisor->has_vocabulary) {
        supervisor->has_vocabulary = true;
        sundog_supervisor_send(supervisor, SUNDOG_MESSAGE_VOCABULARY,
                               sundog_core_text_get_vocabulary(generation->core));
    }
    sundog_supervisor_send(supervisor, SUNDOG_MESSAGE_SUBMIT,
                           sundog_generation_pack(generation, id));
    if (generation->calls.progress && !generation->produced->len)
        generation->calls.progress(generation, "queue", 0, generation->data);
}

static bool
is_same_core(const SundogCoreText *a, const SundogCoreText *b)
{
    return a && b && (a == b || strcmp(a->path, b->path) == 0);
}

/* False where nothing can be done until something happens. */
static bool
pump_once(SundogSupervisor *supervisor)
{
    bool is_idle = sundog_request_queue_get_n_running(supervisor->queue) == 0;
    if (supervisor->next_core) {
        if (!is_idle)
            return false;
        g_autoptr(SundogCoreText) core = g_steal_pointer(&supervisor->next_core);
        change_core(supervisor, core);
        return true;
    }
    SundogGeneration *next = sundog_request_queue_peek(supervisor->queue);
    if (!supervisor->process) {
        SundogCoreText *core = next ? next->core : supervisor->core;
        bool is_failed = supervisor->state == SUNDOG_ENGINE_FAILED;
        if (!core || (is_failed && !next))
            return false;
        /* After a death it is the same core again, whose deaths are counted on. */
        if (is_same_core(supervisor->core, core))
            start_engine(supervisor);
        else
            change_core(supervisor, core);
        return false;
    }
    if (!next)
        return false;
    if (!is_same_core(supervisor->core, next->core)) {
        if (is_idle)
            change_core(supervisor, next->core);
        return false;
    }
    if (supervisor->state != SUNDOG_ENGINE_READY)
        return false;
    submit_next(supervisor, next);
    return true;
}

static void
pump(SundogSupervisor *supervisor)
{
    while (!supervisor->is_unloading && supervisor->state != SUNDOG_ENGINE_STOPPING &&
           !supervisor->backoff_timer && pump_once(supervisor)) {
    }
}

/* Public */

SundogSupervisor *
sundog_supervisor_new(const SundogSupervisorOptions *options)
{
    SundogSupervisor *supervisor = g_new0(SundogSupervisor, 1);
    supervisor->options = *options;
    supervisor->program = g_strdup(options->program);
    supervisor->keys = g_strdup(options->keys);
    supervisor->queue = sundog_request_queue_new();
    if (!supervisor->options.stop_ms)
        supervisor->options.stop_ms = DEFAULT_STOP_MS;
    return supervisor;
}

void
sundog_supervisor_free(SundogSupervisor *supervisor)
{
    if (!supervisor)
        return;
    sundog_timer_stop(&supervisor->backoff_timer);
    sundog_engine_process_free(supervisor->process);
    g_autoptr(GPtrArray) all = sundog_request_queue_dup_all(supervisor->queue);
    for (guint i = 0; i < all->len; i++)
        sundog_generation_abandon(all->pdata[i]);
    sundog_request_queue_free(supervisor->queue);
    sundog_core_text_unref(supervisor->core);
    sundog_core_text_unref(supervisor->next_core);
    g_free(supervisor->program);
    g_free(supervisor->keys);
    g_free(supervisor->phase);
    g_free(supervisor->message);
    g_free(supervisor);
}

static bool
has_failed_lately(const SundogSupervisor *supervisor, const SundogCoreText *core)
{
    return supervisor->state == SUNDOG_ENGINE_FAILED && is_same_core(supervisor->core, core) &&
           g_get_monotonic_time() - supervisor->failed_at < RETRY_US;
}

SundogApiError *
sundog_supervisor_check(SundogSupervisor *supervisor, const SundogCoreText *core)
{
    SundogRequestQueue *queue = supervisor->queue;
    guint n_open =
        sundog_request_queue_get_n_waiting(queue) + sundog_request_queue_get_n_running(queue);
    if (has_failed_lately(supervisor, core))
        return sundog_api_error_new(SUNDOG_API_ERROR_ENGINE_FAILED, NULL, supervisor->message,
                                    NULL);
    if (n_open < SUNDOG_REQUEST_QUEUE_LENGTH + supervisor->ready.max_sequences)
        return NULL;
    g_autofree char *n_text = g_strdup_printf("%u", n_open);
    return sundog_api_error_new(SUNDOG_API_ERROR_QUEUE_FULL, NULL, n_text, NULL);
}

void
sundog_supervisor_submit(SundogSupervisor *supervisor, SundogGeneration *generation)
{
    supervisor->counters.n_requests++;
    supervisor->counters.n_prompt_tokens += generation->prompt->len;
    sundog_request_queue_push(supervisor->queue, generation);
    sundog_supervisor_tell_request(supervisor, generation);
    pump(supervisor);
}

void
sundog_supervisor_abandon(SundogSupervisor *supervisor, SundogGeneration *generation)
{
    if (sundog_generation_is_over(generation))
        return;
    sundog_supervisor_cancel_in_engine(supervisor, generation);
    sundog_generation_abandon(generation);
    sundog_supervisor_end_request(supervisor, generation, SUNDOG_GENERATION_CANCELLED, NULL);
    pump(supervisor);
}

bool
sundog_supervisor_cancel(SundogSupervisor *supervisor, const char *name)
{
    SundogGeneration *generation = sundog_request_queue_find_name(supervisor->queue, name);
    if (!generation)
        return false;
    sundog_supervisor_cancel_in_engine(supervisor, generation);
    sundog_supervisor_end_request(supervisor, generation, SUNDOG_GENERATION_CANCELLED, NULL);
    pump(supervisor);
    return true;
}

void
sundog_supervisor_load(SundogSupervisor *supervisor, SundogCoreText *core)
{
    bool is_there = is_same_core(supervisor->core, core) && supervisor->process;
    if (is_there && !supervisor->next_core)
        return;
    sundog_core_text_ref(core);
    g_clear_pointer(&supervisor->next_core, sundog_core_text_unref);
    supervisor->next_core = core;
    pump(supervisor);
}

void
sundog_supervisor_unload(SundogSupervisor *supervisor, SundogApiError *reason,
                         void (*done)(void *data), void *data)
{
    g_autoptr(SundogApiError) owned = reason;
    supervisor->is_unloading = true;
    supervisor->unloaded = done;
    supervisor->unloaded_data = data;
    g_clear_pointer(&supervisor->next_core, sundog_core_text_unref);
    sundog_timer_stop(&supervisor->backoff_timer);
    g_autoptr(GPtrArray) all = sundog_request_queue_dup_all(supervisor->queue);
    for (guint i = 0; i < all->len; i++) {
        sundog_supervisor_cancel_in_engine(supervisor, all->pdata[i]);
        sundog_supervisor_end_request(
            supervisor, all->pdata[i], SUNDOG_GENERATION_FAILED,
            sundog_api_error_new(SUNDOG_API_ERROR_CONFLICT, NULL, owned->text, NULL));
    }
    if (supervisor->process) {
        sundog_supervisor_set_state(supervisor, SUNDOG_ENGINE_STOPPING);
        sundog_engine_process_stop(supervisor->process, true);
    } else {
        finish_unload(supervisor);
    }
}

SundogEngineState
sundog_supervisor_get_state(const SundogSupervisor *supervisor)
{
    return supervisor->state;
}

const char *
sundog_supervisor_get_message(const SundogSupervisor *supervisor)
{
    return supervisor->message;
}

double
sundog_supervisor_get_progress(const SundogSupervisor *supervisor, const char **phase)
{
    *phase = supervisor->phase ? supervisor->phase : "start";
    return supervisor->progress;
}

SundogCoreText *
sundog_supervisor_get_core(const SundogSupervisor *supervisor)
{
    return supervisor->next_core ? supervisor->next_core : supervisor->core;
}

const SundogReady *
sundog_supervisor_get_ready(const SundogSupervisor *supervisor)
{
    return supervisor->state == SUNDOG_ENGINE_READY ? &supervisor->ready : NULL;
}

const SundogSupervisorCounters *
sundog_supervisor_get_counters(const SundogSupervisor *supervisor)
{
    return &supervisor->counters;
}

const SundogStatistics *
sundog_supervisor_get_statistics(SundogSupervisor *supervisor)
{
    int64_t now = g_get_monotonic_time();
    if (supervisor->state == SUNDOG_ENGINE_READY &&
        now - supervisor->statistics_asked_at >= STATISTICS_US) {
        supervisor->statistics_asked_at = now;
        sundog_supervisor_send(supervisor, SUNDOG_MESSAGE_STATISTICS_ASKED, g_variant_new("()"));
    }
    return &supervisor->statistics;
}

SundogRequestQueue *
sundog_supervisor_get_queue(SundogSupervisor *supervisor)
{
    return supervisor->queue;
}

const char *
sundog_engine_state_text(SundogEngineState state)
{
    static const char *const texts[] = {"none",       "starting", "loading", "ready",
                                        "restarting", "failed",   "stopping"};
    return texts[state];
}

static void
set_text(JsonObject *object, const char *key, const char *text)
{
    if (text)
        json_object_set_string_member(object, key, text);
    else
        json_object_set_null_member(object, key);
}

JsonObject *
sundog_supervisor_describe(const SundogSupervisor *supervisor)
{
    SundogCoreText *core = sundog_supervisor_get_core(supervisor);
    const SundogReady *ready = sundog_supervisor_get_ready(supervisor);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "state", sundog_engine_state_text(supervisor->state));
    set_text(object, "core", core ? core->name : NULL);
    set_text(object, "phase", supervisor->phase);
    json_object_set_double_member(object, "progress", supervisor->progress);
    set_text(object, "message", supervisor->message);
    json_object_set_int_member(object, "context_length",
                               ready  ? ready->context_length
                               : core ? core->context_length
                                      : 0);
    json_object_set_int_member(object, "memory_bytes", ready ? (gint64)ready->memory_bytes : 0);
    json_object_set_int_member(object, "restarts", (gint64)supervisor->counters.n_restarts);
    return object;
}
