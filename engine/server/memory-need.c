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

static uint64_t
get_context_bytes(const SundogCoreText *core)
{
    JsonArray *schemes = sundog_json_get_array(core->manifest, "cache");
    JsonObject *paged =
        schemes && json_array_get_length(schemes) > 0 ? sundog_json_get_element(schemes, 0) : NULL;
    uint64_t page_tokens = MAX(get_bytes(paged, "page_tokens"), 1);
    uint64_t n_pages = core->context_length / page_tokens + 2;
    double n_bytes = (double)n_pages * (double)get_bytes(paged, "page_bytes");
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
