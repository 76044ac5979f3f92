/*
 * The expressions of the pre-tokenizers and their names.
 *
 * They mean what the published ones mean. Where the original first cuts digits off and then matches the
 * rest, both are one expression here: white space before a digit ends as white space at the end does.
 */

#define PCRE2_CODE_UNIT_WIDTH 8

#include "engine/text/pre-tokenizer.h"

#include "engine/format/error.h"
#include "engine/text/utf8.h"

#include <pcre2.h>

/* Unicode's White_Space, which takes the place of \s in each expression; it must stand in brackets.
 * PCRE2's own \s counts U+180E too, which no tokenizer was trained with. */
#define WHITE_SPACE "\\p{Z}\\t-\\r\\x{85}"

#define CONTRACTION "'(?:[sdmt]|ll|ve|re)"
/* The last space of several goes with the word that follows it. */
#define SPACES "|[\\s]+(?![^\\s])|[\\s]+"
#define LINES "|[\\s]*[\\r\\n]+"
#define LLAMA3                                                       \
    "(?i:" CONTRACTION ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" LINES SPACES

/* One kind of cutting, and the names under which GGUF files ask for it. */
typedef struct {
    const char *expression;
    const char *names; /* divided by spaces */
    bool ignore_merges;
} Kind;

static const Kind kinds[] = {
    {
        .expression = CONTRACTION "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+" SPACES,
        .names = "gpt-2 a.x-4.0 exaone4 gigachat granite-docling jais mellum modern-bert mpt "
                 "olmo phi-2 trillion",
    },
    {
        .expression = "\\p{N}|" CONTRACTION "| ?\\p{L}+| ?[^\\s\\p{L}\\p{N}]+"
                      "|[\\s]+(?![^\\s\\p{N}])|[\\s]+",
        .names = "smollm codeshell command-r exaone mellum2 minerva-7b refact starcoder",
    },
    {
        .expression = LLAMA3,
        .names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 glm4 lfm2 midm-2.0 pixtral",
        .ignore_merges = true,
    },
    {
        .expression = LLAMA3,
        .names = "chatglm-bpe dbrx smaug-bpe",
    },
    {
        .expression = "(?i:" CONTRACTION ")|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" LINES SPACES,
        .names = "qwen2 deepseek-r1-qwen grok-2 hunyuan kormo megrez solar-open stablelm2",
    },
    {
        .expression = "(?i:" CONTRACTION ")|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                      "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" LINES SPACES,
        .names = "qwen35",
    },
};

struct SundogPreTokenizer {
    const Kind *kind;
    pcre2_code *code;
    pcre2_match_context *context;
};

static const Kind *
find_kind(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_auto(GStrv) names = g_strsplit(kinds[i].names, " ", -1);
        if (g_strv_contains((const char *const *)names, name))
            return &kinds[i];
    }
    return NULL;
}

static void
set_unknown_error(const char *name, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
        g_string_append_printf(known, "%s%s", i == 0 ? "" : " ", kinds[i].names);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "the pre-tokenizer is \"%s\", which is not known; known are: %s",
                name != NULL ? name : "(none)", known->str);
}

/* Anchored, since no byte of the text may be skipped. JIT needs memory that may be executed; where the
 * system forbids it, PCRE2 interprets. Its limits guard against expressions that backtrack without end,
 * which these do not: no text may meet them. */
static void
compile(SundogPreTokenizer *pre_tokenizer)
{
    int code;
    PCRE2_SIZE offset;
    g_autoptr(GString) expression = g_string_new(pre_tokenizer->kind->expression);
    g_string_replace(expression, "\\s", WHITE_SPACE, 0);
    pre_tokenizer->code = pcre2_compile((PCRE2_SPTR)expression->str, expression->len,
                                        PCRE2_UTF | PCRE2_ANCHORED, &code, &offset, NULL);
    g_assert(pre_tokenizer->code != NULL);
    pcre2_jit_compile(pre_tokenizer->code, PCRE2_JIT_COMPLETE);
    pre_tokenizer->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(pre_tokenizer->context, UINT32_MAX);
    pcre2_set_depth_limit(pre_tokenizer->context, UINT32_MAX);
    pcre2_set_heap_limit(pre_tokenizer->context, UINT32_MAX);
}

SundogPreTokenizer *
sundog_pre_tokenizer_new(const char *name, GError **error)
{
    const Kind *kind = name != NULL ? find_kind(name) : NULL;
    if (kind == NULL) {
        set_unknown_error(name, error);
        return NULL;
    }
    SundogPreTokenizer *pre_tokenizer = g_new0(SundogPreTokenizer, 1);
    pre_tokenizer->kind = kind;
    compile(pre_tokenizer);
    return pre_tokenizer;
}

void
sundog_pre_tokenizer_free(SundogPreTokenizer *pre_tokenizer)
{
    if (pre_tokenizer == NULL)
        return;
    pcre2_match_context_free(pre_tokenizer->context);
    pcre2_code_free(pre_tokenizer->code);
    g_free(pre_tokenizer);
}

bool
sundog_pre_tokenizer_get_ignore_merges(const SundogPreTokenizer *pre_tokenizer)
{
    return pre_tokenizer->kind->ignore_merges;
}

void
sundog_words_init(SundogWords *words, const SundogPreTokenizer *pre_tokenizer, const char *text,
                  size_t n_bytes)
{
    *words = (SundogWords){
        .pre_tokenizer = pre_tokenizer,
        .match = pcre2_match_data_create(1, NULL),
        .text = text,
        .n_bytes = n_bytes,
    };
}

void
sundog_words_clear(SundogWords *words)
{
    pcre2_match_data_free(words->match);
    words->match = NULL;
}

/* The end of the word at pos, within the valid stretch. Each expression matches at every character; if
 * PCRE2 gives up all the same (it may run out of memory), the stretch is one word: still every byte. */
static size_t
match_end(SundogWords *words)
{
    const SundogPreTokenizer *pre_tokenizer = words->pre_tokenizer;
    int n = pcre2_match(pre_tokenizer->code, (PCRE2_SPTR)words->text, words->valid_end, words->pos,
                        PCRE2_NO_UTF_CHECK, words->match, pre_tokenizer->context);
    if (n <= 0)
        return words->valid_end;
    return pcre2_get_ovector_pointer(words->match)[1];
}

bool
sundog_words_next(SundogWords *words, const char **word, size_t *n_bytes)
{
    if (words->pos == words->n_bytes)
        return false;
    const char *rest = words->text + words->pos;
    size_t n_left = words->n_bytes - words->pos;
    size_t end;
    if (words->pos == words->valid_end)
        words->valid_end += sundog_utf8_valid_prefix(rest, n_left);
    if (words->pos == words->valid_end) {
        /* Bytes that are no character are a word of their own, and end the text before them. */
        end = words->pos + sundog_utf8_invalid_prefix(rest, n_left);
        words->valid_end = end;
    } else {
        end = match_end(words);
    }
    *word = rest;
    *n_bytes = end - words->pos;
    words->pos = end;
    return true;
}
