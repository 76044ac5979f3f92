/* What the process tells of itself and its requests. */

#include "engine/server/engine-private.h"

/* How often a request that decodes is published. */
#define TELL_US (250 * G_TIME_SPAN_MILLISECOND)

static void
tell_waiting(SundogEngine *engine, const char *phase, double fraction)
{
    g_autoptr(GPtrArray) all = sundog_request_queue_dup_all(engine->queue);
    for (guint i = 0; i < all->len; i++) {
        SundogGeneration *generation = all->pdata[i];
        if (!generation->id && generation->calls.progress)
            generation->calls.progress(generation, phase, fraction, generation->data);
    }
}

static void
take_progress(SundogEngine *engine, GVariant *payload)
{
    g_free(engine->phase);
    g_variant_get(payload, "(sd)", &engine->phase, &engine->progress);
    tell_waiting(engine, "load", engine->progress);
    sundog_engine_set_state(engine, SUNDOG_ENGINE_LOADING);
}

static void
take_ready(SundogEngine *engine, GVariant *payload)
{
    g_autoptr(GError) error = NULL;
    if (!sundog_ready_unpack(payload, &engine->ready, &error)) {
        sundog_engine_say(engine, "error",
                          "The engine is ready in a way that is not understood: %s",
                          error->message);
        sundog_engine_process_stop(engine->process, true);
        return;
    }
    engine->was_ready = true;
    engine->had_room_made = false;
    engine->wanted_us = 0;
    engine->progress = 1;
    g_clear_pointer(&engine->message, g_free);
    sundog_engine_say(engine, "info", "The core %s is loaded on %s", engine->core->name,
                      engine->ready.device);
    sundog_engine_set_state(engine, SUNDOG_ENGINE_READY);
}

static void
take_admitted(SundogEngine *engine, GVariant *payload)
{
    uint64_t id;
    g_variant_get(payload, "(t)", &id);
    SundogGeneration *generation = sundog_request_queue_find(engine->queue, id);
    if (!generation)
        return;
    generation->was_in_step = true;
    if (generation->state == SUNDOG_GENERATION_QUEUED)
        generation->state = SUNDOG_GENERATION_PREFILL;
    sundog_engine_tell_request(engine, generation);
}

static void
take_prefill(SundogEngine *engine, GVariant *payload)
{
    uint64_t id;
    uint32_t n_done, n_prompt, n_cached;
    g_variant_get(payload, "(tuuu)", &id, &n_done, &n_prompt, &n_cached);
    SundogGeneration *generation = sundog_request_queue_find(engine->queue, id);
    if (!generation)
        return;
    generation->n_prefilled = n_done;
    /* A resubmitted request finds its own earlier pages: only the first time tells of reuse. */
    if (!generation->produced->len)
        generation->n_cached = n_cached;
    if (generation->calls.progress && !generation->produced->len)
        generation->calls.progress(generation, "prefill", n_prompt ? (double)n_done / n_prompt : 1,
                                   generation->data);
}

static void
take_token(SundogEngine *engine, uint64_t id, uint32_t index, uint32_t token)
{
    SundogGeneration *generation = sundog_request_queue_find(engine->queue, id);
    if (!generation)
        return;
    engine->death_weight = 0;
    guint n_before = generation->produced->len;
    sundog_generation_ref(generation);
    bool goes_on = sundog_generation_feed(generation, index, token);
    engine->counters->n_produced_tokens += generation->produced->len - n_before;
    /* Who gets on is not what the engine dies of; there are only so many tokens to get on by. */
    if (generation->produced->len > n_before)
        generation->death_weight = 0;
    if (!goes_on && !sundog_generation_is_over(generation)) {
        sundog_engine_cancel_in_process(engine, generation);
        sundog_engine_end_request(engine, generation, SUNDOG_GENERATION_STOP, NULL);
    } else if (generation->last_us - generation->told_us >= TELL_US) {
        sundog_engine_tell_request(engine, generation);
    }
    sundog_generation_unref(generation);
}

static void
take_tokens(SundogEngine *engine, GVariant *payload)
{
    g_autoptr(GVariant) rows = g_variant_get_child_value(payload, 1);
    GVariantIter iter;
    uint64_t id;
    uint32_t index, token;
    g_variant_iter_init(&iter, rows);
    while (g_variant_iter_next(&iter, "(tuu)", &id, &index, &token))
        take_token(engine, id, index, token);
}

static void
take_scores(SundogEngine *engine, GVariant *payload)
{
    SundogScores scores;
    g_autoptr(GError) error = NULL;
    if (!sundog_scores_unpack(payload, &scores, &error)) {
        sundog_engine_say(engine, "error", "%s", error->message);
        return;
    }
    SundogGeneration *generation = sundog_request_queue_find(engine->queue, scores.id);
    if (generation)
        sundog_generation_score(generation, &scores);
}

static void
take_result(SundogEngine *engine, GVariant *payload)
{
    SundogResult result;
    g_autoptr(GError) error = NULL;
    if (!sundog_result_unpack(payload, &result, &error)) {
        sundog_engine_say(engine, "error", "%s", error->message);
        return;
    }
    engine->death_weight = 0;
    SundogGeneration *generation = sundog_request_queue_find(engine->queue, result.id);
    if (generation)
        sundog_generation_take_result(generation, &result);
}

static void
take_finish(SundogEngine *engine, GVariant *payload)
{
    SundogFinish finish;
    g_autoptr(GError) error = NULL;
    if (!sundog_finish_unpack(payload, &finish, &error)) {
        sundog_engine_say(engine, "error", "%s", error->message);
        return;
    }
    SundogGeneration *generation = sundog_request_queue_find(engine->queue, finish.id);
    if (!generation)
        return;
    static const SundogGenerationState states[] = {
        [SUNDOG_FINISH_STOP] = SUNDOG_GENERATION_STOP,
        [SUNDOG_FINISH_LENGTH] = SUNDOG_GENERATION_LENGTH,
        [SUNDOG_FINISH_CANCELLED] = SUNDOG_GENERATION_CANCELLED};
    generation->prefill_us = finish.prefill_us;
    generation->decode_us = finish.decode_us;
    if (!generation->produced->len || finish.n_cached < generation->prompt->len)
        generation->n_cached = MIN(finish.n_cached, generation->prompt->len);
    engine->counters->n_cached_tokens += generation->n_cached;
    sundog_engine_end_request(engine, generation, states[finish.reason], NULL);
}

/* What of a request not every target's kernels have. */
static const char *
find_rare_field(const SundogSubmit *submit)
{
    if (submit->n_scores > 0)
        return "logprobs";
    if (submit->top_n_sigma > 0)
        return "top_n_sigma";
    return submit->xtc_probability > 0 ? "xtc_probability" : "typical_p";
}

static SundogApiError *
error_of_fault(const SundogEngine *engine, const SundogGeneration *generation,
               const SundogFault *fault)
{
    if (fault->code == SUNDOG_FAULT_NOT_FINITE)
        return sundog_api_error_new(SUNDOG_API_ERROR_NOT_FINITE, NULL, fault->text, NULL);
    if (fault->code == SUNDOG_FAULT_BAD_REQUEST)
        return sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, "prompt", "prompt", fault->text,
                                    NULL);
    if (fault->code == SUNDOG_FAULT_UNSUPPORTED) {
        const char *field = find_rare_field(&generation->submit);
        return sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, field, field, fault->text,
                                    NULL);
    }
    if (fault->code == SUNDOG_FAULT_CONSTRAINT)
        return sundog_api_error_new(SUNDOG_API_ERROR_INVALID_VALUE, "response_format",
                                    "response_format", fault->text, NULL);
    if (fault->code != SUNDOG_FAULT_CONTEXT_LENGTH)
        return sundog_api_error_new(SUNDOG_API_ERROR_INTERNAL, NULL, fault->text, NULL);
    g_autofree char *n_prompt = g_strdup_printf("%u", generation->prompt->len);
    g_autofree char *n_context = g_strdup_printf("%u", engine->ready.context_length);
    return sundog_api_error_new(SUNDOG_API_ERROR_CONTEXT_LENGTH, "messages", n_prompt, n_context,
                                NULL);
}

static void
take_fault(SundogEngine *engine, GVariant *payload)
{
    SundogFault fault;
    g_autoptr(GError) error = NULL;
    if (!sundog_fault_unpack(payload, &fault, &error)) {
        sundog_engine_say(engine, "error", "%s", error->message);
        return;
    }
    sundog_engine_say(engine, "error", "Engine: %s: %s", sundog_fault_code_text(fault.code),
                      fault.text);
    if (fault.id == 0) {
        g_free(engine->message);
        engine->message = g_strdup(fault.text);
        return;
    }
    SundogGeneration *generation = sundog_request_queue_find(engine->queue, fault.id);
    if (generation)
        sundog_engine_end_request(engine, generation, SUNDOG_GENERATION_FAILED,
                                  error_of_fault(engine, generation, &fault));
}

static void
take_statistics(SundogEngine *engine, GVariant *payload)
{
    SundogStatistics statistics;
    if (!sundog_statistics_unpack(payload, &statistics, NULL))
        return;
    /* An engine counts from its start, the server from its own. */
    SundogEngineCounters *counters = engine->counters;
    const SundogStatistics *last = &engine->statistics;
#define COUNT(field) counters->field += statistics.field - MIN(last->field, statistics.field)
    COUNT(n_drafted_tokens);
    COUNT(n_accepted_tokens);
    COUNT(n_steps);
    COUNT(step_us);
#undef COUNT
    engine->statistics = statistics;
}

void
sundog_engine_take_frame(SundogEngine *engine, uint32_t type, GVariant *payload)
{
    switch (type) {
    case SUNDOG_MESSAGE_PROGRESS:
        take_progress(engine, payload);
        break;
    case SUNDOG_MESSAGE_READY:
        take_ready(engine, payload);
        break;
    case SUNDOG_MESSAGE_ADMITTED:
        take_admitted(engine, payload);
        break;
    case SUNDOG_MESSAGE_PREFILL:
        take_prefill(engine, payload);
        break;
    case SUNDOG_MESSAGE_TOKENS:
        take_tokens(engine, payload);
        break;
    case SUNDOG_MESSAGE_SCORES:
        take_scores(engine, payload);
        break;
    case SUNDOG_MESSAGE_RESULT:
        take_result(engine, payload);
        break;
    case SUNDOG_MESSAGE_FINISH:
        take_finish(engine, payload);
        break;
    case SUNDOG_MESSAGE_FAULT:
        take_fault(engine, payload);
        break;
    case SUNDOG_MESSAGE_STATISTICS:
        take_statistics(engine, payload);
        break;
    default: /* HELLO, and what a later engine may add */
        break;
    }
}
