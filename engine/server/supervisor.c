/*
 * The supervisor. balance() is its heart: with what is known now, it lets go of engines that nobody
 * needs, and gives memory to the one that has waited longest. It runs when requests come, and once a
 * turn of the main loop after engines changed.
 */

#include "engine/server/supervisor.h"

#include "engine/library/timer.h"
#include "engine/server/memory-need.h"
#include <string.h>

struct SundogSupervisor {
    SundogSupervisorOptions options;
    char *program;
    char *keys;
    char *records;
    SundogEngineCalls calls;
    GPtrArray *engines;   /* SundogEngine, the current one first */
    GHashTable *counters; /* name of a core -> SundogEngineCounters */
    guint balance_source;
};

static void balance(SundogSupervisor *supervisor);

static gboolean
on_balance_due(void *data)
{
    SundogSupervisor *supervisor = data;
    supervisor->balance_source = 0;
    balance(supervisor);
    return G_SOURCE_REMOVE;
}

/* Not at once: what an engine tells, it tells from within itself. */
static void
balance_later(SundogSupervisor *supervisor)
{
    if (!supervisor->balance_source)
        sundog_timer_start(&supervisor->balance_source, 0, on_balance_due, supervisor);
}

/* What engines tell */

static void
on_state_changed(SundogEngine *engine, void *data)
{
    SundogSupervisor *supervisor = data;
    balance_later(supervisor);
    if (supervisor->options.changed)
        supervisor->options.changed(supervisor->options.data);
}

static void
on_settled(SundogEngine *engine, void *data)
{
    balance_later(data);
}

static void
on_request_changed(SundogGeneration *generation, void *data)
{
    SundogSupervisor *supervisor = data;
    if (supervisor->options.request_changed)
        supervisor->options.request_changed(generation, supervisor->options.data);
}

static void
on_request_ended(SundogGeneration *generation, void *data)
{
    SundogSupervisor *supervisor = data;
    if (supervisor->options.request_ended)
        supervisor->options.request_ended(generation, supervisor->options.data);
}

static void
on_log(const char *level, const char *text, void *data)
{
    SundogSupervisor *supervisor = data;
    if (supervisor->options.log)
        supervisor->options.log(level, text, supervisor->options.data);
}

/* Memory */

static SundogMemoryNeed
get_need(const SundogSupervisor *supervisor, const SundogCoreText *core)
{
    uint64_t budget = supervisor->options.memory_budget;
    uint64_t cache_bytes = supervisor->options.engine.cache_bytes;
    SundogMemoryNeed need = sundog_memory_need_of(core, budget, cache_bytes);
    if (core->draft) {
        SundogMemoryNeed draft = sundog_memory_need_of(core->draft, budget, cache_bytes);
        need.fixed_bytes += draft.fixed_bytes;
        need.least_bytes += draft.least_bytes;
        need.most_bytes += draft.most_bytes;
    }
    return need;
}

static bool
can_fit(const SundogSupervisor *supervisor, const SundogMemoryNeed *need)
{
    uint64_t budget = supervisor->options.memory_budget;
    return budget == 0 || need->least_bytes < budget;
}

static SundogApiError *
new_too_large(const SundogSupervisor *supervisor, const SundogCoreText *core,
              const SundogMemoryNeed *need)
{
    g_autofree char *needed = g_format_size(need->least_bytes);
    g_autofree char *budget = g_format_size(supervisor->options.memory_budget);
    return sundog_api_error_new(SUNDOG_API_ERROR_NO_MEMORY, "model", core->name, needed, budget,
                                NULL);
}

static bool
is_on_same_target(SundogEngine *a, SundogEngine *b)
{
    JsonObject *first = sundog_engine_get_core(a)->manifest;
    JsonObject *second = sundog_engine_get_core(b)->manifest;
    return strcmp(json_object_get_string_member_with_default(first, "target", ""),
                  json_object_get_string_member_with_default(second, "target", "")) == 0;
}

static bool
has_process(SundogEngine *engine)
{
    SundogEngineState state = sundog_engine_get_state(engine);
    return state == SUNDOG_ENGINE_STARTING || state == SUNDOG_ENGINE_LOADING ||
           state == SUNDOG_ENGINE_READY;
}

static void
evict(SundogSupervisor *supervisor, SundogEngine *engine)
{
    g_autofree char *text =
        g_strdup_printf("The core %s makes room for another", sundog_engine_get_core(engine)->name);
    on_log("info", text, supervisor);
    sundog_engine_evict(engine);
}

/* It did not load: where others on its target do nothing, their memory may be what it lacked. */
static bool
on_make_room(SundogEngine *engine, void *data)
{
    SundogSupervisor *supervisor = data;
    bool has_evicted = false;
    for (guint i = 0; i < supervisor->engines->len; i++) {
        SundogEngine *other = supervisor->engines->pdata[i];
        if (other == engine || !is_on_same_target(engine, other) || !has_process(other) ||
            !sundog_engine_is_idle(other))
            continue;
        evict(supervisor, other);
        has_evicted = true;
    }
    return has_evicted;
}

/* Negative where a is the better one to let go. */
static int
compare_victims(gconstpointer a, gconstpointer b)
{
    SundogEngine *const *first = a, *const *second = b;
    int kept = (int)sundog_engine_is_kept(*first) - (int)sundog_engine_is_kept(*second);
    if (kept)
        return kept;
    int64_t difference = sundog_engine_get_used_us(*first) - sundog_engine_get_used_us(*second);
    return difference < 0 ? -1 : difference > 0;
}

/* Engines whose memory may be had, the best first. */
static GPtrArray *
list_victims(SundogSupervisor *supervisor, bool is_idle)
{
    GPtrArray *victims = g_ptr_array_new();
    for (guint i = 0; i < supervisor->engines->len; i++) {
        SundogEngine *engine = supervisor->engines->pdata[i];
        if (has_process(engine) && sundog_engine_is_idle(engine) == is_idle &&
            sundog_engine_get_most_bytes(engine) > 0)
            g_ptr_array_add(victims, engine);
    }
    g_ptr_array_sort(victims, compare_victims);
    return victims;
}

/* What is taken, at least or at most; without those that are being ended, or with them. */
static uint64_t
sum_bytes(const SundogSupervisor *supervisor, bool most, bool with_stopping)
{
    uint64_t n_bytes = 0;
    for (guint i = 0; i < supervisor->engines->len; i++) {
        SundogEngine *engine = supervisor->engines->pdata[i];
        if (sundog_engine_get_state(engine) != SUNDOG_ENGINE_STOPPING || with_stopping)
            n_bytes +=
                most ? sundog_engine_get_most_bytes(engine) : sundog_engine_get_least_bytes(engine);
    }
    return n_bytes;
}

/* Ends what does nothing; where that is not enough, what works makes way after what was asked of it
 * before. Nothing is done for what will be free by itself. */
static void
make_room(SundogSupervisor *supervisor, SundogEngine *wanting, uint64_t needed_bytes)
{
    uint64_t taken = sum_bytes(supervisor, false, false);
    uint64_t budget = supervisor->options.memory_budget;
    g_autoptr(GPtrArray) idle = list_victims(supervisor, true);
    g_autoptr(GPtrArray) busy = list_victims(supervisor, false);
    for (guint i = 0; i < idle->len && taken + needed_bytes > budget; i++) {
        taken -= MIN(taken, sundog_engine_get_least_bytes(idle->pdata[i]));
        evict(supervisor, idle->pdata[i]);
    }
    for (guint i = 0; i < busy->len && taken + needed_bytes > budget; i++) {
        SundogRequestQueue *queue = sundog_engine_get_queue(busy->pdata[i]);
        taken -= MIN(taken, sundog_engine_get_least_bytes(busy->pdata[i]));
        sundog_engine_yield(busy->pdata[i], sundog_engine_get_wanted_us(wanting));
        bool has_older =
            sundog_request_queue_get_oldest_us(queue) < sundog_engine_get_wanted_us(wanting);
        if (sundog_request_queue_get_n_running(queue) == 0 && !has_older)
            evict(supervisor, busy->pdata[i]);
    }
}

/* Balancing */

static SundogEngine *
find_longest_wanting(const SundogSupervisor *supervisor)
{
    SundogEngine *longest = NULL;
    for (guint i = 0; i < supervisor->engines->len; i++) {
        SundogEngine *engine = supervisor->engines->pdata[i];
        if (sundog_engine_is_wanting(engine) &&
            (!longest ||
             sundog_engine_get_wanted_us(engine) < sundog_engine_get_wanted_us(longest)))
            longest = engine;
    }
    return longest;
}

static bool
is_any_stopping(const SundogSupervisor *supervisor)
{
    for (guint i = 0; i < supervisor->engines->len; i++)
        if (sundog_engine_get_state(supervisor->engines->pdata[i]) == SUNDOG_ENGINE_STOPPING)
            return true;
    return false;
}

/* False where it must wait. */
static bool
grant(SundogSupervisor *supervisor, SundogEngine *engine)
{
    SundogCoreText *core = sundog_engine_get_core(engine);
    SundogMemoryNeed need = get_need(supervisor, core);
    uint64_t budget = supervisor->options.memory_budget;
    if (sundog_engine_waits_for_others(engine) && is_any_stopping(supervisor))
        return false;
    SundogApiError *refusal = sundog_supervisor_check_memory(supervisor, core);
    if (refusal) {
        sundog_engine_refuse(engine, refusal);
        return true;
    }
    uint64_t taken = sum_bytes(supervisor, true, true);
    if (budget == 0 || need.least_bytes == 0) {
        sundog_engine_start(engine, 0, 0);
        return true;
    }
    if (taken + need.least_bytes <= budget) {
        sundog_engine_start(engine, need.least_bytes, MIN(need.most_bytes, budget - taken));
        return true;
    }
    make_room(supervisor, engine, need.least_bytes);
    return false;
}

static void
remove_unused(SundogSupervisor *supervisor)
{
    for (guint i = supervisor->engines->len; i-- > 0;)
        if (sundog_engine_is_unused(supervisor->engines->pdata[i]))
            g_ptr_array_remove_index(supervisor->engines, i);
}

static void
balance(SundogSupervisor *supervisor)
{
    SundogEngine *wanting;
    remove_unused(supervisor);
    while ((wanting = find_longest_wanting(supervisor)) && grant(supervisor, wanting)) {
    }
    /* The one that they made way for may have left. */
    for (guint i = 0; !wanting && i < supervisor->engines->len; i++)
        sundog_engine_yield(supervisor->engines->pdata[i], 0);
}

/* Engines */

static SundogEngineCounters *
get_counters(SundogSupervisor *supervisor, const char *name)
{
    SundogEngineCounters *counters = g_hash_table_lookup(supervisor->counters, name);
    if (!counters) {
        counters = g_new0(SundogEngineCounters, 1);
        g_hash_table_insert(supervisor->counters, g_strdup(name), counters);
    }
    return counters;
}

/* Made where it is not there; it becomes the current one. */
static SundogEngine *
get_engine(SundogSupervisor *supervisor, SundogCoreText *core)
{
    SundogEngine *engine = sundog_supervisor_find(supervisor, core->path);
    guint index = 0;
    if (engine) {
        g_ptr_array_find(supervisor->engines, engine, &index);
        g_ptr_array_steal_index(supervisor->engines, index);
    } else {
        engine = sundog_engine_new(core, &supervisor->options.engine, &supervisor->calls,
                                   get_counters(supervisor, core->name));
    }
    g_ptr_array_insert(supervisor->engines, 0, engine);
    return engine;
}

static void
free_engine(void *data)
{
    sundog_engine_free(data);
}

SundogSupervisor *
sundog_supervisor_new(const SundogSupervisorOptions *options)
{
    SundogSupervisor *supervisor = g_new0(SundogSupervisor, 1);
    supervisor->options = *options;
    supervisor->options.engine.program = supervisor->program = g_strdup(options->engine.program);
    supervisor->options.engine.keys = supervisor->keys = g_strdup(options->engine.keys);
    supervisor->options.engine.records = supervisor->records = g_strdup(options->engine.records);
    supervisor->calls = (SundogEngineCalls){.state_changed = on_state_changed,
                                            .settled = on_settled,
                                            .make_room = on_make_room,
                                            .request_changed = on_request_changed,
                                            .request_ended = on_request_ended,
                                            .log = on_log,
                                            .data = supervisor};
    supervisor->engines = g_ptr_array_new_with_free_func(free_engine);
    supervisor->counters = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return supervisor;
}

void
sundog_supervisor_free(SundogSupervisor *supervisor)
{
    if (!supervisor)
        return;
    sundog_timer_stop(&supervisor->balance_source);
    g_ptr_array_unref(supervisor->engines);
    g_hash_table_unref(supervisor->counters);
    g_free(supervisor->program);
    g_free(supervisor->keys);
    g_free(supervisor->records);
    g_free(supervisor);
}

/* Requests */

SundogApiError *
sundog_supervisor_check_memory(const SundogSupervisor *supervisor, const SundogCoreText *core)
{
    SundogMemoryNeed need = get_need(supervisor, core);
    return can_fit(supervisor, &need) ? NULL : new_too_large(supervisor, core, &need);
}

SundogApiError *
sundog_supervisor_check(SundogSupervisor *supervisor, SundogCoreText *core)
{
    SundogEngine *engine = sundog_supervisor_find(supervisor, core->path);
    if (!engine)
        return sundog_supervisor_check_memory(supervisor, core);
    if (sundog_engine_has_failed_lately(engine))
        return sundog_api_error_new(SUNDOG_API_ERROR_ENGINE_FAILED, NULL,
                                    sundog_engine_get_message(engine), NULL);
    const SundogReady *ready = sundog_engine_get_ready(engine);
    const SundogRequestQueue *queue = sundog_engine_get_queue(engine);
    guint n_open =
        sundog_request_queue_get_n_waiting(queue) + sundog_request_queue_get_n_running(queue);
    if (n_open < SUNDOG_REQUEST_QUEUE_LENGTH + (ready ? ready->max_sequences : 0))
        return NULL;
    g_autofree char *n_text = g_strdup_printf("%u", n_open);
    return sundog_api_error_new(SUNDOG_API_ERROR_QUEUE_FULL, NULL, n_text, NULL);
}

void
sundog_supervisor_submit(SundogSupervisor *supervisor, SundogGeneration *generation)
{
    sundog_engine_submit(get_engine(supervisor, generation->core), generation);
    balance(supervisor);
}

void
sundog_supervisor_abandon(SundogSupervisor *supervisor, SundogGeneration *generation)
{
    SundogEngine *engine = sundog_supervisor_find(supervisor, generation->core->path);
    if (engine && !sundog_generation_is_over(generation))
        sundog_engine_abandon(engine, generation);
}

bool
sundog_supervisor_cancel(SundogSupervisor *supervisor, const char *name)
{
    for (guint i = 0; i < supervisor->engines->len; i++) {
        SundogEngine *engine = supervisor->engines->pdata[i];
        SundogGeneration *generation =
            sundog_request_queue_find_name(sundog_engine_get_queue(engine), name);
        if (!generation)
            continue;
        sundog_engine_cancel(engine, generation);
        return true;
    }
    return false;
}

void
sundog_supervisor_load(SundogSupervisor *supervisor, SundogCoreText *core)
{
    sundog_engine_want(get_engine(supervisor, core));
    balance(supervisor);
}

/* Unloading: several engines, one caller. */

typedef struct {
    guint n_left;
    void (*done)(void *data);
    void *data;
} Unloading;

static void
on_unloaded(void *data)
{
    Unloading *unloading = data;
    if (--unloading->n_left > 0)
        return;
    if (unloading->done)
        unloading->done(unloading->data);
    g_free(unloading);
}

void
sundog_supervisor_unload(SundogSupervisor *supervisor, const char *path, SundogApiError *reason,
                         void (*done)(void *data), void *data)
{
    g_autoptr(SundogApiError) owned = reason;
    g_autoptr(GPtrArray) engines = g_ptr_array_new();
    for (guint i = 0; i < supervisor->engines->len; i++) {
        SundogEngine *engine = supervisor->engines->pdata[i];
        if (!path || strcmp(sundog_engine_get_core(engine)->path, path) == 0)
            g_ptr_array_add(engines, engine);
    }
    /* One more than there are, so that it is told after the last of them was asked. */
    Unloading *unloading = g_new(Unloading, 1);
    *unloading = (Unloading){engines->len + 1, done, data};
    for (guint i = 0; i < engines->len; i++)
        sundog_engine_unload(engines->pdata[i], sundog_api_error_copy(owned), on_unloaded,
                             unloading);
    on_unloaded(unloading);
}

/* What there is */

SundogEngine *
sundog_supervisor_find(SundogSupervisor *supervisor, const char *path)
{
    for (guint i = 0; i < supervisor->engines->len; i++) {
        SundogEngine *engine = supervisor->engines->pdata[i];
        if (strcmp(sundog_engine_get_core(engine)->path, path) == 0)
            return engine;
    }
    return NULL;
}

SundogEngine *
sundog_supervisor_get_current(SundogSupervisor *supervisor)
{
    return supervisor->engines->len ? supervisor->engines->pdata[0] : NULL;
}

const GPtrArray *
sundog_supervisor_get_engines(const SundogSupervisor *supervisor)
{
    return supervisor->engines;
}

guint
sundog_supervisor_get_n_open(const SundogSupervisor *supervisor)
{
    guint n_open = 0;
    for (guint i = 0; i < supervisor->engines->len; i++) {
        const SundogRequestQueue *queue = sundog_engine_get_queue(supervisor->engines->pdata[i]);
        n_open +=
            sundog_request_queue_get_n_waiting(queue) + sundog_request_queue_get_n_running(queue);
    }
    return n_open;
}

SundogEngineCounters
sundog_supervisor_get_counters(const SundogSupervisor *supervisor, const char *name)
{
    SundogEngineCounters sums = {0};
    GHashTableIter iter;
    void *key, *value;
    g_hash_table_iter_init(&iter, supervisor->counters);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        const SundogEngineCounters *counters = value;
        if (name && strcmp(name, key) != 0)
            continue;
#define X(field) sums.field += counters->field;
        SUNDOG_ENGINE_COUNTERS(X)
#undef X
    }
    return sums;
}

GList *
sundog_supervisor_list_counted(const SundogSupervisor *supervisor)
{
    return g_list_sort(g_hash_table_get_keys(supervisor->counters), (GCompareFunc)strcmp);
}

SundogStatistics
sundog_supervisor_get_statistics(SundogSupervisor *supervisor)
{
    SundogStatistics sums = {0};
    for (guint i = 0; i < supervisor->engines->len; i++) {
        const SundogStatistics *statistics =
            sundog_engine_get_statistics(supervisor->engines->pdata[i]);
#define X(field) sums.field += statistics->field;
        SUNDOG_STATISTICS(X)
#undef X
    }
    return sums;
}

uint64_t
sundog_supervisor_get_memory_budget(const SundogSupervisor *supervisor)
{
    return supervisor->options.memory_budget;
}
