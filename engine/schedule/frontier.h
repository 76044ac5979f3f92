#pragma once

/*
 * Where runs of an automaton can be: a frontier is the set of all its places, a place a state and what
 * was called to get there. Frontiers are numbered, equal ones have one number, and what a byte makes of
 * one is looked for once: so an automaton becomes deterministic as far as it is used.
 *
 * Numbers hold until the next sundog_frontiers_reset(). One thread.
 */

#include "engine/wire/automaton.h"
#include <stddef.h>

#define SUNDOG_FRONTIER_DEAD 1 /* no run is left */
/* As a frame: the place's rule was called by nobody. */
#define SUNDOG_FRAME_NONE 0

typedef struct {
    uint32_t state;
    uint32_t frame; /* where its rule returns to */
} SundogPlace;

/* A return: state, how many runs of a repetition are done, and the caller's own frame. */
typedef struct {
    uint32_t state;
    uint32_t count;
    uint32_t parent;
} SundogFrame;

typedef struct {
    SundogPlace *places; /* [n_places] states with edges that take bytes, ordered */
    uint32_t n_places;
    bool accepting; /* the outermost rule may end here */
    uint32_t *next; /* [256] frontier numbers, 0 where not yet known; NULL before the first */
    uint64_t *mask; /* the matcher's, or NULL, as these: */
    uint64_t *short_mask;
    uint32_t clamped; /* the frontier with the same short tokens, or 0 */
} SundogFrontier;

typedef struct SundogFrontiers SundogFrontiers;

/* Borrows the automaton. */
SundogFrontiers *sundog_frontiers_new(const SundogAutomaton *automaton);
void sundog_frontiers_free(SundogFrontiers *frontiers);
/* Forgets all, frees masks with g_free(). */
void sundog_frontiers_reset(SundogFrontiers *frontiers);

SundogFrontier *sundog_frontiers_get(SundogFrontiers *frontiers, uint32_t number);
const SundogFrame *sundog_frontiers_get_frame(SundogFrontiers *frontiers, uint32_t frame);
/* The frame with these values, which may be new. */
uint32_t sundog_frontiers_find_frame(SundogFrontiers *frontiers, SundogFrame frame);
/* The frontier of a state with so many runs done, and all that it leads to without a byte. */
uint32_t sundog_frontiers_find(SundogFrontiers *frontiers, uint32_t state, uint32_t count,
                               uint32_t frame);
/* The frontier of places as they are; ordered by the callee. */
uint32_t sundog_frontiers_find_places(SundogFrontiers *frontiers, SundogPlace *places,
                                      uint32_t n_places, bool accepting);
/* What a byte makes of it; SUNDOG_FRONTIER_DEAD where it is not taken. */
uint32_t sundog_frontiers_step(SundogFrontiers *frontiers, uint32_t number, uint8_t byte);

/* Begins a piece of work that is bounded: one mask, or the way along an answer. */
void sundog_frontiers_begin(SundogFrontiers *frontiers);
/* Whether the work, or one frontier, went beyond its bound: what was found since is too little. */
bool sundog_frontiers_is_exhausted(const SundogFrontiers *frontiers);
/* Bytes that frontiers take, without their masks. */
size_t sundog_frontiers_get_bytes(const SundogFrontiers *frontiers);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogFrontiers, sundog_frontiers_free)
