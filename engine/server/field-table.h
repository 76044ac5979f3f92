#pragma once

/*
 * The fields that requests have, each declared once: routes read them by their row (fields.h), and
 * /openapi.json describes them by it. Two APIs that mean different things by one key have a row each.
 *
 * X(NAME, "key", TYPE, lowest, highest, default, "what it says"); a range is a number's, a default a
 * number's or a boolean's, SUNDOG_NO_DEFAULT where the core, the context or the whole decides.
 */

#include <math.h>
#include <stdint.h>

#define SUNDOG_NO_DEFAULT NAN

/* Sent on by JSON clients without loss: a number beyond 2^53 would not come back as it went. */
#define SUNDOG_MAX_EXACT 0x1p53

/* X(NAME, JSON Schema's types) */
#define SUNDOG_FIELD_TYPES(X)                  \
    X(NUMBER, "\"number\"")                    \
    X(INTEGER, "\"integer\"")                  \
    X(BOOLEAN, "\"boolean\"")                  \
    X(TEXT, "\"string\"")                      \
    X(LIST, "\"array\"")                       \
    X(OBJECT, "\"object\"")                    \
    X(TEXT_OR_LIST, "\"string\",\"array\"")    \
    X(TEXT_OR_OBJECT, "\"string\",\"object\"") \
    X(TEXT_OR_NUMBER, "\"string\",\"number\"") \
    X(TEXT_OR_BOOLEAN, "\"string\",\"boolean\"")

#define SUNDOG_NUMBER_FIELDS(X)                                                                    \
    X(AFTER, "after", INTEGER, 0, SUNDOG_MAX_EXACT, 0,                                             \
      "the number of the last line that is known")                                                 \
    X(BEST_OF, "best_of", INTEGER, 1, 16, 1,                                                       \
      "answers that are made, of which the n likeliest are told")                                  \
    X(COMPLETION_LOGPROBS, "logprobs", INTEGER, 0, 20, SUNDOG_NO_DEFAULT,                          \
      "log probabilities: of each token and of so many of the likeliest in its place")             \
    X(DRY_ALLOWED_LENGTH, "dry_allowed_length", INTEGER, 0, INT32_MAX, 2,                          \
      "how long a run may be said again before it counts")                                         \
    X(DRY_BASE, "dry_base", NUMBER, 0, 100, 1.75,                                                  \
      "what the penalty grows by with each token of the run")                                      \
    X(DRY_MULTIPLIER, "dry_multiplier", NUMBER, 0, 100, 0,                                         \
      "penalty of a token that would go on repeating; 0 for none")                                 \
    X(DRY_PENALTY_LAST_N, "dry_penalty_last_n", INTEGER, -1, INT32_MAX, -1,                        \
      "how many tokens before the next are looked at for that; -1 for all")                        \
    X(DIMENSIONS, "dimensions", INTEGER, 1, 1 << 24, SUNDOG_NO_DEFAULT,                            \
      "how many values of a vector, from the first on")                                            \
    X(FREQUENCY_PENALTY, "frequency_penalty", NUMBER, -100, 100, SUNDOG_NO_DEFAULT,                \
      "taken off a token's logit for each time that it stands in the answer")                      \
    X(MAX_COMPLETION_TOKENS, "max_completion_tokens", INTEGER, -1, UINT32_MAX, SUNDOG_NO_DEFAULT,  \
      "the most tokens of an answer; -1 for as many as fit")                                       \
    X(MAX_OUTPUT_TOKENS, "max_output_tokens", INTEGER, 1, UINT32_MAX, SUNDOG_NO_DEFAULT,           \
      "the most tokens of an answer")                                                              \
    X(MAX_TOKENS, "max_tokens", INTEGER, -1, UINT32_MAX, SUNDOG_NO_DEFAULT,                        \
      "the most tokens of an answer; -1 for as many as fit")                                       \
    X(MESSAGE_MAX_TOKENS, "max_tokens", INTEGER, 1, UINT32_MAX, SUNDOG_NO_DEFAULT,                 \
      "the most tokens of an answer")                                                              \
    X(MIN_P, "min_p", NUMBER, 0, 1, SUNDOG_NO_DEFAULT,                                             \
      "leaves out tokens less likely than this share of the likeliest")                            \
    X(N, "n", INTEGER, 1, 16, 1, "how many answers; each has the seed one further")                \
    X(N_PREDICT, "n_predict", INTEGER, -1, UINT32_MAX, SUNDOG_NO_DEFAULT,                          \
      "the most tokens of an answer; -1 for as many as fit")                                       \
    X(N_PROBS, "n_probs", INTEGER, 0, 20, 0,                                                       \
      "log probabilities: of each token and of so many of the likeliest in its place")             \
    X(NUM_PREDICT, "num_predict", INTEGER, -2, UINT32_MAX, SUNDOG_NO_DEFAULT,                      \
      "the most tokens of an answer; below 1 for as many as fit")                                  \
    X(PRESENCE_PENALTY, "presence_penalty", NUMBER, -100, 100, SUNDOG_NO_DEFAULT,                  \
      "taken off the logit of a token that stands in the answer")                                  \
    X(REPEAT_LAST_N, "repeat_last_n", INTEGER, -1, INT32_MAX, -1,                                  \
      "how many tokens before the next the penalties look at; -1 for all, 0 for none")             \
    X(REPEAT_PENALTY, "repeat_penalty", NUMBER, 0.01, 100, SUNDOG_NO_DEFAULT,                      \
      "divides the logit of a token that stands in prompt or answer")                              \
    X(REPETITION_PENALTY, "repetition_penalty", NUMBER, 0.01, 100, SUNDOG_NO_DEFAULT,              \
      "as repeat_penalty")                                                                         \
    X(SEED, "seed", INTEGER, -SUNDOG_MAX_EXACT, SUNDOG_MAX_EXACT, -1,                              \
      "of the random numbers; -1 for another one each time")                                       \
    X(TEMPERATURE, "temperature", NUMBER, 0, 100, SUNDOG_NO_DEFAULT,                               \
      "how even the choice is; 0 for the likeliest token")                                         \
    X(TOP_K, "top_k", INTEGER, -1, INT32_MAX, SUNDOG_NO_DEFAULT,                                   \
      "how many of the likeliest tokens are chosen from; below 1 for all")                         \
    X(TOP_LOGPROBS, "top_logprobs", INTEGER, 0, 20, 0,                                             \
      "log probabilities of so many of the likeliest tokens in the place of each")                 \
    X(TOP_N_SIGMA, "top_n_sigma", NUMBER, -1, 1000, 0,                                             \
      "leaves out tokens whose logits are more standard deviations below the best; 0 or less for " \
      "none")                                                                                      \
    X(TOP_N, "top_n", INTEGER, 1, INT32_MAX, SUNDOG_NO_DEFAULT, "how many of the best")            \
    X(TOP_P, "top_p", NUMBER, 0, 1, SUNDOG_NO_DEFAULT,                                             \
      "how much probability the tokens that are chosen from have together")                        \
    X(TYPICAL_P, "typical_p", NUMBER, 0, 1, 1,                                                     \
      "as top_p, but the tokens whose information is nearest to the mean come first")              \
    X(XTC_PROBABILITY, "xtc_probability", NUMBER, 0, 1, 0,                                         \
      "how often all but the worst of the likely tokens are left out")                             \
    X(XTC_THRESHOLD, "xtc_threshold", NUMBER, 0, 1, 0.1,                                           \
      "from which probability on a token is likely")

#define SUNDOG_BOOLEAN_FIELDS(X)                                                                   \
    X(ADD_GENERATION_PROMPT, "add_generation_prompt", BOOLEAN, 0, 0, 1, "begins the model's turn") \
    X(ADD_SPECIAL, "add_special", BOOLEAN, 0, 0, 0, "with the tokens that begin and end a text")   \
    X(BACKGROUND, "background", BOOLEAN, 0, 0, 0, "not supported")                                 \
    X(CACHE_PROMPT, "cache_prompt", BOOLEAN, 0, 0, 1, "uses what earlier prompts have computed")   \
    X(ECHO, "echo", BOOLEAN, 0, 0, 0,                                                              \
      "the prompt goes before the answer; with logprobs all of it is computed, since what is "     \
      "kept of earlier prompts has none")                                                          \
    X(LINES_STREAM, "stream", BOOLEAN, 0, 0, 1, "tells the answer as it comes")                    \
    X(LOGPROBS, "logprobs", BOOLEAN, 0, 0, 0, "log probabilities of the tokens")                   \
    X(PARALLEL_TOOL_CALLS, "parallel_tool_calls", BOOLEAN, 0, 0, 1, "several calls in an answer")  \
    X(PARSE_SPECIAL, "parse_special", BOOLEAN, 0, 0, 1, "reads control tokens in the text")        \
    X(RAW, "raw", BOOLEAN, 0, 0, 0, "the prompt goes to the model as it is")                       \
    X(RETURN_DOCUMENTS, "return_documents", BOOLEAN, 0, 0, 0, "with the documents themselves")     \
    X(STORE, "store", BOOLEAN, 0, 0, 1, "keeps the response for previous_response_id")             \
    X(STREAM, "stream", BOOLEAN, 0, 0, 0, "tells the answer as it comes")                          \
    X(THEN_PREPARE, "then_prepare", BOOLEAN, 0, 0, 0, "makes the core of what was pulled")         \
    X(TRUNCATE, "truncate", BOOLEAN, 0, 0, 1, "cuts what is longer than the core takes")           \
    X(WITH_PIECES, "with_pieces", BOOLEAN, 0, 0, 0, "each token with its text or its bytes")

#define SUNDOG_OTHER_FIELDS(X)                                                                    \
    X(ACTIVATIONS, "activations", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "int8 or f32")                   \
    X(CACHE, "cache", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "q8")                                        \
    X(CHAT_TEMPLATE_KWARGS, "chat_template_kwargs", OBJECT, 0, 0, SUNDOG_NO_DEFAULT,              \
      "variables of the template")                                                                \
    X(CONTENT, "content", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "the text")                              \
    X(CORE, "core", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "a core's name")                               \
    X(DESTINATION, "destination", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "the second name")               \
    X(DRY_SEQUENCE_BREAKERS, "dry_sequence_breakers", LIST, 0, 0, SUNDOG_NO_DEFAULT,              \
      "texts over which no run is looked for")                                                    \
    X(DOCUMENTS, "documents", LIST, 0, 0, SUNDOG_NO_DEFAULT, "texts, or objects with a text")     \
    X(EMBEDDED, "input", TEXT_OR_LIST, 0, 0, SUNDOG_NO_DEFAULT, "a text, texts, or their tokens") \
    X(ENCODING_FORMAT, "encoding_format", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "float or base64")       \
    X(FORMAT, "format", TEXT_OR_OBJECT, 0, 0, SUNDOG_NO_DEFAULT, "json, or a schema")             \
    X(FROM, "from", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "a file that is there already")                \
    X(GRAMMAR, "grammar", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "what an answer may be, in GBNF")        \
    X(GUIDED_CHOICE, "guided_choice", LIST, 0, 0, SUNDOG_NO_DEFAULT,                              \
      "texts of which one is the answer")                                                         \
    X(GUIDED_REGEX, "guided_regex", TEXT, 0, 0, SUNDOG_NO_DEFAULT,                                \
      "an expression that the answer fits")                                                       \
    X(INCLUDE, "include", LIST, 0, 0, SUNDOG_NO_DEFAULT,                                          \
      "message.output_text.logprobs tells log probabilities")                                     \
    X(INPUT, "input", TEXT_OR_LIST, 0, 0, SUNDOG_NO_DEFAULT, "a question, or items")              \
    X(INPUT_EXTRA, "input_extra", LIST, 0, 0, SUNDOG_NO_DEFAULT,                                  \
      "files that go before, each with filename and text")                                        \
    X(INPUT_PREFIX, "input_prefix", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "what stands before the gap")  \
    X(INPUT_SUFFIX, "input_suffix", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "what stands behind it")       \
    X(INSTRUCTIONS, "instructions", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "a system turn")               \
    X(JSON_SCHEMA, "json_schema", OBJECT, 0, 0, SUNDOG_NO_DEFAULT, "what an answer may be")       \
    X(KEEP_ALIVE, "keep_alive", TEXT_OR_NUMBER, -1e9, 1e9, SUNDOG_NO_DEFAULT,                     \
      "how long the core stays loaded: seconds, or a duration such as 5m; 0 unloads it")          \
    X(KIND, "kind", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "pull, prepare, fit or verify")                \
    X(LEVEL, "level", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "debug, info, warning or error: the lowest") \
    X(LOGIT_BIAS, "logit_bias", OBJECT, 0, 0, SUNDOG_NO_DEFAULT,                                  \
      "tokens by number, each with what is added to its logit")                                   \
    X(MESSAGES, "messages", LIST, 0, 0, SUNDOG_NO_DEFAULT, "the chat so far")                     \
    X(MODEL, "model", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "the core that answers")                     \
    X(NAME, "name", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "as model")                                    \
    X(OPTIONS, "options", OBJECT, 0, 0, SUNDOG_NO_DEFAULT, "how to sample, and when to stop")     \
    X(OUTPUT_CONFIG, "output_config", OBJECT, 0, 0, SUNDOG_NO_DEFAULT, "a schema as its format")  \
    X(PREVIOUS_RESPONSE_ID, "previous_response_id", TEXT, 0, 0, SUNDOG_NO_DEFAULT,                \
      "a stored response that this goes on from")                                                 \
    X(PROMPT, "prompt", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "the text to go on from")                  \
    X(PROMPT_NAME, "prompt_name", TEXT, 0, 0, SUNDOG_NO_DEFAULT,                                  \
      "which of the model's own prompts is put before each text, as query or document")           \
    X(PROMPT_OR_TOKENS, "prompt", TEXT_OR_LIST, 0, 0, SUNDOG_NO_DEFAULT,                          \
      "the text to go on from, or its tokens, or a list of these: several prompts")               \
    X(QUERY, "query", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "what the documents are to answer")          \
    X(REASONING, "reasoning", OBJECT, 0, 0, SUNDOG_NO_DEFAULT, "how much of it")                  \
    X(REASONING_EFFORT, "reasoning_effort", TEXT, 0, 0, SUNDOG_NO_DEFAULT,                        \
      "how much reasoning; none for none")                                                        \
    X(RESPONSE_FORMAT, "response_format", OBJECT, 0, 0, SUNDOG_NO_DEFAULT,                        \
      "its type is text, json_object or json_schema")                                             \
    X(SOURCE, "source", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "a name or an address")                    \
    X(STOP, "stop", TEXT_OR_LIST, 0, 0, SUNDOG_NO_DEFAULT, "texts that end the answer")           \
    X(STOP_SEQUENCES, "stop_sequences", TEXT_OR_LIST, 0, 0, SUNDOG_NO_DEFAULT,                    \
      "texts that end the answer")                                                                \
    X(STREAM_OPTIONS, "stream_options", OBJECT, 0, 0, SUNDOG_NO_DEFAULT,                          \
      "include_usage tells the counts at the end of a stream")                                    \
    X(SUFFIX, "suffix", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "what stands behind the gap")              \
    X(SUNDOG, "sundog", OBJECT, 0, 0, SUNDOG_NO_DEFAULT,                                          \
      "progress tells of queue and prompt, as comments in a stream")                              \
    X(SYSTEM, "system", TEXT_OR_LIST, 0, 0, SUNDOG_NO_DEFAULT, "a system turn")                   \
    X(SYSTEM_TEXT, "system", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "a system turn")                      \
    X(TEXT, "text", OBJECT, 0, 0, SUNDOG_NO_DEFAULT, "the format of the answer")                  \
    X(THINK, "think", TEXT_OR_BOOLEAN, 0, 0, SUNDOG_NO_DEFAULT, "whether to reason")              \
    X(THINKING, "thinking", OBJECT, 0, 0, SUNDOG_NO_DEFAULT, "its type is enabled or disabled")   \
    X(TOKENS, "tokens", LIST, 0, 0, SUNDOG_NO_DEFAULT, "by number")                               \
    X(TOOL_CHOICE, "tool_choice", TEXT_OR_OBJECT, 0, 0, SUNDOG_NO_DEFAULT,                        \
      "auto, none, required, or a function by name")                                              \
    X(TOOL_CHOICE_OBJECT, "tool_choice", OBJECT, 0, 0, SUNDOG_NO_DEFAULT,                         \
      "its type is auto, any, none or tool")                                                      \
    X(TOOLS, "tools", LIST, 0, 0, SUNDOG_NO_DEFAULT, "the functions that may be called")          \
    X(WEIGHTS, "weights", TEXT, 0, 0, SUNDOG_NO_DEFAULT, "q8, q4 or fp8")

#define SUNDOG_FIELDS(X)     \
    SUNDOG_NUMBER_FIELDS(X)  \
    SUNDOG_BOOLEAN_FIELDS(X) \
    SUNDOG_OTHER_FIELDS(X)

typedef enum {
#define X(name, types) SUNDOG_FIELD_TYPE_##name,
    SUNDOG_FIELD_TYPES(X)
#undef X
} SundogFieldType;

typedef enum {
#define X(name, key, type, lowest, highest, fallback, meaning) SUNDOG_FIELD_##name,
    SUNDOG_FIELDS(X)
#undef X
        SUNDOG_N_FIELDS,
} SundogField;

typedef struct {
    const char *key;
    SundogFieldType type;
    double lowest, highest, fallback;
    const char *meaning;
} SundogFieldRow;

const SundogFieldRow *sundog_field_get_row(SundogField field);
