#pragma once

/*
 * Cuts text into the words that BPE never merges across, by the expressions that a vocabulary's
 * pre-tokenizer name stands for, or that it carries. Every byte lies in exactly one word, whatever the
 * text.
 *
 * The pre-tokenizer is immutable after new and safe to share between threads; the words of one text
 * are walked by one thread: init, next until it returns false, clear.
 */

#include "engine/format/vocabulary.h"
#include "engine/text/tokenizer/expression.h"
#include "engine/text/tokenizer/pre-tokenizer-kinds.h"

typedef struct SundogPreTokenizer SundogPreTokenizer;

/* A piece of text that one stage cuts, and how far it has come. All count from the text's begin. */
typedef struct {
    size_t begin;
    size_t end;
    size_t pos;
    size_t match_begin; /* of the match that is not yet cut out; at pos or behind */
    size_t match_end;   /* at pos where no match is pending */
    size_t n_digits;    /* of the pending match, where it is cut in threes */
} SundogWordsStage;

typedef struct {
    const SundogPreTokenizer *pre_tokenizer;
    SundogExpressionMatch *match;
    const char *text;
    size_t n_bytes;
    size_t pos; /* how far the text was given to the first stage */
    SundogWordsStage stages[SUNDOG_PRE_TOKENIZER_MAX_STAGES];
} SundogWords;

/* name: GGUF's. An unknown one is an error that lists those that are known. */
SundogPreTokenizer *sundog_pre_tokenizer_new(const char *name, GError **error);
/* By a file's own expressions, which may be none: [n_expressions], each cuts what the last left. */
SundogPreTokenizer *sundog_pre_tokenizer_new_from_expressions(const char *const *expressions,
                                                              size_t n_expressions, GError **error);
/* By the vocabulary's name, or where that is empty by its expressions. */
SundogPreTokenizer *sundog_pre_tokenizer_new_for(const SundogVocabulary *vocabulary,
                                                 GError **error);
void sundog_pre_tokenizer_free(SundogPreTokenizer *pre_tokenizer);
/* Whether vocabularies of this name take a word that is a token whole: GGUF files do not say it. */
bool sundog_pre_tokenizer_get_ignore_merges(const SundogPreTokenizer *pre_tokenizer);

/* The text must outlive the walk, and so must the pre-tokenizer. */
void sundog_words_init(SundogWords *words, const SundogPreTokenizer *pre_tokenizer,
                       const char *text, size_t n_bytes);
/* Points word into the text. */
bool sundog_words_next(SundogWords *words, const char **word, size_t *n_bytes);
void sundog_words_clear(SundogWords *words);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPreTokenizer, sundog_pre_tokenizer_free)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SundogWords, sundog_words_clear)
