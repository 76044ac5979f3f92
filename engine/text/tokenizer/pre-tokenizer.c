/*
 * A stage cuts a piece of text at the matches of its expression, and what it cuts off is the next
 * stage's piece; what the last stage cuts off is a word. The walk keeps one piece a stage, so that no
 * list of words is ever made.
 */

#include "engine/text/tokenizer/pre-tokenizer.h"

#include "engine/format/error.h"
#include "engine/text/utf8.h"

typedef struct {
    SundogExpression *expression;
    bool threes;
} Stage;

struct SundogPreTokenizer {
    Stage stages[SUNDOG_PRE_TOKENIZER_MAX_STAGES];
    size_t n_stages;
    bool ignore_merges;
};

static bool
add_stage(SundogPreTokenizer *pre_tokenizer, const char *expression, SundogExpressionFlags flags,
          bool threes, GError **error)
{
    Stage *stage = &pre_tokenizer->stages[pre_tokenizer->n_stages];
    stage->expression = sundog_expression_new(expression, flags, error);
    stage->threes = threes;
    if (stage->expression == NULL)
        return false;
    pre_tokenizer->n_stages++;
    return true;
}

SundogPreTokenizer *
sundog_pre_tokenizer_new(const char *name, GError **error)
{
    const SundogPreTokenizerKind *kind = name != NULL ? sundog_pre_tokenizer_kind_find(name) : NULL;
    if (kind == NULL) {
        g_autofree char *known = sundog_pre_tokenizer_kind_dup_names();
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the pre-tokenizer is \"%s\", which is not known; known are: %s",
                    name != NULL ? name : "(none)", known);
        return NULL;
    }
    SundogPreTokenizer *pre_tokenizer = g_new0(SundogPreTokenizer, 1);
    pre_tokenizer->ignore_merges = kind->ignore_merges;
    for (size_t i = 0; kind->stages[i].expression != NULL; i++) {
        bool added =
            add_stage(pre_tokenizer, kind->stages[i].expression,
                      kind->total ? SUNDOG_EXPRESSION_TOTAL : 0, kind->stages[i].threes, NULL);
        g_assert(added);
    }
    return pre_tokenizer;
}

SundogPreTokenizer *
sundog_pre_tokenizer_new_from_expressions(const char *const *expressions, size_t n_expressions,
                                          GError **error)
{
    g_autoptr(SundogPreTokenizer) pre_tokenizer = g_new0(SundogPreTokenizer, 1);
    if (n_expressions > SUNDOG_PRE_TOKENIZER_MAX_STAGES) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the pre-tokenizer has %" G_GSIZE_FORMAT " expressions, more than %d",
                    n_expressions, SUNDOG_PRE_TOKENIZER_MAX_STAGES);
        return NULL;
    }
    for (size_t i = 0; i < n_expressions; i++)
        if (!add_stage(pre_tokenizer, expressions[i], SUNDOG_EXPRESSION_FOREIGN, false, error))
            return NULL;
    return g_steal_pointer(&pre_tokenizer);
}

SundogPreTokenizer *
sundog_pre_tokenizer_new_for(const SundogVocabulary *vocabulary, GError **error)
{
    const char *name = vocabulary->pre_tokenizer;
    if (name != NULL && name[0] != '\0')
        return sundog_pre_tokenizer_new(name, error);
    return sundog_pre_tokenizer_new_from_expressions(vocabulary->expressions,
                                                     vocabulary->n_expressions, error);
}

void
sundog_pre_tokenizer_free(SundogPreTokenizer *pre_tokenizer)
{
    if (pre_tokenizer == NULL)
        return;
    for (size_t i = 0; i < pre_tokenizer->n_stages; i++)
        sundog_expression_free(pre_tokenizer->stages[i].expression);
    g_free(pre_tokenizer);
}

bool
sundog_pre_tokenizer_get_ignore_merges(const SundogPreTokenizer *pre_tokenizer)
{
    return pre_tokenizer->ignore_merges;
}

void
sundog_words_init(SundogWords *words, const SundogPreTokenizer *pre_tokenizer, const char *text,
                  size_t n_bytes)
{
    *words = (SundogWords){
        .pre_tokenizer = pre_tokenizer,
        .match = sundog_expression_match_new(),
        .text = text,
        .n_bytes = n_bytes,
    };
}

void
sundog_words_clear(SundogWords *words)
{
    g_clear_pointer(&words->match, sundog_expression_match_free);
}

static size_t
count_characters(const char *text, size_t n_bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++)
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

/* The bytes of the leading n characters. */
static size_t
characters_length(const char *text, size_t n_bytes, size_t n)
{
    size_t length = 0;
    for (; length < n_bytes; length++)
        if (((unsigned char)text[length] & 0xC0) != 0x80 && n-- == 0)
            break;
    return length;
}

/* Looks for the next match from pos on; where there is none, one is made of nothing at the end. An
 * expression sees the piece alone, as if the text began and ended with it. */
static void
find_match(SundogWords *words, const Stage *stage, SundogWordsStage *piece)
{
    size_t begin, end;
    bool found =
        sundog_expression_find(stage->expression, words->match, words->text + piece->begin,
                               piece->end - piece->begin, piece->pos - piece->begin, &begin, &end);
    piece->match_begin = found ? piece->begin + begin : piece->end;
    piece->match_end = found ? piece->begin + end : piece->end;
    if (found && stage->threes)
        piece->n_digits = count_characters(words->text + piece->match_begin, end - begin);
}

/* The end of the next group of the match at pos. */
static size_t
next_group(const SundogWords *words, SundogWordsStage *piece)
{
    size_t n = piece->n_digits % 3 != 0 ? piece->n_digits % 3 : 3;
    piece->n_digits -= n;
    return piece->pos +
           characters_length(words->text + piece->pos, piece->match_end - piece->pos, n);
}

/* Cuts the next part off a stage's piece, which is not at its end; returns where the part ends. */
static size_t
cut(SundogWords *words, const Stage *stage, SundogWordsStage *piece)
{
    if (piece->match_end <= piece->pos)
        find_match(words, stage, piece);
    size_t end;
    if (piece->match_begin > piece->pos)
        end = piece->match_begin;
    else if (stage->threes)
        end = next_group(words, piece);
    else
        end = piece->match_end;
    piece->pos = end;
    if (piece->match_begin < end)
        piece->match_begin = end;
    return end;
}

/* The next stretch of whole characters is the first stage's piece. Bytes that are no character are a
 * word of their own, which is returned, and end the text before them. */
static size_t
take_stretch(SundogWords *words)
{
    const char *rest = words->text + words->pos;
    size_t n_left = words->n_bytes - words->pos;
    size_t n_valid = sundog_utf8_valid_prefix(rest, n_left);
    words->stages[0] =
        (SundogWordsStage){.begin = words->pos, .pos = words->pos, .end = words->pos + n_valid};
    if (words->pre_tokenizer->n_stages != 0 && n_valid != 0) {
        words->pos += n_valid;
        return 0;
    }
    return n_valid != 0 ? n_valid : sundog_utf8_invalid_prefix(rest, n_left);
}

/* The deepest stage that has something left to cut, or n_stages where none has. */
static size_t
find_stage(const SundogWords *words)
{
    for (size_t i = words->pre_tokenizer->n_stages; i-- > 0;)
        if (words->stages[i].pos < words->stages[i].end)
            return i;
    return words->pre_tokenizer->n_stages;
}

bool
sundog_words_next(SundogWords *words, const char **word, size_t *n_bytes)
{
    size_t n_stages = words->pre_tokenizer->n_stages;
    size_t i = find_stage(words);
    if (i == n_stages) {
        if (words->pos == words->n_bytes)
            return false;
        *word = words->text + words->pos;
        *n_bytes = take_stretch(words);
        words->pos += *n_bytes;
        if (*n_bytes != 0)
            return true;
        i = 0;
    }
    size_t begin, end;
    for (;; i++) {
        begin = words->stages[i].pos;
        end = cut(words, &words->pre_tokenizer->stages[i], &words->stages[i]);
        if (i + 1 == n_stages)
            break;
        words->stages[i + 1] = (SundogWordsStage){.begin = begin, .pos = begin, .end = end};
    }
    *word = words->text + begin;
    *n_bytes = end - begin;
    return true;
}
