/* The messages between C structs and payloads: one pack and one unpack each. */

#include "engine/wire/messages.h"
#include <math.h>
#include <string.h>

/* Penalties are added to or multiplied with logits in f32: far inside its range, far outside use. */
#define MAX_PENALTY 1e6
/* A probability of 1 may be rounded up. */
#define SLACK 1e-3

static const char *const finish_reasons[] = {
    [SUNDOG_FINISH_STOP] = "stop",
    [SUNDOG_FINISH_LENGTH] = "length",
    [SUNDOG_FINISH_CANCELLED] = "cancelled",
};

static const char *const fault_codes[] = {
#define X(name, text) [SUNDOG_FAULT_##name] = text,
    SUNDOG_FAULT_CODES(X)
#undef X
};

const char *
sundog_message_signature(uint32_t number)
{
    switch (number) {
#define X(name, code, signature) \
    case code:                   \
        return signature;
        SUNDOG_MESSAGES(X)
#undef X
    default:
        return NULL;
    }
}

const char *
sundog_finish_reason_text(SundogFinishReason reason)
{
    g_return_val_if_fail((size_t)reason < G_N_ELEMENTS(finish_reasons), NULL);
    return finish_reasons[reason];
}

const char *
sundog_fault_code_text(SundogFaultCode code)
{
    g_return_val_if_fail((size_t)code < G_N_ELEMENTS(fault_codes), NULL);
    return fault_codes[code];
}

/* Index of text in a list, or -1. */
static int
find_text(const char *const *texts, size_t n_texts, const char *text)
{
    for (size_t i = 0; i < n_texts; i++)
        if (strcmp(texts[i], text) == 0)
            return (int)i;
    return -1;
}

static bool
check_type(GVariant *payload, SundogMessage message, GError **error)
{
    const char *signature = sundog_message_signature(message);
    if (!g_variant_is_of_type(payload, G_VARIANT_TYPE(signature))) {
        return sundog_wire_refuse(error, "message %d is %s where %s was expected", message,
                                  g_variant_get_type_string(payload), signature);
    }
    /* Serialized now, so that what is borrowed below stays where it is. */
    g_variant_get_data(payload);
    return true;
}

/* SUBMIT */

static GVariant *
pack_tokens(const uint32_t *tokens, uint32_t n_tokens)
{
    return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT32, tokens, n_tokens, sizeof *tokens);
}

static const uint32_t *
borrow_tokens(GVariant *payload, gsize index, uint32_t *n_tokens)
{
    g_autoptr(GVariant) child = g_variant_get_child_value(payload, index);
    gsize n = 0;
    const uint32_t *tokens = g_variant_get_fixed_array(child, &n, sizeof *tokens);
    *n_tokens = (uint32_t)n;
    return tokens;
}

static GVariant *
pack_biases(const SundogTokenBias *biases, uint32_t n_biases)
{
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE("a(ud)"));
    for (uint32_t i = 0; i < n_biases; i++)
        g_variant_builder_add(&builder, "(ud)", biases[i].token, biases[i].amount);
    return g_variant_builder_end(&builder);
}

/* A structure of fixed size lies in a payload as C would have it. */
static const SundogTokenBias *
borrow_biases(GVariant *payload, gsize index, uint32_t *n_biases)
{
    G_STATIC_ASSERT(sizeof(SundogTokenBias) == 16);
    g_autoptr(GVariant) child = g_variant_get_child_value(payload, index);
    gsize n = 0;
    const SundogTokenBias *biases = g_variant_get_fixed_array(child, &n, sizeof *biases);
    *n_biases = (uint32_t)n;
    return biases;
}

GVariant *
sundog_submit_pack(const SundogSubmit *submit)
{
    return g_variant_new("(t@au@auu@au(dddddddddduitu)@au@a(ud)(dduu@au)ut)", submit->id,
                         pack_tokens(submit->prompt, submit->n_prompt),
                         pack_tokens(submit->produced, submit->n_produced), submit->max_tokens,
                         pack_tokens(submit->ends, submit->n_ends), submit->temperature,
                         submit->top_p, submit->min_p, submit->repetition_penalty,
                         submit->presence_penalty, submit->frequency_penalty, submit->typical_p,
                         submit->top_n_sigma, submit->xtc_probability, submit->xtc_threshold,
                         submit->penalty_window, submit->top_k, submit->seed, submit->flags,
                         pack_tokens(submit->automaton, submit->n_automaton),
                         pack_biases(submit->biases, submit->n_biases), submit->dry.multiplier,
                         submit->dry.base, submit->dry.allowed_length, submit->dry.window,
                         pack_tokens(submit->dry.breakers, submit->dry.n_breakers),
                         submit->n_scores, submit->follows);
}

/* NaN fails every one of these. */
static bool
check_sampling(const SundogSubmit *submit, GError **error)
{
    const struct {
        const char *name;
        double value, low, high;
        bool above_low; /* low itself is not allowed */
    } ranges[] = {
        {"temperature", submit->temperature, 0, MAX_PENALTY, false},
        {"top_p", submit->top_p, 0, 1, true},
        {"min_p", submit->min_p, 0, 1, false},
        {"repetition_penalty", submit->repetition_penalty, 0, MAX_PENALTY, true},
        {"presence_penalty", submit->presence_penalty, -MAX_PENALTY, MAX_PENALTY, false},
        {"frequency_penalty", submit->frequency_penalty, -MAX_PENALTY, MAX_PENALTY, false},
        {"typical_p", submit->typical_p, 0, 1, false},
        {"top_n_sigma", submit->top_n_sigma, 0, MAX_PENALTY, false},
        {"xtc_probability", submit->xtc_probability, 0, 1, false},
        {"xtc_threshold", submit->xtc_threshold, 0, 1, false},
        {"dry_multiplier", submit->dry.multiplier, 0, MAX_PENALTY, false},
        {"dry_base", submit->dry.base, 0, MAX_PENALTY, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
        bool inside = ranges[i].value <= ranges[i].high &&
                      (ranges[i].above_low ? ranges[i].value > ranges[i].low
                                           : ranges[i].value >= ranges[i].low);
        if (!inside) {
            return sundog_wire_refuse(
                error, "%s is %g where %s %g to %g is expected", ranges[i].name, ranges[i].value,
                ranges[i].above_low ? "above" : "from", ranges[i].low, ranges[i].high);
        }
    }
    if (submit->top_k < 0)
        return sundog_wire_refuse(error, "top_k is %d where 0 or more is expected", submit->top_k);
    return true;
}

/* A count and so many words, twice. */
static bool
check_breakers(const SundogDry *dry, GError **error)
{
    uint64_t at = 0;
    for (bool is_tail = false; at < dry->n_breakers || is_tail; is_tail = !is_tail) {
        uint64_t n = at < dry->n_breakers ? dry->breakers[at] : UINT64_MAX;
        if (n > dry->n_breakers - at - 1 || at >= dry->n_breakers || (n == 0 && !is_tail))
            return sundog_wire_refuse(error, "breakers that end within one");
        at += 1 + n;
    }
    return true;
}

static bool
check_submit(const SundogSubmit *submit, GError **error)
{
    if (submit->id == 0)
        return sundog_wire_refuse(error, "a request with id 0, which stands for the engine");
    if (submit->n_prompt == 0)
        return sundog_wire_refuse(error, "the prompt has no token");
    bool only_prompt = submit->max_tokens == 0 && submit->n_produced == 0;
    if (submit->max_tokens <= submit->n_produced && !only_prompt) {
        return sundog_wire_refuse(error,
                                  "max_tokens is %u where more than the %u produced is expected",
                                  submit->max_tokens, submit->n_produced);
    }
    for (uint32_t i = 0; i < submit->n_biases; i++) {
        double amount = submit->biases[i].amount;
        if (!(amount <= MAX_PENALTY && (amount >= -MAX_PENALTY || isinf(amount))))
            return sundog_wire_refuse(error, "the bias of token %u is %g", submit->biases[i].token,
                                      amount);
    }
    if (submit->flags & ~(uint32_t)SUNDOG_SUBMIT_ALL_FLAGS) {
        return sundog_wire_refuse(error, "flags are 0x%x where at most 0x%x are known",
                                  submit->flags, (unsigned)SUNDOG_SUBMIT_ALL_FLAGS);
    }
    if (submit->n_scores > SUNDOG_WIRE_MAX_SCORES) {
        return sundog_wire_refuse(error, "%u scores a token where at most %d are told",
                                  submit->n_scores, SUNDOG_WIRE_MAX_SCORES);
    }
    if ((submit->flags & SUNDOG_SUBMIT_SCORE_PROMPT) && submit->n_scores == 0)
        return sundog_wire_refuse(error, "the prompt is to be scored, with no scores a token");
    return check_breakers(&submit->dry, error) && check_sampling(submit, error);
}

bool
sundog_submit_unpack(GVariant *payload, SundogSubmit *submit, GError **error)
{
    *submit = (SundogSubmit){0};
    if (!check_type(payload, SUNDOG_MESSAGE_SUBMIT, error))
        return false;
    SundogDry *dry = &submit->dry;
    g_variant_get(payload, "(t@au@auu@au(dddddddddduitu)@au@a(ud)(dduu@au)ut)", &submit->id, NULL,
                  NULL, &submit->max_tokens, NULL, &submit->temperature, &submit->top_p,
                  &submit->min_p, &submit->repetition_penalty, &submit->presence_penalty,
                  &submit->frequency_penalty, &submit->typical_p, &submit->top_n_sigma,
                  &submit->xtc_probability, &submit->xtc_threshold, &submit->penalty_window,
                  &submit->top_k, &submit->seed, &submit->flags, NULL, NULL, &dry->multiplier,
                  &dry->base, &dry->allowed_length, &dry->window, NULL, &submit->n_scores,
                  &submit->follows);
    submit->prompt = borrow_tokens(payload, 1, &submit->n_prompt);
    submit->produced = borrow_tokens(payload, 2, &submit->n_produced);
    submit->ends = borrow_tokens(payload, 4, &submit->n_ends);
    submit->automaton = borrow_tokens(payload, 6, &submit->n_automaton);
    submit->biases = borrow_biases(payload, 7, &submit->n_biases);
    g_autoptr(GVariant) dry_values = g_variant_get_child_value(payload, 8);
    dry->breakers = borrow_tokens(dry_values, 4, &dry->n_breakers);
    return check_submit(submit, error);
}

/* SCORES */

GVariant *
sundog_scores_pack(const SundogScores *scores)
{
    G_STATIC_ASSERT(sizeof(SundogTokenScore) == 16);
    GVariant *entries = g_variant_new_fixed_array(G_VARIANT_TYPE("(ud)"), scores->entries,
                                                  (gsize)scores->n_tokens * scores->n_each,
                                                  sizeof *scores->entries);
    return g_variant_new("(tuu@a(ud))", scores->id, scores->position, scores->n_each, entries);
}

bool
sundog_scores_unpack(GVariant *payload, SundogScores *scores, GError **error)
{
    *scores = (SundogScores){0};
    if (!check_type(payload, SUNDOG_MESSAGE_SCORES, error))
        return false;
    g_variant_get(payload, "(tuu@a(ud))", &scores->id, &scores->position, &scores->n_each, NULL);
    g_autoptr(GVariant) entries = g_variant_get_child_value(payload, 3);
    gsize n = 0;
    scores->entries = g_variant_get_fixed_array(entries, &n, sizeof *scores->entries);
    if (scores->position == 0 || scores->n_each == 0 || n == 0 || n % scores->n_each != 0) {
        return sundog_wire_refuse(error, "SCORES of %zu entries, %u a token, from position %u on",
                                  n, scores->n_each, scores->position);
    }
    scores->n_tokens = (uint32_t)(n / scores->n_each);
    for (gsize i = 0; i < n; i++) {
        if (!(scores->entries[i].log_probability <= SLACK))
            return sundog_wire_refuse(error, "a log probability of %g",
                                      scores->entries[i].log_probability);
    }
    return true;
}

/* EMBED and RESULT */

GVariant *
sundog_embed_pack(const SundogEmbed *embed)
{
    return g_variant_new("(t@auu)", embed->id, pack_tokens(embed->tokens, embed->n_tokens),
                         embed->n_first);
}

bool
sundog_embed_unpack(GVariant *payload, SundogEmbed *embed, GError **error)
{
    *embed = (SundogEmbed){0};
    if (!check_type(payload, SUNDOG_MESSAGE_EMBED, error))
        return false;
    g_variant_get(payload, "(t@auu)", &embed->id, NULL, &embed->n_first);
    embed->tokens = borrow_tokens(payload, 1, &embed->n_tokens);
    if (embed->id == 0)
        return sundog_wire_refuse(error, "a text with id 0, which stands for the engine");
    if (embed->n_tokens == 0)
        return sundog_wire_refuse(error, "the text has no token");
    if (embed->n_first > embed->n_tokens)
        return sundog_wire_refuse(error, "%u of %u tokens are of the first text", embed->n_first,
                                  embed->n_tokens);
    return true;
}

GVariant *
sundog_result_pack(const SundogResult *result)
{
    return g_variant_new("(t@ay)", result->id,
                         g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, result->values,
                                                   result->n_values * sizeof(float), 1));
}

bool
sundog_result_unpack(GVariant *payload, SundogResult *result, GError **error)
{
    *result = (SundogResult){0};
    if (!check_type(payload, SUNDOG_MESSAGE_RESULT, error))
        return false;
    g_variant_get(payload, "(t@ay)", &result->id, NULL);
    g_autoptr(GVariant) bytes = g_variant_get_child_value(payload, 1);
    gsize n_bytes = 0;
    const void *data = g_variant_get_fixed_array(bytes, &n_bytes, 1);
    if (n_bytes == 0 || n_bytes % sizeof(float) != 0)
        return sundog_wire_refuse(error, "a RESULT of %zu bytes", n_bytes);
    /* Behind the id, so at a multiple of 8 in what is itself aligned. */
    result->values = data;
    result->n_values = (uint32_t)(n_bytes / sizeof(float));
    return true;
}

/* VOCABULARY */

GVariant *
sundog_wire_vocabulary_pack(const SundogWireVocabulary *vocabulary)
{
    return g_variant_new(
        "(@au@ay)", pack_tokens(vocabulary->ends, vocabulary->n_tokens),
        g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, vocabulary->bytes, vocabulary->n_bytes, 1));
}

bool
sundog_wire_vocabulary_unpack(GVariant *payload, SundogWireVocabulary *vocabulary, GError **error)
{
    *vocabulary = (SundogWireVocabulary){0};
    if (!check_type(payload, SUNDOG_MESSAGE_VOCABULARY, error))
        return false;
    g_autoptr(GVariant) bytes = g_variant_get_child_value(payload, 1);
    gsize n_bytes = 0;
    vocabulary->ends = borrow_tokens(payload, 0, &vocabulary->n_tokens);
    vocabulary->bytes = g_variant_get_fixed_array(bytes, &n_bytes, 1);
    vocabulary->n_bytes = n_bytes;
    uint32_t last = 0;
    if (vocabulary->n_tokens == 0)
        return sundog_wire_refuse(error, "a vocabulary without tokens");
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        if (vocabulary->ends[i] < last || vocabulary->ends[i] > n_bytes) {
            return sundog_wire_refuse(error, "a vocabulary whose token %u ends at byte %u of %zu",
                                      i, vocabulary->ends[i], n_bytes);
        }
        last = vocabulary->ends[i];
    }
    return true;
}

/* READY: name, kind and letter of its GVariant. None of them may be 0. */
#define READY_NUMBERS(X)            \
    X(context_length, uint32, "u")  \
    X(n_vocabulary, uint32, "u")    \
    X(max_sequences, uint32, "u")   \
    X(max_step_tokens, uint32, "u") \
    X(page_tokens, uint32, "u")     \
    X(pool_pages, uint64, "t")      \
    X(memory_bytes, uint64, "t")    \
    X(n_threads, uint32, "u")

GVariant *
sundog_ready_pack(const SundogReady *ready)
{
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
#define X(name, kind, letter) \
    g_variant_builder_add(&builder, "{sv}", #name, g_variant_new_##kind(ready->name));
    READY_NUMBERS(X)
#undef X
    g_variant_builder_add(&builder, "{sv}", "device", g_variant_new_string(ready->device));
    return g_variant_new("(@a{sv})", g_variant_builder_end(&builder));
}

bool
sundog_ready_unpack(GVariant *payload, SundogReady *ready, GError **error)
{
    *ready = (SundogReady){0};
    if (!check_type(payload, SUNDOG_MESSAGE_READY, error))
        return false;
    g_autoptr(GVariant) dictionary = g_variant_get_child_value(payload, 0);
#define X(name, kind, letter)                                                           \
    if (!g_variant_lookup(dictionary, #name, letter, &ready->name) || ready->name == 0) \
        return sundog_wire_refuse(error, "READY without a usable " #name);
    READY_NUMBERS(X)
#undef X
    const char *device = NULL;
    if (!g_variant_lookup(dictionary, "device", "&s", &device) ||
        strlen(device) >= sizeof ready->device)
        return sundog_wire_refuse(error, "READY without a usable device");
    g_strlcpy(ready->device, device, sizeof ready->device);
    return true;
}

/* FAULT */

GVariant *
sundog_fault_pack(const SundogFault *fault)
{
    return g_variant_new("(tss)", fault->id, sundog_fault_code_text(fault->code), fault->text);
}

bool
sundog_fault_unpack(GVariant *payload, SundogFault *fault, GError **error)
{
    *fault = (SundogFault){0};
    if (!check_type(payload, SUNDOG_MESSAGE_FAULT, error))
        return false;
    const char *code;
    g_variant_get(payload, "(t&s&s)", &fault->id, &code, &fault->text);
    int index = find_text(fault_codes, G_N_ELEMENTS(fault_codes), code);
    if (index < 0) {
        return sundog_wire_refuse(
            error, "a FAULT of request %" G_GUINT64_FORMAT " with an unknown code", fault->id);
    }
    fault->code = (SundogFaultCode)index;
    return true;
}

/* FINISH */

GVariant *
sundog_finish_pack(const SundogFinish *finish)
{
    return g_variant_new("(tsuuutttt)", finish->id, sundog_finish_reason_text(finish->reason),
                         finish->n_prompt, finish->n_cached, finish->n_produced, finish->queue_us,
                         finish->prefill_us, finish->decode_us, finish->step);
}

bool
sundog_finish_unpack(GVariant *payload, SundogFinish *finish, GError **error)
{
    *finish = (SundogFinish){0};
    if (!check_type(payload, SUNDOG_MESSAGE_FINISH, error))
        return false;
    const char *reason;
    g_variant_get(payload, "(t&suuutttt)", &finish->id, &reason, &finish->n_prompt,
                  &finish->n_cached, &finish->n_produced, &finish->queue_us, &finish->prefill_us,
                  &finish->decode_us, &finish->step);
    int index = find_text(finish_reasons, G_N_ELEMENTS(finish_reasons), reason);
    if (index < 0) {
        return sundog_wire_refuse(
            error, "a FINISH of request %" G_GUINT64_FORMAT " with an unknown reason", finish->id);
    }
    finish->reason = (SundogFinishReason)index;
    if (finish->n_cached > finish->n_prompt) {
        return sundog_wire_refuse(error, "a FINISH with %u cached of %u prompt tokens",
                                  finish->n_cached, finish->n_prompt);
    }
    return true;
}

/* STATISTICS */

GVariant *
sundog_statistics_pack(const SundogStatistics *statistics)
{
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
#define X(name) \
    g_variant_builder_add(&builder, "{sv}", #name, g_variant_new_uint64(statistics->name));
    SUNDOG_STATISTICS(X)
#undef X
    return g_variant_new("(@a{sv})", g_variant_builder_end(&builder));
}

bool
sundog_statistics_unpack(GVariant *payload, SundogStatistics *statistics, GError **error)
{
    *statistics = (SundogStatistics){0};
    if (!check_type(payload, SUNDOG_MESSAGE_STATISTICS, error))
        return false;
    g_autoptr(GVariant) dictionary = g_variant_get_child_value(payload, 0);
#define X(name)                                                       \
    if (!g_variant_lookup(dictionary, #name, "t", &statistics->name)) \
        return sundog_wire_refuse(error, "STATISTICS without " #name);
    SUNDOG_STATISTICS(X)
#undef X
    return true;
}
