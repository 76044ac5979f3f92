#pragma once

/*
 * Makes automata (engine/wire/automaton.h) from small pieces. Each piece goes from one state to
 * another, which it returns, so that pieces are chained by calls; alternatives begin in one state and
 * are joined with empty edges. Past the automaton's bounds everything is taken and finish() fails.
 *
 * One thread.
 */

#include "engine/wire/automaton.h"

#include <stddef.h>

#define SUNDOG_GRAMMAR_ERROR (sundog_grammar_error_quark())
typedef enum {
    SUNDOG_GRAMMAR_ERROR_SYNTAX,      /* It cannot be read: the text says where. */
    SUNDOG_GRAMMAR_ERROR_UNSUPPORTED, /* Well formed, but not to be enforced: the text names what. */
    SUNDOG_GRAMMAR_ERROR_LIMIT,       /* Larger or deeper than is compiled. */
} SundogGrammarError;
GQuark sundog_grammar_error_quark(void);

typedef struct SundogAutomatonBuilder SundogAutomatonBuilder;

SundogAutomatonBuilder *sundog_automaton_builder_new(void);
void sundog_automaton_builder_free(SundogAutomatonBuilder *builder);

uint32_t sundog_automaton_builder_add_state(SundogAutomatonBuilder *builder);
void sundog_automaton_builder_accept(SundogAutomatonBuilder *builder, uint32_t state);
void sundog_automaton_builder_add_empty(SundogAutomatonBuilder *builder, uint32_t from,
                                        uint32_t to);
void sundog_automaton_builder_add_bytes(SundogAutomatonBuilder *builder, uint32_t from, uint8_t low,
                                        uint8_t high, uint32_t to);
/* One character of the code points low to high, of which surrogates are left out, as UTF-8. */
void sundog_automaton_builder_add_characters(SundogAutomatonBuilder *builder, uint32_t from,
                                             uint32_t low, uint32_t high, uint32_t to);
/* These return the state behind the piece. A rule is the state it begins in. */
uint32_t sundog_automaton_builder_add_text(SundogAutomatonBuilder *builder, uint32_t from,
                                           const char *text, size_t n_bytes);
uint32_t sundog_automaton_builder_add_call(SundogAutomatonBuilder *builder, uint32_t from,
                                           uint32_t rule);
uint32_t sundog_automaton_builder_add_repeat(SundogAutomatonBuilder *builder, uint32_t from,
                                             uint32_t rule, uint32_t least, uint32_t most);
/* Any one of the texts (of n_texts, each ending in NUL); equal beginnings share their states. */
uint32_t sundog_automaton_builder_add_choice(SundogAutomatonBuilder *builder, uint32_t from,
                                             const char *const *texts, size_t n_texts);
/* Any text up to and with the first occurrence of the marker, none of it a control token. */
uint32_t sundog_automaton_builder_add_until(SundogAutomatonBuilder *builder, uint32_t from,
                                            const char *marker);

bool sundog_automaton_builder_is_full(const SundogAutomatonBuilder *builder);

/* The automaton that begins at a rule. Fails where it is too large, where a rule begins by calling
 * itself, and where what may be empty is repeated a bounded number of times. */
SundogAutomaton *sundog_automaton_builder_finish(SundogAutomatonBuilder *builder, uint32_t start,
                                                 GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogAutomatonBuilder, sundog_automaton_builder_free)
