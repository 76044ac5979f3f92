/* A template's source to tokens. */

#include "engine/text/template/lexer.h"

#include <string.h>

typedef struct {
    SundogRender *render;
    SundogNames *names;
    const char *at;
    const char *end;
    unsigned line;
    bool line_starting; /* what was read last ended a line */
    GArray *tokens;
    GByteArray *closers; /* brackets that are open within a tag */
} Lexer;

static const char *const token_texts[] = {
#define X(name, text) [SUNDOG_TOKEN_##name] = text,
    SUNDOG_TEMPLATE_TOKENS(X)
#undef X
};

const char *
sundog_template_token_text(SundogTemplateTokenKind kind)
{
    return token_texts[kind];
}

const char *
sundog_names_intern(SundogNames *names, SundogRender *render, const char *text, size_t n_bytes)
{
    char *name = sundog_render_take(render, n_bytes + 1);
    memcpy(name, text, n_bytes);
    const char *known = g_hash_table_lookup(names->table, name);
    if (known == NULL)
        g_hash_table_add(names->table, name);
    return known != NULL ? known : name;
}

static void lexer_fail(Lexer *lexer, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
lexer_fail(Lexer *lexer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    sundog_render_fail(lexer->render, SUNDOG_TEMPLATE_ERROR_SYNTAX, "line %u: %s", lexer->line,
                       text);
}

static void
push_token(Lexer *lexer, SundogTemplateTokenKind kind, SundogValue value, const char *name)
{
    SundogTemplateToken token = {kind, lexer->line, name, value};
    g_array_append_val(lexer->tokens, token);
}

static size_t
space_at(const char *at, const char *end)
{
    if (at >= end)
        return 0;
    gunichar c = g_utf8_get_char(at);
    return sundog_char_is_space(c) ? (size_t)(g_utf8_next_char(at) - at) : 0;
}

static const char *
skip_spaces(const char *at, const char *end)
{
    for (size_t n; (n = space_at(at, end)) > 0;)
        at += n;
    return at;
}

static bool
starts_with(const char *at, const char *end, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(end - at) >= n && memcmp(at, text, n) == 0;
}

static unsigned
count_lines(const char *from, const char *to)
{
    unsigned n = 0;
    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

static void
advance(Lexer *lexer, const char *to)
{
    if (to > lexer->at)
        lexer->line_starting = to[-1] == '\n';
    lexer->line += count_lines(lexer->at, to);
    lexer->at = to;
}

/* Text before a tag without what the tag's sign, or lstrip_blocks, takes from its end. */
static const char *
strip_end(const Lexer *lexer, const char *from, const char *to, char sign, bool lstrip)
{
    if (sign == '-') {
        while (to > from) {
            const char *previous = g_utf8_find_prev_char(from, to);
            if (!sundog_char_is_space(g_utf8_get_char(previous)))
                break;
            to = previous;
        }
        return to;
    }
    if (sign == '+' || !lstrip)
        return to;
    const char *line = to;
    while (line > from && line[-1] != '\n')
        line--;
    bool begins_line = line > from || lexer->line_starting;
    return begins_line && skip_spaces(line, to) == to ? line : to;
}

static void
push_data(Lexer *lexer, const char *from, const char *to)
{
    if (to > from)
        push_token(
            lexer, SUNDOG_TOKEN_DATA,
            sundog_value_string(sundog_string_new(lexer->render, from, (size_t)(to - from), true)),
            NULL);
}

/* The end of a tag at `at` whose closing text is `close`, or NULL where it does not stand there. A
 * minus takes all white space that follows; otherwise a block takes one newline. */
static const char *
match_close(const char *at, const char *end, const char *close, bool is_block)
{
    char sign = '\0';
    if (at < end && (*at == '-' || (*at == '+' && is_block)))
        sign = *at++;
    if (!starts_with(at, end, close))
        return NULL;
    at += strlen(close);
    if (sign == '-')
        return skip_spaces(at, end);
    if (is_block && sign == '\0' && at < end && *at == '\n')
        at++;
    return at;
}

/* `{% raw %}`: the text up to `{% endraw %}` is data as it stands. */
static const char *
match_raw_begin(const char *at, const char *end)
{
    at = skip_spaces(at, end);
    if (!starts_with(at, end, "raw"))
        return NULL;
    at = skip_spaces(at + 3, end);
    if (starts_with(at, end, "-%}"))
        return skip_spaces(at + 3, end);
    return starts_with(at, end, "%}") ? at + 2 : NULL;
}

static const char *
match_raw_end(const char *at, const char *end, char *sign)
{
    at += 2;
    *sign = at < end && (*at == '-' || *at == '+') ? *at++ : '\0';
    at = skip_spaces(at, end);
    if (!starts_with(at, end, "endraw"))
        return NULL;
    return match_close(skip_spaces(at + 6, end), end, "%}", true);
}

static void
lex_raw(Lexer *lexer)
{
    for (const char *at = lexer->at; at < lexer->end; at++) {
        char sign;
        const char *after =
            starts_with(at, lexer->end, "{%") ? match_raw_end(at, lexer->end, &sign) : NULL;
        if (after == NULL)
            continue;
        push_data(lexer, lexer->at, strip_end(lexer, lexer->at, at, sign, true));
        advance(lexer, after);
        return;
    }
    lexer_fail(lexer, "missing end of raw block");
}

static void
lex_comment(Lexer *lexer)
{
    for (const char *at = lexer->at; at < lexer->end; at++) {
        const char *after = match_close(at, lexer->end, "#}", true);
        if (after == NULL)
            continue;
        advance(lexer, after);
        return;
    }
    lexer_fail(lexer, "missing end of comment");
}

static const char *
scan_digits(const char *at, const char *end, bool (*is_digit)(char))
{
    while (at < end && (is_digit(*at) || (*at == '_' && at + 1 < end && is_digit(at[1]))))
        at++;
    return at;
}

static bool
is_decimal(char c)
{
    return g_ascii_isdigit(c);
}

static bool
is_hexadecimal(char c)
{
    return g_ascii_isxdigit(c);
}

static bool
is_octal(char c)
{
    return c >= '0' && c <= '7';
}

static bool
is_binary(char c)
{
    return c == '0' || c == '1';
}

/* Where a number that begins at `at` ends if it is a float, or NULL. */
static const char *
match_float(const char *at, const char *end)
{
    const char *digits = scan_digits(at, end, is_decimal);
    const char *after = digits;
    if (after + 1 < end && *after == '.' && is_decimal(after[1]))
        after = scan_digits(after + 1, end, is_decimal);
    const char *exponent = after;
    if (exponent < end && (*exponent == 'e' || *exponent == 'E')) {
        exponent++;
        if (exponent < end && (*exponent == '+' || *exponent == '-'))
            exponent++;
        const char *last = scan_digits(exponent, end, is_decimal);
        if (last > exponent)
            after = last;
    }
    return after > digits ? after : NULL;
}

static char *
dup_without_underscores(const char *from, const char *to)
{
    GString *text = g_string_new(NULL);
    for (; from < to; from++)
        if (*from != '_')
            g_string_append_c(text, *from);
    return g_string_free(text, FALSE);
}

static const char *
match_integer(const char *at, const char *end, unsigned *base)
{
    char kind = at + 1 < end && *at == '0' ? g_ascii_tolower(at[1]) : '\0';
    bool (*is_digit)(char) = kind == 'x'   ? is_hexadecimal
                             : kind == 'o' ? is_octal
                             : kind == 'b' ? is_binary
                                           : NULL;
    *base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (is_digit != NULL) {
        const char *after = scan_digits(at + 2, end, is_digit);
        if (after > at + 2)
            return after;
        *base = 10;
    }
    return *at == '0' ? at + 1 : scan_digits(at, end, is_decimal);
}

static void
lex_number(Lexer *lexer)
{
    bool after_dot =
        lexer->tokens->len > 0 &&
        g_array_index(lexer->tokens, SundogTemplateToken, lexer->tokens->len - 1).kind ==
            SUNDOG_TOKEN_DOT;
    const char *after = after_dot ? NULL : match_float(lexer->at, lexer->end);
    if (after != NULL) {
        g_autofree char *text = dup_without_underscores(lexer->at, after);
        push_token(lexer, SUNDOG_TOKEN_FLOAT, sundog_value_float(g_ascii_strtod(text, NULL)), NULL);
        advance(lexer, after);
        return;
    }
    unsigned base;
    after = match_integer(lexer->at, lexer->end, &base);
    g_autofree char *text = dup_without_underscores(lexer->at + (base == 10 ? 0 : 2), after);
    gint64 value = 0;
    if (base == 10 && !g_ascii_string_to_signed(text, 10, 0, G_MAXINT64, &value, NULL))
        lexer_fail(lexer, "the number %s is too large", text);
    if (base != 10)
        value = (gint64)g_ascii_strtoull(text, NULL, base);
    push_token(lexer, SUNDOG_TOKEN_INTEGER, sundog_value_integer(value), NULL);
    advance(lexer, after);
}

static bool
is_name_char(gunichar c, bool first)
{
    if (c == '_' || g_unichar_isalpha(c))
        return true;
    return !first && (g_unichar_isdigit(c) || g_unichar_ismark(c));
}

static bool
lex_name(Lexer *lexer)
{
    const char *at = lexer->at;
    if (!is_name_char(g_utf8_get_char(at), true))
        return false;
    while (at < lexer->end && is_name_char(g_utf8_get_char(at), false))
        at = g_utf8_next_char(at);
    size_t n = (size_t)(at - lexer->at);
    push_token(lexer, SUNDOG_TOKEN_NAME, SUNDOG_NONE,
               sundog_names_intern(lexer->names, lexer->render, lexer->at, n));
    advance(lexer, at);
    return true;
}

/* Up to `max` digits of a numeric escape; returns how many there were. */
static int
scan_escape(const char *at, const char *end, int max, unsigned base, gunichar *c)
{
    int n = 0;
    *c = 0;
    while (n < max && at + n < end && g_ascii_isxdigit(at[n]) &&
           (unsigned)g_ascii_xdigit_value(at[n]) < base) {
        *c = *c * base + (unsigned)g_ascii_xdigit_value(at[n]);
        n++;
    }
    return n;
}

static const char *
lex_numeric_escape(Lexer *lexer, GString *text, const char *at, const char *end)
{
    gunichar c;
    int wanted = *at == 'x' ? 2 : *at == 'u' ? 4 : 8;
    if (scan_escape(at + 1, end, wanted, 16, &c) != wanted || c > 0x10ffff) {
        lexer_fail(lexer, "incomplete escape \\%c in a string", *at);
        return end;
    }
    g_string_append_unichar(text, g_unichar_validate(c) ? c : 0xfffd);
    return at + 1 + wanted;
}

/* Appends what the escape after a backslash at `at` means; returns where it ends. */
static const char *
lex_escape(Lexer *lexer, GString *text, const char *at, const char *end)
{
    static const char simple[] = "n\nt\tr\ra\ab\bf\fv\v\\\\''\"\"";
    for (const char *s = simple; *s != '\0'; s += 2) {
        if (*at == *s) {
            g_string_append_c(text, s[1]);
            return at + 1;
        }
    }
    if (*at == '\n')
        return at + 1;
    if (*at == 'x' || *at == 'u' || *at == 'U')
        return lex_numeric_escape(lexer, text, at, end);
    gunichar c;
    int n = scan_escape(at, end, 3, 8, &c);
    if (n > 0) {
        g_string_append_unichar(text, c);
        return at + n;
    }
    /* An unknown escape stays as written, as in Python. */
    g_string_append_c(text, '\\');
    return at;
}

static void
lex_string(Lexer *lexer)
{
    char quote = *lexer->at;
    const char *end = lexer->at + 1;
    while (end < lexer->end && *end != quote)
        end += *end == '\\' && end + 1 < lexer->end ? 2 : 1;
    if (end >= lexer->end) {
        lexer_fail(lexer, "a string does not end");
        return;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    for (const char *at = lexer->at + 1; at < end;)
        if (*at == '\\')
            at = lex_escape(lexer, text, at + 1, end);
        else
            g_string_append_c(text, *at++);
    push_token(lexer, SUNDOG_TOKEN_STRING,
               sundog_value_string(sundog_string_new(lexer->render, text->str, text->len, true)),
               NULL);
    advance(lexer, end + 1);
}

static bool
balance(Lexer *lexer, char c)
{
    static const char pairs[] = "(){}[]";
    const char *found = strchr(pairs, c);
    if (found == NULL)
        return true;
    if ((found - pairs) % 2 == 0) {
        g_byte_array_append(lexer->closers, (const guint8 *)found + 1, 1);
        return true;
    }
    unsigned n = lexer->closers->len;
    if (n == 0 || lexer->closers->data[n - 1] != (guint8)c) {
        lexer_fail(lexer, "unexpected '%c'", c);
        return false;
    }
    g_byte_array_set_size(lexer->closers, n - 1);
    return true;
}

static void
lex_operator(Lexer *lexer)
{
    for (int kind = SUNDOG_TOKEN_FLOORDIV; kind < SUNDOG_N_TEMPLATE_TOKENS; kind++) {
        if (!starts_with(lexer->at, lexer->end, token_texts[kind]))
            continue;
        if (token_texts[kind][1] == '\0' && !balance(lexer, *lexer->at))
            return;
        push_token(lexer, (SundogTemplateTokenKind)kind, SUNDOG_NONE, NULL);
        advance(lexer, lexer->at + strlen(token_texts[kind]));
        return;
    }
    lexer_fail(lexer, "unexpected character '%.*s'", (int)(g_utf8_next_char(lexer->at) - lexer->at),
               lexer->at);
}

/* The inside of {{ }} or {% %}. */
static void
lex_tag(Lexer *lexer, const char *close, SundogTemplateTokenKind end_kind)
{
    while (!sundog_render_failed(lexer->render)) {
        if (lexer->at >= lexer->end) {
            lexer_fail(lexer, "a tag does not end with '%s'", close);
            return;
        }
        const char *after =
            lexer->closers->len > 0
                ? NULL
                : match_close(lexer->at, lexer->end, close, end_kind == SUNDOG_TOKEN_BLOCK_END);
        size_t n_space = space_at(lexer->at, lexer->end);
        if (after != NULL) {
            push_token(lexer, end_kind, SUNDOG_NONE, NULL);
            advance(lexer, after);
            return;
        }
        if (n_space > 0)
            advance(lexer, lexer->at + n_space);
        else if (is_decimal(*lexer->at))
            lex_number(lexer);
        else if (*lexer->at == '\'' || *lexer->at == '"')
            lex_string(lexer);
        else if (!lex_name(lexer))
            lex_operator(lexer);
    }
}

static const char *
find_tag(const Lexer *lexer)
{
    for (const char *at = lexer->at; at + 1 < lexer->end; at++)
        if (*at == '{' && (at[1] == '{' || at[1] == '%' || at[1] == '#'))
            return at;
    return NULL;
}

/* One stretch of text and the tag after it. */
static void
lex_root(Lexer *lexer)
{
    const char *tag = find_tag(lexer);
    if (tag == NULL) {
        push_data(lexer, lexer->at, lexer->end);
        advance(lexer, lexer->end);
        return;
    }
    const char *after = tag + 2;
    char sign = after < lexer->end && (*after == '-' || *after == '+') ? *after++ : '\0';
    const char *raw = tag[1] == '%' ? match_raw_begin(after, lexer->end) : NULL;
    push_data(lexer, lexer->at, strip_end(lexer, lexer->at, tag, sign, tag[1] != '{'));
    char kind = tag[1];
    advance(lexer, raw != NULL ? raw : after);
    if (raw != NULL) {
        lex_raw(lexer);
    } else if (kind == '#') {
        lex_comment(lexer);
    } else if (kind == '{') {
        push_token(lexer, SUNDOG_TOKEN_VARIABLE_BEGIN, SUNDOG_NONE, NULL);
        lex_tag(lexer, "}}", SUNDOG_TOKEN_VARIABLE_END);
    } else {
        push_token(lexer, SUNDOG_TOKEN_BLOCK_BEGIN, SUNDOG_NONE, NULL);
        lex_tag(lexer, "%}", SUNDOG_TOKEN_BLOCK_END);
    }
}

static char *
normalise_newlines(const char *source, size_t n_bytes, size_t *n_out)
{
    char *text = g_malloc(n_bytes + 1);
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        if (source[i] == '\r' && i + 1 < n_bytes && source[i + 1] == '\n')
            continue;
        text[n++] = source[i] == '\r' ? '\n' : source[i];
    }
    if (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    *n_out = n;
    return text;
}

GArray *
sundog_template_tokenize(SundogRender *render, SundogNames *names, const char *source,
                         size_t n_bytes)
{
    size_t n;
    g_autofree char *text = normalise_newlines(source, n_bytes, &n);
    Lexer lexer = {
        .render = render,
        .names = names,
        .at = text,
        .end = text + n,
        .line = 1,
        .line_starting = true,
        .tokens = g_array_new(FALSE, FALSE, sizeof(SundogTemplateToken)),
        .closers = g_byte_array_new(),
    };
    while (lexer.at < lexer.end && !sundog_render_failed(render))
        lex_root(&lexer);
    push_token(&lexer, SUNDOG_TOKEN_END, SUNDOG_NONE, NULL);
    g_byte_array_unref(lexer.closers);
    if (sundog_render_failed(render))
        g_clear_pointer(&lexer.tokens, g_array_unref);
    return lexer.tokens;
}
