/* What tokenizer.json puts before and behind a text: BOS and EOS. */

#include "engine/format/hf-tokenizer-private.h"

#include <string.h>

/* ["</s>", 2] */
static uint32_t
find_pair(const SundogVocabulary *vocabulary, JsonObject *part, const char *name)
{
    JsonArray *pair = sundog_json_get_array(part, name);
    uint32_t token;
    if (pair == NULL || json_array_get_length(pair) != 2 ||
        !sundog_hf_get_number(json_array_get_element(pair, 1), vocabulary->n_tokens, &token))
        return SUNDOG_TOKEN_NONE;
    return token;
}

static void
set_ends(SundogVocabulary *vocabulary, uint32_t bos, uint32_t eos)
{
    if (bos != SUNDOG_TOKEN_NONE)
        vocabulary->bos = bos;
    if (eos != SUNDOG_TOKEN_NONE)
        vocabulary->eos = eos;
    vocabulary->add_bos = bos != SUNDOG_TOKEN_NONE;
    vocabulary->add_eos = eos != SUNDOG_TOKEN_NONE;
    sundog_vocabulary_add_end(vocabulary, eos);
}

/* [special token, sequence, special token], of which the sequence alone must be there. */
static bool
read_template(SundogVocabulary *vocabulary, JsonObject *part, GError **error)
{
    JsonArray *single = sundog_json_get_array(part, "single");
    uint32_t ends[2] = {SUNDOG_TOKEN_NONE, SUNDOG_TOKEN_NONE};
    bool behind = false;
    for (guint i = 0; single != NULL && i < json_array_get_length(single); i++) {
        JsonObject *piece = sundog_json_get_element(single, i);
        JsonObject *special = sundog_json_get_object(piece, "SpecialToken");
        if (special == NULL && sundog_json_get_object(piece, "Sequence") != NULL && !behind) {
            behind = true;
            continue;
        }
        const char *text = sundog_json_get_string(special, "id", NULL);
        uint32_t token = sundog_hf_find(vocabulary, text);
        if (token == SUNDOG_TOKEN_NONE || ends[behind] != SUNDOG_TOKEN_NONE)
            return sundog_hf_refuse("post_processor: a piece of TemplateProcessing", text, error);
        ends[behind] = token;
    }
    set_ends(vocabulary, ends[0], ends[1]);
    return true;
}

static bool
read_part(SundogVocabulary *vocabulary, JsonObject *part, GError **error)
{
    const char *type = sundog_json_get_string(part, "type", NULL);
    if (g_strcmp0(type, "ByteLevel") == 0)
        return true;
    if (g_strcmp0(type, "TemplateProcessing") == 0)
        return read_template(vocabulary, part, error);
    if (g_strcmp0(type, "BertProcessing") != 0 && g_strcmp0(type, "RobertaProcessing") != 0)
        return sundog_hf_refuse("post_processor", type, error);
    set_ends(vocabulary, find_pair(vocabulary, part, "cls"), find_pair(vocabulary, part, "sep"));
    return true;
}

bool
sundog_hf_read_ends_of_text(SundogVocabulary *vocabulary, JsonObject *root, GError **error)
{
    JsonObject *part = sundog_json_get_object(root, "post_processor");
    if (part == NULL)
        return true;
    if (g_strcmp0(sundog_json_get_string(part, "type", NULL), "Sequence") != 0)
        return read_part(vocabulary, part, error);
    JsonArray *parts = sundog_json_get_array(part, "processors");
    for (guint i = 0; parts != NULL && i < json_array_get_length(parts); i++)
        if (!read_part(vocabulary, sundog_json_get_element(parts, i), error))
            return false;
    return true;
}
