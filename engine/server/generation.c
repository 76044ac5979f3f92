/* Requests to the engine. */

#include "engine/server/generation.h"

#include <string.h>

SundogGeneration *
sundog_generation_new(const char *prefix, const char *endpoint, SundogCoreText *core,
                      GArray *prompt, const char *const *stops)
{
    SundogGeneration *generation = g_new0(SundogGeneration, 1);
    g_autofree char *uuid = g_uuid_string_random();
    generation->n_references = 1;
    generation->name =
        g_strdup_printf("%s-%.8s%.4s%.4s%.4s", prefix, uuid, uuid + 9, uuid + 14, uuid + 24);
    generation->endpoint = endpoint;
    generation->core = sundog_core_text_ref(core);
    generation->decoder = sundog_decoder_new(core->tokenizer, stops);
    generation->prompt = prompt;
    generation->produced = g_array_new(false, false, sizeof(uint32_t));
    generation->scores = g_array_new(false, false, sizeof(SundogTokenScore));
    generation->started_at = g_get_real_time();
    generation->submitted_us = g_get_monotonic_time();
    return generation;
}

SundogGeneration *
sundog_generation_ref(SundogGeneration *generation)
{
    generation->n_references++;
    return generation;
}

void
sundog_generation_unref(SundogGeneration *generation)
{
    if (!generation || --generation->n_references > 0)
        return;
    sundog_decoder_free(generation->decoder);
    sundog_core_text_unref(generation->core);
    g_array_unref(generation->prompt);
    g_array_unref(generation->produced);
    g_array_unref(generation->scores);
    sundog_generation_unref(generation->leader);
    g_free(generation->automaton);
    g_clear_pointer(&generation->result, g_array_unref);
    g_clear_pointer(&generation->biases, g_array_unref);
    g_clear_pointer(&generation->breakers, g_array_unref);
    g_free(generation->key);
    g_free(generation->name);
    g_free(generation);
}

bool
sundog_generation_is_over(const SundogGeneration *generation)
{
    return generation->state >= SUNDOG_GENERATION_STOP;
}

void
sundog_generation_follow(SundogGeneration *generation, SundogGeneration *leader)
{
    generation->leader = sundog_generation_ref(leader);
}

void
sundog_generation_set_biases(SundogGeneration *generation, GArray *biases)
{
    generation->biases = g_array_ref(biases);
    generation->submit.biases = (const SundogTokenBias *)(const void *)biases->data;
    generation->submit.n_biases = biases->len;
}

void
sundog_generation_set_breakers(SundogGeneration *generation, GArray *breakers)
{
    generation->breakers = g_array_ref(breakers);
    generation->submit.dry.breakers = (const uint32_t *)(const void *)breakers->data;
    generation->submit.dry.n_breakers = breakers->len;
}

void
sundog_generation_constrain(SundogGeneration *generation, SundogAutomaton *automaton)
{
    generation->automaton = sundog_automaton_write(automaton, &generation->submit.n_automaton);
    generation->submit.automaton = generation->automaton;
    sundog_automaton_free(automaton);
}

void
sundog_generation_constrain_alike(SundogGeneration *generation, const SundogGeneration *other)
{
    generation->submit.n_automaton = other->submit.n_automaton;
    generation->automaton =
        g_memdup2(other->automaton, other->submit.n_automaton * sizeof(uint32_t));
    generation->submit.automaton = generation->automaton;
}

GVariant *
sundog_generation_pack(SundogGeneration *generation, uint64_t id)
{
    const SundogEmbed embed = {.id = id,
                               .tokens = (const uint32_t *)(const void *)generation->prompt->data,
                               .n_tokens = generation->prompt->len,
                               .n_first = generation->n_first};
    SundogSubmit submit = generation->submit;
    submit.id = id;
    submit.prompt = (const uint32_t *)generation->prompt->data;
    submit.n_prompt = generation->prompt->len;
    submit.produced = (const uint32_t *)generation->produced->data;
    submit.n_produced = generation->produced->len;
    submit.ends = (const uint32_t *)(const void *)generation->core->ends->data;
    submit.n_ends = generation->core->ends->len;
    if (generation->leader && !sundog_generation_is_over(generation->leader))
        submit.follows = generation->leader->id;
    if (submit.n_produced > 0) /* and so the whole prompt was scored */
        submit.flags &= ~(uint32_t)SUNDOG_SUBMIT_SCORE_PROMPT;
    generation->id = id;
    generation->was_in_step = false;
    return generation->wants_result ? sundog_embed_pack(&embed) : sundog_submit_pack(&submit);
}

void
sundog_generation_take_result(SundogGeneration *generation, const SundogResult *result)
{
    g_clear_pointer(&generation->result, g_array_unref);
    generation->result = g_array_new(false, false, sizeof(float));
    g_array_append_vals(generation->result, result->values, result->n_values);
}

static void
give_text(SundogGeneration *generation, const GString *text)
{
    if (text->len && generation->calls.text)
        generation->calls.text(generation, text->str, text->len, generation->data);
}

bool
sundog_generation_feed(SundogGeneration *generation, uint32_t index, uint32_t token)
{
    if (index != generation->produced->len)
        return true;
    generation->last_us = g_get_monotonic_time();
    if (!generation->first_us)
        generation->first_us = generation->last_us;
    generation->state = SUNDOG_GENERATION_DECODE;
    g_array_append_val(generation->produced, token);
    g_autoptr(GString) text = g_string_new(NULL);
    bool goes_on = sundog_decoder_feed(generation->decoder, token, text);
    give_text(generation, text);
    return goes_on;
}

/* The first position that has scores: no token stands before a prompt's first. */
static guint
get_first_scored(const SundogGeneration *generation)
{
    bool scores_prompt = generation->submit.flags & SUNDOG_SUBMIT_SCORE_PROMPT;
    return scores_prompt ? 1 : generation->prompt->len;
}

void
sundog_generation_score(SundogGeneration *generation, const SundogScores *scores)
{
    guint n_each = generation->submit.n_scores;
    if (scores->n_each != n_each)
        return;
    guint next = get_first_scored(generation) + generation->scores->len / n_each;
    if (scores->position > next || scores->position + scores->n_tokens <= next)
        return;
    guint n_known = next - scores->position;
    g_array_append_vals(generation->scores, scores->entries + (size_t)n_known * n_each,
                        (scores->n_tokens - n_known) * n_each);
}

const SundogTokenScore *
sundog_generation_get_scores(const SundogGeneration *generation, guint position)
{
    guint n_each = generation->submit.n_scores, first = get_first_scored(generation);
    if (n_each == 0 || position < first ||
        (position - first + 1) * n_each > generation->scores->len)
        return NULL;
    return &g_array_index(generation->scores, SundogTokenScore, (position - first) * n_each);
}

void
sundog_generation_end(SundogGeneration *generation, SundogGenerationState state,
                      SundogApiError *error)
{
    g_autoptr(SundogApiError) owned = error;
    if (sundog_generation_is_over(generation))
        return;
    sundog_generation_ref(generation);
    g_autoptr(GString) text = g_string_new(NULL);
    /* An answer that was cut may have been cut inside a character, which is then left out. */
    sundog_decoder_finish(generation->decoder, state == SUNDOG_GENERATION_STOP, text);
    give_text(generation, text);
    if (!sundog_generation_is_over(generation)) {
        generation->state = state;
        if (generation->calls.ended)
            generation->calls.ended(generation, owned, generation->data);
    }
    sundog_generation_unref(generation);
}

void
sundog_generation_abandon(SundogGeneration *generation)
{
    generation->calls = (SundogGenerationCalls){0};
    if (!sundog_generation_is_over(generation))
        generation->state = SUNDOG_GENERATION_CANCELLED;
}

double
sundog_generation_get_tokens_per_second(const SundogGeneration *generation)
{
    guint n = generation->produced->len;
    int64_t us = generation->last_us - generation->first_us;
    return n > 1 && us > 0 ? (n - 1) * 1e6 / (double)us : 0;
}

const char *
sundog_generation_state_text(SundogGenerationState state)
{
    static const char *const texts[] = {"queued", "prefill",   "decode", "stop",
                                        "length", "cancelled", "failed"};
    return texts[state];
}

JsonObject *
sundog_generation_describe(const SundogGeneration *generation)
{
    JsonObject *object = json_object_new();
    g_autoptr(GDateTime) started =
        g_date_time_new_from_unix_utc(generation->started_at / G_USEC_PER_SEC);
    g_autofree char *started_text = g_date_time_format_iso8601(started);
    json_object_set_string_member(object, "id", generation->name);
    json_object_set_string_member(object, "model", generation->core->name);
    json_object_set_string_member(object, "endpoint", generation->endpoint);
    if (generation->key)
        json_object_set_string_member(object, "key", generation->key);
    json_object_set_string_member(object, "state", sundog_generation_state_text(generation->state));
    json_object_set_int_member(object, "prompt_tokens", generation->prompt->len);
    json_object_set_int_member(object, "cached_tokens", generation->n_cached);
    json_object_set_int_member(object, "produced_tokens", generation->produced->len);
    if (generation->first_us)
        json_object_set_double_member(object, "time_to_first_token_ms",
                                      (double)(generation->first_us - generation->submitted_us) /
                                          1000);
    else
        json_object_set_null_member(object, "time_to_first_token_ms");
    json_object_set_double_member(object, "tokens_per_second",
                                  sundog_generation_get_tokens_per_second(generation));
    json_object_set_string_member(object, "started", started_text);
    return object;
}
