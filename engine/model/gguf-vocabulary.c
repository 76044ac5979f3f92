/*
 * A vocabulary from GGUF's metadata. What ends a generation is the union of every source in the file
 * (its end-of-sequence, -turn and -message ids, and control tokens spelled as such), since files that
 * name only one of them are common and a model that writes another then runs to the limit.
 */

#include "engine/model/gguf-vocabulary.h"

#include "engine/format/error.h"
#include "engine/model/gguf-tokens.h"

#include <string.h>

#define PREFIX SUNDOG_GGUF_TOKENIZER

/* What GGUF calls a kind of vocabulary, and what a file of it means that does not say. */
typedef struct {
    const char *name;
    SundogTokenizerKind kind;
    const char *pre_tokenizer; /* NULL where the file's name counts */
    bool has_merges;
    bool add_bos;
    bool add_eos;
    bool add_space_prefix;
    uint32_t bos;
    uint32_t eos;
    uint32_t unknown;
    uint32_t padding;
} Kind;

#define NONE SUNDOG_TOKEN_NONE

static const Kind kinds[] = {
    {"bert", SUNDOG_TOKENIZER_WORD_PIECE, "", false, true, true, false, 101, 102, 100, 0},
    {"gemma4", SUNDOG_TOKENIZER_CHARACTER_BPE, "gemma4", true, true, false, false, NONE, NONE, NONE,
     NONE},
    {"gpt2", SUNDOG_TOKENIZER_BPE, NULL, true, false, false, false, NONE, NONE, NONE, NONE},
    {"llama", SUNDOG_TOKENIZER_SCORED_BPE, "", false, true, false, true, 1, 2, 0, NONE},
    {"rwkv", SUNDOG_TOKENIZER_LONGEST, "", false, false, false, false, NONE, NONE, NONE, NONE},
    {"t5", SUNDOG_TOKENIZER_UNIGRAM, "", false, false, true, false, NONE, 1, 2, 0},
};

/* Byte-level vocabularies whose files began to tell about BOS only later, if at all. */
static const char *const bos_names[] = {
    "llama-bpe", "llama3", "llama-v3",     "falcon3", "falcon-h1", "pixtral",
    "midm-2.0",  "lfm2",   "jina-v5-nano", "tekken",  "chameleon",
};

/* Phi 3's special tokens take the white space behind them, but for these. GGUF cannot say so. */
static const char *const phi3_plain[] = {"<unk>", "<s>", "<|endoftext|>"};

static bool
is_in(const char *const *list, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

/* An optional id; the kind's where it is missing and the vocabulary goes so far. */
static bool
read_id(const SundogVocabulary *vocabulary, const SundogGguf *gguf, const char *key, uint32_t usual,
        uint32_t *id, GError **error)
{
    uint64_t value = 0;
    *id = usual < vocabulary->n_tokens ? usual : SUNDOG_TOKEN_NONE;
    if (!sundog_gguf_has(gguf, key))
        return true;
    if (!sundog_gguf_get_uint(gguf, key, &value) || value >= vocabulary->n_tokens) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s is %" G_GUINT64_FORMAT ", expected a token's number below %u", key, value,
                    vocabulary->n_tokens);
        return false;
    }
    *id = (uint32_t)value;
    return true;
}

/* BERT's texts begin with its class token and end with its separator, which GGUF misspells. */
static bool
read_ids(SundogVocabulary *vocabulary, const SundogGguf *gguf, const Kind *kind, GError **error)
{
    uint32_t eot, eom;
    bool bert = kind->kind == SUNDOG_TOKENIZER_WORD_PIECE;
    const char *bos = bert && sundog_gguf_has(gguf, PREFIX "cls_token_id") ? PREFIX "cls_token_id"
                                                                           : PREFIX "bos_token_id";
    const char *eos = bert ? PREFIX "seperator_token_id" : PREFIX "eos_token_id";
    if (!read_id(vocabulary, gguf, bos, kind->bos, &vocabulary->bos, error) ||
        !read_id(vocabulary, gguf, eos, kind->eos, &vocabulary->eos, error) ||
        !read_id(vocabulary, gguf, PREFIX "unknown_token_id", kind->unknown, &vocabulary->unknown,
                 error) ||
        !read_id(vocabulary, gguf, PREFIX "padding_token_id", kind->padding, &vocabulary->padding,
                 error) ||
        !read_id(vocabulary, gguf, PREFIX "eot_token_id", NONE, &eot, error) ||
        !read_id(vocabulary, gguf, PREFIX "eom_token_id", NONE, &eom, error))
        return false;
    sundog_vocabulary_add_end(vocabulary, vocabulary->eos);
    sundog_vocabulary_add_end(vocabulary, eot);
    sundog_vocabulary_add_end(vocabulary, eom);
    sundog_vocabulary_add_ends_by_spelling(vocabulary);
    return true;
}

static void
read_flags(SundogVocabulary *vocabulary, const SundogGguf *gguf, const Kind *kind)
{
    vocabulary->add_bos =
        kind->add_bos || (kind->pre_tokenizer == NULL &&
                          is_in(bos_names, G_N_ELEMENTS(bos_names), vocabulary->pre_tokenizer));
    vocabulary->add_eos = kind->add_eos;
    vocabulary->add_space_prefix = kind->add_space_prefix;
    sundog_gguf_get_bool(gguf, PREFIX "add_bos_token", &vocabulary->add_bos);
    sundog_gguf_get_bool(gguf, PREFIX "add_eos_token", &vocabulary->add_eos);
    /* The one of byte-level vocabularies is never meant: files carry it without a use. */
    if (kind->kind != SUNDOG_TOKENIZER_BPE)
        sundog_gguf_get_bool(gguf, PREFIX "add_space_prefix", &vocabulary->add_space_prefix);
    sundog_gguf_get_bool(gguf, PREFIX "remove_extra_whitespaces", &vocabulary->merge_spaces);
    vocabulary->lowercase = true;
    sundog_gguf_get_bool(gguf, PREFIX "normalizer.lowercase", &vocabulary->lowercase);
    vocabulary->strip_accents = vocabulary->lowercase;
    sundog_gguf_get_bool(gguf, PREFIX "normalizer.strip_accents", &vocabulary->strip_accents);
    vocabulary->add_bos = vocabulary->add_bos && vocabulary->bos != SUNDOG_TOKEN_NONE;
    vocabulary->add_eos = vocabulary->add_eos && vocabulary->eos != SUNDOG_TOKEN_NONE;
}

static void
strip_spaces_of_phi3(SundogVocabulary *vocabulary, const SundogGguf *gguf)
{
    const char *architecture = sundog_gguf_get_string(gguf, "general.architecture", NULL);
    if (g_strcmp0(architecture, "phi3") != 0 || vocabulary->kind != SUNDOG_TOKENIZER_SCORED_BPE)
        return;
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++) {
        SundogToken *token = &vocabulary->tokens[id];
        token->strip_right =
            (token->kind == SUNDOG_TOKEN_CONTROL || token->kind == SUNDOG_TOKEN_USER_DEFINED) &&
            !is_in(phi3_plain, G_N_ELEMENTS(phi3_plain), token->text);
    }
}

static const Kind *
find_kind(const SundogGguf *gguf, GError **error)
{
    const char *name = sundog_gguf_get_string(gguf, PREFIX "model", NULL);
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (g_strcmp0(name, kinds[i].name) == 0)
            return &kinds[i];
        g_string_append_printf(known, "%s\"%s\"", i == 0 ? "" : ", ", kinds[i].name);
    }
    g_autofree char *shown = sundog_format_quote(name, "missing");
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                PREFIX "model is %s, known are: %s", shown, known->str);
    return NULL;
}

/* "default" is GGUF's word for a file that does not say; the text house decides what it means. */
static bool
read_kind(SundogVocabulary *vocabulary, const SundogGguf *gguf, const Kind *kind, GError **error)
{
    const char *name = kind->pre_tokenizer;
    if (name == NULL)
        name = sundog_gguf_get_string(gguf, PREFIX "pre", NULL);
    if (name != NULL && !g_utf8_validate(name, -1, NULL)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    PREFIX "pre is not UTF-8");
        return false;
    }
    vocabulary->kind = kind->kind;
    bool is_missing = kind->pre_tokenizer == NULL && (name == NULL || name[0] == '\0');
    vocabulary->pre_tokenizer = g_strdup(is_missing ? "default" : name);
    return true;
}

SundogVocabulary *
sundog_gguf_dup_vocabulary(const SundogGguf *gguf, GError **error)
{
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_new();
    const Kind *kind = find_kind(gguf, error);
    if (kind == NULL || !read_kind(vocabulary, gguf, kind, error) ||
        !sundog_gguf_read_tokens(vocabulary, gguf, error) ||
        (kind->has_merges && !sundog_gguf_read_merges(vocabulary, gguf, error)) ||
        (kind->kind == SUNDOG_TOKENIZER_UNIGRAM &&
         !sundog_gguf_read_character_map(vocabulary, gguf, error)) ||
        !read_ids(vocabulary, gguf, kind, error))
        return NULL;
    read_flags(vocabulary, gguf, kind);
    strip_spaces_of_phi3(vocabulary, gguf);
    return g_steal_pointer(&vocabulary);
}
