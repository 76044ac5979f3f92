/* Automata to words and back. */

#include "engine/wire/automaton.h"
#include "engine/wire/frame.h"

#define HEAD_WORDS 3
#define EDGE_WORDS 5

SundogAutomaton *
sundog_automaton_new(uint32_t n_states, uint32_t n_edges)
{
    SundogAutomaton *automaton = g_new0(SundogAutomaton, 1);
    automaton->n_states = n_states;
    automaton->n_edges = n_edges;
    automaton->first_edges = g_new0(uint32_t, n_states + 1);
    automaton->accepting = g_new0(bool, n_states);
    automaton->edges = g_new0(SundogAutomatonEdge, n_edges);
    return automaton;
}

void
sundog_automaton_free(SundogAutomaton *automaton)
{
    if (automaton) {
        g_free(automaton->first_edges);
        g_free(automaton->accepting);
        g_free(automaton->edges);
        g_free(automaton);
    }
}

uint32_t *
sundog_automaton_write(const SundogAutomaton *automaton, uint32_t *n_words)
{
    *n_words = HEAD_WORDS + automaton->n_states + EDGE_WORDS * automaton->n_edges;
    uint32_t *words = g_new(uint32_t, *n_words), *next = words;
    *next++ = automaton->n_states;
    *next++ = automaton->n_edges;
    *next++ = automaton->start;
    for (uint32_t i = 0; i < automaton->n_states; i++)
        *next++ = automaton->first_edges[i] << 1 | automaton->accepting[i];
    for (uint32_t i = 0; i < automaton->n_edges; i++) {
        const SundogAutomatonEdge *edge = &automaton->edges[i];
        *next++ = edge->kind | (uint32_t)edge->low << 8 | (uint32_t)edge->high << 16;
        *next++ = edge->to;
        *next++ = edge->rule;
        *next++ = edge->least;
        *next++ = edge->most;
    }
    return words;
}

static bool
check_edge(const SundogAutomaton *automaton, uint32_t state, uint32_t index, GError **error)
{
    const SundogAutomatonEdge *edge = &automaton->edges[index];
    uint32_t n = automaton->first_edges[state + 1] - automaton->first_edges[state];
    if (edge->kind > SUNDOG_AUTOMATON_REPEAT || edge->to >= automaton->n_states ||
        edge->rule >= automaton->n_states || edge->low > edge->high || edge->least > edge->most ||
        edge->least == SUNDOG_AUTOMATON_UNBOUNDED)
        return sundog_wire_refuse(error, "an automaton whose edge %u of %u is none", index,
                                  automaton->n_edges);
    if (edge->kind == SUNDOG_AUTOMATON_REPEAT && n != 1)
        return sundog_wire_refuse(error, "an automaton whose state %u repeats and has %u edges",
                                  state, n);
    return true;
}

static bool
check(const SundogAutomaton *automaton, GError **error)
{
    if (automaton->start >= automaton->n_states) {
        return sundog_wire_refuse(error, "an automaton of %u states that begins in state %u",
                                  automaton->n_states, automaton->start);
    }
    for (uint32_t i = 0; i < automaton->n_states; i++) {
        uint32_t first = automaton->first_edges[i], end = automaton->first_edges[i + 1];
        if (first > end || end > automaton->n_edges || (i == 0 && first != 0)) {
            return sundog_wire_refuse(error,
                                      "an automaton whose state %u has the edges %u to %u of %u", i,
                                      first, end, automaton->n_edges);
        }
        for (uint32_t j = first; j < end; j++)
            if (!check_edge(automaton, i, j, error))
                return false;
    }
    return true;
}

SundogAutomaton *
sundog_automaton_read(const uint32_t *words, uint32_t n_words, GError **error)
{
    uint32_t n_states = n_words >= HEAD_WORDS ? words[0] : 0;
    uint32_t n_edges = n_words >= HEAD_WORDS ? words[1] : 0;
    if (n_states == 0 || n_states > SUNDOG_AUTOMATON_MAX_STATES ||
        n_edges > SUNDOG_AUTOMATON_MAX_EDGES ||
        n_words != HEAD_WORDS + n_states + EDGE_WORDS * n_edges) {
        sundog_wire_refuse(error, "an automaton of %u words with %u states and %u edges", n_words,
                           n_states, n_edges);
        return NULL;
    }
    g_autoptr(SundogAutomaton) automaton = sundog_automaton_new(n_states, n_edges);
    automaton->start = words[2];
    words += HEAD_WORDS;
    for (uint32_t i = 0; i < n_states; i++) {
        automaton->first_edges[i] = words[i] >> 1;
        automaton->accepting[i] = words[i] & 1;
    }
    automaton->first_edges[n_states] = n_edges;
    words += n_states;
    for (uint32_t i = 0; i < n_edges; i++, words += EDGE_WORDS) {
        automaton->edges[i] = (SundogAutomatonEdge){.kind = (uint8_t)words[0],
                                                    .low = (uint8_t)(words[0] >> 8),
                                                    .high = (uint8_t)(words[0] >> 16),
                                                    .to = words[1],
                                                    .rule = words[2],
                                                    .least = words[3],
                                                    .most = words[4]};
    }
    return check(automaton, error) ? g_steal_pointer(&automaton) : NULL;
}
