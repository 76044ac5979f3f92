/* What DRY holds against which token, against a plain search of all places. */

#include "engine/schedule/dry.h"
#include <math.h>
#include <string.h>

#define N_TOKENS 300
#define ROOM 400

/* The longest run before an earlier place that `token` followed; 0 where there is none. */
static uint32_t
find_longest(const SundogDry *options, const uint32_t *tokens, uint32_t n_tokens, uint32_t token)
{
    uint32_t longest = 0, begin = n_tokens - MIN(options->window, n_tokens);
    for (uint32_t place = begin + 1; place < n_tokens; place++) {
        uint32_t run = 0;
        while (place - run > begin && tokens[place - run - 1] == tokens[n_tokens - run - 1]) {
            bool breaks = false;
            for (uint32_t i = 0; i < options->n_breakers; i++)
                breaks |= tokens[n_tokens - run - 1] == options->breakers[i];
            if (breaks)
                break;
            run++;
        }
        if (tokens[place] == token)
            longest = MAX(longest, run);
    }
    for (uint32_t i = 0; i < options->n_breakers; i++)
        longest = options->breakers[i] == token ? 0 : longest;
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
    static const uint32_t breakers[] = {3, 1};
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
                                   .n_breakers = i % 3};
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
