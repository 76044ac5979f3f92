#pragma once

/* The one table of what the server answers: path, method, handler. A path that ends in '*' takes the
 * rest as the exchange's argument. */

#include "engine/server/exchange.h"
#include "engine/server/route-bodies.h"

/* Whom a route is for. */
typedef enum {
    SUNDOG_ROUTE_FOR_ANYONE, /* no key is asked for */
    SUNDOG_ROUTE_FOR_KEY,    /* any key, where there are keys */
    SUNDOG_ROUTE_FOR_OWNER,  /* the owner's: what changes or shows the server itself */
} SundogRouteAccess;

/* X(path, method, handler, access, body, reply, what for) in alphabetical order; /openapi.json is made
 * of it, and what body and reply stand for is in route-bodies.h */
#define SUNDOG_ROUTES(X)                                                                           \
    X("/", "GET", sundog_root, ANYONE, NONE, PLAIN, "whether the server is there")                 \
    X("/api/chat", "POST", sundog_ollama_chat, KEY, LINES_CHAT, LINES_CHAT,                        \
      "Ollama: answer a chat; without messages, load or unload the model")                         \
    X("/api/copy", "POST", sundog_ollama_copy, OWNER, COPY, LINES_STATUS,                          \
      "Ollama: give a core a second name")                                                         \
    X("/api/create", "POST", sundog_ollama_refuse, KEY, NONE, NONE, "Ollama: not served")          \
    X("/api/delete", "DELETE", sundog_ollama_delete, OWNER, LINES_MODEL, DELETED,                  \
      "Ollama: delete a core")                                                                     \
    X("/api/embed", "POST", sundog_ollama_embed, KEY, LINES_EMBED, LINES_EMBEDDED,                 \
      "Ollama: texts to vectors")                                                                  \
    X("/api/embeddings", "POST", sundog_ollama_embeddings, KEY, LINES_EMBEDDINGS, LINES_EMBEDDING, \
      "Ollama: a text to a vector")                                                                \
    X("/api/generate", "POST", sundog_ollama_generate, KEY, LINES_GENERATE, LINES_GENERATE,        \
      "Ollama: answer a prompt; without one, load or unload the model")                            \
    X("/api/ps", "GET", sundog_ollama_ps, KEY, NONE, LINES_MODELS,                                 \
      "Ollama: the cores that are loaded")                                                         \
    X("/api/pull", "POST", sundog_ollama_pull, OWNER, LINES_PULL, LINES_STATUS,                    \
      "Ollama: fetch a model and prepare it")                                                      \
    X("/api/push", "POST", sundog_ollama_refuse, KEY, NONE, NONE, "Ollama: not served")            \
    X("/api/show", "POST", sundog_ollama_show, KEY, LINES_MODEL, LINES_SHOWN,                      \
      "Ollama: what a core is")                                                                    \
    X("/api/tags", "GET", sundog_ollama_tags, KEY, NONE, LINES_MODELS, "Ollama: the cores")        \
    X("/api/v0/models", "GET", sundog_v0_models_list, KEY, NONE, LIST,                             \
      "LM Studio: the cores and which are loaded")                                                 \
    X("/api/v0/models/*", "GET", sundog_v0_models_get, KEY, NONE, MODEL, "LM Studio: one core")    \
    X("/api/version", "GET", sundog_ollama_version, KEY, NONE, LINES_VERSION,                      \
      "Ollama: the version of its API")                                                            \
    X("/apply-template", "POST", sundog_apply_template, KEY, APPLY_TEMPLATE, TEMPLATED,            \
      "llama-server: messages as the template writes them")                                        \
    X("/completion", "POST", sundog_llama_completion, KEY, PROBED_COMPLETION, INFILLED,            \
      "llama-server: go on from a prompt")                                                         \
    X("/detokenize", "POST", sundog_detokenize, KEY, DETOKENIZE, DETOKENIZED,                      \
      "llama-server: tokens to text")                                                              \
    X("/health", "GET", sundog_health, ANYONE, NONE, HEALTH,                                       \
      "whether a core is ready, and if not, how far it is")                                        \
    X("/infill", "POST", sundog_llama_infill, KEY, INFILL, INFILLED,                               \
      "llama-server: what stands between two pieces of code")                                      \
    X("/metrics", "GET", sundog_metrics, KEY, NONE, PLAIN, "counters for Prometheus")              \
    X("/openapi.json", "GET", sundog_openapi, ANYONE, NONE, NONE, "this description")              \
    X("/rerank", "POST", sundog_rerank, KEY, RERANK, RANKED,                                       \
      "llama-server, Jina, Cohere: how well documents answer a query")                             \
    X("/sundog/v1/config", "GET", sundog_config_get, OWNER, NONE, CONFIG, "the settings")          \
    X("/sundog/v1/config", "PATCH", sundog_config_patch, OWNER, NONE, CONFIG, "change settings")   \
    X("/sundog/v1/cores", "GET", sundog_cores_list, OWNER, NONE, CORES, "the cores")               \
    X("/sundog/v1/cores/*", "DELETE", sundog_cores_delete, OWNER, NONE, DELETED, "delete a core")  \
    X("/sundog/v1/events", "GET", sundog_events_stream, OWNER, NONE, EVENTS,                       \
      "changes as they happen, a stream")                                                          \
    X("/sundog/v1/jobs", "GET", sundog_jobs_get_list, OWNER, NONE, JOBS,                           \
      "pulls, preparations, fits and proofs")                                                      \
    X("/sundog/v1/jobs", "POST", sundog_jobs_post, OWNER, JOB, NEW_JOB, "begin one")               \
    X("/sundog/v1/jobs/*", "DELETE", sundog_jobs_delete, OWNER, NONE, NONE,                        \
      "cancel one, or forget one that has ended")                                                  \
    X("/sundog/v1/jobs/*", "GET", sundog_jobs_get, OWNER, NONE, JOB, "one job")                    \
    X("/sundog/v1/jobs/*", "POST", sundog_jobs_change, OWNER, NONE, JOB, "ID/pause or ID/resume")  \
    X("/sundog/v1/load", "POST", sundog_load_post, OWNER, CORE, STARTED, "load a core")            \
    X("/sundog/v1/log", "GET", sundog_log_get, OWNER, LOG, LOG, "the log")                         \
    X("/sundog/v1/models", "GET", sundog_models_list, OWNER, NONE, MODELS,                         \
      "the models, and those that can be fetched")                                                 \
    X("/sundog/v1/models/*", "DELETE", sundog_models_delete, OWNER, NONE, DELETED,                 \
      "delete a model")                                                                            \
    X("/sundog/v1/requests", "GET", sundog_requests_list, OWNER, NONE, REQUESTS,                   \
      "requests that run, and the last ones")                                                      \
    X("/sundog/v1/requests/*", "DELETE", sundog_requests_delete, OWNER, NONE, NONE, "stop one")    \
    X("/sundog/v1/state", "GET", sundog_state_get, OWNER, NONE, STATE,                             \
      "all about the server and its engines")                                                      \
    X("/sundog/v1/stop", "POST", sundog_stop_post, OWNER, NONE, STOPPING, "stop the server")       \
    X("/sundog/v1/unload", "POST", sundog_unload_post, OWNER, UNLOAD, STATE,                       \
      "unload a core, or all")                                                                     \
    X("/tokenize", "POST", sundog_tokenize, KEY, TOKENIZE, TOKENIZED,                              \
      "llama-server: text to tokens")                                                              \
    X("/v1/chat/completions", "POST", sundog_chat_completions, KEY, CHAT, CHAT,                    \
      "OpenAI: answer a chat")                                                                     \
    X("/v1/completions", "POST", sundog_completions, KEY, COMPLETION, CHAT,                        \
      "OpenAI: go on from a prompt")                                                               \
    X("/v1/embeddings", "POST", sundog_embeddings, KEY, EMBED, EMBEDDED,                           \
      "OpenAI: texts to vectors")                                                                  \
    X("/v1/messages", "POST", sundog_messages, KEY, MESSAGES, MESSAGE, "Anthropic: answer a chat") \
    X("/v1/messages/count_tokens", "POST", sundog_count_tokens, KEY, MESSAGES, COUNTED,            \
      "Anthropic: the tokens of a chat")                                                           \
    X("/v1/models", "GET", sundog_v1_models_list, KEY, NONE, LIST, "OpenAI, Anthropic: the cores") \
    X("/v1/models/*", "GET", sundog_v1_models_get, KEY, NONE, MODEL,                               \
      "OpenAI, Anthropic: one core")                                                               \
    X("/v1/rerank", "POST", sundog_rerank, KEY, RERANK, RANKED, "as /rerank")                      \
    X("/v1/responses", "POST", sundog_responses_post, KEY, RESPONSE, RESPONSE,                     \
      "OpenAI: answer, with what was stored before")                                               \
    X("/v1/responses/*", "DELETE", sundog_responses_delete, KEY, NONE, DELETED_RESPONSE,           \
      "OpenAI: forget a stored response")                                                          \
    X("/v1/responses/*", "GET", sundog_responses_get, KEY, NONE, RESPONSE,                         \
      "OpenAI: a stored response")                                                                 \
    X("/v1/responses/*", "POST", sundog_responses_cancel, KEY, NONE, RESPONSE,                     \
      "OpenAI: ID/cancel stops a response")

#define X(path, method, handler, access, body, reply, purpose) \
    void handler(SundogExchange *exchange);
SUNDOG_ROUTES(X)
#undef X

/* Answers any request: checks, then the handler of its route, or 404 or 405. */
void sundog_routes_dispatch(SundogServer *server, SoupServerMessage *message);
