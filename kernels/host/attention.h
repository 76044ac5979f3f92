#pragma once

/*
 * What the versions of attention share on the host: how the workspace of a unit is laid out, and which
 * heads of which tiles a thread works on.
 */

#include "kernels/contract/attention.h"

/* Pairs of a row and a head that are carried through the pages together. */
#define SUNDOG_ATTENTION_PAIRS 48

/* Where the parts of one unit's workspace begin, in floats. */
typedef struct {
    size_t keys;    /* [C, 64] one page's keys */
    size_t values;  /* [64, C] and values */
    size_t queries; /* [pairs, C] scaled */
    size_t output;  /* [pairs, C] merged so far */
    size_t n_bytes;
} SundogAttentionWorkspace;

static inline SundogAttentionWorkspace
sundog_attention_workspace(int64_t head_dim)
{
    size_t page = (size_t)head_dim * SUNDOG_PAGE_TOKENS;
    size_t rows = (size_t)head_dim * SUNDOG_ATTENTION_PAIRS;
    SundogAttentionWorkspace workspace;
    workspace.keys = 0;
    workspace.values = page;
    workspace.queries = 2 * page;
    workspace.output = 2 * page + rows;
    workspace.n_bytes = ((2 * page + 2 * rows) * sizeof(float) + 63) / 64 * 64;
    return workspace;
}
