#pragma once

/*
 * The vocabulary's tokens by their bytes, in the order of a walk from the root: a node's children
 * follow it, and where none of them is wanted the walk goes on behind them. So one pass over one array
 * meets every token that an automaton allows. Immutable after new.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_MASK_NO_TOKEN UINT32_MAX

typedef struct {
    uint32_t token; /* that ends here, or SUNDOG_MASK_NO_TOKEN */
    uint32_t next;  /* the node behind all of this one's descendants */
    uint16_t depth; /* 1 for the first byte */
    uint8_t byte;
} SundogMaskNode;

/* Short tokens, of which there are many, and long ones, of which there are few, in a walk each: what a
 * short one may do depends on little of what is behind a bound that is far away. */
typedef enum { SUNDOG_MASK_SHORT, SUNDOG_MASK_LONG, SUNDOG_N_MASK_WALKS } SundogMaskWalk;

#define SUNDOG_MASK_SHORT_BYTES 12

typedef struct {
    SundogMaskNode *nodes; /* [n_nodes] */
    uint32_t n_nodes;
    uint16_t depth; /* of the deepest node */
} SundogMaskNodes;

typedef struct {
    SundogMaskNodes walks[SUNDOG_N_MASK_WALKS];
    uint32_t *same; /* [n_tokens] another token of the same bytes, or SUNDOG_MASK_NO_TOKEN */
    uint32_t n_tokens;

    uint32_t *ends; /* [n_tokens] of each token's bytes in `bytes`, which follow each other */
    uint8_t *bytes;
} SundogMaskTrie;

/* Longer tokens are never allowed by a mask. */
#define SUNDOG_MASK_MAX_TOKEN_BYTES 4096

/* Copies. Tokens without bytes are in no mask. NULL where the ends do not grow or pass n_bytes. */
SundogMaskTrie *sundog_mask_trie_new(const uint32_t *ends, uint32_t n_tokens, const uint8_t *bytes,
                                     size_t n_bytes);
void sundog_mask_trie_free(SundogMaskTrie *trie);

/* A token's bytes, borrowed. */
const uint8_t *sundog_mask_trie_get_bytes(const SundogMaskTrie *trie, uint32_t token,
                                          uint32_t *n_bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogMaskTrie, sundog_mask_trie_free)
