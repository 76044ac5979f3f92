#pragma once

/* What fake pages and slots hold: a number that tells all of a sequence's tokens, in their order. */

#include <stdint.h>

static inline uint64_t
token_hash(const uint32_t *tokens, uint32_t n_tokens)
{
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < n_tokens; i++)
        hash = (hash ^ (tokens[i] + 1)) * 1099511628211u;
    return hash;
}
