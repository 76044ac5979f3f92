#pragma once

/*
 * A template's source to tokens, with jinja2's handling of lines: trim_blocks and lstrip_blocks are on,
 * one newline at the end goes, and \r\n and \r become \n.
 */

#include "engine/text/template/value.h"

/* X(NAME, text as an error shows it) */
#define SUNDOG_TEMPLATE_TOKENS(X) \
    X(END, "end of template")     \
    X(DATA, "template text")      \
    X(VARIABLE_BEGIN, "{{")       \
    X(VARIABLE_END, "}}")         \
    X(BLOCK_BEGIN, "{%")          \
    X(BLOCK_END, "%}")            \
    X(NAME, "name")               \
    X(STRING, "string")           \
    X(INTEGER, "integer")         \
    X(FLOAT, "float")             \
    X(FLOORDIV, "//")             \
    X(POW, "**")                  \
    X(EQ, "==")                   \
    X(NE, "!=")                   \
    X(GTEQ, ">=")                 \
    X(LTEQ, "<=")                 \
    X(ADD, "+")                   \
    X(SUB, "-")                   \
    X(DIV, "/")                   \
    X(MUL, "*")                   \
    X(MOD, "%")                   \
    X(TILDE, "~")                 \
    X(LBRACKET, "[")              \
    X(RBRACKET, "]")              \
    X(LPAREN, "(")                \
    X(RPAREN, ")")                \
    X(LBRACE, "{")                \
    X(RBRACE, "}")                \
    X(GT, ">")                    \
    X(LT, "<")                    \
    X(ASSIGN, "=")                \
    X(DOT, ".")                   \
    X(COLON, ":")                 \
    X(PIPE, "|")                  \
    X(COMMA, ",")                 \
    X(SEMICOLON, ";")

typedef enum {
#define X(name, text) SUNDOG_TOKEN_##name,
    SUNDOG_TEMPLATE_TOKENS(X)
#undef X
        SUNDOG_N_TEMPLATE_TOKENS
} SundogTemplateTokenKind;

typedef struct {
    SundogTemplateTokenKind kind;
    unsigned line;     /* from 1 */
    const char *name;  /* of a NAME: interned, so that equal names are equal pointers */
    SundogValue value; /* of DATA and literals */
} SundogTemplateToken;

/* Names of one template; the texts lie in its arena. */
typedef struct {
    GHashTable *table;
} SundogNames;

const char *sundog_names_intern(SundogNames *names, SundogRender *render, const char *text,
                                size_t n_bytes);

/* A GArray of tokens that ends with END, or NULL with the render's error set. source: valid UTF-8. */
GArray *sundog_template_tokenize(SundogRender *render, SundogNames *names, const char *source,
                                 size_t n_bytes);
const char *sundog_template_token_text(SundogTemplateTokenKind kind);
