/* GET /metrics: counters in Prometheus' text format, version 0.0.4, a line a core that was asked for
 * since the server's start, with its name as the label "model". */

#include "engine/server/json-text.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"

/* What there is of one core. */
typedef struct {
    const char *name;
    SundogEngineCounters counters;
    SundogStatistics statistics; /* 0 where it is not loaded, as the rest */
    guint n_running;
    guint n_waiting;
    uint64_t memory_bytes;
    bool is_loaded;
} Sample;

/* X(name, type, help, value) over `sample` */
#define METRICS(X)                                                                                 \
    X("requests_total", "counter", "Requests taken", sample->counters.n_requests)                  \
    X("requests_finished_total", "counter", "Requests that ended by themselves",                   \
      sample->counters.n_finished)                                                                 \
    X("requests_cancelled_total", "counter", "Requests whose client left or stopped them",         \
      sample->counters.n_cancelled)                                                                \
    X("requests_failed_total", "counter", "Requests that ended with an error",                     \
      sample->counters.n_failed)                                                                   \
    X("requests_running", "gauge", "Requests that the engine has", sample->n_running)              \
    X("requests_waiting", "gauge", "Requests that wait for the engine", sample->n_waiting)         \
    X("prompt_tokens_total", "counter", "Tokens of prompts", sample->counters.n_prompt_tokens)     \
    X("cached_tokens_total", "counter", "Of these, reused from earlier requests",                  \
      sample->counters.n_cached_tokens)                                                            \
    X("produced_tokens_total", "counter", "Tokens of answers", sample->counters.n_produced_tokens) \
    X("drafted_tokens_total", "counter", "Tokens guessed and tried",                               \
      sample->counters.n_drafted_tokens)                                                           \
    X("accepted_tokens_total", "counter", "Of these, what proved right",                           \
      sample->counters.n_accepted_tokens)                                                          \
    X("prefill_microseconds_total", "counter", "Time in which prompts were read",                  \
      sample->counters.prefill_us)                                                                 \
    X("decode_microseconds_total", "counter", "Time in which answers were written",                \
      sample->counters.decode_us)                                                                  \
    X("engine_restarts_total", "counter", "Engines started again after a death",                   \
      sample->counters.n_restarts)                                                                 \
    X("steps_total", "counter", "Steps of the engine", sample->counters.n_steps)                   \
    X("step_microseconds_total", "counter", "Time of all steps", sample->counters.step_us)         \
    X("cache_pages_used", "gauge", "Pages that running requests hold",                             \
      sample->statistics.n_pages_used)                                                             \
    X("cache_pages_cached", "gauge", "Pages kept for reuse", sample->statistics.n_pages_cached)    \
    X("core_loaded", "gauge", "Whether the core is loaded", sample->is_loaded)                     \
    X("core_memory_bytes", "gauge", "Memory that the core takes", sample->memory_bytes)

static SundogEngine *
find_engine(const SundogServer *server, const char *name)
{
    const GPtrArray *engines = sundog_supervisor_get_engines(server->supervisor);
    for (guint i = 0; i < engines->len; i++)
        if (g_strcmp0(sundog_engine_get_core(engines->pdata[i])->name, name) == 0)
            return engines->pdata[i];
    return NULL;
}

static Sample
take_sample(const SundogServer *server, const char *name)
{
    Sample sample = {.name = name};
    SundogEngine *engine = find_engine(server, name);
    sample.counters = sundog_supervisor_get_counters(server->supervisor, name);
    if (!engine)
        return sample;
    const SundogReady *ready = sundog_engine_get_ready(engine);
    const SundogRequestQueue *queue = sundog_engine_get_queue(engine);
    sample.statistics = *sundog_engine_get_statistics(engine);
    sample.n_running = sundog_request_queue_get_n_running(queue);
    sample.n_waiting = sundog_request_queue_get_n_waiting(queue);
    sample.memory_bytes = ready ? ready->memory_bytes : 0;
    sample.is_loaded = ready != NULL;
    return sample;
}

static GArray *
take_samples(const SundogExchange *exchange)
{
    const SundogServer *server = sundog_exchange_get_server(exchange);
    g_autoptr(GList) names = sundog_supervisor_list_counted(server->supervisor);
    GArray *samples = g_array_new(false, false, sizeof(Sample));
    for (GList *name = names; name; name = name->next) {
        Sample sample = take_sample(server, name->data);
        if (sundog_server_may_use(exchange, name->data))
            g_array_append_val(samples, sample);
    }
    return samples;
}

static void
append_head(GString *text, const char *name, const char *type, const char *help)
{
    g_string_append_printf(text, "# HELP sundog_%s %s.\n# TYPE sundog_%s %s\n", name, help, name,
                           type);
}

/* The label's rules for quotes are JSON's. */
static void
append_value(GString *text, const char *name, const Sample *sample, uint64_t value)
{
    g_string_append_printf(text, "sundog_%s{model=", name);
    sundog_json_text_append(text, sample->name);
    g_string_append_printf(text, "} %" G_GUINT64_FORMAT "\n", value);
}

void
sundog_metrics(SundogExchange *exchange)
{
    g_autoptr(GArray) samples = take_samples(exchange);
    g_autoptr(GString) text = g_string_new(NULL);
#define X(name, type, help, value)                                 \
    append_head(text, name, type, help);                           \
    for (guint i = 0; i < samples->len; i++) {                     \
        const Sample *sample = &g_array_index(samples, Sample, i); \
        append_value(text, name, sample, (uint64_t)(value));       \
    }
    METRICS(X)
#undef X
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "text/plain; version=0.0.4", text->str,
                               text->len);
}
