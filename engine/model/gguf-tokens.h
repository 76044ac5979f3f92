#pragma once

/* The arrays of GGUF's `tokenizer.` metadata, for the reader of vocabularies. */

#include "engine/format/gguf.h"
#include "engine/format/vocabulary.h"

#define SUNDOG_GGUF_TOKENIZER "tokenizer.ggml."

/* Texts, kinds and scores. */
bool sundog_gguf_read_tokens(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error);
bool sundog_gguf_read_merges(SundogVocabulary *vocabulary, const SundogGguf *gguf, GError **error);
/* Nothing where the file has none. */
bool sundog_gguf_read_character_map(SundogVocabulary *vocabulary, const SundogGguf *gguf,
                                    GError **error);
