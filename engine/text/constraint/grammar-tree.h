#pragma once

/*
 * What regular expressions and grammars are read into, and made states of: characters, sequences,
 * alternatives, repetitions and calls of rules. Trees own their children. One thread.
 */

#include "engine/text/constraint/automaton-builder.h"
#include "engine/text/constraint/character-set.h"

/* Nodes nested deeper are refused by the parsers: emitting recurses. */
#define SUNDOG_GRAMMAR_MAX_DEPTH 200

typedef enum {
    SUNDOG_GRAMMAR_SET,      /* one character of a set */
    SUNDOG_GRAMMAR_TEXT,     /* these characters */
    SUNDOG_GRAMMAR_SEQUENCE, /* all children; without any, nothing */
    SUNDOG_GRAMMAR_CHOICE,   /* one of the children */
    SUNDOG_GRAMMAR_REPEAT,   /* the one child, least to most times */
    SUNDOG_GRAMMAR_RULE,     /* a call */
} SundogGrammarKind;

typedef struct SundogGrammarNode {
    SundogGrammarKind kind;
    GArray *set;         /* SET: normalised */
    char *text;          /* TEXT: UTF-8 */
    uint32_t rule;       /* RULE: its state */
    uint32_t least;      /* REPEAT */
    uint32_t most;       /* or SUNDOG_AUTOMATON_UNBOUNDED */
    GPtrArray *children; /* of SundogGrammarNode */
} SundogGrammarNode;

/* Adds one character out of a range to the builder, or what stands for it where the text is encoded. */
typedef void (*SundogGrammarEncode)(SundogAutomatonBuilder *builder, uint32_t from, uint32_t low,
                                    uint32_t high, uint32_t to);

SundogGrammarNode *sundog_grammar_node_new(SundogGrammarKind kind);
void sundog_grammar_node_free(SundogGrammarNode *node);
/* Takes the child. */
void sundog_grammar_node_add(SundogGrammarNode *node, SundogGrammarNode *child);

/* The state behind the tree. */
uint32_t sundog_grammar_node_emit(const SundogGrammarNode *node, SundogAutomatonBuilder *builder,
                                  SundogGrammarEncode encode, uint32_t from);
/* The fewest and the most characters of a tree without calls, saturating at UNBOUNDED. */
void sundog_grammar_node_measure(const SundogGrammarNode *node, uint32_t *least, uint32_t *most);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogGrammarNode, sundog_grammar_node_free)
