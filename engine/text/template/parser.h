#pragma once

/*
 * Tokens to a tree, by jinja2's grammar. Statements are in parser.c, expressions in
 * expression.c. Errors are sticky in the rendering; a parser that failed returns any node.
 */

#include "engine/text/template/tree.h"

/* Nesting of brackets, tags and prefix operators in a source. */
#define SUNDOG_PARSER_MAX_DEPTH 120u

typedef struct {
    SundogRender *render;
    SundogNames *names;
    const SundogTemplateToken *token; /* the present one; END stays */
    unsigned depth;
    unsigned n_loops;  /* loops around, within the macro */
    GPtrArray *macros; /* of SundogNode, those around */
} SundogParser;

/* The whole template as a BODY, or NULL with the error set. */
SundogNode *sundog_template_parse(SundogRender *render, SundogNames *names, const char *source,
                                  size_t n_bytes);

SundogNode *sundog_parser_new_node(SundogParser *parser, SundogNodeKind kind);
void sundog_parser_fail(SundogParser *parser, const char *format, ...) G_GNUC_PRINTF(2, 3);
bool sundog_parser_enter(SundogParser *parser);
void sundog_parser_leave(SundogParser *parser);
SundogTemplateToken sundog_parser_next(SundogParser *parser);
bool sundog_parser_at(const SundogParser *parser, SundogTemplateTokenKind kind);
bool sundog_parser_at_name(const SundogParser *parser, const char *name);
bool sundog_parser_skip(SundogParser *parser, SundogTemplateTokenKind kind);
bool sundog_parser_skip_name(SundogParser *parser, const char *name);
SundogTemplateToken sundog_parser_expect(SundogParser *parser, SundogTemplateTokenKind kind);
/* Moves a GPtrArray of nodes into the arena and frees it. */
SundogNodeList sundog_parser_take_list(SundogParser *parser, GPtrArray *nodes);

typedef struct {
    bool simplified;      /* names and literals alone: an assignment's target */
    bool no_condition;    /* no `x if y` at the top: what stands in {% if %} and {% for %} */
    bool may_be_empty;    /* () */
    bool with_namespace;  /* ns.name is a target */
    const char *end_name; /* a name that ends the tuple, or NULL */
} SundogTupleOptions;

SundogNode *sundog_parser_expression(SundogParser *parser);
SundogNode *sundog_parser_tuple(SundogParser *parser, const SundogTupleOptions *options);
/* Filters after `|`; start_inline where the first has no bar before it. value may be NULL. */
SundogNode *sundog_parser_filter(SundogParser *parser, SundogNode *value, bool start_inline);
