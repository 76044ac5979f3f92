/* A parser by recursive descent, one function a level of the syntax. */

#include "engine/text/constraint/pattern.h"

#include <string.h>

typedef struct {
    const char *text; /* all of it */
    const char *next;
    unsigned depth;
    bool search;
    GError **error;
} Parser;

static SundogGrammarNode *parse_choice(Parser *parser);

static void *
fail(Parser *parser, SundogGrammarError code, const char *what)
{
    if (parser->error != NULL && *parser->error == NULL)
        g_set_error(parser->error, SUNDOG_GRAMMAR_ERROR, code, "at byte %zu of the expression: %s",
                    (size_t)(parser->next - parser->text), what);
    return NULL;
}

static void *
refuse(Parser *parser, const char *what)
{
    return fail(parser, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED, what);
}

static void *
wrong(Parser *parser, const char *what)
{
    return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, what);
}

static bool
take(Parser *parser, const char *text)
{
    if (!g_str_has_prefix(parser->next, text))
        return false;
    parser->next += strlen(text);
    return true;
}

/* Characters */

/* So many hexadecimal digits, or -1. */
static int64_t
take_hex(Parser *parser, unsigned n_digits)
{
    int64_t value = 0;
    for (unsigned i = 0; i < n_digits; i++) {
        int digit = g_ascii_xdigit_value(*parser->next);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
        parser->next++;
    }
    return value;
}

/* What \u stands for: four digits, two such that are a pair of surrogates, or digits in braces. */
static int64_t
take_unicode(Parser *parser)
{
    if (*parser->next != '{') {
        int64_t first = take_hex(parser, 4), second = -1;
        if (first >= 0xD800 && first <= 0xDBFF && take(parser, "\\u"))
            second = take_hex(parser, 4);
        if (first < 0xD800 || first > 0xDFFF)
            return first;
        return second >= 0xDC00 && second <= 0xDFFF
                   ? 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
                   : -1;
    }
    const char *close = strchr(parser->next, '}');
    ptrdiff_t n_digits = close != NULL ? close - parser->next - 1 : 0;
    if (n_digits < 1 || n_digits > 6)
        return -1;
    parser->next++;
    int64_t value = take_hex(parser, (unsigned)n_digits);
    return take(parser, "}") && value <= SUNDOG_LAST_CODE_POINT ? value : -1;
}

/* The one character that an escape stands for, whose backslash has been taken; -1 with an error. */
static int64_t
take_escape(Parser *parser)
{
    static const char letters[] = "tnrfv0", values[] = "\t\n\r\f\v";
    char letter = *parser->next;
    const char *known = letter != '\0' ? strchr(letters, letter) : NULL;
    if (letter == '\0') {
        wrong(parser, "it ends in a backslash");
        return -1;
    }
    if (known != NULL && !(letter == '0' && g_ascii_isdigit(parser->next[1]))) {
        parser->next++;
        return letter == '0' ? 0 : values[known - letters];
    }
    if (g_ascii_isdigit(letter) || letter == 'k') {
        refuse(parser, "back-references are not supported");
        return -1;
    }
    if (letter == 'x' || letter == 'u') {
        parser->next++;
        int64_t value = letter == 'x' ? take_hex(parser, 2) : take_unicode(parser);
        if (value < 0)
            wrong(parser, "hexadecimal digits are missing or stand for no character");
        return value;
    }
    if (g_ascii_isalpha(letter)) {
        g_autofree char *text = g_strdup_printf("the escape \\%c is not supported", letter);
        refuse(parser, text);
        return -1;
    }
    gunichar character = g_utf8_get_char(parser->next);
    parser->next = g_utf8_next_char(parser->next);
    return character;
}

static bool
is_class(const Parser *parser)
{
    return parser->next[0] == '\\' && parser->next[1] != '\0' &&
           strchr("dwsDWS", parser->next[1]) != NULL;
}

static void
take_class(Parser *parser, GArray *set)
{
    sundog_character_set_add_class(set, parser->next[1]);
    parser->next += 2;
}

/* One end of a range in brackets, or -1 with an error. */
static int64_t
take_member(Parser *parser)
{
    if (*parser->next == '\0') {
        wrong(parser, "a bracket [ is not closed");
        return -1;
    }
    if (take(parser, "\\"))
        return take(parser, "b") ? '\b' : take_escape(parser);
    gunichar character = g_utf8_get_char(parser->next);
    parser->next = g_utf8_next_char(parser->next);
    return character;
}

static bool
take_range(Parser *parser, GArray *set)
{
    int64_t low = take_member(parser), high = low;
    if (low >= 0 && parser->next[0] == '-' && parser->next[1] != ']') {
        parser->next++;
        if (is_class(parser))
            return wrong(parser, "a range ends in a class") != NULL;
        high = take_member(parser);
    }
    if (low < 0 || high < 0)
        return false;
    if (high < low)
        return wrong(parser, "a range goes backwards") != NULL;
    sundog_character_set_add(set, (uint32_t)low, (uint32_t)high);
    return true;
}

static SundogGrammarNode *
parse_brackets(Parser *parser)
{
    g_autoptr(SundogGrammarNode) node = sundog_grammar_node_new(SUNDOG_GRAMMAR_SET);
    node->set = sundog_character_set_new();
    bool inverted = take(parser, "^");
    while (*parser->next != ']')
        if (is_class(parser))
            take_class(parser, node->set);
        else if (!take_range(parser, node->set))
            return NULL;
    parser->next++;
    sundog_character_set_normalise(node->set);
    if (inverted)
        sundog_character_set_invert(node->set);
    return g_steal_pointer(&node);
}

static SundogGrammarNode *
new_set(uint32_t low, uint32_t high)
{
    SundogGrammarNode *node = sundog_grammar_node_new(SUNDOG_GRAMMAR_SET);
    node->set = sundog_character_set_new();
    sundog_character_set_add(node->set, low, high);
    return node;
}

/* Any character but the ends of lines. */
static SundogGrammarNode *
new_dot(void)
{
    SundogGrammarNode *node = new_set('\n', '\n');
    sundog_character_set_add(node->set, '\r', '\r');
    sundog_character_set_add(node->set, 0x2028, 0x2029);
    sundog_character_set_invert(node->set);
    return node;
}

/* Groups and quantifiers */

static bool
take_group_head(Parser *parser)
{
    if (!take(parser, "?") || take(parser, ":"))
        return true;
    if (g_str_has_prefix(parser->next, "=") || g_str_has_prefix(parser->next, "!") ||
        g_str_has_prefix(parser->next, "<=") || g_str_has_prefix(parser->next, "<!"))
        return refuse(parser, "look-around is not supported") != NULL;
    take(parser, "P");
    const char *close = strchr(parser->next, '>');
    if (*parser->next != '<' || close == NULL)
        return refuse(parser, "this kind of group is not supported") != NULL;
    parser->next = close + 1;
    return true;
}

static SundogGrammarNode *
parse_group(Parser *parser)
{
    if (parser->depth >= SUNDOG_GRAMMAR_MAX_DEPTH)
        return fail(parser, SUNDOG_GRAMMAR_ERROR_LIMIT, "groups are nested too deep");
    if (!take_group_head(parser))
        return NULL;
    parser->depth++;
    g_autoptr(SundogGrammarNode) node = parse_choice(parser);
    parser->depth--;
    if (node != NULL && !take(parser, ")"))
        return wrong(parser, "a parenthesis ( is not closed");
    return g_steal_pointer(&node);
}

static SundogGrammarNode *
parse_atom(Parser *parser)
{
    if (take(parser, "("))
        return parse_group(parser);
    if (take(parser, "["))
        return parse_brackets(parser);
    if (take(parser, "."))
        return new_dot();
    if (strchr("*+?{", *parser->next) != NULL)
        return wrong(parser, "there is nothing to repeat");
    if (*parser->next == '^' || *parser->next == '$')
        return refuse(parser, "^ and $ are supported at the ends of the whole expression only");
    if (is_class(parser)) {
        SundogGrammarNode *node = sundog_grammar_node_new(SUNDOG_GRAMMAR_SET);
        node->set = sundog_character_set_new();
        take_class(parser, node->set);
        return node;
    }
    if (take(parser, "\\")) {
        if (*parser->next == 'b' || *parser->next == 'B')
            return refuse(parser, "word borders are not supported");
        int64_t character = take_escape(parser);
        return character >= 0 ? new_set((uint32_t)character, (uint32_t)character) : NULL;
    }
    gunichar character = g_utf8_get_char(parser->next);
    parser->next = g_utf8_next_char(parser->next);
    return new_set(character, character);
}

/* A decimal number below UNBOUNDED; false where there is none. */
static bool
take_number(Parser *parser, uint32_t *value)
{
    char *end;
    if (!g_ascii_isdigit(*parser->next))
        return false;
    guint64 number = g_ascii_strtoull(parser->next, &end, 10);
    parser->next = end;
    *value = (uint32_t)MIN(number, (guint64)SUNDOG_AUTOMATON_UNBOUNDED - 1);
    return true;
}

static bool
take_counts(Parser *parser, uint32_t *least, uint32_t *most)
{
    if (!take_number(parser, least))
        return wrong(parser, "a brace { begins no count: write \\{ for the character") != NULL;
    *most = *least;
    if (take(parser, ",") && !take_number(parser, most))
        *most = SUNDOG_AUTOMATON_UNBOUNDED;
    if (!take(parser, "}"))
        return wrong(parser, "a brace { is not closed") != NULL;
    return *least <= *most || wrong(parser, "a count goes backwards") != NULL;
}

/* False with an error; *found where there is a quantifier. */
static bool
take_quantifier(Parser *parser, uint32_t *least, uint32_t *most, bool *found)
{
    *found = true;
    *least = 0;
    *most = SUNDOG_AUTOMATON_UNBOUNDED;
    if (take(parser, "+")) {
        *least = 1;
    } else if (take(parser, "?")) {
        *most = 1;
    } else if (take(parser, "{")) {
        if (!take_counts(parser, least, most))
            return false;
    } else if (!take(parser, "*")) {
        *found = false;
        return true;
    }
    if (!take(parser, "?") && *parser->next == '+')
        return refuse(parser, "possessive quantifiers are not supported") != NULL;
    return true;
}

static SundogGrammarNode *
parse_repeated(Parser *parser)
{
    g_autoptr(SundogGrammarNode) node = parse_atom(parser);
    uint32_t least, most;
    bool found;
    if (node == NULL || !take_quantifier(parser, &least, &most, &found))
        return NULL;
    if (!found)
        return g_steal_pointer(&node);
    SundogGrammarNode *repeat = sundog_grammar_node_new(SUNDOG_GRAMMAR_REPEAT);
    repeat->least = least;
    repeat->most = most;
    sundog_grammar_node_add(repeat, g_steal_pointer(&node));
    return repeat;
}

/* Sequences and alternatives */

static bool
ends_alternative(const Parser *parser)
{
    return *parser->next == '\0' || *parser->next == '|' ||
           (*parser->next == ')' && parser->depth > 0);
}

/* What a search skips before a match, and behind it. */
static void
add_anything(SundogGrammarNode *sequence)
{
    SundogGrammarNode *repeat = sundog_grammar_node_new(SUNDOG_GRAMMAR_REPEAT);
    repeat->most = SUNDOG_AUTOMATON_UNBOUNDED;
    sundog_grammar_node_add(repeat, new_set(0, SUNDOG_LAST_CODE_POINT));
    sundog_grammar_node_add(sequence, repeat);
}

static SundogGrammarNode *
parse_alternative(Parser *parser)
{
    g_autoptr(SundogGrammarNode) sequence = sundog_grammar_node_new(SUNDOG_GRAMMAR_SEQUENCE);
    bool is_top = parser->depth == 0, ends = false;
    if (is_top && !take(parser, "^") && parser->search)
        add_anything(sequence);
    while (!ends_alternative(parser)) {
        if (is_top && (parser->next[0] == '$') &&
            (parser->next[1] == '\0' || parser->next[1] == '|')) {
            parser->next++;
            ends = true;
            break;
        }
        if (*parser->next == ')')
            return wrong(parser, "a parenthesis ) closes nothing");
        SundogGrammarNode *node = parse_repeated(parser);
        if (node == NULL)
            return NULL;
        sundog_grammar_node_add(sequence, node);
    }
    if (is_top && !ends && parser->search)
        add_anything(sequence);
    return g_steal_pointer(&sequence);
}

static SundogGrammarNode *
parse_choice(Parser *parser)
{
    g_autoptr(SundogGrammarNode) choice = sundog_grammar_node_new(SUNDOG_GRAMMAR_CHOICE);
    do {
        SundogGrammarNode *alternative = parse_alternative(parser);
        if (alternative == NULL)
            return NULL;
        sundog_grammar_node_add(choice, alternative);
    } while (take(parser, "|"));
    return g_steal_pointer(&choice);
}

SundogGrammarNode *
sundog_pattern_parse(const char *pattern, bool search, GError **error)
{
    Parser parser = {.text = pattern, .next = pattern, .search = search, .error = error};
    if (strlen(pattern) > SUNDOG_PATTERN_MAX_BYTES)
        return fail(&parser, SUNDOG_GRAMMAR_ERROR_LIMIT, "it is longer than 8192 bytes");
    if (!g_utf8_validate(pattern, -1, NULL))
        return wrong(&parser, "it is no UTF-8");
    g_autoptr(SundogGrammarNode) node = parse_choice(&parser);
    if (node != NULL && *parser.next != '\0')
        return wrong(&parser, "a parenthesis ) closes nothing");
    return g_steal_pointer(&node);
}
