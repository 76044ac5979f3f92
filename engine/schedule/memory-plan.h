#pragma once

/* How large the pool of pages is, and so how long a sequence may be. Numbers in, numbers out. */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t available_bytes; /* what the system can give now */
    uint64_t fixed_bytes;     /* weights and arena */
    uint64_t page_bytes;      /* of all layers */
    uint64_t window_bytes;    /* of all layers whose windows have pages of their own; 0: none has */
    uint32_t window_tokens;   /* of the longest window of theirs */
    uint32_t step_tokens;     /* the most of one step */
    uint64_t state_bytes;     /* of recurrent state of one sequence; 0: there is none */
    uint32_t page_tokens;
    uint32_t context_length; /* wanted */
    uint32_t max_sequences;
    uint64_t max_pages;   /* that the core's programs allow */
    uint32_t n_contexts;  /* whole ones that the cache is for; 0: eight */
    uint64_t cache_bytes; /* asked for by the person; 0: these, in a quarter of what is left */
} SundogMemoryNeeds;

typedef struct {
    int64_t pool_pages;      /* the null page included */
    int64_t window_pages;    /* the same of windows; 1: there are none */
    int64_t pool_states;     /* slots of recurrent state, the null one included; 1: there is none */
    uint32_t context_length; /* that fits */
} SundogMemoryPlan;

/* Pages of windows are as many as a step of the most tokens needs, and for each context two sequences' windows:
 * of one that runs, and of one that is kept; but no more than there are pages. */
/* States take at most an eighth of what is left, of which at least two fit (one sequence and the state that
 * the last one left). Never more pages than max_sequences whole contexts need; and one whole context, where that takes at
 * most three quarters of what is left, rather than a quarter. False (G_IO_ERROR_NO_SPACE, with what to do about it) where not
 * even one page fits. */
bool sundog_memory_plan_make(SundogMemoryPlan *plan, const SundogMemoryNeeds *needs,
                             GError **error);

/* The same of a core whose steps keep nothing: all pages that it allows, which live in the arena. */
bool sundog_memory_plan_make_whole(SundogMemoryPlan *plan, const SundogMemoryNeeds *needs,
                                   GError **error);

/* What this process may still take without pushing others out: MemAvailable, within the control
 * group's limit. 0 where the system does not say. */
uint64_t sundog_memory_get_available(void);
