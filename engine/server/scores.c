/* Log probabilities as JSON. */

#include "engine/server/scores.h"

#include "engine/server/json-text.h"
#include <math.h>
#include <string.h>

#define LOWEST "-9999.0"

guint
sundog_scores_count(const SundogGeneration *generation)
{
    size_t n_shown = sundog_decoder_get_n_shown(generation->decoder);
    return (guint)MIN(n_shown, generation->produced->len);
}

static void
append_log_probability(GString *json, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(json,
                    isfinite(value) ? g_ascii_formatd(text, sizeof text, "%.9g", value) : LOWEST);
}

static GByteArray *
dup_bytes(const SundogGeneration *generation, uint32_t token, bool special)
{
    GByteArray *bytes = g_byte_array_new();
    sundog_tokenizer_append_bytes(generation->core->tokenizer, token, special, bytes);
    return bytes;
}

/* The token's text, with \xNN for bytes that are no characters. Owned by the caller. */
static char *
dup_text(const SundogGeneration *generation, uint32_t token)
{
    g_autoptr(GByteArray) bytes = dup_bytes(generation, token, true);
    GString *text = g_string_new(NULL);
    const char *at = (const char *)bytes->data, *end = at + bytes->len;
    while (at < end) {
        const char *valid_end;
        g_utf8_validate_len(at, (gsize)(end - at), &valid_end);
        g_string_append_len(text, at, valid_end - at);
        if (valid_end < end)
            g_string_append_printf(text, "\\x%02x", (uint8_t)*valid_end++);
        at = valid_end;
    }
    return g_string_free(text, false);
}

/* Objects */

static void
append_token(GString *json, const SundogGeneration *generation, const SundogTokenScore *score,
             bool with_ids)
{
    g_autofree char *text = dup_text(generation, score->token);
    g_autoptr(GByteArray) bytes = dup_bytes(generation, score->token, false);
    if (with_ids)
        g_string_append_printf(json, "\"id\":%u,", score->token);
    g_string_append(json, "\"token\":");
    sundog_json_text_append(json, text);
    g_string_append(json, ",\"logprob\":");
    append_log_probability(json, score->log_probability);
    g_string_append(json, ",\"bytes\":");
    for (guint i = 0; i < bytes->len; i++)
        g_string_append_printf(json, "%c%u", i ? ',' : '[', bytes->data[i]);
    g_string_append(json, bytes->len ? "]" : "null");
}

void
sundog_scores_append(GString *json, const SundogGeneration *generation, guint first, guint end,
                     bool with_ids)
{
    guint n_each = generation->submit.n_scores;
    for (guint i = first; i < end; i++) {
        const SundogTokenScore *scores =
            sundog_generation_get_scores(generation, generation->prompt->len + i);
        if (!scores)
            return;
        g_string_append(json, i > first ? ",{" : "{");
        append_token(json, generation, scores, with_ids);
        g_string_append(json, ",\"top_logprobs\":[");
        for (guint k = 1; k < n_each; k++) {
            g_string_append(json, k > 1 ? ",{" : "{");
            append_token(json, generation, &scores[k], with_ids);
            g_string_append_c(json, '}');
        }
        g_string_append(json, "]}");
    }
}

/* Lists */

static uint32_t
get_token(const SundogGeneration *generation, guint position)
{
    guint n_prompt = generation->prompt->len;
    return position < n_prompt ? g_array_index(generation->prompt, uint32_t, position)
                               : g_array_index(generation->produced, uint32_t, position - n_prompt);
}

static const SundogTokenScore *
get_scores(const SundogGeneration *generation, const SundogGeneration *prompt, guint position)
{
    bool is_prompt = position < generation->prompt->len;
    return sundog_generation_get_scores(is_prompt ? prompt : generation, position);
}

/* {"text": log probability}: the rivals, and the token itself. Of tokens that look alike the best one. */
static void
append_rivals(GString *json, const SundogGeneration *generation, const SundogTokenScore *scores)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_string_append_c(json, '{');
    for (guint i = 1; i <= generation->submit.n_scores; i++) {
        const SundogTokenScore *score = &scores[i % generation->submit.n_scores];
        char *text = dup_text(generation, score->token);
        if (g_ptr_array_find_with_equal_func(texts, text, g_str_equal, NULL)) {
            g_free(text);
            continue;
        }
        g_string_append(json, texts->len ? "," : "");
        g_ptr_array_add(texts, text);
        sundog_json_text_append(json, text);
        g_string_append_c(json, ':');
        append_log_probability(json, score->log_probability);
    }
    g_string_append_c(json, '}');
}

/* Characters that begin in the token's text as it is shown: control tokens are not. */
static size_t
count_characters(const SundogGeneration *generation, uint32_t token)
{
    g_autoptr(GByteArray) bytes = dup_bytes(generation, token, false);
    size_t n = 0;
    for (guint i = 0; i < bytes->len; i++)
        n += (bytes->data[i] & 0xC0) != 0x80;
    return n;
}

void
sundog_scores_append_lists(GString *json, const SundogGeneration *generation,
                           const SundogGeneration *prompt, guint first, guint end,
                           size_t *n_characters)
{
    g_autoptr(GString) tokens = g_string_new(NULL);
    g_autoptr(GString) values = g_string_new(NULL);
    g_autoptr(GString) rivals = g_string_new(NULL);
    g_autoptr(GString) offsets = g_string_new(NULL);
    for (guint i = first; i < end; i++) {
        uint32_t token = get_token(generation, i);
        const SundogTokenScore *scores = get_scores(generation, prompt, i);
        const char *comma = i > first ? "," : "";
        g_autofree char *text = dup_text(generation, token);
        g_string_append(tokens, comma);
        sundog_json_text_append(tokens, text);
        g_string_append_printf(offsets, "%s%zu", comma, *n_characters);
        *n_characters += count_characters(generation, token);
        g_string_append(values, comma);
        g_string_append(rivals, comma);
        if (scores) {
            append_log_probability(values, scores->log_probability);
            append_rivals(rivals, generation, scores);
        } else {
            g_string_append(values, "null");
            g_string_append(rivals, "null");
        }
    }
    g_string_append_printf(json,
                           "{\"tokens\":[%s],\"token_logprobs\":[%s],\"top_logprobs\":[%s],"
                           "\"text_offset\":[%s]}",
                           tokens->str, values->str, rivals->str, offsets->str);
}

double
sundog_scores_get_mean(const SundogGeneration *generation)
{
    double sum = 0;
    for (guint i = 0; i < generation->produced->len; i++) {
        const SundogTokenScore *scores =
            sundog_generation_get_scores(generation, generation->prompt->len + i);
        sum += scores ? scores->log_probability : -INFINITY;
    }
    return generation->produced->len ? sum / generation->produced->len : -INFINITY;
}
