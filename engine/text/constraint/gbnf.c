/* Rules are states from their first mention on, and accept where they are defined. */

#include "engine/text/constraint/gbnf.h"

#include "engine/text/constraint/grammar-tree.h"

#include <string.h>

typedef struct {
    uint32_t state;
    bool defined;
} Rule;

typedef struct {
    SundogAutomatonBuilder *builder;
    GHashTable *rules; /* name -> Rule */
    const char *next;
    unsigned line;
    unsigned depth;
    GError **error;
} Parser;

static SundogGrammarNode *parse_choice(Parser *parser);

static void *fail(Parser *parser, SundogGrammarError code, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void *
fail(Parser *parser, SundogGrammarError code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (parser->error != NULL && *parser->error == NULL)
        g_set_error(parser->error, SUNDOG_GRAMMAR_ERROR, code, "line %u of the grammar: %s",
                    parser->line, text);
    return NULL;
}

/* Skips white space and comments; ends of lines only where the rule goes on. */
static void
skip(Parser *parser, bool lines)
{
    for (;; parser->next++) {
        if (*parser->next == '#')
            parser->next += strcspn(parser->next, "\n");
        if (*parser->next == '\n' && !lines)
            return;
        if (*parser->next == '\0' || strchr(" \t\r\n", *parser->next) == NULL)
            return;
        parser->line += *parser->next == '\n';
    }
}

static bool
is_name(char letter)
{
    return g_ascii_isalnum(letter) || letter == '-' || letter == '_';
}

/* Owned by the caller; NULL where no name stands here. */
static char *
take_name(Parser *parser)
{
    const char *begin = parser->next;
    while (is_name(*parser->next))
        parser->next++;
    return parser->next > begin ? g_strndup(begin, (gsize)(parser->next - begin)) : NULL;
}

static Rule *
find_rule(Parser *parser, const char *name)
{
    Rule *rule = g_hash_table_lookup(parser->rules, name);
    if (rule == NULL) {
        rule = g_new0(Rule, 1);
        rule->state = sundog_automaton_builder_add_state(parser->builder);
        g_hash_table_insert(parser->rules, g_strdup(name), rule);
    }
    return rule;
}

/* One character of a text or set, escaped or not; -1 with an error. */
static int64_t
take_character(Parser *parser)
{
    if (*parser->next == '\0' || *parser->next == '\n') {
        fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "a quote or bracket is not closed");
        return -1;
    }
    if (*parser->next != '\\') {
        gunichar character = g_utf8_get_char(parser->next);
        parser->next = g_utf8_next_char(parser->next);
        return character;
    }
    static const char letters[] = "xuUtrn\\\"[]-^", values[] = "\x02\x04\x08\t\r\n\\\"[]-^";
    const char *known = parser->next[1] != '\0' ? strchr(letters, parser->next[1]) : NULL;
    if (known == NULL) {
        fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "an escape is not known");
        return -1;
    }
    parser->next += 2;
    if (known - letters >= 3)
        return values[known - letters];
    int64_t value = 0;
    for (int n_digits = values[known - letters]; n_digits > 0; n_digits--) {
        int digit = g_ascii_xdigit_value(*parser->next);
        value = value * 16 + digit;
        if (digit < 0 || value > SUNDOG_LAST_CODE_POINT) {
            fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "an escape is no character");
            return -1;
        }
        parser->next++;
    }
    return value;
}

static SundogGrammarNode *
parse_text(Parser *parser)
{
    g_autoptr(GString) text = g_string_new(NULL);
    parser->next++;
    while (*parser->next != '"') {
        int64_t character = take_character(parser);
        if (character < 0)
            return NULL;
        if (character == 0)
            return fail(parser, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED, "a text holds a zero");
        g_string_append_unichar(text, (gunichar)character);
    }
    parser->next++;
    SundogGrammarNode *node = sundog_grammar_node_new(SUNDOG_GRAMMAR_TEXT);
    node->text = g_string_free(g_steal_pointer(&text), FALSE);
    return node;
}

static SundogGrammarNode *
parse_set(Parser *parser)
{
    g_autoptr(SundogGrammarNode) node = sundog_grammar_node_new(SUNDOG_GRAMMAR_SET);
    node->set = sundog_character_set_new();
    bool inverted = *++parser->next == '^';
    parser->next += inverted;
    while (*parser->next != ']') {
        int64_t low = take_character(parser), high = low;
        if (low >= 0 && parser->next[0] == '-' && parser->next[1] != ']') {
            parser->next++;
            high = take_character(parser);
        }
        if (low < 0 || high < 0)
            return NULL;
        if (high < low)
            return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "a range goes backwards");
        sundog_character_set_add(node->set, (uint32_t)low, (uint32_t)high);
    }
    parser->next++;
    sundog_character_set_normalise(node->set);
    if (inverted)
        sundog_character_set_invert(node->set);
    return g_steal_pointer(&node);
}

static SundogGrammarNode *
parse_group(Parser *parser)
{
    if (parser->depth >= SUNDOG_GRAMMAR_MAX_DEPTH)
        return fail(parser, SUNDOG_GRAMMAR_ERROR_LIMIT, "parentheses are nested too deep");
    parser->next++;
    parser->depth++;
    skip(parser, true);
    g_autoptr(SundogGrammarNode) node = parse_choice(parser);
    parser->depth--;
    if (node != NULL && *parser->next != ')')
        return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "a parenthesis ( is not closed");
    parser->next += node != NULL;
    return g_steal_pointer(&node);
}

/* NULL without an error where no item begins here. */
static SundogGrammarNode *
parse_item(Parser *parser)
{
    switch (*parser->next) {
    case '"':
        return parse_text(parser);
    case '[':
        return parse_set(parser);
    case '(':
        return parse_group(parser);
    case '<':
    case '!':
        return fail(parser, SUNDOG_GRAMMAR_ERROR_UNSUPPORTED,
                    "references to tokens are not supported");
    case '.': {
        SundogGrammarNode *node = sundog_grammar_node_new(SUNDOG_GRAMMAR_SET);
        node->set = sundog_character_set_new();
        sundog_character_set_add(node->set, 0, SUNDOG_LAST_CODE_POINT);
        parser->next++;
        return node;
    }
    default:
        break;
    }
    g_autofree char *name = take_name(parser);
    if (name == NULL)
        return NULL;
    SundogGrammarNode *node = sundog_grammar_node_new(SUNDOG_GRAMMAR_RULE);
    node->rule = find_rule(parser, name)->state;
    return node;
}

static bool
take_number(Parser *parser, uint32_t *value)
{
    char *end;
    if (!g_ascii_isdigit(*parser->next))
        return false;
    guint64 number = g_ascii_strtoull(parser->next, &end, 10);
    *value = (uint32_t)MIN(number, (guint64)SUNDOG_AUTOMATON_UNBOUNDED - 1);
    parser->next = end;
    skip(parser, parser->depth > 0);
    return true;
}

static bool
take_counts(Parser *parser, uint32_t *least, uint32_t *most)
{
    parser->next++;
    skip(parser, parser->depth > 0);
    bool has_least = take_number(parser, least);
    *most = *least;
    bool has_comma = *parser->next == ',';
    if (has_comma) {
        parser->next++;
        skip(parser, parser->depth > 0);
        if (!take_number(parser, most))
            *most = SUNDOG_AUTOMATON_UNBOUNDED;
    }
    if (*parser->next != '}' || (!has_least && !has_comma) || *least > *most)
        return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "a count in braces is none") != NULL;
    return true;
}

/* Wraps the node, which it takes, in the quantifiers that follow. */
static SundogGrammarNode *
parse_quantifiers(Parser *parser, SundogGrammarNode *taken)
{
    g_autoptr(SundogGrammarNode) node = taken;
    for (;;) {
        skip(parser, parser->depth > 0);
        char letter = *parser->next;
        uint32_t least = letter == '+', most = letter == '?' ? 1 : SUNDOG_AUTOMATON_UNBOUNDED;
        if (letter == '\0' || strchr("*+?{", letter) == NULL)
            return g_steal_pointer(&node);
        if (letter == '{' && !take_counts(parser, &least, &most))
            return NULL;
        parser->next++;
        SundogGrammarNode *repeat = sundog_grammar_node_new(SUNDOG_GRAMMAR_REPEAT);
        repeat->least = least;
        repeat->most = most;
        sundog_grammar_node_add(repeat, g_steal_pointer(&node));
        node = repeat;
    }
}

static SundogGrammarNode *
parse_sequence(Parser *parser)
{
    g_autoptr(SundogGrammarNode) sequence = sundog_grammar_node_new(SUNDOG_GRAMMAR_SEQUENCE);
    for (;;) {
        skip(parser, parser->depth > 0);
        SundogGrammarNode *node = parse_item(parser);
        if (node == NULL)
            break;
        node = parse_quantifiers(parser, node);
        if (node == NULL)
            return NULL;
        sundog_grammar_node_add(sequence, node);
    }
    return parser->error != NULL && *parser->error != NULL ? NULL : g_steal_pointer(&sequence);
}

static SundogGrammarNode *
parse_choice(Parser *parser)
{
    g_autoptr(SundogGrammarNode) choice = sundog_grammar_node_new(SUNDOG_GRAMMAR_CHOICE);
    for (;;) {
        SundogGrammarNode *sequence = parse_sequence(parser);
        if (sequence == NULL)
            return NULL;
        sundog_grammar_node_add(choice, sequence);
        /* An alternative may begin the next line. */
        Parser ahead = *parser;
        skip(&ahead, true);
        if (*ahead.next != '|')
            return g_steal_pointer(&choice);
        parser->next = ahead.next + 1;
        parser->line = ahead.line;
        skip(parser, true);
    }
}

static bool
parse_rule(Parser *parser)
{
    g_autofree char *name = take_name(parser);
    if (name == NULL)
        return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "a rule's name is expected") != NULL;
    skip(parser, false);
    if (!g_str_has_prefix(parser->next, "::="))
        return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "::= is expected behind “%s”", name) !=
               NULL;
    parser->next += strlen("::=");
    Rule *rule = find_rule(parser, name);
    if (rule->defined)
        return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "“%s” is defined twice", name) != NULL;
    rule->defined = true;
    skip(parser, true);
    g_autoptr(SundogGrammarNode) node = parse_choice(parser);
    if (node == NULL)
        return false;
    skip(parser, false);
    if (*parser->next != '\n' && *parser->next != '\0')
        return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "“%.8s” is not expected", parser->next) !=
               NULL;
    uint32_t end = sundog_grammar_node_emit(node, parser->builder,
                                            sundog_automaton_builder_add_characters, rule->state);
    sundog_automaton_builder_accept(parser->builder, end);
    return true;
}

static bool
are_defined(Parser *parser)
{
    GHashTableIter iter;
    const char *name;
    Rule *rule;
    g_hash_table_iter_init(&iter, parser->rules);
    while (g_hash_table_iter_next(&iter, (gpointer *)&name, (gpointer *)&rule))
        if (!rule->defined)
            return fail(parser, SUNDOG_GRAMMAR_ERROR_SYNTAX, "the rule “%s” is not defined",
                        name) != NULL;
    return true;
}

bool
sundog_gbnf_add(SundogAutomatonBuilder *builder, const char *grammar, uint32_t *root,
                GError **error)
{
    g_autoptr(GHashTable) rules = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    GError *problem = NULL;
    Parser parser = {
        .builder = builder, .rules = rules, .next = grammar, .line = 1, .error = &problem};
    bool good = strlen(grammar) <= SUNDOG_GBNF_MAX_BYTES && g_utf8_validate(grammar, -1, NULL);
    if (!good)
        fail(&parser, SUNDOG_GRAMMAR_ERROR_LIMIT, "it is longer than %u bytes or no UTF-8",
             SUNDOG_GBNF_MAX_BYTES);
    *root = find_rule(&parser, "root")->state;
    for (skip(&parser, true); good && *parser.next != '\0'; skip(&parser, true))
        good = parse_rule(&parser);
    good = good && are_defined(&parser);
    if (problem != NULL)
        g_propagate_error(error, problem);
    return good;
}
