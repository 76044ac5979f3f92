#pragma once

/*
 * Vocabularies out of `tokenizer.json`, the file of Hugging Face's tokenizers library, and of the two
 * files beside it that tell which tokens end an answer. A component that is not known is refused by
 * its name: a tokenizer that is almost right gives a model that is subtly wrong.
 * Source: the serialization of tokenizers 0.23; each component's meaning is described in its
 * documentation.
 */

#include "engine/format/vocabulary.h"

/* BPE of bytes or characters, Unigram and WordPiece. Owned by the caller. */
SundogVocabulary *sundog_hf_tokenizer_read(const char *json, size_t n_bytes, GError **error);

/* `tokenizer_config.json`: the names of BOS, EOS and padding, and whether texts get the first two. */
bool sundog_hf_tokenizer_read_config(SundogVocabulary *vocabulary, const char *json, size_t n_bytes,
                                     GError **error);
/* What the same file says beside SentencePiece's own vocabulary: tokens that it has not, and whether a space
 * is put behind special ones too. */
bool sundog_hf_tokenizer_read_additions(SundogVocabulary *vocabulary, const char *json,
                                        size_t n_bytes, GError **error);
/* `generation_config.json` or `config.json`: `eos_token_id`, a number or several. */
bool sundog_hf_tokenizer_read_ends(SundogVocabulary *vocabulary, const char *json, size_t n_bytes,
                                   GError **error);
