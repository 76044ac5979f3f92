#pragma once

/*
 * What the routes take and answer, as /openapi.json tells it. A body is a list of declared fields, those
 * that must be there first.
 */

#include "engine/server/field-table.h"

#define F(name) SUNDOG_FIELD_##name

#define SUNDOG_SAMPLING_FIELDS                                                                 \
    F(TEMPERATURE), F(TOP_P), F(MIN_P), F(TOP_K), F(REPEAT_PENALTY), F(REPETITION_PENALTY),    \
        F(PRESENCE_PENALTY), F(FREQUENCY_PENALTY), F(REPEAT_LAST_N), F(SEED), F(CACHE_PROMPT), \
        F(TYPICAL_P), F(TOP_N_SIGMA), F(XTC_PROBABILITY), F(XTC_THRESHOLD), F(DRY_MULTIPLIER), \
        F(DRY_BASE), F(DRY_ALLOWED_LENGTH), F(DRY_PENALTY_LAST_N), F(DRY_SEQUENCE_BREAKERS)

#define SUNDOG_COMPLETION_FIELDS                                                         \
    SUNDOG_SAMPLING_FIELDS, F(MODEL), F(STREAM), F(STREAM_OPTIONS), F(SUNDOG), F(STOP),  \
        F(N_PREDICT), F(MAX_TOKENS), F(MAX_COMPLETION_TOKENS), F(LOGIT_BIAS), F(TOOLS),  \
        F(PARALLEL_TOOL_CALLS), F(TOOL_CHOICE), F(REASONING_EFFORT), F(RESPONSE_FORMAT), \
        F(GRAMMAR), F(JSON_SCHEMA), F(GUIDED_REGEX), F(GUIDED_CHOICE)

#define SUNDOG_LINES_FIELDS \
    F(LINES_STREAM), F(KEEP_ALIVE), F(OPTIONS), F(FORMAT), F(THINK), F(LOGPROBS), F(TOP_LOGPROBS)

/* X(NAME, how many of the fields must be there, the fields) */
#define SUNDOG_BODIES(X)                                                                           \
    X(APPLY_TEMPLATE, 1, F(MESSAGES), F(MODEL), F(TOOLS), F(CHAT_TEMPLATE_KWARGS),                 \
      F(ADD_GENERATION_PROMPT))                                                                    \
    X(CHAT, 1, F(MESSAGES), F(CHAT_TEMPLATE_KWARGS), F(ADD_GENERATION_PROMPT), F(LOGPROBS),        \
      F(TOP_LOGPROBS), F(N), SUNDOG_COMPLETION_FIELDS)                                             \
    X(COMPLETION, 1, F(PROMPT_OR_TOKENS), F(SUFFIX), F(COMPLETION_LOGPROBS), F(ECHO), F(N),        \
      F(BEST_OF), SUNDOG_COMPLETION_FIELDS)                                                        \
    X(COPY, 2, F(SOURCE), F(DESTINATION))                                                          \
    X(CORE, 1, F(CORE))                                                                            \
    X(DETOKENIZE, 1, F(TOKENS), F(MODEL))                                                          \
    X(EMBED, 1, F(EMBEDDED), F(MODEL), F(ENCODING_FORMAT), F(DIMENSIONS), F(PROMPT_NAME))          \
    X(INFILL, 0, F(INPUT_PREFIX), F(INPUT_SUFFIX), F(INPUT_EXTRA), F(PROMPT), F(N_PROBS),          \
      SUNDOG_COMPLETION_FIELDS)                                                                    \
    X(JOB, 1, F(KIND), F(SOURCE), F(MODEL), F(CORE), F(NAME), F(FROM), F(ACTIVATIONS), F(WEIGHTS), \
      F(CACHE), F(THEN_PREPARE))                                                                   \
    X(LINES_CHAT, 1, F(MODEL), F(MESSAGES), F(TOOLS), SUNDOG_LINES_FIELDS)                         \
    X(LINES_EMBED, 2, F(MODEL), F(EMBEDDED), F(TRUNCATE), F(DIMENSIONS), F(KEEP_ALIVE))            \
    X(LINES_EMBEDDINGS, 2, F(MODEL), F(PROMPT), F(KEEP_ALIVE))                                     \
    X(LINES_GENERATE, 1, F(MODEL), F(PROMPT), F(SYSTEM_TEXT), F(SUFFIX), F(RAW),                   \
      SUNDOG_LINES_FIELDS)                                                                         \
    X(LINES_MODEL, 0, F(MODEL), F(NAME))                                                           \
    X(LINES_OPTIONS, 0, F(NUM_PREDICT), F(STOP), SUNDOG_SAMPLING_FIELDS)                           \
    X(LINES_PULL, 0, F(MODEL), F(NAME), F(LINES_STREAM))                                           \
    X(LOG, 0, F(LEVEL), F(AFTER))                                                                  \
    X(MESSAGES, 1, F(MESSAGES), F(MESSAGE_MAX_TOKENS), F(MODEL), F(SYSTEM), F(STREAM),             \
      F(STOP_SEQUENCES), F(TOOLS), F(TOOL_CHOICE_OBJECT), F(THINKING), F(OUTPUT_CONFIG),           \
      SUNDOG_SAMPLING_FIELDS)                                                                      \
    X(PROBED_COMPLETION, 1, F(PROMPT_OR_TOKENS), F(SUFFIX), F(N_PROBS), SUNDOG_COMPLETION_FIELDS)  \
    X(RERANK, 2, F(QUERY), F(DOCUMENTS), F(MODEL), F(TOP_N), F(RETURN_DOCUMENTS))                  \
    X(RESPONSE, 1, F(INPUT), F(MODEL), F(INSTRUCTIONS), F(PREVIOUS_RESPONSE_ID), F(STORE),         \
      F(STREAM), F(BACKGROUND), F(MAX_OUTPUT_TOKENS), F(REASONING), F(TEXT), F(TOOLS),             \
      F(TOOL_CHOICE), F(PARALLEL_TOOL_CALLS), F(INCLUDE), F(TOP_LOGPROBS), SUNDOG_SAMPLING_FIELDS) \
    X(TOKENIZE, 1, F(CONTENT), F(MODEL), F(ADD_SPECIAL), F(PARSE_SPECIAL), F(WITH_PIECES))         \
    X(UNLOAD, 0, F(CORE))

/*
 * X(NAME, status, "types of content", "members"): of an answer that is an object, what it always has, and
 * with "?" what it may have. Streams have a second type.
 */
#define SUNDOG_REPLIES(X)                                                                       \
    X(CHAT, 200, "application/json text/event-stream",                                          \
      "id:string object:string created:integer model:string system_fingerprint:string "         \
      "choices:array usage:object sundog:object")                                               \
    X(CONFIG, 200, "application/json", "version:integer settings:array")                        \
    X(CORES, 200, "application/json", "cores:array problem?:string")                            \
    X(COUNTED, 200, "application/json", "input_tokens:integer")                                 \
    X(DELETED, 200, "application/json", "bytes_freed:integer")                                  \
    X(DELETED_RESPONSE, 200, "application/json", "id:string object:string deleted:boolean")     \
    X(DETOKENIZED, 200, "application/json", "content:string")                                   \
    X(EMBEDDED, 200, "application/json", "object:string data:array model:string usage:object")  \
    X(EVENTS, 200, "text/event-stream", "")                                                     \
    X(HEALTH, 200, "application/json", "status:string")                                         \
    X(INFILLED, 200, "application/json text/event-stream",                                      \
      "index:integer content:string stop:boolean model:string stop_type:string "                \
      "stopping_word:string tokens_predicted:integer tokens_evaluated:integer "                 \
      "tokens_cached:integer truncated:boolean timings:object")                                 \
    X(JOB, 200, "application/json", "id:string kind:string title:string state:string")          \
    X(JOBS, 200, "application/json", "jobs:array")                                              \
    X(LINES_CHAT, 200, "application/json application/x-ndjson",                                 \
      "model:string created_at:string message:object done:boolean done_reason:string "          \
      "total_duration?:integer eval_count?:integer")                                            \
    X(LINES_GENERATE, 200, "application/json application/x-ndjson",                             \
      "model:string created_at:string response:string done:boolean done_reason:string "         \
      "total_duration?:integer eval_count?:integer")                                            \
    X(LINES_MODELS, 200, "application/json", "models:array")                                    \
    X(LINES_SHOWN, 200, "application/json",                                                     \
      "template:string details:object model_info:object capabilities:array")                    \
    X(LINES_EMBEDDED, 200, "application/json", "model:string embeddings:array")                 \
    X(LINES_EMBEDDING, 200, "application/json", "embedding:array")                              \
    X(LINES_STATUS, 200, "application/json application/x-ndjson", "status:string")              \
    X(LINES_VERSION, 200, "application/json", "version:string")                                 \
    X(RANKED, 200, "application/json", "model:string object:string usage:object results:array") \
    X(LIST, 200, "application/json", "object:string data:array")                                \
    X(LOG, 200, "application/json", "lines:array")                                              \
    X(MESSAGE, 200, "application/json text/event-stream",                                       \
      "id:string type:string role:string model:string content:array stop_reason:string "        \
      "usage:object")                                                                           \
    X(MODEL, 200, "application/json", "id:string object:string")                                \
    X(MODELS, 200, "application/json", "models:array available:array problem?:string")          \
    X(NEW_JOB, 201, "application/json", "id:string kind:string title:string state:string")      \
    X(NONE, 200, "application/json", "")                                                        \
    X(PLAIN, 200, "text/plain", "")                                                             \
    X(REQUESTS, 200, "application/json", "requests:array")                                      \
    X(RESPONSE, 200, "application/json text/event-stream",                                      \
      "id:string object:string created_at:integer status:string model:string output:array")     \
    X(STARTED, 202, "application/json", "version:string engine:object statistics:object")       \
    X(STATE, 200, "application/json", "version:string engine:object statistics:object")         \
    X(STOPPING, 200, "application/json", "stopping:boolean")                                    \
    X(TEMPLATED, 200, "application/json", "prompt:string")                                      \
    X(TOKENIZED, 200, "application/json", "tokens:array")

typedef enum {
    SUNDOG_BODY_NONE,
#define X(name, ...) SUNDOG_BODY_##name,
    SUNDOG_BODIES(X)
#undef X
        SUNDOG_N_BODIES,
} SundogBody;

typedef enum {
#define X(name, status, types, members) SUNDOG_REPLY_##name,
    SUNDOG_REPLIES(X)
#undef X
} SundogReply;
