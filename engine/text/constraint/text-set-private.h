#pragma once

/* What the files of text sets share: see text-set.h. */

#include "engine/text/constraint/text-set.h"

typedef struct {
    uint32_t low;
    uint32_t high; /* in the edge itself */
    uint32_t to;
} SundogTextEdge;

/* State 0 is the first one. A character without an edge leads nowhere. */
struct SundogTextSet {
    GArray *edges;   /* SundogTextEdge: a state's stand together, in the order of characters */
    GArray *firsts;  /* uint32_t: where a state's edges begin */
    GArray *accepts; /* bool */
};

SundogTextSet *sundog_text_set_new(void);
/* Begins the next state, whose edges are added until the next is begun. False with an error where there
 * are too many. */
bool sundog_text_set_begin_state(SundogTextSet *set, bool accepts, GError **error);
void sundog_text_set_add_edge(SundogTextSet *set, uint32_t low, uint32_t high, uint32_t to);
size_t sundog_text_set_get_n_states(const SundogTextSet *set);
/* A state's edges, of which there are *n. */
const SundogTextEdge *sundog_text_set_get_edges(const SundogTextSet *set, uint32_t state,
                                                size_t *n);
bool sundog_text_set_accepts(const SundogTextSet *set, uint32_t state);
