/* Use of keys. */

#include "engine/server/key-limits.h"

#include <string.h>

#define N_SECONDS 60

/* A ring of sums a second; those older than a minute are empty. */
typedef struct {
    uint64_t sums[N_SECONDS];
} Window;

typedef struct {
    Window requests;
    Window tokens;
    int64_t second; /* the newest one in the windows */
    int64_t n_running;
} Use;

struct SundogKeyLimits {
    GHashTable *uses; /* name of a key -> Use */
};

SundogKeyLimits *
sundog_key_limits_new(void)
{
    SundogKeyLimits *limits = g_new0(SundogKeyLimits, 1);
    limits->uses = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return limits;
}

void
sundog_key_limits_free(SundogKeyLimits *limits)
{
    if (!limits)
        return;
    g_hash_table_unref(limits->uses);
    g_free(limits);
}

/* The key's use, with what is older than a minute forgotten. */
static Use *
get_use(SundogKeyLimits *limits, const SundogApiKey *key, int64_t now_us)
{
    int64_t now = now_us / G_USEC_PER_SEC;
    Use *use = g_hash_table_lookup(limits->uses, key->name);
    if (!use) {
        use = g_new0(Use, 1);
        use->second = now;
        g_hash_table_insert(limits->uses, g_strdup(key->name), use);
    }
    for (int64_t second = MAX(use->second + 1, now - N_SECONDS + 1); second <= now; second++)
        use->requests.sums[second % N_SECONDS] = use->tokens.sums[second % N_SECONDS] = 0;
    use->second = MAX(use->second, now);
    return use;
}

/* Seconds until less than the limit is left in the window; 0: there is less. */
static unsigned
get_wait(const Use *use, const Window *window, int64_t limit)
{
    uint64_t sum = 0;
    for (int i = 0; i < N_SECONDS; i++)
        sum += window->sums[i];
    unsigned wait = 0;
    for (int64_t second = use->second + 1; limit > 0 && sum >= (uint64_t)limit; second++, wait++)
        sum -= window->sums[second % N_SECONDS];
    return wait;
}

static SundogApiError *
new_error(const SundogApiKey *key, int64_t limit, const char *unit, unsigned wait)
{
    g_autofree char *allowed = g_strdup_printf("%" G_GINT64_FORMAT " %s", limit, unit);
    g_autofree char *seconds = g_strdup_printf("%u", wait);
    SundogApiError *error =
        sundog_api_error_new(SUNDOG_API_ERROR_KEY_LIMIT, NULL, key->name, allowed, seconds, NULL);
    error->retry_after_s = wait;
    return error;
}

SundogApiError *
sundog_key_limits_check(SundogKeyLimits *limits, const SundogApiKey *key, int64_t now_us)
{
    const Use *use = get_use(limits, key, now_us);
    unsigned requests_wait = get_wait(use, &use->requests, key->requests_per_minute);
    unsigned tokens_wait = get_wait(use, &use->tokens, key->tokens_per_minute);
    if (key->concurrent_requests > 0 && use->n_running >= key->concurrent_requests)
        return new_error(key, key->concurrent_requests, "requests at a time", 1);
    if (requests_wait)
        return new_error(key, key->requests_per_minute, "requests a minute", requests_wait);
    if (tokens_wait)
        return new_error(key, key->tokens_per_minute, "tokens a minute", tokens_wait);
    return NULL;
}

void
sundog_key_limits_begin(SundogKeyLimits *limits, const SundogApiKey *key, uint64_t n_tokens,
                        int64_t now_us)
{
    Use *use = get_use(limits, key, now_us);
    use->n_running++;
    use->requests.sums[use->second % N_SECONDS]++;
    use->tokens.sums[use->second % N_SECONDS] += n_tokens;
}

void
sundog_key_limits_end(SundogKeyLimits *limits, const SundogApiKey *key, uint64_t n_tokens,
                      int64_t now_us)
{
    Use *use = get_use(limits, key, now_us);
    use->n_running--;
    use->tokens.sums[use->second % N_SECONDS] += n_tokens;
}
