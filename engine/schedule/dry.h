#pragma once

/*
 * DRY ("don't repeat yourself", Weidmann 2024) of one request: which tokens would go on with what was
 * said before, and by how much that counts against them. A run is the length by which the end of the
 * tokens equals what stands before an earlier place; all runs are found together by the Z algorithm on
 * the reversed tokens (Gusfield 1997), in time linear in the window. One thread.
 */

#include "engine/wire/messages.h"
#include "kernels/contract/sample.h"

/* Different tokens that one row can hold against; of more, those last said count. */
#define SUNDOG_DRY_MAX_TOKENS 256

typedef struct {
    uint32_t token;
    uint32_t run; /* 0: the slot is free */
} SundogDrySlot;

typedef struct SundogDryBreaker SundogDryBreaker;

typedef struct {
    SundogDry options;
    uint32_t *words;            /* [options.n_breakers] a copy of its breakers */
    SundogDryBreaker *breakers; /* [n_breakers] in the order of their heads */
    uint32_t n_breakers;
    uint32_t *runs;       /* [n_limit] */
    SundogDrySlot *slots; /* a hash table of the tokens found */
} SundogDryState;

/* Copies what the options borrow, which the wire has checked. Tokens are n_limit at most. Nothing is taken where DRY is off. */
void sundog_dry_init(SundogDryState *dry, const SundogDry *options, uint32_t n_limit);
void sundog_dry_clear(SundogDryState *dry);

bool sundog_dry_is_on(const SundogDryState *dry);
/* Writes what is added to the logits of the token after tokens [n_tokens]; returns how many entries that
 * are, at most `room`. */
uint32_t sundog_dry_write(const SundogDryState *dry, const uint32_t *tokens, uint32_t n_tokens,
                          SundogBias *biases, uint32_t room);
