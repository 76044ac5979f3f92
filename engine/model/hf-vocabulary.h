#pragma once

/* The vocabulary of a folder out of its texts. Within this house. */

#include "engine/format/vocabulary.h"

/* Texts; all may be NULL, but one of the first two. */
typedef struct {
    GBytes *tokenizer;
    GBytes *pieces; /* SentencePiece's, where there is no other */
    GBytes *tokenizer_config;
    GBytes *generation_config;
    GBytes *config;
} SundogHfVocabularyFiles;

/* `n_rows` is the model's number of tokens as config.json has it, 0 where it does not say. Rows without
 * a token become unused ones; added tokens without a row, which some files have, are left out. What
 * ends an answer is the union of all sources. Owned by the caller. */
SundogVocabulary *sundog_hf_vocabulary_read(const SundogHfVocabularyFiles *files, double n_rows,
                                            GError **error);
