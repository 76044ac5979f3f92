/* Oniguruma's notation rewritten for PCRE2. */

#define PCRE2_CODE_UNIT_WIDTH 8

#include "engine/text/tokenizer/expression.h"

#include "engine/format/error.h"

#include <pcre2.h>
#include <string.h>

/* Unicode's White_Space in brackets. PCRE2's own \s counts U+180E too, which no tokenizer was trained
 * with. */
#define WHITE_SPACE "\\p{Z}\\t-\\r\\x{85}"
#define WORD "\\p{L}\\p{M}\\p{N}\\p{Pc}"

/* Steps of one search; a file's expression that needs more is taken to match nothing. */
#define FOREIGN_LIMIT 10000000

struct SundogExpression {
    pcre2_code *code;
    pcre2_match_context *context;
};

struct SundogExpressionMatch {
    pcre2_match_data *data;
};

/* What an escaped letter means, in brackets. */
static const struct {
    char letter;
    const char *set;
    bool negated;
} classes[] = {
    {'s', WHITE_SPACE, false}, {'S', WHITE_SPACE, true}, {'d', "\\p{Nd}", false},
    {'D', "\\p{Nd}", true},    {'w', WORD, false},       {'W', WORD, true},
};

/* Escapes that mean the same to both; a sign may always be escaped. */
#define SAME_ESCAPES "xtnrfvaebBAz"

/* Returns false where a negated class stands in a set: PCRE2 has no notation for that. */
static bool
append_class(GString *out, size_t index, bool in_set)
{
    if (in_set && classes[index].negated)
        return false;
    if (in_set)
        g_string_append(out, classes[index].set);
    else
        g_string_append_printf(out, "[%s%s]", classes[index].negated ? "^" : "",
                               classes[index].set);
    return true;
}

/* {Name} behind \p or \P. Of a script's name PCRE2 would also take the characters that it shares with
 * others; the names of categories have no more than two letters. */
static size_t
append_property(GString *out, const char *letter)
{
    const char *end = letter[1] == '{' ? strchr(letter, '}') : NULL;
    if (end == NULL)
        return 0;
    const char *name = letter + (letter[2] == '^' ? 3 : 2);
    g_string_append_printf(out, "\\%c{%s%s%.*s}", *letter, letter[2] == '^' ? "^" : "",
                           end - name > 2 ? "sc:" : "", (int)(end - name), name);
    return (size_t)(end - letter) + 1;
}

/* \uHHHH */
static bool
append_code_point(GString *out, const char *digits)
{
    for (size_t i = 0; i < 4; i++)
        if (!g_ascii_isxdigit(digits[i]))
            return false;
    g_string_append_printf(out, "\\x{%.4s}", digits);
    return true;
}

/* Rewrites the escape whose letter this is; returns how many bytes it takes, 0 where it is not known. */
static size_t
append_escape(GString *out, const char *letter, bool in_set)
{
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++)
        if (*letter == classes[i].letter)
            return append_class(out, i, in_set) ? 1 : 0;
    if (*letter == 'p' || *letter == 'P')
        return append_property(out, letter);
    if (*letter == 'u')
        return append_code_point(out, letter + 1) ? 5 : 0;
    if (*letter == '\0' || (g_ascii_isalnum(*letter) && strchr(SAME_ESCAPES, *letter) == NULL))
        return 0;
    g_string_append_printf(out, "\\%c", *letter);
    return 1;
}

/* Rewrites one part of the text; returns how many bytes it took, 0 where it is not known: sets in sets
 * and their intersections. */
static size_t
append_part(GString *out, const char *text, bool *in_set)
{
    if (*text == '\\') {
        size_t length = append_escape(out, text + 1, *in_set);
        return length == 0 ? 0 : length + 1;
    }
    if (*in_set && (*text == '[' || strncmp(text, "&&", 2) == 0))
        return 0;
    if (*text == '[' || *text == ']')
        *in_set = *text == '[';
    g_string_append_c(out, *text);
    return 1;
}

static char *
dup_rewritten(const char *text, GError **error)
{
    g_autoptr(GString) out = g_string_new(NULL);
    bool in_set = false;
    for (const char *rest = text; *rest != '\0';) {
        size_t length = append_part(out, rest, &in_set);
        if (length == 0) {
            g_autofree char *shown = sundog_format_quote(rest, "");
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                        "the expression has a part that is not known, from %s on", shown);
            return NULL;
        }
        rest += length;
    }
    return g_string_free(g_steal_pointer(&out), FALSE);
}

static pcre2_code *
compile(const char *text, uint32_t options, GError **error)
{
    int code;
    PCRE2_SIZE offset;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)text, strlen(text), options, &code, &offset, context);
    pcre2_compile_context_free(context);
    if (compiled == NULL) {
        PCRE2_UCHAR message[128] = "";
        pcre2_get_error_message(code, message, sizeof message);
        g_autofree char *shown = sundog_format_quote(text + MIN(offset, strlen(text)), "");
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "the expression cannot be used: %s, before %s", (const char *)message, shown);
    }
    return compiled;
}

/* JIT needs memory that may be executed; where the system forbids it, PCRE2 interprets. The project's
 * own expressions do not backtrack without end, and no text may meet a limit of theirs. */
static pcre2_match_context *
new_context(bool foreign)
{
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(context, foreign ? FOREIGN_LIMIT : UINT32_MAX);
    pcre2_set_depth_limit(context, foreign ? FOREIGN_LIMIT : UINT32_MAX);
    pcre2_set_heap_limit(context, foreign ? 64 * 1024 : UINT32_MAX);
    return context;
}

SundogExpression *
sundog_expression_new(const char *text, SundogExpressionFlags flags, GError **error)
{
    uint32_t options = PCRE2_UTF | PCRE2_MULTILINE | PCRE2_UCP;
    if ((flags & SUNDOG_EXPRESSION_TOTAL) != 0)
        options |= PCRE2_ANCHORED;
    g_autofree char *rewritten = dup_rewritten(text, error);
    pcre2_code *code = rewritten != NULL ? compile(rewritten, options, error) : NULL;
    if (code == NULL)
        return NULL;
    SundogExpression *expression = g_new0(SundogExpression, 1);
    expression->code = code;
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    expression->context = new_context((flags & SUNDOG_EXPRESSION_FOREIGN) != 0);
    return expression;
}

void
sundog_expression_free(SundogExpression *expression)
{
    if (expression == NULL)
        return;
    pcre2_match_context_free(expression->context);
    pcre2_code_free(expression->code);
    g_free(expression);
}

SundogExpressionMatch *
sundog_expression_match_new(void)
{
    SundogExpressionMatch *match = g_new(SundogExpressionMatch, 1);
    match->data = pcre2_match_data_create(1, NULL);
    return match;
}

void
sundog_expression_match_free(SundogExpressionMatch *match)
{
    if (match == NULL)
        return;
    pcre2_match_data_free(match->data);
    g_free(match);
}

bool
sundog_expression_find(const SundogExpression *expression, SundogExpressionMatch *match,
                       const char *text, size_t n_bytes, size_t pos, size_t *begin, size_t *end)
{
    const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY_ATSTART;
    int n = pcre2_match(expression->code, (PCRE2_SPTR)text, n_bytes, pos, options, match->data,
                        expression->context);
    /* The compiled form has a small stack; interpreted, the heap serves. */
    if (n == PCRE2_ERROR_JIT_STACKLIMIT)
        n = pcre2_match(expression->code, (PCRE2_SPTR)text, n_bytes, pos, options | PCRE2_NO_JIT,
                        match->data, expression->context);
    if (n < 0)
        return false;
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(match->data);
    *begin = found[0];
    *end = found[1];
    /* A look behind may make a match that begins before where it was looked for. */
    return *begin >= pos && *end >= *begin;
}
