#pragma once

/* What the files of the reader of tokenizer.json share. */

#include "engine/format/hf-tokenizer.h"
#include "engine/format/json-members.h"

/* The file's text with the object `vocab` as a list of its names and values in turn; owned by the caller.
 * As long as the text was, so that places in error texts hold. What is no JSON stays none. */
char *sundog_hf_dup_flat(const char *json, size_t n_bytes);

/* A whole number from 0 to below limit. */
bool sundog_hf_get_number(JsonNode *node, uint32_t limit, uint32_t *number);

/* "PART is TYPE, which is not known": always false. */
bool sundog_hf_refuse(const char *part, const char *type, GError **error);

/* A text owned by the vocabulary. */
const char *sundog_hf_insert(SundogVocabulary *vocabulary, const char *text);
/* The token with this text among the vocabulary's, or SUNDOG_TOKEN_NONE. */
uint32_t sundog_hf_find(const SundogVocabulary *vocabulary, const char *text);

/* `model`: tokens, merges, unknown token; and `added_tokens`. */
bool sundog_hf_read_model(SundogVocabulary *vocabulary, JsonObject *root, GError **error);
/* `added_tokens_decoder` of tokenizer_config.json. */
bool sundog_hf_read_added_by_id(SundogVocabulary *vocabulary, JsonObject *config, GError **error);
/* `normalizer` and `pre_tokenizer`: how text is read and cut, and with that which kind of BPE it is. */
bool sundog_hf_read_cutting(SundogVocabulary *vocabulary, JsonObject *root, GError **error);
/* `post_processor`: BOS and EOS. */
bool sundog_hf_read_ends_of_text(SundogVocabulary *vocabulary, JsonObject *root, GError **error);
