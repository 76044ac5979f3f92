#pragma once

/*
 * The texts that no run of DRY reaches across, as the tokens that write them: any token that holds a text
 * whole; and any that ends with a text's beginning, with the tokens of its rest behind it, as the tokenizer
 * writes that. A text whose character is cut by a token, or whose rest the model writes in another way,
 * breaks nothing there. What was found for a core is remembered with it, since all of a vocabulary is looked at.
 */

#include "engine/server/core-text.h"
#include "engine/server/exchange.h"

/* Words as of SundogDry.breakers (GArray of uint32_t), owned by the caller. texts: NULL-terminated, none of
 * them empty. Any thread. */
GArray *sundog_dry_breakers_find(const SundogTokenizer *tokenizer, const char *const *texts);

/* The same, from what is remembered or on a thread beside the main loop, for the exchange, which is held back
 * and watched meanwhile. Core and texts must stay until `done`, which is called exactly once, maybe before this
 * returns, with words that are borrowed; the exchange may be over by then. Main context. */
void sundog_dry_breakers_find_async(SundogCoreText *core, const char *const *texts,
                                    SundogExchange *exchange,
                                    void (*done)(GArray *words, void *data), void *data);
