/* Runs by the Z algorithm, tokens by a small hash table. */

#include "engine/schedule/dry.h"
#include <math.h>
#include <string.h>

#define N_SLOTS (2 * SUNDOG_DRY_MAX_TOKENS)
/* Far beyond any logit, and far within float32. */
#define MAX_AMOUNT 1e6

static int
compare_tokens(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return first < second ? -1 : first > second;
}

void
sundog_dry_init(SundogDryState *dry, const SundogDry *options, uint32_t n_limit)
{
    *dry = (SundogDryState){.options = *options};
    if (!sundog_dry_is_on(dry))
        return;
    size_t n_bytes = options->n_breakers * sizeof *dry->breakers;
    dry->breakers = g_memdup2(options->breakers, n_bytes);
    if (n_bytes > 0)
        qsort(dry->breakers, options->n_breakers, sizeof *dry->breakers, compare_tokens);
    dry->runs = g_new(uint32_t, n_limit);
    dry->slots = g_new(SundogDrySlot, N_SLOTS);
}

void
sundog_dry_clear(SundogDryState *dry)
{
    g_clear_pointer(&dry->breakers, g_free);
    g_clear_pointer(&dry->runs, g_free);
    g_clear_pointer(&dry->slots, g_free);
}

bool
sundog_dry_is_on(const SundogDryState *dry)
{
    return dry->options.multiplier > 0 && dry->options.window > 0;
}

static bool
is_breaker(const SundogDryState *dry, uint32_t token)
{
    return dry->breakers != NULL && bsearch(&token, dry->breakers, dry->options.n_breakers,
                                            sizeof token, compare_tokens) != NULL;
}

/* How long a run may be: to the last breaker. */
static uint32_t
count_unbroken(const SundogDryState *dry, const uint32_t *end, uint32_t n_window)
{
    uint32_t n = 0;
    while (n < n_window && !is_breaker(dry, end[-1 - (int64_t)n]))
        n++;
    return n;
}

/* runs[i]: by how much the tokens before the end equal those before the place i earlier. */
static void
find_runs(uint32_t *runs, const uint32_t *end, uint32_t n_window)
{
    const uint32_t *last = end - 1;
    uint32_t left = 0, right = 0; /* the run that reaches furthest back */
    for (uint32_t i = 1; i < n_window; i++) {
        uint32_t run = i < right ? MIN(right - i, runs[i - left]) : 0;
        while (i + run < n_window && last[-(int64_t)run] == last[-(int64_t)(i + run)])
            run++;
        runs[i] = run;
        if (i + run > right) {
            left = i;
            right = i + run;
        }
    }
}

/* The token's slot, or a free one. */
static SundogDrySlot *
find_slot(const SundogDryState *dry, uint32_t token)
{
    uint32_t at = token * 0x9e3779b1u >> 16;
    SundogDrySlot *slot = &dry->slots[at % N_SLOTS];
    while (slot->run > 0 && slot->token != token)
        slot = &dry->slots[++at % N_SLOTS];
    return slot;
}

/* The longest run of each token that an earlier place went on with; the latest places first. */
static void
collect_tokens(const SundogDryState *dry, const uint32_t *end, uint32_t n_window,
               uint32_t n_longest, uint32_t room)
{
    uint32_t n_found = 0;
    memset(dry->slots, 0, N_SLOTS * sizeof *dry->slots);
    for (uint32_t i = 1; i < n_window; i++) {
        uint32_t run = MIN(dry->runs[i], n_longest), token = end[-(int64_t)i];
        if (run == 0 || run < dry->options.allowed_length || is_breaker(dry, token))
            continue;
        SundogDrySlot *slot = find_slot(dry, token);
        if (slot->run == 0 && n_found == room)
            continue;
        n_found += slot->run == 0;
        *slot = (SundogDrySlot){token, MAX(slot->run, run)};
    }
}

static float
find_amount(const SundogDryState *dry, uint32_t run)
{
    double power = pow(dry->options.base, (double)run - dry->options.allowed_length);
    return -(float)MIN(dry->options.multiplier * power, MAX_AMOUNT);
}

uint32_t
sundog_dry_write(const SundogDryState *dry, const uint32_t *tokens, uint32_t n_tokens,
                 SundogBias *biases, uint32_t room)
{
    const uint32_t *end = tokens + n_tokens;
    uint32_t n_window = MIN(n_tokens, dry->options.window), n_written = 0;
    uint32_t n_longest = count_unbroken(dry, end, n_window);
    if (n_longest == 0 || n_longest < dry->options.allowed_length)
        return 0;
    find_runs(dry->runs, end, n_window);
    collect_tokens(dry, end, n_window, n_longest, MIN(room, SUNDOG_DRY_MAX_TOKENS));
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        const SundogDrySlot *slot = &dry->slots[i];
        if (slot->run > 0)
            biases[n_written++] = (SundogBias){(int32_t)slot->token, find_amount(dry, slot->run)};
    }
    return n_written;
}
