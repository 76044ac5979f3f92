#pragma once

/*
 * Slots of recurrent state. A running sequence leases one; when it closes, its state may be kept for the
 * tokens that it had taken in, exactly so many, until the slot is needed: least recently used first. A
 * state cannot be taken back to fewer tokens, so that only a sequence that begins with all of them can go
 * on from it. All memory is taken in new(). One thread.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_NULL_STATE 0

typedef struct SundogStatePool SundogStatePool;

/* n_slots with the null one, which is never leased; max_tokens is the longest sequence. */
SundogStatePool *sundog_state_pool_new(int32_t n_slots, uint32_t max_tokens);
void sundog_state_pool_free(SundogStatePool *pool);

/* A slot for a sequence, if need be one that was kept, but not `keep`; SUNDOG_NULL_STATE where all are
 * leased. */
int32_t sundog_state_pool_lease(SundogStatePool *pool, int32_t keep);
void sundog_state_pool_release(SundogStatePool *pool, int32_t slot);
/* Ends the lease; the slot keeps the state after tokens [n_tokens], in place of any that was kept for the
 * same. */
void sundog_state_pool_keep(SundogStatePool *pool, int32_t slot, const uint32_t *tokens,
                            uint32_t n_tokens);
/* Leases the kept slot itself, for a sequence that goes on from it where no other is left. */
void sundog_state_pool_take(SundogStatePool *pool, int32_t slot);
/* Gives a kept slot back. */
void sundog_state_pool_drop(SundogStatePool *pool, int32_t slot);
bool sundog_state_pool_is_kept(const SundogStatePool *pool, int32_t slot);

/* The kept slot of the most tokens that are a beginning of tokens [n_tokens] and fewer than `below`, or
 * SUNDOG_NULL_STATE; n_kept tells how many they are. */
int32_t sundog_state_pool_find(SundogStatePool *pool, const uint32_t *tokens, uint32_t n_tokens,
                               uint32_t below, uint32_t *n_kept);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogStatePool, sundog_state_pool_free)
