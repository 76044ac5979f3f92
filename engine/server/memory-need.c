/* Memory of cores. */

#include "engine/server/memory-need.h"

#include "engine/format/json-members.h"
#include <string.h>
#include <unistd.h>

/* An engine takes eight contexts where they fit into a quarter of what it is given. */
#define CONTEXTS_OF_USE 32

/* A number that fits; the manifest is signed, but arithmetic on it must hold all the same. */
static uint64_t
get_bytes(JsonObject *object, const char *name)
{
    double number = sundog_json_get_number(object, name, 0);
    return (uint64_t)CLAMP(number, 0, 1e15);
}

/* The core's cache scheme of that name, or NULL. */
static JsonObject *
find_scheme(const SundogCoreText *core, const char *name)
{
    JsonArray *schemes = sundog_json_get_array(core->manifest, "cache");
    for (guint i = 0; schemes && i < json_array_get_length(schemes); i++) {
        JsonObject *scheme = sundog_json_get_element(schemes, i);
        if (strcmp(sundog_json_get_string(scheme, "scheme", ""), name) == 0)
            return scheme;
    }
    return NULL;
}

/* As engine/schedule/memory-plan.h has it: two sequences' windows for each context, and a step's. */
static uint64_t
count_windows(const SundogCoreText *core, JsonObject *window, uint64_t page_tokens,
              uint64_t n_pages)
{
    JsonObject *bounds = sundog_json_get_object(core->manifest, "variables");
    return MIN(n_pages,
               2 + get_bytes(bounds, "tokens") / page_tokens + 2 * get_bytes(window, "held_pages"));
}

static uint64_t
get_context_bytes(const SundogCoreText *core)
{
    JsonObject *paged = find_scheme(core, "paged"), *window = find_scheme(core, "window");
    uint64_t page_tokens = MAX(get_bytes(paged, "page_tokens"), 1);
    uint64_t n_pages = core->context_length / page_tokens + 2;
    double n_bytes = (double)n_pages * (double)get_bytes(paged, "page_bytes");
    if (window)
        n_bytes += (double)count_windows(core, window, page_tokens, n_pages) *
                   (double)get_bytes(window, "page_bytes");
    return (uint64_t)MIN(n_bytes, 1e15);
}

SundogMemoryNeed
sundog_memory_need_of(const SundogCoreText *core, uint64_t budget_bytes, uint64_t cache_bytes)
{
    SundogMemoryNeed need = {0};
    JsonObject *plan = sundog_json_get_object(core->manifest, "plan");
    if (strcmp(sundog_json_get_string(core->manifest, "target", "host"), "host") != 0)
        return need;
    uint64_t context_bytes = get_context_bytes(core);
    need.fixed_bytes = get_bytes(plan, "weight_bytes") + get_bytes(plan, "arena_bytes");
    uint64_t left_bytes = budget_bytes > need.fixed_bytes ? budget_bytes - need.fixed_bytes : 0;
    need.least_bytes =
        need.fixed_bytes + (cache_bytes ? cache_bytes : MIN(context_bytes, left_bytes / 4));
    need.most_bytes =
        need.fixed_bytes + (cache_bytes ? cache_bytes : CONTEXTS_OF_USE * context_bytes);
    need.most_bytes = MAX(need.most_bytes, need.least_bytes);
    return need;
}

static uint64_t
read_limit(const char *path)
{
    g_autofree char *text = NULL;
    uint64_t n_bytes;
    bool is_there = g_file_get_contents(path, &text, NULL, NULL);
    return is_there &&
                   g_ascii_string_to_unsigned(g_strstrip(text), 10, 1, UINT64_MAX, &n_bytes, NULL)
               ? n_bytes
               : UINT64_MAX;
}

uint64_t
sundog_memory_get_total(void)
{
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (n_pages <= 0 || page_bytes <= 0)
        return 0;
    uint64_t n_bytes = (uint64_t)n_pages * (uint64_t)page_bytes;
    uint64_t limit = read_limit("/sys/fs/cgroup/memory.max");
    uint64_t older = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    limit = MIN(limit, older);
    return MIN(n_bytes, limit);
}
