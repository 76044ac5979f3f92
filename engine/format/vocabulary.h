#pragma once

/*
 * A vocabulary as any file gives it: what the text house tokenizes with and what a core carries as
 * `text/vocabulary`. It stands in this house because the model house fills it and the text house
 * uses it. Immutable once made; safe to share between threads.
 */

#include "engine/format/reader.h"
#include "engine/format/writer.h"

typedef enum {
    SUNDOG_TOKENIZER_BPE = 1, /* Byte-level BPE with merges. Others come with later issues. */
} SundogTokenizerKind;

typedef enum {
    SUNDOG_TOKEN_NORMAL = 1,
    SUNDOG_TOKEN_UNKNOWN = 2,
    SUNDOG_TOKEN_CONTROL = 3,      /* Special: never made from a message's own text. */
    SUNDOG_TOKEN_USER_DEFINED = 4, /* Matched before BPE, in any text, but prints as itself. */
    SUNDOG_TOKEN_UNUSED = 5,
    SUNDOG_TOKEN_BYTE = 6,
} SundogTokenKind;

#define SUNDOG_TOKEN_NONE UINT32_MAX

typedef struct {
    const char
        *text;       /* The vocabulary's own spelling (byte-level BPE: GPT-2's byte letters), UTF-8,
                         NUL-terminated; may be empty in odd files, then it matches nothing. */
    uint32_t length; /* bytes */
    SundogTokenKind kind;
    float score;
} SundogToken;

typedef struct {
    SundogTokenizerKind kind;
    char *pre_tokenizer; /* "gpt-2", "smollm", "llama-bpe", "qwen2": GGUF's names. */
    SundogToken *tokens; /* [n_tokens] */
    uint32_t n_tokens;
    const char **merges; /* [n_merges] "left right", best first */
    uint32_t n_merges;
    uint32_t bos; /* SUNDOG_TOKEN_NONE where there is none, as for all below. */
    uint32_t eos;
    uint32_t unknown;
    uint32_t padding;
    uint32_t *ends; /* [n_ends] every token that ends a generation, eos included */
    uint32_t n_ends;
    bool add_bos;
    bool add_eos;
    bool add_space_prefix;
    bool ignore_merges;    /* A whole word that is a token is taken without merging; where the
                            * pre-tokenizer's name implies that, it need not be said here. */
    GStringChunk *strings; /* Owns the texts of all tokens and merges. */
} SundogVocabulary;

/* An empty one, to be filled by its maker: the arrays are g_malloc()ed, texts go into `strings`. */
SundogVocabulary *sundog_vocabulary_new(void);
void sundog_vocabulary_free(SundogVocabulary *vocabulary);
/* Adds a token to `ends` unless it is there, or is SUNDOG_TOKEN_NONE. */
void sundog_vocabulary_add_end(SundogVocabulary *vocabulary, uint32_t token);

/* The binary form in a core, described above the reader in vocabulary.c. Reading returns NULL with
 * the reason in the reader; it checks every id against the number of tokens. */
void sundog_vocabulary_write(const SundogVocabulary *vocabulary, SundogWriter *writer);
SundogVocabulary *sundog_vocabulary_read(SundogReader *reader);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogVocabulary, sundog_vocabulary_free)
