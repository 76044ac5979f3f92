#pragma once

/* The one table of what the server answers: path, method, handler. A path that ends in '*' takes the
 * rest as the exchange's argument. */

#include "engine/server/exchange.h"

/* X(path, method, handler, needs_key, what for) in alphabetical order; /openapi.json is made of it */
#define SUNDOG_ROUTES(X)                                                                          \
    X("/", "GET", sundog_root, false, "whether the server is there")                              \
    X("/api/chat", "POST", sundog_ollama_chat, true,                                              \
      "Ollama: answer a chat; without messages, load or unload the model")                        \
    X("/api/copy", "POST", sundog_ollama_copy, true, "Ollama: give a core a second name")         \
    X("/api/create", "POST", sundog_ollama_refuse, true, "Ollama: not served")                    \
    X("/api/delete", "DELETE", sundog_ollama_delete, true, "Ollama: delete a core")               \
    X("/api/embed", "POST", sundog_ollama_refuse, true, "Ollama: not served")                     \
    X("/api/embeddings", "POST", sundog_ollama_refuse, true, "Ollama: not served")                \
    X("/api/generate", "POST", sundog_ollama_generate, true,                                      \
      "Ollama: answer a prompt; without one, load or unload the model")                           \
    X("/api/ps", "GET", sundog_ollama_ps, true, "Ollama: the cores that are loaded")              \
    X("/api/pull", "POST", sundog_ollama_pull, true, "Ollama: fetch a model and prepare it")      \
    X("/api/push", "POST", sundog_ollama_refuse, true, "Ollama: not served")                      \
    X("/api/show", "POST", sundog_ollama_show, true, "Ollama: what a core is")                    \
    X("/api/tags", "GET", sundog_ollama_tags, true, "Ollama: the cores")                          \
    X("/api/v0/models", "GET", sundog_v0_models_list, true,                                       \
      "LM Studio: the cores and which are loaded")                                                \
    X("/api/v0/models/*", "GET", sundog_v0_models_get, true, "LM Studio: one core")               \
    X("/api/version", "GET", sundog_ollama_version, true, "Ollama: the version of its API")       \
    X("/apply-template", "POST", sundog_apply_template, true,                                     \
      "llama-server: messages as the template writes them")                                       \
    X("/completion", "POST", sundog_llama_completion, true, "llama-server: go on from a prompt")  \
    X("/detokenize", "POST", sundog_detokenize, true, "llama-server: tokens to text")             \
    X("/health", "GET", sundog_health, false,                                                     \
      "whether a core is ready, and if not, how far it is")                                       \
    X("/infill", "POST", sundog_llama_infill, true,                                               \
      "llama-server: what stands between two pieces of code")                                     \
    X("/metrics", "GET", sundog_metrics, true, "counters for Prometheus")                         \
    X("/openapi.json", "GET", sundog_openapi, false, "this description")                          \
    X("/sundog/v1/config", "GET", sundog_config_get, true, "the settings")                        \
    X("/sundog/v1/config", "PATCH", sundog_config_patch, true, "change settings")                 \
    X("/sundog/v1/cores", "GET", sundog_cores_list, true, "the cores")                            \
    X("/sundog/v1/cores/*", "DELETE", sundog_cores_delete, true, "delete a core")                 \
    X("/sundog/v1/events", "GET", sundog_events_stream, true, "changes as they happen, a stream") \
    X("/sundog/v1/jobs", "GET", sundog_jobs_get_list, true,                                       \
      "pulls, preparations, fits and proofs")                                                     \
    X("/sundog/v1/jobs", "POST", sundog_jobs_post, true, "begin one")                             \
    X("/sundog/v1/jobs/*", "DELETE", sundog_jobs_delete, true,                                    \
      "cancel one, or forget one that has ended")                                                 \
    X("/sundog/v1/jobs/*", "GET", sundog_jobs_get, true, "one job")                               \
    X("/sundog/v1/jobs/*", "POST", sundog_jobs_change, true, "ID/pause or ID/resume")             \
    X("/sundog/v1/load", "POST", sundog_load_post, true, "load a core")                           \
    X("/sundog/v1/log", "GET", sundog_log_get, true, "the log")                                   \
    X("/sundog/v1/models", "GET", sundog_models_list, true,                                       \
      "the models, and those that can be fetched")                                                \
    X("/sundog/v1/models/*", "DELETE", sundog_models_delete, true, "delete a model")              \
    X("/sundog/v1/requests", "GET", sundog_requests_list, true,                                   \
      "requests that run, and the last ones")                                                     \
    X("/sundog/v1/requests/*", "DELETE", sundog_requests_delete, true, "stop one")                \
    X("/sundog/v1/state", "GET", sundog_state_get, true, "all about the server and its engines")  \
    X("/sundog/v1/stop", "POST", sundog_stop_post, true, "stop the server")                       \
    X("/sundog/v1/unload", "POST", sundog_unload_post, true, "unload a core, or all")             \
    X("/tokenize", "POST", sundog_tokenize, true, "llama-server: text to tokens")                 \
    X("/v1/chat/completions", "POST", sundog_chat_completions, true, "OpenAI: answer a chat")     \
    X("/v1/completions", "POST", sundog_completions, true, "OpenAI: go on from a prompt")         \
    X("/v1/messages", "POST", sundog_messages, true, "Anthropic: answer a chat")                  \
    X("/v1/messages/count_tokens", "POST", sundog_count_tokens, true,                             \
      "Anthropic: the tokens of a chat")                                                          \
    X("/v1/models", "GET", sundog_v1_models_list, true, "OpenAI, Anthropic: the cores")           \
    X("/v1/models/*", "GET", sundog_v1_models_get, true, "OpenAI, Anthropic: one core")           \
    X("/v1/responses", "POST", sundog_responses_post, true,                                       \
      "OpenAI: answer, with what was stored before")                                              \
    X("/v1/responses/*", "DELETE", sundog_responses_delete, true,                                 \
      "OpenAI: forget a stored response")                                                         \
    X("/v1/responses/*", "GET", sundog_responses_get, true, "OpenAI: a stored response")          \
    X("/v1/responses/*", "POST", sundog_responses_cancel, true,                                   \
      "OpenAI: ID/cancel stops a response")

#define X(path, method, handler, needs_key, purpose) void handler(SundogExchange *exchange);
SUNDOG_ROUTES(X)
#undef X

/* Answers any request: checks, then the handler of its route, or 404 or 405. */
void sundog_routes_dispatch(SundogServer *server, SoupServerMessage *message);
