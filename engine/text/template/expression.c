/* Expressions of a template, from the loosest operator to the tightest, as in jinja2's grammar. */

#include "engine/text/template/parser.h"

#include <string.h>

static SundogNode *parse_unary(SundogParser *parser, bool with_filter);

static SundogNode *
new_pair(SundogParser *parser, SundogNodeKind kind, SundogNode *a, SundogNode *b)
{
    SundogNode *node = sundog_parser_new_node(parser, kind);
    node->a = a;
    node->b = b;
    return node;
}

/* Operators of one level that group to the left; `kinds` ends with END. */
static SundogNode *
parse_binary(SundogParser *parser, SundogNode *(*operand)(SundogParser *),
             const SundogTemplateTokenKind *kinds)
{
    SundogNode *node = operand(parser);
    for (const SundogTemplateTokenKind *kind = kinds; *kind != SUNDOG_TOKEN_END;) {
        if (!sundog_parser_skip(parser, *kind)) {
            kind++;
            continue;
        }
        node = new_pair(parser, SUNDOG_NODE_BINARY, node, operand(parser));
        node->operation = *kind;
        kind = kinds;
    }
    return node;
}

static SundogNode *
parse_unary_with_filter(SundogParser *parser)
{
    return parse_unary(parser, true);
}

static SundogNode *
parse_power(SundogParser *parser)
{
    static const SundogTemplateTokenKind kinds[] = {SUNDOG_TOKEN_POW, SUNDOG_TOKEN_END};
    return parse_binary(parser, parse_unary_with_filter, kinds);
}

static SundogNode *
parse_product(SundogParser *parser)
{
    static const SundogTemplateTokenKind kinds[] = {SUNDOG_TOKEN_MUL, SUNDOG_TOKEN_DIV,
                                                    SUNDOG_TOKEN_FLOORDIV, SUNDOG_TOKEN_MOD,
                                                    SUNDOG_TOKEN_END};
    return parse_binary(parser, parse_power, kinds);
}

static SundogNode *
parse_concat(SundogParser *parser)
{
    SundogNode *first = parse_product(parser);
    if (!sundog_parser_at(parser, SUNDOG_TOKEN_TILDE))
        return first;
    GPtrArray *items = g_ptr_array_new();
    g_ptr_array_add(items, first);
    while (sundog_parser_skip(parser, SUNDOG_TOKEN_TILDE))
        g_ptr_array_add(items, parse_product(parser));
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_CONCAT);
    node->items = sundog_parser_take_list(parser, items);
    return node;
}

static SundogNode *
parse_sum(SundogParser *parser)
{
    static const SundogTemplateTokenKind kinds[] = {SUNDOG_TOKEN_ADD, SUNDOG_TOKEN_SUB,
                                                    SUNDOG_TOKEN_END};
    return parse_binary(parser, parse_concat, kinds);
}

/* The comparison that begins at the present token, or -1; its tokens are taken. */
static int
take_comparison(SundogParser *parser)
{
    switch (parser->token->kind) {
    case SUNDOG_TOKEN_EQ:
    case SUNDOG_TOKEN_NE:
    case SUNDOG_TOKEN_LT:
    case SUNDOG_TOKEN_LTEQ:
    case SUNDOG_TOKEN_GT:
    case SUNDOG_TOKEN_GTEQ:
        return sundog_parser_next(parser).kind;
    default:
        break;
    }
    if (sundog_parser_skip_name(parser, "in"))
        return SUNDOG_OPERATION_IN;
    if (!sundog_parser_at_name(parser, "not") || parser->token[1].kind != SUNDOG_TOKEN_NAME ||
        strcmp(parser->token[1].name, "in") != 0)
        return -1;
    sundog_parser_next(parser);
    sundog_parser_next(parser);
    return SUNDOG_OPERATION_NOT_IN;
}

static SundogNode *
parse_compare(SundogParser *parser)
{
    SundogNode *first = parse_sum(parser);
    int operation = take_comparison(parser);
    if (operation < 0)
        return first;
    SundogNode *node = new_pair(parser, SUNDOG_NODE_COMPARE, first, NULL);
    GPtrArray *operands = g_ptr_array_new();
    for (; operation >= 0; operation = take_comparison(parser)) {
        SundogNode *operand = new_pair(parser, SUNDOG_NODE_BINARY, parse_sum(parser), NULL);
        operand->operation = operation;
        g_ptr_array_add(operands, operand);
    }
    node->items = sundog_parser_take_list(parser, operands);
    return node;
}

static SundogNode *
parse_not(SundogParser *parser)
{
    if (!sundog_parser_skip_name(parser, "not"))
        return parse_compare(parser);
    SundogNode *operand = NULL;
    if (sundog_parser_enter(parser))
        operand = parse_not(parser);
    sundog_parser_leave(parser);
    return new_pair(parser, SUNDOG_NODE_NOT, operand, NULL);
}

static SundogNode *
parse_and(SundogParser *parser)
{
    SundogNode *node = parse_not(parser);
    while (sundog_parser_skip_name(parser, "and"))
        node = new_pair(parser, SUNDOG_NODE_AND, node, parse_not(parser));
    return node;
}

static SundogNode *
parse_or(SundogParser *parser)
{
    SundogNode *node = parse_and(parser);
    while (sundog_parser_skip_name(parser, "or"))
        node = new_pair(parser, SUNDOG_NODE_OR, node, parse_and(parser));
    return node;
}

static SundogNode *
parse_condition(SundogParser *parser)
{
    SundogNode *node = parse_or(parser);
    while (sundog_parser_skip_name(parser, "if")) {
        SundogNode *condition = new_pair(parser, SUNDOG_NODE_CONDITION, parse_or(parser), node);
        if (sundog_parser_skip_name(parser, "else"))
            condition->c = sundog_parser_expression(parser);
        node = condition;
    }
    return node;
}

static SundogNode *
parse_nested(SundogParser *parser, SundogNode *(*parse)(SundogParser *))
{
    SundogNode *node = sundog_parser_enter(parser)
                           ? parse(parser)
                           : sundog_parser_new_node(parser, SUNDOG_NODE_CONSTANT);
    sundog_parser_leave(parser);
    return node;
}

SundogNode *
sundog_parser_expression(SundogParser *parser)
{
    return parse_nested(parser, parse_condition);
}

static SundogNode *
new_constant(SundogParser *parser, SundogValue value)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_CONSTANT);
    node->value = value;
    return node;
}

static SundogValue
name_value(SundogParser *parser, const char *name)
{
    return sundog_value_literal(parser->render, name);
}

/* caller, kwargs and varargs exist in a macro only where its body, or one within, looks at them. */
static void
note_use(SundogParser *parser, const char *name)
{
    static const char *const names[SUNDOG_N_IMPLICIT] = {"caller", "kwargs", "varargs"};
    for (size_t use = 0; use < SUNDOG_N_IMPLICIT; use++)
        for (unsigned i = 0; i < parser->macros->len && strcmp(name, names[use]) == 0; i++)
            ((SundogNode *)g_ptr_array_index(parser->macros, i))->implicit[use] = name;
}

static SundogNode *
parse_name(SundogParser *parser, bool with_namespace)
{
    const char *name = sundog_parser_next(parser).name;
    if (g_ascii_strcasecmp(name, "true") == 0 && strcmp(name + 1, "rue") == 0)
        return new_constant(parser, sundog_value_boolean(true));
    if (g_ascii_strcasecmp(name, "false") == 0 && strcmp(name + 1, "alse") == 0)
        return new_constant(parser, sundog_value_boolean(false));
    if (g_ascii_strcasecmp(name, "none") == 0 && strcmp(name + 1, "one") == 0)
        return new_constant(parser, SUNDOG_NONE);
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_NAME);
    node->name = name;
    if (with_namespace && sundog_parser_skip(parser, SUNDOG_TOKEN_DOT)) {
        SundogTemplateToken attribute = sundog_parser_expect(parser, SUNDOG_TOKEN_NAME);
        node->kind = SUNDOG_NODE_NAMESPACE_ATTRIBUTE;
        if (attribute.name != NULL)
            node->value = name_value(parser, attribute.name);
    }
    note_use(parser, name);
    return node;
}

static SundogNode *
parse_strings(SundogParser *parser)
{
    SundogValue value = sundog_parser_next(parser).value;
    while (sundog_parser_at(parser, SUNDOG_TOKEN_STRING))
        value.string = sundog_string_concat(parser->render, value.string,
                                            sundog_parser_next(parser).value.string);
    /* Flat now: a template is shared between threads, and flattening later would write to it. */
    sundog_string_text(parser->render, value.string);
    return new_constant(parser, value);
}

static SundogNode *
parse_list(SundogParser *parser)
{
    sundog_parser_next(parser);
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_LIST);
    GPtrArray *items = g_ptr_array_new();
    while (!sundog_parser_at(parser, SUNDOG_TOKEN_RBRACKET) &&
           !sundog_render_failed(parser->render)) {
        if (items->len > 0)
            sundog_parser_expect(parser, SUNDOG_TOKEN_COMMA);
        if (!sundog_parser_at(parser, SUNDOG_TOKEN_RBRACKET))
            g_ptr_array_add(items, sundog_parser_expression(parser));
    }
    sundog_parser_expect(parser, SUNDOG_TOKEN_RBRACKET);
    node->items = sundog_parser_take_list(parser, items);
    return node;
}

static SundogNode *
parse_dict(SundogParser *parser)
{
    sundog_parser_next(parser);
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_DICT);
    GPtrArray *keys = g_ptr_array_new();
    GPtrArray *values = g_ptr_array_new();
    while (!sundog_parser_at(parser, SUNDOG_TOKEN_RBRACE) &&
           !sundog_render_failed(parser->render)) {
        if (keys->len > 0)
            sundog_parser_expect(parser, SUNDOG_TOKEN_COMMA);
        if (sundog_parser_at(parser, SUNDOG_TOKEN_RBRACE))
            break;
        g_ptr_array_add(keys, sundog_parser_expression(parser));
        sundog_parser_expect(parser, SUNDOG_TOKEN_COLON);
        g_ptr_array_add(values, sundog_parser_expression(parser));
    }
    sundog_parser_expect(parser, SUNDOG_TOKEN_RBRACE);
    node->items = sundog_parser_take_list(parser, keys);
    node->others = sundog_parser_take_list(parser, values);
    return node;
}

static SundogNode *
parse_parentheses(SundogParser *parser)
{
    sundog_parser_next(parser);
    SundogNode *node = sundog_parser_tuple(parser, &(SundogTupleOptions){.may_be_empty = true});
    sundog_parser_expect(parser, SUNDOG_TOKEN_RPAREN);
    return node;
}

static SundogNode *
parse_primary(SundogParser *parser, bool with_namespace)
{
    switch (parser->token->kind) {
    case SUNDOG_TOKEN_NAME:
        return parse_name(parser, with_namespace);
    case SUNDOG_TOKEN_STRING:
        return parse_strings(parser);
    case SUNDOG_TOKEN_INTEGER:
    case SUNDOG_TOKEN_FLOAT:
        return new_constant(parser, sundog_parser_next(parser).value);
    case SUNDOG_TOKEN_LPAREN:
        return parse_nested(parser, parse_parentheses);
    case SUNDOG_TOKEN_LBRACKET:
        return parse_nested(parser, parse_list);
    case SUNDOG_TOKEN_LBRACE:
        return parse_nested(parser, parse_dict);
    default:
        sundog_parser_fail(parser, "unexpected '%s'",
                           sundog_template_token_text(parser->token->kind));
        return sundog_parser_new_node(parser, SUNDOG_NODE_CONSTANT);
    }
}

static bool
at_tuple_end(const SundogParser *parser, const SundogTupleOptions *options)
{
    return sundog_parser_at(parser, SUNDOG_TOKEN_VARIABLE_END) ||
           sundog_parser_at(parser, SUNDOG_TOKEN_BLOCK_END) ||
           sundog_parser_at(parser, SUNDOG_TOKEN_RPAREN) ||
           (options->end_name != NULL && sundog_parser_at_name(parser, options->end_name));
}

static SundogNode *
parse_tuple_item(SundogParser *parser, const SundogTupleOptions *options)
{
    if (options->simplified)
        return parse_primary(parser, options->with_namespace);
    return options->no_condition ? parse_nested(parser, parse_or)
                                 : sundog_parser_expression(parser);
}

SundogNode *
sundog_parser_tuple(SundogParser *parser, const SundogTupleOptions *options)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_TUPLE);
    GPtrArray *items = g_ptr_array_new();
    bool is_tuple = false;
    while (!at_tuple_end(parser, options) && !sundog_render_failed(parser->render)) {
        g_ptr_array_add(items, parse_tuple_item(parser, options));
        if (!sundog_parser_skip(parser, SUNDOG_TOKEN_COMMA))
            break;
        is_tuple = true;
    }
    if (items->len == 0 && !options->may_be_empty)
        sundog_parser_fail(parser, "expected an expression, got '%s'",
                           sundog_template_token_text(parser->token->kind));
    SundogNode *only = items->len == 1 && !is_tuple ? g_ptr_array_index(items, 0) : NULL;
    node->items = sundog_parser_take_list(parser, items);
    return only != NULL ? only : node;
}

static bool
at_slice_end(const SundogParser *parser)
{
    return sundog_parser_at(parser, SUNDOG_TOKEN_COLON) ||
           sundog_parser_at(parser, SUNDOG_TOKEN_RBRACKET);
}

static SundogNode *
parse_slice(SundogParser *parser, SundogNode *object, SundogNode *start)
{
    SundogNode *node = new_pair(parser, SUNDOG_NODE_SLICE, object, start);
    sundog_parser_expect(parser, SUNDOG_TOKEN_COLON);
    if (!at_slice_end(parser))
        node->c = sundog_parser_expression(parser);
    if (sundog_parser_skip(parser, SUNDOG_TOKEN_COLON) && !at_slice_end(parser))
        node->d = sundog_parser_expression(parser);
    return node;
}

static SundogNode *
parse_brackets(SundogParser *parser, SundogNode *object)
{
    sundog_parser_next(parser);
    SundogNode *index = NULL;
    SundogNode *node;
    if (!sundog_parser_at(parser, SUNDOG_TOKEN_COLON))
        index = sundog_parser_expression(parser);
    if (sundog_parser_at(parser, SUNDOG_TOKEN_COLON))
        node = parse_slice(parser, object, index);
    else
        node = new_pair(parser, SUNDOG_NODE_SUBSCRIPT, object, index);
    sundog_parser_expect(parser, SUNDOG_TOKEN_RBRACKET);
    return node;
}

static SundogNode *
parse_dot(SundogParser *parser, SundogNode *object)
{
    sundog_parser_next(parser);
    SundogTemplateToken token = sundog_parser_next(parser);
    SundogNode *node = new_pair(parser, SUNDOG_NODE_ATTRIBUTE, object, NULL);
    if (token.kind == SUNDOG_TOKEN_NAME) {
        node->value = name_value(parser, token.name);
    } else if (token.kind == SUNDOG_TOKEN_INTEGER) {
        node->kind = SUNDOG_NODE_SUBSCRIPT;
        node->b = new_constant(parser, token.value);
    } else {
        sundog_parser_fail(parser, "expected a name or number after '.'");
    }
    return node;
}

static void
parse_argument(SundogParser *parser, SundogNodeArguments *arguments, GPtrArray *positional,
               GPtrArray *names, GPtrArray *named)
{
    if (sundog_parser_skip(parser, SUNDOG_TOKEN_MUL)) {
        arguments->star = sundog_parser_expression(parser);
    } else if (sundog_parser_skip(parser, SUNDOG_TOKEN_POW)) {
        arguments->star_star = sundog_parser_expression(parser);
    } else if (sundog_parser_at(parser, SUNDOG_TOKEN_NAME) &&
               parser->token[1].kind == SUNDOG_TOKEN_ASSIGN) {
        g_ptr_array_add(names, (gpointer)sundog_parser_next(parser).name);
        sundog_parser_next(parser);
        g_ptr_array_add(named, sundog_parser_expression(parser));
    } else {
        if (named->len > 0 || arguments->star != NULL || arguments->star_star != NULL)
            sundog_parser_fail(parser, "a positional argument follows a named one");
        g_ptr_array_add(positional, sundog_parser_expression(parser));
    }
}

static SundogNodeArguments *
parse_arguments(SundogParser *parser)
{
    SundogNodeArguments *arguments = sundog_render_take(parser->render, sizeof *arguments);
    GPtrArray *positional = g_ptr_array_new();
    GPtrArray *names = g_ptr_array_new();
    GPtrArray *named = g_ptr_array_new();
    sundog_parser_expect(parser, SUNDOG_TOKEN_LPAREN);
    while (!sundog_parser_at(parser, SUNDOG_TOKEN_RPAREN) &&
           !sundog_render_failed(parser->render)) {
        parse_argument(parser, arguments, positional, names, named);
        if (!sundog_parser_at(parser, SUNDOG_TOKEN_RPAREN))
            sundog_parser_expect(parser, SUNDOG_TOKEN_COMMA);
    }
    sundog_parser_expect(parser, SUNDOG_TOKEN_RPAREN);
    arguments->names = (const char **)sundog_parser_take_list(parser, names).nodes;
    arguments->positional = sundog_parser_take_list(parser, positional);
    arguments->named = sundog_parser_take_list(parser, named);
    return arguments;
}

static SundogNode *
parse_call(SundogParser *parser, SundogNode *callee)
{
    SundogNode *node = new_pair(parser, SUNDOG_NODE_CALL, callee, NULL);
    node->arguments = parse_arguments(parser);
    return node;
}

/* Names of filters and tests may hold dots. */
static const char *
parse_dotted_name(SundogParser *parser)
{
    SundogTemplateToken token = sundog_parser_expect(parser, SUNDOG_TOKEN_NAME);
    if (!sundog_parser_at(parser, SUNDOG_TOKEN_DOT) || token.name == NULL)
        return token.name != NULL ? token.name : "";
    g_autoptr(GString) name = g_string_new(token.name);
    while (sundog_parser_skip(parser, SUNDOG_TOKEN_DOT)) {
        token = sundog_parser_expect(parser, SUNDOG_TOKEN_NAME);
        g_string_append_printf(name, ".%s", token.name != NULL ? token.name : "");
    }
    return sundog_names_intern(parser->names, parser->render, name->str, name->len);
}

SundogNode *
sundog_parser_filter(SundogParser *parser, SundogNode *value, bool start_inline)
{
    while (start_inline || sundog_parser_skip(parser, SUNDOG_TOKEN_PIPE)) {
        SundogNode *node = new_pair(parser, SUNDOG_NODE_FILTER, value, NULL);
        node->name = parse_dotted_name(parser);
        if (sundog_parser_at(parser, SUNDOG_TOKEN_LPAREN))
            node->arguments = parse_arguments(parser);
        value = node;
        start_inline = false;
    }
    return value;
}

static SundogNode *
parse_postfix(SundogParser *parser, SundogNode *node)
{
    while (!sundog_render_failed(parser->render))
        if (sundog_parser_at(parser, SUNDOG_TOKEN_DOT))
            node = parse_dot(parser, node);
        else if (sundog_parser_at(parser, SUNDOG_TOKEN_LBRACKET))
            node = parse_brackets(parser, node);
        else if (sundog_parser_at(parser, SUNDOG_TOKEN_LPAREN))
            node = parse_call(parser, node);
        else
            break;
    return node;
}

/* A test's one argument may stand without parentheses: `is divisibleby 3`. */
static bool
at_bare_argument(const SundogParser *parser)
{
    switch (parser->token->kind) {
    case SUNDOG_TOKEN_NAME:
        return !sundog_parser_at_name(parser, "else") && !sundog_parser_at_name(parser, "or") &&
               !sundog_parser_at_name(parser, "and");
    case SUNDOG_TOKEN_STRING:
    case SUNDOG_TOKEN_INTEGER:
    case SUNDOG_TOKEN_FLOAT:
    case SUNDOG_TOKEN_LBRACKET:
    case SUNDOG_TOKEN_LBRACE:
        return true;
    default:
        return false;
    }
}

static SundogNodeArguments *
parse_bare_argument(SundogParser *parser)
{
    if (sundog_parser_at_name(parser, "is"))
        sundog_parser_fail(parser, "tests with 'is' cannot be chained");
    SundogNodeArguments *arguments = sundog_render_take(parser->render, sizeof *arguments);
    GPtrArray *positional = g_ptr_array_new();
    g_ptr_array_add(positional, parse_postfix(parser, parse_primary(parser, false)));
    arguments->positional = sundog_parser_take_list(parser, positional);
    return arguments;
}

static SundogNode *
parse_test(SundogParser *parser, SundogNode *value)
{
    sundog_parser_next(parser);
    bool negated = sundog_parser_skip_name(parser, "not");
    SundogNode *node = new_pair(parser, SUNDOG_NODE_TEST, value, NULL);
    node->name = parse_dotted_name(parser);
    if (sundog_parser_at(parser, SUNDOG_TOKEN_LPAREN))
        node->arguments = parse_arguments(parser);
    else if (at_bare_argument(parser))
        node->arguments = parse_bare_argument(parser);
    return negated ? new_pair(parser, SUNDOG_NODE_NOT, node, NULL) : node;
}

static SundogNode *
parse_filters_and_tests(SundogParser *parser, SundogNode *node)
{
    while (!sundog_render_failed(parser->render))
        if (sundog_parser_at(parser, SUNDOG_TOKEN_PIPE))
            node = sundog_parser_filter(parser, node, false);
        else if (sundog_parser_at_name(parser, "is"))
            node = parse_test(parser, node);
        else if (sundog_parser_at(parser, SUNDOG_TOKEN_LPAREN))
            node = parse_call(parser, node);
        else
            break;
    return node;
}

static SundogNode *
parse_signed(SundogParser *parser)
{
    SundogNodeKind kind = sundog_parser_next(parser).kind == SUNDOG_TOKEN_SUB
                              ? SUNDOG_NODE_NEGATE
                              : SUNDOG_NODE_POSITIVE;
    return new_pair(parser, kind, parse_unary(parser, false), NULL);
}

static SundogNode *
parse_unary(SundogParser *parser, bool with_filter)
{
    SundogNode *node;
    if (sundog_parser_at(parser, SUNDOG_TOKEN_SUB) || sundog_parser_at(parser, SUNDOG_TOKEN_ADD))
        node = parse_nested(parser, parse_signed);
    else
        node = parse_primary(parser, false);
    node = parse_postfix(parser, node);
    return with_filter ? parse_filters_and_tests(parser, node) : node;
}
