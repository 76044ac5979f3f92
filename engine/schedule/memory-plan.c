/* Memory of the cache. */

#include "engine/schedule/memory-plan.h"
#include "kernels/contract/paged-cache.h"
#include <gio/gio.h>
#include <string.h>

/* What a cache is good for, unless the person asks for more: some long talks kept for their next turn,
 * or dozens of short requests at once. More would only grow the process. */
#define DEFAULT_CONTEXTS 8
#define FEWEST_STATES 2

static bool
refuse(GError **error, const SundogMemoryNeeds *needs)
{
    g_autofree char *fixed = g_format_size(needs->fixed_bytes);
    uint64_t page_bytes = needs->page_bytes + needs->window_bytes;
    g_autofree char *page = g_format_size(page_bytes);
    g_autofree char *available = g_format_size(needs->available_bytes);
    g_autofree char *cache = g_format_size(needs->cache_bytes);
    if (needs->cache_bytes > 0 && needs->cache_bytes < 2 * page_bytes) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
                    "a cache of %s does not hold two pages of %s: allow it more", cache, page);
    } else {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
                    "the core needs %s and its cache at least two pages of %s, and %s is free: "
                    "close other programs or choose a smaller core",
                    fixed, page, available);
    }
    return false;
}

static uint64_t
count_context_pages(const SundogMemoryNeeds *needs)
{
    return ((uint64_t)needs->context_length + needs->page_tokens - 1) / needs->page_tokens;
}

/* Pages of windows beside n_pages others; with the null one, and one for copies. */
static uint64_t
count_windows(const SundogMemoryNeeds *needs, uint64_t n_pages)
{
    if (needs->window_bytes == 0)
        return 1;
    uint64_t context_pages = MAX(count_context_pages(needs), 1);
    uint64_t n_contexts = MAX((n_pages - 1 + context_pages - 1) / context_pages, 1);
    uint64_t n_step = (needs->step_tokens + needs->page_tokens - 1) / needs->page_tokens;
    uint64_t n_held = sundog_window_held_pages(needs->window_tokens, needs->page_tokens);
    return MIN(n_pages, 2 + n_step + 2 * n_contexts * n_held);
}

/* The most pages that fit with their windows into so many bytes. */
static uint64_t
count_fitting(const SundogMemoryNeeds *needs, uint64_t n_bytes)
{
    /* Models without attention keep nothing in pages, which then only count tokens. */
    uint64_t n_fit = 0, n_most = n_bytes / MAX(needs->page_bytes, 1);
    while (needs->window_bytes > 0 && n_fit < n_most) {
        uint64_t n = n_fit + (n_most - n_fit + 1) / 2;
        if (n * needs->page_bytes + count_windows(needs, n) * needs->window_bytes <= n_bytes)
            n_fit = n;
        else
            n_most = n - 1;
    }
    return n_most;
}

/* Slots for every sequence of a step and as many that are kept, or as many as fit. */
static uint64_t
count_states(const SundogMemoryNeeds *needs, uint64_t n_left)
{
    if (needs->state_bytes == 0)
        return 0;
    uint64_t n_states = MIN(n_left / 8 / needs->state_bytes, 2 * (uint64_t)needs->max_sequences);
    return MAX(n_states, FEWEST_STATES);
}

bool
sundog_memory_plan_make(SundogMemoryPlan *plan, const SundogMemoryNeeds *needs, GError **error)
{
    g_return_val_if_fail(needs->page_tokens > 0, false);
    uint64_t n_left = needs->available_bytes > needs->fixed_bytes
                          ? needs->available_bytes - needs->fixed_bytes
                          : 0;
    uint64_t context_pages = count_context_pages(needs);
    uint64_t n_states = count_states(needs, n_left);
    n_left -= MIN(n_left, n_states * needs->state_bytes);
    uint64_t n_fit = count_fitting(needs, n_left);
    uint64_t n_pages, n_contexts = needs->n_contexts > 0 ? needs->n_contexts : DEFAULT_CONTEXTS;
    if (needs->cache_bytes > 0) {
        n_pages = MIN(count_fitting(needs, needs->cache_bytes), n_fit);
    } else {
        n_pages = MIN(count_fitting(needs, n_left / 4), n_contexts * context_pages + 1);
        n_pages = MAX(n_pages, MIN(context_pages + 1, count_fitting(needs, n_left / 4 * 3)));
    }
    n_pages = MIN(n_pages, context_pages * needs->max_sequences + 1);
    n_pages = MIN(n_pages, needs->max_pages);
    if (n_pages < 2 || n_pages > INT32_MAX)
        return refuse(error, needs);
    plan->pool_pages = (int64_t)n_pages;
    plan->window_pages = (int64_t)count_windows(needs, n_pages);
    plan->pool_states = (int64_t)n_states + 1;
    plan->context_length =
        (uint32_t)MIN((n_pages - 1) * needs->page_tokens, (uint64_t)needs->context_length);
    return true;
}

bool
sundog_memory_plan_make_whole(SundogMemoryPlan *plan, const SundogMemoryNeeds *needs,
                              GError **error)
{
    g_autofree char *fixed = g_format_size(needs->fixed_bytes);
    g_autofree char *available = g_format_size(needs->available_bytes);
    *plan = (SundogMemoryPlan){.pool_pages = (int64_t)needs->max_pages,
                               .window_pages = 1,
                               .pool_states = 1,
                               .context_length = needs->context_length};
    if (needs->fixed_bytes <= needs->available_bytes)
        return true;
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE,
                "the core needs %s, and %s is free: close other programs, or prepare it for a "
                "shorter context",
                fixed, available);
    return false;
}

/* The number after a key in a file of the kernel's, or the file's own where the key is "". */
static bool
read_number(const char *path, const char *key, uint64_t *value)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return false;
    const char *at = strstr(text, key);
    if (!at)
        return false;
    char *end;
    const char *start = at + strlen(key);
    *value = g_ascii_strtoull(start, &end, 10);
    return end != start;
}

/* What is left within a control group's limit; UINT64_MAX where there is none. */
static uint64_t
get_left_in_group(const char *limit_path, const char *used_path)
{
    uint64_t limit, used;
    if (!read_number(limit_path, "", &limit) || !read_number(used_path, "", &used))
        return UINT64_MAX;
    return limit > used ? limit - used : 0;
}

uint64_t
sundog_memory_get_available(void)
{
    uint64_t n_kib;
    if (!read_number("/proc/meminfo", "MemAvailable:", &n_kib))
        return 0;
    uint64_t n_bytes = n_kib * 1024;
    n_bytes = MIN(n_bytes,
                  get_left_in_group("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"));
    return MIN(n_bytes, get_left_in_group("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                          "/sys/fs/cgroup/memory/memory.usage_in_bytes"));
}
