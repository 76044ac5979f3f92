#pragma once

/*
 * A vocabulary as any file gives it: what the text house tokenizes with and what a core carries as
 * `text/vocabulary`. It stands in this house because the model house fills it and the text house
 * uses it. Immutable once made; safe to share between threads.
 */

#include "engine/format/reader.h"
#include "engine/format/writer.h"

/* X(NAME, number): the binary form holds the number. */
#define SUNDOG_TOKENIZER_KINDS(X)                                                      \
    X(BPE, 1)           /* Bytes, spelled in GPT-2's letters, joined by merges. */     \
    X(SCORED_BPE, 2)    /* SentencePiece: characters, joined by the result's score. */ \
    X(UNIGRAM, 3)       /* SentencePiece: the pieces whose scores add up highest. */   \
    X(WORD_PIECE, 4)    /* BERT: the longest piece from the left, word by word. */     \
    X(LONGEST, 5)       /* RWKV: the longest token of bytes from the left. */          \
    X(CHARACTER_BPE, 6) /* Characters, joined by merges; bytes stand for unknown ones. */

typedef enum {
#define X(name, number) SUNDOG_TOKENIZER_##name = number,
    SUNDOG_TOKENIZER_KINDS(X)
#undef X
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
    /* The vocabulary's own spelling, UTF-8, NUL-terminated: BPE spells in GPT-2's byte letters, LONGEST
     * in escapes, the others write U+2581 for a space, WORD_PIECE before each word's first piece. May
     * be empty in odd files, then it matches nothing. */
    const char *text;
    uint32_t length; /* bytes */
    SundogTokenKind kind;
    bool strip_left; /* White space beside it in a text is part of it. */
    bool strip_right;
    float score;
} SundogToken;

typedef struct {
    SundogTokenizerKind kind;
    char *pre_tokenizer;      /* "gpt-2", "smollm", "llama-bpe", "qwen2": GGUF's names. */
    const char **expressions; /* [n_expressions] in place of a name, which then is empty */
    uint32_t n_expressions;
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
    bool add_space_prefix;  /* A text is read as if it began with a space. */
    bool add_space_once;    /* But not behind special tokens. */
    bool add_space_unless;  /* But not to a text that begins with one. */
    bool add_space_suffix;  /* The same at its end. */
    bool merge_spaces;      /* Several spaces are read as one, and none at the ends. */
    bool lowercase;         /* WORD_PIECE: texts are read in small letters, */
    bool strip_accents;     /* and without accents. */
    bool compose;           /* Texts are read in normalization form C. */
    bool ignore_merges;     /* A whole word that is a token is taken without merging; where the
                            * pre-tokenizer's name implies that, it need not be said here. */
    uint8_t *character_map; /* [n_character_map_bytes] SentencePiece's precompiled normalization */
    uint32_t n_character_map_bytes;
    GStringChunk *strings; /* Owns the texts of all tokens, merges and expressions. */
} SundogVocabulary;

/* An empty one, to be filled by its maker: the arrays are g_malloc()ed, texts go into `strings`. */
SundogVocabulary *sundog_vocabulary_new(void);
void sundog_vocabulary_free(SundogVocabulary *vocabulary);
/* Adds a token to `ends` unless it is there, or is SUNDOG_TOKEN_NONE. */
void sundog_vocabulary_add_end(SundogVocabulary *vocabulary, uint32_t token);
/* Adds every control token whose spelling is known to end answers: files that name only one of several
 * are common, and a model that writes another then runs to the limit. */
void sundog_vocabulary_add_ends_by_spelling(SundogVocabulary *vocabulary);

/* The binary form in a core, described above the reader in vocabulary.c. Reading returns NULL with
 * the reason in the reader; it checks every id against the number of tokens. */
void sundog_vocabulary_write(const SundogVocabulary *vocabulary, SundogWriter *writer);
SundogVocabulary *sundog_vocabulary_read(SundogReader *reader);

/* Whether every id means the same text in both, so that one model may read what the other writes; the
 * error (SUNDOG_FORMAT_ERROR_INVALID) names the first that does not. One may have more tokens than the
 * other where those are unused, since widths are often rounded up. */
bool sundog_vocabulary_check_same(const SundogVocabulary *first, const SundogVocabulary *second,
                                  GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogVocabulary, sundog_vocabulary_free)
