#pragma once

/* The one table of what the server answers: path, method, handler. A path that ends in '*' takes the
 * rest as the exchange's argument. */

#include "engine/server/exchange.h"
#include "engine/server/route-bodies.h"

/* X(path, method, handler, needs_key, body, reply, what for) in alphabetical order; /openapi.json is made
 * of it, and what body and reply stand for is in route-bodies.h */
#define SUNDOG_ROUTES(X)                                                                         \
    X("/", "GET", sundog_root, false, NONE, PLAIN, "whether the server is there")                \
    X("/api/chat", "POST", sundog_ollama_chat, true, LINES_CHAT, LINES_CHAT,                     \
      "Ollama: answer a chat; without messages, load or unload the model")                       \
    X("/api/copy", "POST", sundog_ollama_copy, true, COPY, LINES_STATUS,                         \
      "Ollama: give a core a second name")                                                       \
    X("/api/create", "POST", sundog_ollama_refuse, true, NONE, NONE, "Ollama: not served")       \
    X("/api/delete", "DELETE", sundog_ollama_delete, true, LINES_MODEL, DELETED,                 \
      "Ollama: delete a core")                                                                   \
    X("/api/embed", "POST", sundog_ollama_refuse, true, NONE, NONE, "Ollama: not served")        \
    X("/api/embeddings", "POST", sundog_ollama_refuse, true, NONE, NONE, "Ollama: not served")   \
    X("/api/generate", "POST", sundog_ollama_generate, true, LINES_GENERATE, LINES_GENERATE,     \
      "Ollama: answer a prompt; without one, load or unload the model")                          \
    X("/api/ps", "GET", sundog_ollama_ps, true, NONE, LINES_MODELS,                              \
      "Ollama: the cores that are loaded")                                                       \
    X("/api/pull", "POST", sundog_ollama_pull, true, LINES_PULL, LINES_STATUS,                   \
      "Ollama: fetch a model and prepare it")                                                    \
    X("/api/push", "POST", sundog_ollama_refuse, true, NONE, NONE, "Ollama: not served")         \
    X("/api/show", "POST", sundog_ollama_show, true, LINES_MODEL, LINES_SHOWN,                   \
      "Ollama: what a core is")                                                                  \
    X("/api/tags", "GET", sundog_ollama_tags, true, NONE, LINES_MODELS, "Ollama: the cores")     \
    X("/api/v0/models", "GET", sundog_v0_models_list, true, NONE, LIST,                          \
      "LM Studio: the cores and which are loaded")                                               \
    X("/api/v0/models/*", "GET", sundog_v0_models_get, true, NONE, MODEL, "LM Studio: one core") \
    X("/api/version", "GET", sundog_ollama_version, true, NONE, LINES_VERSION,                   \
      "Ollama: the version of its API")                                                          \
    X("/apply-template", "POST", sundog_apply_template, true, APPLY_TEMPLATE, TEMPLATED,         \
      "llama-server: messages as the template writes them")                                      \
    X("/completion", "POST", sundog_llama_completion, true, PROBED_COMPLETION, INFILLED,         \
      "llama-server: go on from a prompt")                                                       \
    X("/detokenize", "POST", sundog_detokenize, true, DETOKENIZE, DETOKENIZED,                   \
      "llama-server: tokens to text")                                                            \
    X("/health", "GET", sundog_health, false, NONE, HEALTH,                                      \
      "whether a core is ready, and if not, how far it is")                                      \
    X("/infill", "POST", sundog_llama_infill, true, INFILL, INFILLED,                            \
      "llama-server: what stands between two pieces of code")                                    \
    X("/metrics", "GET", sundog_metrics, true, NONE, PLAIN, "counters for Prometheus")           \
    X("/openapi.json", "GET", sundog_openapi, false, NONE, NONE, "this description")             \
    X("/sundog/v1/config", "GET", sundog_config_get, true, NONE, CONFIG, "the settings")         \
    X("/sundog/v1/config", "PATCH", sundog_config_patch, true, NONE, CONFIG, "change settings")  \
    X("/sundog/v1/cores", "GET", sundog_cores_list, true, NONE, CORES, "the cores")              \
    X("/sundog/v1/cores/*", "DELETE", sundog_cores_delete, true, NONE, DELETED, "delete a core") \
    X("/sundog/v1/events", "GET", sundog_events_stream, true, NONE, EVENTS,                      \
      "changes as they happen, a stream")                                                        \
    X("/sundog/v1/jobs", "GET", sundog_jobs_get_list, true, NONE, JOBS,                          \
      "pulls, preparations, fits and proofs")                                                    \
    X("/sundog/v1/jobs", "POST", sundog_jobs_post, true, JOB, NEW_JOB, "begin one")              \
    X("/sundog/v1/jobs/*", "DELETE", sundog_jobs_delete, true, NONE, NONE,                       \
      "cancel one, or forget one that has ended")                                                \
    X("/sundog/v1/jobs/*", "GET", sundog_jobs_get, true, NONE, JOB, "one job")                   \
    X("/sundog/v1/jobs/*", "POST", sundog_jobs_change, true, NONE, JOB, "ID/pause or ID/resume") \
    X("/sundog/v1/load", "POST", sundog_load_post, true, CORE, STARTED, "load a core")           \
    X("/sundog/v1/log", "GET", sundog_log_get, true, LOG, LOG, "the log")                        \
    X("/sundog/v1/models", "GET", sundog_models_list, true, NONE, MODELS,                        \
      "the models, and those that can be fetched")                                               \
    X("/sundog/v1/models/*", "DELETE", sundog_models_delete, true, NONE, DELETED,                \
      "delete a model")                                                                          \
    X("/sundog/v1/requests", "GET", sundog_requests_list, true, NONE, REQUESTS,                  \
      "requests that run, and the last ones")                                                    \
    X("/sundog/v1/requests/*", "DELETE", sundog_requests_delete, true, NONE, NONE, "stop one")   \
    X("/sundog/v1/state", "GET", sundog_state_get, true, NONE, STATE,                            \
      "all about the server and its engines")                                                    \
    X("/sundog/v1/stop", "POST", sundog_stop_post, true, NONE, STOPPING, "stop the server")      \
    X("/sundog/v1/unload", "POST", sundog_unload_post, true, UNLOAD, STATE,                      \
      "unload a core, or all")                                                                   \
    X("/tokenize", "POST", sundog_tokenize, true, TOKENIZE, TOKENIZED,                           \
      "llama-server: text to tokens")                                                            \
    X("/v1/chat/completions", "POST", sundog_chat_completions, true, CHAT, CHAT,                 \
      "OpenAI: answer a chat")                                                                   \
    X("/v1/completions", "POST", sundog_completions, true, COMPLETION, CHAT,                     \
      "OpenAI: go on from a prompt")                                                             \
    X("/v1/messages", "POST", sundog_messages, true, MESSAGES, MESSAGE,                          \
      "Anthropic: answer a chat")                                                                \
    X("/v1/messages/count_tokens", "POST", sundog_count_tokens, true, MESSAGES, COUNTED,         \
      "Anthropic: the tokens of a chat")                                                         \
    X("/v1/models", "GET", sundog_v1_models_list, true, NONE, LIST,                              \
      "OpenAI, Anthropic: the cores")                                                            \
    X("/v1/models/*", "GET", sundog_v1_models_get, true, NONE, MODEL,                            \
      "OpenAI, Anthropic: one core")                                                             \
    X("/v1/responses", "POST", sundog_responses_post, true, RESPONSE, RESPONSE,                  \
      "OpenAI: answer, with what was stored before")                                             \
    X("/v1/responses/*", "DELETE", sundog_responses_delete, true, NONE, DELETED_RESPONSE,        \
      "OpenAI: forget a stored response")                                                        \
    X("/v1/responses/*", "GET", sundog_responses_get, true, NONE, RESPONSE,                      \
      "OpenAI: a stored response")                                                               \
    X("/v1/responses/*", "POST", sundog_responses_cancel, true, NONE, RESPONSE,                  \
      "OpenAI: ID/cancel stops a response")

#define X(path, method, handler, needs_key, body, reply, purpose) \
    void handler(SundogExchange *exchange);
SUNDOG_ROUTES(X)
#undef X

/* Answers any request: checks, then the handler of its route, or 404 or 405. */
void sundog_routes_dispatch(SundogServer *server, SoupServerMessage *message);
