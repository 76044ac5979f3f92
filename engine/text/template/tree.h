#pragma once

/*
 * A parsed template as a tree. Nodes lie in the template's arena and never change after parsing.
 *
 * X(NAME, what its fields hold). `a`, `b`, `c` are single nodes, `items` and `others` lists.
 */

#include "engine/text/template/lexer.h"

#define SUNDOG_NODES(X)                                                                         \
    /* statements */                                                                            \
    X(DATA, "value: the text")                                                                  \
    X(OUTPUT, "a: the expression")                                                              \
    X(IF, "items: condition, body, condition, body, ...; a: else body")                         \
    X(FOR, "a: target, b: iterable, c: condition, d: body, e: else body; flag: "                \
           "recursive; name: \"loop\"")                                                         \
    X(SET, "a: target, b: expression")                                                          \
    X(SET_BLOCK, "a: target, b: filter on nothing, c: body")                                    \
    X(MACRO, "name; items: parameters (NAME), others: defaults of the last; c: body; implicit") \
    X(CALL_BLOCK, "a: the CALL, b: a MACRO for the body")                                       \
    X(FILTER_BLOCK, "b: filter on nothing, c: body")                                            \
    X(WITH, "items: targets, others: values, c: body")                                          \
    X(SCOPE, "c: body")                                                                         \
    X(BODY, "items: statements")                                                                \
    X(BREAK, "")                                                                                \
    X(CONTINUE, "")                                                                             \
    /* expressions */                                                                           \
    X(CONSTANT, "value")                                                                        \
    X(NAME, "name")                                                                             \
    X(NAMESPACE_ATTRIBUTE, "name, value: the attribute's name")                                 \
    X(LIST, "items")                                                                            \
    X(TUPLE, "items")                                                                           \
    X(DICT, "items: keys, others: values")                                                      \
    X(ATTRIBUTE, "a: object, value: the name")                                                  \
    X(SUBSCRIPT, "a: object, b: index")                                                         \
    X(SLICE, "a: object, b: start, c: stop, d: step; each may be NULL")                         \
    X(CALL, "a: callee, and arguments")                                                         \
    X(FILTER, "a: value or NULL, name, and arguments")                                          \
    X(TEST, "a: value, name, and arguments")                                                    \
    X(NOT, "a")                                                                                 \
    X(NEGATE, "a")                                                                              \
    X(POSITIVE, "a")                                                                            \
    X(AND, "a, b")                                                                              \
    X(OR, "a, b")                                                                               \
    X(CONDITION, "a: condition, b: then, c: else or NULL")                                      \
    X(CONCAT, "items")                                                                          \
    X(BINARY, "operation, a, b")                                                                \
    X(COMPARE, "a, items: operands, each with its operation")

typedef enum {
#define X(name, fields) SUNDOG_NODE_##name,
    SUNDOG_NODES(X)
#undef X
} SundogNodeKind;

/* Operations of BINARY and COMPARE are named by the operator's token; these two have words. */
#define SUNDOG_OPERATION_IN SUNDOG_N_TEMPLATE_TOKENS
#define SUNDOG_OPERATION_NOT_IN (SUNDOG_N_TEMPLATE_TOKENS + 1)

/* Names that a macro has without declaring them, where its body looks at them. */
typedef enum {
    SUNDOG_IMPLICIT_CALLER,
    SUNDOG_IMPLICIT_KWARGS,
    SUNDOG_IMPLICIT_VARARGS,
    SUNDOG_N_IMPLICIT
} SundogImplicit;

typedef struct SundogNode SundogNode;

typedef struct {
    SundogNode **nodes;
    size_t n;
} SundogNodeList;

/* Arguments of a call, filter or test. */
typedef struct {
    SundogNodeList positional;
    SundogNodeList named; /* values */
    const char **names;   /* interned, one for each of `named` */
    SundogNode *star;     /* *expression, or NULL */
    SundogNode *star_star;
} SundogNodeArguments;

struct SundogNode {
    SundogNodeKind kind;
    unsigned line;
    int operation;
    bool flag;
    const char *name;
    const char *implicit[SUNDOG_N_IMPLICIT]; /* the name where a macro uses it, or NULL */
    SundogValue value;
    SundogNode *a, *b, *c, *d, *e;
    SundogNodeList items;
    SundogNodeList others;
    SundogNodeArguments *arguments;
};
