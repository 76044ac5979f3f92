#pragma once

/*
 * What the clients' keys have used lately, against what they may: requests and tokens of the last minute,
 * and requests that run. Counted in seconds, so that a full minute is never shorter than 59 of them.
 * Times are monotonic microseconds, given by the caller. Main context.
 */

#include "engine/library/api-keys.h"
#include "engine/server/api-error.h"

typedef struct SundogKeyLimits SundogKeyLimits;

SundogKeyLimits *sundog_key_limits_new(void);
void sundog_key_limits_free(SundogKeyLimits *limits);
/* NULL, or why the key may not ask now; with the time after which it may. */
SundogApiError *sundog_key_limits_check(SundogKeyLimits *limits, const SundogApiKey *key,
                                        int64_t now_us);
/* A request of so many tokens of prompt begins, and has ended with so many of its answer. */
void sundog_key_limits_begin(SundogKeyLimits *limits, const SundogApiKey *key, uint64_t n_tokens,
                             int64_t now_us);
void sundog_key_limits_end(SundogKeyLimits *limits, const SundogApiKey *key, uint64_t n_tokens,
                           int64_t now_us);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogKeyLimits, sundog_key_limits_free)
