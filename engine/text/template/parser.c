/* Statements of a template. */

#include "engine/text/template/parser.h"

#include <string.h>

static SundogNode *parse_body(SundogParser *parser, const char *const *ends);

SundogNode *
sundog_parser_new_node(SundogParser *parser, SundogNodeKind kind)
{
    SundogNode *node = sundog_render_take(parser->render, sizeof *node);
    node->kind = kind;
    node->line = parser->token->line;
    node->value = SUNDOG_NONE;
    return node;
}

void
sundog_parser_fail(SundogParser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    sundog_render_fail(parser->render, SUNDOG_TEMPLATE_ERROR_SYNTAX, "line %u: %s",
                       parser->token->line, text);
}

bool
sundog_parser_enter(SundogParser *parser)
{
    if (++parser->depth > SUNDOG_PARSER_MAX_DEPTH)
        sundog_parser_fail(parser, "nested deeper than %u levels", SUNDOG_PARSER_MAX_DEPTH);
    return !sundog_render_failed(parser->render);
}

void
sundog_parser_leave(SundogParser *parser)
{
    parser->depth--;
}

SundogTemplateToken
sundog_parser_next(SundogParser *parser)
{
    SundogTemplateToken token = *parser->token;
    if (token.kind != SUNDOG_TOKEN_END)
        parser->token++;
    return token;
}

bool
sundog_parser_at(const SundogParser *parser, SundogTemplateTokenKind kind)
{
    return parser->token->kind == kind;
}

bool
sundog_parser_at_name(const SundogParser *parser, const char *name)
{
    return parser->token->kind == SUNDOG_TOKEN_NAME && strcmp(parser->token->name, name) == 0;
}

bool
sundog_parser_skip(SundogParser *parser, SundogTemplateTokenKind kind)
{
    bool found = sundog_parser_at(parser, kind) && !sundog_render_failed(parser->render);
    if (found)
        sundog_parser_next(parser);
    return found;
}

bool
sundog_parser_skip_name(SundogParser *parser, const char *name)
{
    bool found = sundog_parser_at_name(parser, name) && !sundog_render_failed(parser->render);
    if (found)
        sundog_parser_next(parser);
    return found;
}

SundogTemplateToken
sundog_parser_expect(SundogParser *parser, SundogTemplateTokenKind kind)
{
    if (sundog_parser_at(parser, kind))
        return sundog_parser_next(parser);
    sundog_parser_fail(parser, "expected '%s', got '%s'", sundog_template_token_text(kind),
                       sundog_parser_at(parser, SUNDOG_TOKEN_NAME)
                           ? parser->token->name
                           : sundog_template_token_text(parser->token->kind));
    return (SundogTemplateToken){.kind = SUNDOG_TOKEN_END, .line = parser->token->line};
}

SundogNodeList
sundog_parser_take_list(SundogParser *parser, GPtrArray *nodes)
{
    SundogNodeList list = {sundog_render_take_array(parser->render, SundogNode *, nodes->len),
                           nodes->len};
    if (nodes->len > 0)
        memcpy(list.nodes, nodes->pdata, nodes->len * sizeof *list.nodes);
    g_ptr_array_unref(nodes);
    return list;
}

/* A name, never NULL: after an error any will do. */
static const char *
expect_name(SundogParser *parser)
{
    const char *name = sundog_parser_expect(parser, SUNDOG_TOKEN_NAME).name;
    return name != NULL ? name : "";
}

/* The body of a statement up to one of the end tags, whose name is taken; which one it was. */
static SundogNode *
parse_block(SundogParser *parser, const char *const *ends, const char **end)
{
    sundog_parser_skip(parser, SUNDOG_TOKEN_COLON);
    sundog_parser_expect(parser, SUNDOG_TOKEN_BLOCK_END);
    SundogNode *body = parse_body(parser, ends);
    const char *name = sundog_parser_at(parser, SUNDOG_TOKEN_NAME) ? expect_name(parser) : "";
    if (end != NULL)
        *end = name;
    return body;
}

static void
check_target(SundogParser *parser, const SundogNode *target)
{
    if (target->kind == SUNDOG_NODE_TUPLE)
        for (size_t i = 0; i < target->items.n; i++)
            check_target(parser, target->items.nodes[i]);
    else if (target->kind != SUNDOG_NODE_NAME && target->kind != SUNDOG_NODE_NAMESPACE_ATTRIBUTE)
        sundog_parser_fail(parser, "only names can be assigned to");
}

static SundogNode *
parse_target(SundogParser *parser, bool with_namespace, const char *end_name)
{
    SundogTupleOptions options = {
        .simplified = true, .with_namespace = with_namespace, .end_name = end_name};
    SundogNode *target = sundog_parser_tuple(parser, &options);
    check_target(parser, target);
    return target;
}

static SundogNode *
parse_set(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_SET);
    node->a = parse_target(parser, true, NULL);
    if (sundog_parser_skip(parser, SUNDOG_TOKEN_ASSIGN)) {
        node->b = sundog_parser_tuple(parser, &(SundogTupleOptions){0});
        return node;
    }
    node->kind = SUNDOG_NODE_SET_BLOCK;
    node->b = sundog_parser_filter(parser, NULL, false);
    node->c = parse_block(parser, (const char *const[]){"endset", NULL}, NULL);
    return node;
}

static SundogNode *
parse_for(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_FOR);
    node->name = sundog_names_intern(parser->names, parser->render, "loop", 4);
    node->a = parse_target(parser, false, "in");
    if (!sundog_parser_skip_name(parser, "in"))
        sundog_parser_fail(parser, "expected 'in'");
    node->b = sundog_parser_tuple(
        parser, &(SundogTupleOptions){.no_condition = true, .end_name = "recursive"});
    if (sundog_parser_skip_name(parser, "if"))
        node->c = sundog_parser_expression(parser);
    node->flag = sundog_parser_skip_name(parser, "recursive");
    const char *end;
    parser->n_loops++;
    node->d = parse_block(parser, (const char *const[]){"endfor", "else", NULL}, &end);
    parser->n_loops--;
    if (strcmp(end, "else") == 0)
        node->e = parse_block(parser, (const char *const[]){"endfor", NULL}, NULL);
    return node;
}

static SundogNode *
parse_if(SundogParser *parser)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_IF);
    GPtrArray *branches = g_ptr_array_new();
    const char *end = "elif";
    while (strcmp(end, "elif") == 0 && !sundog_render_failed(parser->render)) {
        g_ptr_array_add(branches,
                        sundog_parser_tuple(parser, &(SundogTupleOptions){.no_condition = true}));
        g_ptr_array_add(branches, parse_block(parser, ends, &end));
    }
    node->items = sundog_parser_take_list(parser, branches);
    if (strcmp(end, "else") == 0)
        node->a = parse_block(parser, (const char *const[]){"endif", NULL}, NULL);
    return node;
}

/* (name, name=default, …) of a macro or a call block. */
static void
parse_signature(SundogParser *parser, SundogNode *macro)
{
    GPtrArray *parameters = g_ptr_array_new();
    GPtrArray *defaults = g_ptr_array_new();
    sundog_parser_expect(parser, SUNDOG_TOKEN_LPAREN);
    while (!sundog_parser_at(parser, SUNDOG_TOKEN_RPAREN) &&
           !sundog_render_failed(parser->render)) {
        if (parameters->len > 0)
            sundog_parser_expect(parser, SUNDOG_TOKEN_COMMA);
        SundogNode *parameter = sundog_parser_new_node(parser, SUNDOG_NODE_NAME);
        parameter->name = expect_name(parser);
        g_ptr_array_add(parameters, parameter);
        if (sundog_parser_skip(parser, SUNDOG_TOKEN_ASSIGN))
            g_ptr_array_add(defaults, sundog_parser_expression(parser));
        else if (defaults->len > 0)
            sundog_parser_fail(parser, "a parameter without default follows one with a default");
    }
    sundog_parser_expect(parser, SUNDOG_TOKEN_RPAREN);
    macro->items = sundog_parser_take_list(parser, parameters);
    macro->others = sundog_parser_take_list(parser, defaults);
}

static void
parse_macro_body(SundogParser *parser, SundogNode *macro, const char *end)
{
    unsigned n_loops = parser->n_loops;
    parser->n_loops = 0;
    g_ptr_array_add(parser->macros, macro);
    macro->c = parse_block(parser, (const char *const[]){end, NULL}, NULL);
    g_ptr_array_set_size(parser->macros, (int)parser->macros->len - 1);
    parser->n_loops = n_loops;
}

static SundogNode *
parse_macro(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_MACRO);
    node->name = expect_name(parser);
    parse_signature(parser, node);
    parse_macro_body(parser, node, "endmacro");
    return node;
}

static SundogNode *
parse_call_block(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_CALL_BLOCK);
    node->b = sundog_parser_new_node(parser, SUNDOG_NODE_MACRO);
    node->b->name = sundog_names_intern(parser->names, parser->render, "caller", 6);
    if (sundog_parser_at(parser, SUNDOG_TOKEN_LPAREN))
        parse_signature(parser, node->b);
    node->a = sundog_parser_expression(parser);
    if (node->a->kind != SUNDOG_NODE_CALL)
        sundog_parser_fail(parser, "expected a call");
    parse_macro_body(parser, node->b, "endcall");
    return node;
}

static SundogNode *
parse_filter_block(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_FILTER_BLOCK);
    node->b = sundog_parser_filter(parser, NULL, true);
    node->c = parse_block(parser, (const char *const[]){"endfilter", NULL}, NULL);
    return node;
}

static SundogNode *
parse_with(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_WITH);
    GPtrArray *targets = g_ptr_array_new();
    GPtrArray *values = g_ptr_array_new();
    while (!sundog_parser_at(parser, SUNDOG_TOKEN_BLOCK_END) &&
           !sundog_render_failed(parser->render)) {
        if (targets->len > 0)
            sundog_parser_expect(parser, SUNDOG_TOKEN_COMMA);
        g_ptr_array_add(targets, parse_target(parser, false, NULL));
        sundog_parser_expect(parser, SUNDOG_TOKEN_ASSIGN);
        g_ptr_array_add(values, sundog_parser_expression(parser));
    }
    node->items = sundog_parser_take_list(parser, targets);
    node->others = sundog_parser_take_list(parser, values);
    node->c = parse_block(parser, (const char *const[]){"endwith", NULL}, NULL);
    return node;
}

static SundogNode *
parse_print(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_BODY);
    GPtrArray *outputs = g_ptr_array_new();
    while (!sundog_parser_at(parser, SUNDOG_TOKEN_BLOCK_END) &&
           !sundog_render_failed(parser->render)) {
        if (outputs->len > 0)
            sundog_parser_expect(parser, SUNDOG_TOKEN_COMMA);
        SundogNode *output = sundog_parser_new_node(parser, SUNDOG_NODE_OUTPUT);
        output->a = sundog_parser_expression(parser);
        g_ptr_array_add(outputs, output);
    }
    node->items = sundog_parser_take_list(parser, outputs);
    return node;
}

/* What an assistant said, marked for training in `transformers`: here a scope and no more. */
static SundogNode *
parse_generation(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_SCOPE);
    node->c = parse_block(parser, (const char *const[]){"endgeneration", NULL}, NULL);
    return node;
}

/* With no template to extend, a block is its own content. */
static SundogNode *
parse_named_block(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_SCOPE);
    const char *name = expect_name(parser);
    sundog_parser_skip_name(parser, "scoped");
    sundog_parser_skip_name(parser, "required");
    node->c = parse_block(parser, (const char *const[]){"endblock", NULL}, NULL);
    sundog_parser_skip_name(parser, name);
    return node;
}

static SundogNode *
parse_jump(SundogParser *parser, SundogNodeKind kind)
{
    if (parser->n_loops == 0)
        sundog_parser_fail(parser, "break or continue outside a loop");
    return sundog_parser_new_node(parser, kind);
}

static SundogNode *
parse_break(SundogParser *parser)
{
    return parse_jump(parser, SUNDOG_NODE_BREAK);
}

static SundogNode *
parse_continue(SundogParser *parser)
{
    return parse_jump(parser, SUNDOG_NODE_CONTINUE);
}

static const struct {
    const char *name;
    SundogNode *(*parse)(SundogParser *parser);
} statements[] = {
    {"block", parse_named_block},
    {"break", parse_break},
    {"call", parse_call_block},
    {"continue", parse_continue},
    {"filter", parse_filter_block},
    {"for", parse_for},
    {"generation", parse_generation},
    {"if", parse_if},
    {"macro", parse_macro},
    {"print", parse_print},
    {"set", parse_set},
    {"with", parse_with},
};

static SundogNode *
parse_statement(SundogParser *parser)
{
    const char *name = expect_name(parser);
    for (size_t i = 0; i < G_N_ELEMENTS(statements); i++) {
        if (strcmp(statements[i].name, name) != 0)
            continue;
        SundogNode *node = NULL;
        if (sundog_parser_enter(parser))
            node = statements[i].parse(parser);
        sundog_parser_leave(parser);
        return node;
    }
    sundog_parser_fail(parser, "unknown or misplaced tag '%s'", name);
    return NULL;
}

static bool
at_end_tag(const SundogParser *parser, const char *const *ends)
{
    for (; *ends != NULL; ends++)
        if (sundog_parser_at_name(parser, *ends))
            return true;
    return false;
}

static SundogNode *
parse_output(SundogParser *parser)
{
    sundog_parser_next(parser);
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_OUTPUT);
    node->a = sundog_parser_tuple(parser, &(SundogTupleOptions){0});
    sundog_parser_expect(parser, SUNDOG_TOKEN_VARIABLE_END);
    return node;
}

static SundogNode *
parse_data(SundogParser *parser)
{
    SundogNode *node = sundog_parser_new_node(parser, SUNDOG_NODE_DATA);
    node->value = sundog_parser_next(parser).value;
    return node;
}

/* Statements up to one of the end tags, at whose name the parser stays; of the whole template where
 * there are none. */
static SundogNode *
parse_body(SundogParser *parser, const char *const *ends)
{
    SundogNode *body = sundog_parser_new_node(parser, SUNDOG_NODE_BODY);
    GPtrArray *nodes = g_ptr_array_new();
    while (!sundog_render_failed(parser->render)) {
        if (sundog_parser_at(parser, SUNDOG_TOKEN_END)) {
            if (*ends != NULL)
                sundog_parser_fail(parser, "the template ends before '%s'", ends[0]);
            break;
        }
        if (sundog_parser_at(parser, SUNDOG_TOKEN_DATA)) {
            g_ptr_array_add(nodes, parse_data(parser));
        } else if (sundog_parser_at(parser, SUNDOG_TOKEN_VARIABLE_BEGIN)) {
            g_ptr_array_add(nodes, parse_output(parser));
        } else {
            sundog_parser_expect(parser, SUNDOG_TOKEN_BLOCK_BEGIN);
            if (at_end_tag(parser, ends))
                break;
            g_ptr_array_add(nodes, parse_statement(parser));
            sundog_parser_expect(parser, SUNDOG_TOKEN_BLOCK_END);
        }
    }
    body->items = sundog_parser_take_list(parser, nodes);
    return body;
}

SundogNode *
sundog_template_parse(SundogRender *render, SundogNames *names, const char *source, size_t n_bytes)
{
    g_autoptr(GArray) tokens = sundog_template_tokenize(render, names, source, n_bytes);
    if (tokens == NULL)
        return NULL;
    g_autoptr(GPtrArray) macros = g_ptr_array_new();
    SundogParser parser = {
        .render = render,
        .names = names,
        .token = (const SundogTemplateToken *)tokens->data,
        .macros = macros,
    };
    SundogNode *body = parse_body(&parser, (const char *const[]){NULL});
    return sundog_render_failed(render) ? NULL : body;
}
