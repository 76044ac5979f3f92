#pragma once

/*
 * A constraint as the server sends it and the engine runs it: a pushdown automaton over bytes. A rule
 * is named by the state it begins in and ends in any accepting state; the answer is one run of the
 * rule at `start`. A state may have any number of edges, also of several that take the same byte.
 *
 * Text is UTF-8, in which the byte 0xFF never occurs: 0xFF followed by a control token's spelling
 * stands for that token, so that an automaton can ask for one and no text can be taken for one.
 *
 * In words of 32 bits: the number of states, the number of edges, start; for each state its first edge
 * times 2, plus 1 where it accepts; then the edges, each in five words: kind + low * 2^8 + high * 2^16,
 * to, rule, least, most. An automaton is immutable and may be shared between threads.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_AUTOMATON_MAX_STATES (1u << 18)
#define SUNDOG_AUTOMATON_MAX_EDGES (1u << 20)
/* As the most of a repetition: without end. */
#define SUNDOG_AUTOMATON_UNBOUNDED UINT32_MAX
#define SUNDOG_AUTOMATON_CONTROL_BYTE 0xFF

typedef enum {
    SUNDOG_AUTOMATON_EMPTY,  /* takes nothing */
    SUNDOG_AUTOMATON_BYTES,  /* takes one byte from low to high */
    SUNDOG_AUTOMATON_CALL,   /* takes a run of the rule */
    SUNDOG_AUTOMATON_REPEAT, /* takes `least` to `most` runs of it; the only edge of its state */
} SundogAutomatonEdgeKind;

typedef struct {
    uint8_t kind; /* of SundogAutomatonEdgeKind */
    uint8_t low;
    uint8_t high;
    uint32_t to;
    uint32_t rule;
    uint32_t least;
    uint32_t most;
} SundogAutomatonEdge;

typedef struct {
    uint32_t n_states;
    uint32_t n_edges;
    uint32_t start;
    uint32_t *first_edges;      /* [n_states + 1] */
    bool *accepting;            /* [n_states] */
    SundogAutomatonEdge *edges; /* [n_edges] by state */
} SundogAutomaton;

/* Of zeroed arrays, to be filled by its maker. */
SundogAutomaton *sundog_automaton_new(uint32_t n_states, uint32_t n_edges);
void sundog_automaton_free(SundogAutomaton *automaton);

/* The words above; owned by the caller. */
uint32_t *sundog_automaton_write(const SundogAutomaton *automaton, uint32_t *n_words);
/* Checks every number against the others; an error of the wire's domain says which is wrong. */
SundogAutomaton *sundog_automaton_read(const uint32_t *words, uint32_t n_words, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogAutomaton, sundog_automaton_free)
