/* What DRY holds against which token, against a plain search of all places. */

#include "engine/schedule/dry.h"
#include <math.h>
#include <string.h>

#define N_TOKENS 300
#define ROOM 400

/* Whether a breaker of these words stands at a place and ends at most at `end`; *n_tokens: how long it is. */
static bool
breaks_at(const SundogDry *options, const uint32_t *tokens, uint32_t place, uint32_t end,
          uint32_t *n_tokens)
{
    *n_tokens = 0;
    for (uint32_t at = 0; at < options->n_breakers;) {
        const uint32_t *heads = &options->breakers[at + 1];
        uint32_t n_heads = options->breakers[at], n_tail = heads[n_heads];
        for (uint32_t i = 0; i < n_heads; i++)
            if (heads[i] == tokens[place] && place + 1 + n_tail <= end &&
                memcmp(heads + n_heads + 1, tokens + place + 1, n_tail * sizeof *tokens) == 0)
                *n_tokens = MAX(*n_tokens, 1 + n_tail);
        at += 1 + n_heads + 1 + n_tail;
    }
    return *n_tokens > 0;
}

/* The longest run before an earlier place that `token` followed; 0 where there is none. */
static uint32_t
find_longest(const SundogDry *options, const uint32_t *tokens, uint32_t n_tokens, uint32_t token)
{
    uint32_t longest = 0, begin = n_tokens - MIN(options->window, n_tokens);
    uint32_t most = n_tokens - begin, n_breaker;
    for (uint32_t place = n_tokens; place-- > begin;)
        if (breaks_at(options, tokens, place, n_tokens, &n_breaker)) {
            most = n_tokens - place - n_breaker;
            break;
        }
    for (uint32_t place = begin + 1; place < n_tokens; place++) {
        uint32_t run = 0;
        while (place - run > begin && tokens[place - run - 1] == tokens[n_tokens - run - 1]) {
            if (run == most)
                break;
            run++;
        }
        if (tokens[place] == token)
            longest = MAX(longest, run);
    }
    longest = breaks_at(options, &token, 0, 1, &n_breaker) ? 0 : longest;
    return longest < options->allowed_length ? 0 : longest;
}

static void
check(const SundogDry *options, const uint32_t *tokens, uint32_t n_tokens, uint32_t n_kinds)
{
    SundogDryState dry;
    SundogBias biases[ROOM];
    float amounts[64] = {0};
    sundog_dry_init(&dry, options, N_TOKENS);
    uint32_t n = sundog_dry_write(&dry, tokens, n_tokens, biases, ROOM);
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpfloat((double)amounts[biases[i].token], ==, 0); /* each once */
        amounts[biases[i].token] = biases[i].amount;
    }
    for (uint32_t token = 0; token < n_kinds; token++) {
        uint32_t run = find_longest(options, tokens, n_tokens, token);
        double amount =
            options->multiplier * pow(options->base, (double)run - options->allowed_length);
        g_assert_cmpfloat((double)amounts[token], ==,
                          run == 0 ? 0 : (double)-(float)MIN(amount, 1e6));
    }
    sundog_dry_clear(&dry);
}

static void
test_equals_search(void)
{
    /* 3 or 5; 1; then of two tokens and of three. */
    static const uint32_t breakers[] = {2, 3, 5, 0, 1, 1, 0, 1, 2, 1, 4, 2, 0, 2, 2, 6, 7};
    static const uint32_t lengths[] = {0, 4, 7, 11, G_N_ELEMENTS(breakers)};
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    for (uint32_t i = 0; i < 400; i++) {
        uint32_t tokens[N_TOKENS], n_kinds = 1 + i % 9, period = 1 + i % 37;
        uint32_t n_tokens = 1 + g_rand_int(random) % N_TOKENS;
        for (uint32_t k = 0; k < n_tokens; k++)
            tokens[k] = g_rand_int(random) % 10 == 0 || k < period ? g_rand_int(random) % n_kinds
                                                                   : tokens[k - period];
        const SundogDry options = {.multiplier = 0.8,
                                   .base = i % 4 == 0 ? 3 : 1.25,
                                   .allowed_length = i % 5,
                                   .window = i % 3 == 0 ? 40 : UINT32_MAX,
                                   .breakers = breakers,
                                   .n_breakers = lengths[i % G_N_ELEMENTS(lengths)]};
        check(&options, tokens, n_tokens, n_kinds);
    }
}

static void
test_bounds(void)
{
    uint32_t tokens[N_TOKENS];
    SundogBias biases[ROOM];
    SundogDryState dry;
    SundogDry options = {.multiplier = 1, .base = 2, .allowed_length = 1, .window = UINT32_MAX};
    /* Two hundred different tokens, each after the same one: the last said are told. */
    for (uint32_t i = 0; i < N_TOKENS; i++)
        tokens[i] = i % 2 ? 1000 : i / 2;
    sundog_dry_init(&dry, &options, N_TOKENS);
    g_assert_cmpuint(sundog_dry_write(&dry, tokens, N_TOKENS, biases, 20), ==, 20);
    for (uint32_t i = 0; i < 20; i++)
        g_assert_cmpint(biases[i].token, >=, N_TOKENS / 2 - 20);
    sundog_dry_clear(&dry);
    /* Off: nothing is taken, nothing is told. */
    options.multiplier = 0;
    sundog_dry_init(&dry, &options, N_TOKENS);
    g_assert_false(sundog_dry_is_on(&dry));
    sundog_dry_clear(&dry);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dry/equals-search", test_equals_search);
    g_test_add_func("/dry/bounds", test_bounds);
    return g_test_run();
}
