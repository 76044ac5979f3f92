/* GET /metrics: counters in Prometheus' text format, version 0.0.4. */

#include "engine/server/routes.h"
#include "engine/server/service.h"

/* X(name, type, help, value) over `counters`, `statistics` and `queue` */
#define METRICS(X)                                                                                 \
    X("requests_total", "counter", "Requests taken", counters->n_requests)                         \
    X("requests_finished_total", "counter", "Requests that ended by themselves",                   \
      counters->n_finished)                                                                        \
    X("requests_cancelled_total", "counter", "Requests whose client left or stopped them",         \
      counters->n_cancelled)                                                                       \
    X("requests_failed_total", "counter", "Requests that ended with an error", counters->n_failed) \
    X("requests_running", "gauge", "Requests that the engine has",                                 \
      sundog_request_queue_get_n_running(queue))                                                   \
    X("requests_waiting", "gauge", "Requests that wait for the engine",                            \
      sundog_request_queue_get_n_waiting(queue))                                                   \
    X("prompt_tokens_total", "counter", "Tokens of prompts", counters->n_prompt_tokens)            \
    X("cached_tokens_total", "counter", "Of these, reused from earlier requests",                  \
      counters->n_cached_tokens)                                                                   \
    X("produced_tokens_total", "counter", "Tokens of answers", counters->n_produced_tokens)        \
    X("drafted_tokens_total", "counter", "Tokens guessed and tried", counters->n_drafted_tokens)   \
    X("accepted_tokens_total", "counter", "Of these, what proved right",                           \
      counters->n_accepted_tokens)                                                                 \
    X("prefill_microseconds_total", "counter", "Time in which prompts were read",                  \
      counters->prefill_us)                                                                        \
    X("decode_microseconds_total", "counter", "Time in which answers were written",                \
      counters->decode_us)                                                                         \
    X("engine_restarts_total", "counter", "Engines started again after a death",                   \
      counters->n_restarts)                                                                        \
    X("steps_total", "counter", "Steps of the engine", counters->n_steps)                          \
    X("step_microseconds_total", "counter", "Time of all steps", counters->step_us)                \
    X("cache_pages_used", "gauge", "Pages that running requests hold", statistics->n_pages_used)   \
    X("cache_pages_cached", "gauge", "Pages kept for reuse", statistics->n_pages_cached)

void
sundog_metrics(SundogExchange *exchange)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    const SundogStatistics *statistics = sundog_supervisor_get_statistics(server->supervisor);
    const SundogSupervisorCounters *counters = sundog_supervisor_get_counters(server->supervisor);
    const SundogRequestQueue *queue = sundog_supervisor_get_queue(server->supervisor);
    g_autoptr(GString) text = g_string_new(NULL);
#define X(name, type, help, value)                                                          \
    g_string_append_printf(text,                                                            \
                           "# HELP sundog_" name " " help ".\n# TYPE sundog_" name " " type \
                           "\nsundog_" name " %" G_GUINT64_FORMAT "\n",                     \
                           (guint64)(value));
    METRICS(X)
#undef X
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "text/plain; version=0.0.4", text->str,
                               text->len);
}
