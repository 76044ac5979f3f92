#pragma once

/*
 * Grammars in the notation of llama.cpp (GBNF): rules `name ::= …`, of which `root` is the answer.
 * Texts in quotes, sets in brackets, names, parentheses, alternatives, * + ? and {n,m}; # begins a
 * comment. Its references to tokens are refused.
 * Source: llama.cpp, grammars/README.md.
 */

#include "engine/text/constraint/automaton-builder.h"

#define SUNDOG_GBNF_MAX_BYTES (64u << 10)

/* The rule `root` in the builder as *root; false with an error that gives the line. */
bool sundog_gbnf_add(SundogAutomatonBuilder *builder, const char *grammar, uint32_t *root,
                     GError **error);
