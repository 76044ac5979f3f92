#pragma once

/*
 * Cuts text into the words that BPE never merges across, by the expression that a vocabulary's
 * pre-tokenizer name stands for. Every byte lies in exactly one word, whatever the text.
 *
 * The pre-tokenizer is immutable after new and safe to share between threads; the words of one text
 * are walked by one thread: init, next until it returns false, clear.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct SundogPreTokenizer SundogPreTokenizer;

typedef struct {
    const SundogPreTokenizer *pre_tokenizer;
    void *match; /* PCRE2's match data */
    const char *text;
    size_t n_bytes;
    size_t pos;
    size_t valid_end; /* Up to here the bytes from pos on are whole characters. */
} SundogWords;

/* name: GGUF's. An unknown one is an error that lists those that are known. */
SundogPreTokenizer *sundog_pre_tokenizer_new(const char *name, GError **error);
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
