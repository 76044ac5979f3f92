/* Runs by the Z algorithm, tokens by a small hash table. */

#include "engine/schedule/dry.h"
#include <math.h>
#include <string.h>

#define N_SLOTS (2 * SUNDOG_DRY_MAX_TOKENS)
/* Far beyond any logit, and far within float32. */
#define MAX_AMOUNT 1e6

/* A token that begins a breaker, and what must stand behind it. */
struct SundogDryBreaker {
    uint32_t head;
    uint32_t n_tail;
    const uint32_t *tail; /* in the state's words */
};

static int
compare_heads(const void *a, const void *b)
{
    const SundogDryBreaker *first = a, *second = b;
    return first->head < second->head ? -1 : first->head > second->head;
}

/* A breaker for each head. */
static void
read_breakers(SundogDryState *dry)
{
    GArray *breakers = g_array_new(false, false, sizeof(SundogDryBreaker));
    for (uint32_t at = 0; at < dry->options.n_breakers;) {
        const uint32_t *heads = &dry->words[at + 1];
        uint32_t n_heads = dry->words[at], n_tail = heads[n_heads];
        for (uint32_t i = 0; i < n_heads; i++) {
            SundogDryBreaker breaker = {heads[i], n_tail, heads + n_heads + 1};
            g_array_append_val(breakers, breaker);
        }
        at += 1 + n_heads + 1 + n_tail;
    }
    g_array_sort(breakers, compare_heads);
    dry->n_breakers = breakers->len;
    dry->breakers = (SundogDryBreaker *)(void *)g_array_free(breakers, false);
}

void
sundog_dry_init(SundogDryState *dry, const SundogDry *options, uint32_t n_limit)
{
    *dry = (SundogDryState){.options = *options};
    if (!sundog_dry_is_on(dry))
        return;
    dry->words = g_memdup2(options->breakers, options->n_breakers * sizeof *dry->words);
    read_breakers(dry);
    dry->runs = g_new(uint32_t, n_limit);
    dry->slots = g_new(SundogDrySlot, N_SLOTS);
}

void
sundog_dry_clear(SundogDryState *dry)
{
    g_clear_pointer(&dry->words, g_free);
    g_clear_pointer(&dry->breakers, g_free);
    g_clear_pointer(&dry->runs, g_free);
    g_clear_pointer(&dry->slots, g_free);
}

bool
sundog_dry_is_on(const SundogDryState *dry)
{
    return dry->options.multiplier > 0 && dry->options.window > 0;
}

/* The first breaker of this head, or where it would stand. */
static uint32_t
find_head(const SundogDryState *dry, uint32_t head)
{
    uint32_t first = 0, end = dry->n_breakers;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (dry->breakers[middle].head < head)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* The longest tail of a breaker that begins with the token and goes on with those at `next`, of which
 * there are n; -1 where there is none. */
static int64_t
find_tail(const SundogDryState *dry, uint32_t token, const uint32_t *next, uint32_t n)
{
    int64_t longest = -1;
    for (uint32_t i = find_head(dry, token); i < dry->n_breakers; i++) {
        const SundogDryBreaker *breaker = &dry->breakers[i];
        if (breaker->head != token)
            break;
        if (breaker->n_tail > longest && breaker->n_tail <= n &&
            (breaker->n_tail == 0 ||
             memcmp(breaker->tail, next, breaker->n_tail * sizeof *next) == 0))
            longest = breaker->n_tail;
    }
    return longest;
}

/* A token that is a breaker by itself. */
static bool
is_breaker(const SundogDryState *dry, uint32_t token)
{
    return find_tail(dry, token, NULL, 0) == 0;
}

/* How long a run may be: to the end of the last breaker. */
static uint32_t
count_unbroken(const SundogDryState *dry, const uint32_t *end, uint32_t n_window)
{
    for (uint32_t n = 0; n < n_window; n++) {
        int64_t n_tail = find_tail(dry, end[-1 - (int64_t)n], end - n, n);
        if (n_tail >= 0)
            return n - (uint32_t)n_tail;
    }
    return n_window;
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
