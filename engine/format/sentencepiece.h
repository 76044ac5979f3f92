#pragma once

/*
 * Vocabularies out of `tokenizer.model`, the file of SentencePiece: a protocol buffer of pieces with their
 * scores and kinds, and of what its trainer and its normalizer were told. Source: the messages of
 * sentencepiece_model.proto. Fields that do not change how text is read are skipped.
 */

#include "engine/format/vocabulary.h"

/* BPE and Unigram; other models, and BPE behind a normalization of its own, are refused. Texts get BOS before
 * them, and those of Unigram EOS behind, where the file has them. Owned by the caller. */
SundogVocabulary *sundog_sentencepiece_read(const uint8_t *data, size_t n_bytes, GError **error);
