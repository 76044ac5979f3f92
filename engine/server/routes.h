#pragma once

/* The one table of what the server answers: path, method, handler. A path that ends in '*' takes the
 * rest as the exchange's argument. */

#include "engine/server/exchange.h"

/* X(path, method, handler, needs_key) in alphabetical order */
#define SUNDOG_ROUTES(X)                                               \
    X("/", "GET", sundog_root, false)                                  \
    X("/api/chat", "POST", sundog_ollama_chat, true)                   \
    X("/api/copy", "POST", sundog_ollama_copy, true)                   \
    X("/api/create", "POST", sundog_ollama_refuse, true)               \
    X("/api/delete", "DELETE", sundog_ollama_delete, true)             \
    X("/api/embed", "POST", sundog_ollama_refuse, true)                \
    X("/api/embeddings", "POST", sundog_ollama_refuse, true)           \
    X("/api/generate", "POST", sundog_ollama_generate, true)           \
    X("/api/ps", "GET", sundog_ollama_ps, true)                        \
    X("/api/pull", "POST", sundog_ollama_pull, true)                   \
    X("/api/push", "POST", sundog_ollama_refuse, true)                 \
    X("/api/show", "POST", sundog_ollama_show, true)                   \
    X("/api/tags", "GET", sundog_ollama_tags, true)                    \
    X("/api/version", "GET", sundog_ollama_version, true)              \
    X("/apply-template", "POST", sundog_apply_template, true)          \
    X("/detokenize", "POST", sundog_detokenize, true)                  \
    X("/health", "GET", sundog_health, false)                          \
    X("/metrics", "GET", sundog_metrics, true)                         \
    X("/sundog/v1/config", "GET", sundog_config_get, true)             \
    X("/sundog/v1/config", "PATCH", sundog_config_patch, true)         \
    X("/sundog/v1/cores", "GET", sundog_cores_list, true)              \
    X("/sundog/v1/cores/*", "DELETE", sundog_cores_delete, true)       \
    X("/sundog/v1/events", "GET", sundog_events_stream, true)          \
    X("/sundog/v1/jobs", "GET", sundog_jobs_get_list, true)            \
    X("/sundog/v1/jobs", "POST", sundog_jobs_post, true)               \
    X("/sundog/v1/jobs/*", "DELETE", sundog_jobs_delete, true)         \
    X("/sundog/v1/jobs/*", "GET", sundog_jobs_get, true)               \
    X("/sundog/v1/jobs/*", "POST", sundog_jobs_change, true)           \
    X("/sundog/v1/load", "POST", sundog_load_post, true)               \
    X("/sundog/v1/log", "GET", sundog_log_get, true)                   \
    X("/sundog/v1/models", "GET", sundog_models_list, true)            \
    X("/sundog/v1/models/*", "DELETE", sundog_models_delete, true)     \
    X("/sundog/v1/requests", "GET", sundog_requests_list, true)        \
    X("/sundog/v1/requests/*", "DELETE", sundog_requests_delete, true) \
    X("/sundog/v1/state", "GET", sundog_state_get, true)               \
    X("/sundog/v1/stop", "POST", sundog_stop_post, true)               \
    X("/sundog/v1/unload", "POST", sundog_unload_post, true)           \
    X("/tokenize", "POST", sundog_tokenize, true)                      \
    X("/v1/chat/completions", "POST", sundog_chat_completions, true)   \
    X("/v1/completions", "POST", sundog_completions, true)             \
    X("/v1/messages", "POST", sundog_messages, true)                   \
    X("/v1/messages/count_tokens", "POST", sundog_count_tokens, true)  \
    X("/v1/models", "GET", sundog_v1_models_list, true)                \
    X("/v1/models/*", "GET", sundog_v1_models_get, true)               \
    X("/v1/responses", "POST", sundog_responses_post, true)            \
    X("/v1/responses/*", "DELETE", sundog_responses_delete, true)      \
    X("/v1/responses/*", "GET", sundog_responses_get, true)            \
    X("/v1/responses/*", "POST", sundog_responses_cancel, true)

#define X(path, method, handler, needs_key) void handler(SundogExchange *exchange);
SUNDOG_ROUTES(X)
#undef X

/* Answers any request: checks, then the handler of its route, or 404 or 405. */
void sundog_routes_dispatch(SundogServer *server, SoupServerMessage *message);
