#pragma once

/*
 * Sets of texts as deterministic automata over characters, for what has to hold at once or must not
 * hold: an expression and a length, two expressions, a key that no name equals. They are made from trees
 * and texts, combined, and then written into an automaton of bytes.
 *
 * Immutable once made. Past MAX_STATES making fails with an error of the grammar's domain. One thread.
 * Source: the subset construction (Rabin and Scott 1959), and products of automata.
 */

#include "engine/text/constraint/grammar-tree.h"

#define SUNDOG_TEXT_SET_MAX_STATES 8192

typedef struct SundogTextSet SundogTextSet;

/* The texts of a tree without calls. */
SundogTextSet *sundog_text_set_new_of_tree(const SundogGrammarNode *tree, GError **error);
/* These texts, each ending in NUL. */
SundogTextSet *sundog_text_set_new_of_texts(const char *const *texts, size_t n_texts,
                                            GError **error);
/* All texts of least to most characters; most may be SUNDOG_AUTOMATON_UNBOUNDED. */
SundogTextSet *sundog_text_set_new_of_lengths(uint32_t least, uint32_t most, GError **error);
/* The texts of both; those of the first that are not of the second. */
SundogTextSet *sundog_text_set_intersect(const SundogTextSet *first, const SundogTextSet *second,
                                         GError **error);
SundogTextSet *sundog_text_set_subtract(const SundogTextSet *first, const SundogTextSet *second,
                                        GError **error);
void sundog_text_set_free(SundogTextSet *set);

bool sundog_text_set_is_empty(const SundogTextSet *set);
bool sundog_text_set_has(const SundogTextSet *set, const char *text);
/* The state behind the set's texts. */
uint32_t sundog_text_set_emit(const SundogTextSet *set, SundogAutomatonBuilder *builder,
                              SundogGrammarEncode encode, uint32_t from);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogTextSet, sundog_text_set_free)
