#pragma once

/*
 * The one table of what clients are told when something is wrong: HTTP status, type and code as OpenAI
 * clients read them, and the text, where each {} takes one value. Bad input is 4xx, since clients send
 * anything else again. dialect.h prints an error as each family of clients reads it. Some clients know
 * a prompt that is too long by words alone: Claude Code by the beginning of that text, litellm by its end.
 *
 * X(NAME, status, "type", "code", "text")
 */

#include <glib.h>
#include <stdbool.h>

#define SUNDOG_API_ERRORS(X)                                                                       \
    X(BAD_JSON, 400, "invalid_request_error", "invalid_json", "The body is not valid JSON: {}")    \
    X(NO_OBJECT, 400, "invalid_request_error", "invalid_type", "The body must be a JSON object")   \
    X(MISSING, 400, "invalid_request_error", "missing_required_parameter",                         \
      "The field “{}” is required")                                                                \
    X(WRONG_TYPE, 400, "invalid_request_error", "invalid_type", "The field “{}” must be {}")       \
    X(OUT_OF_RANGE, 400, "invalid_request_error", "invalid_value",                                 \
      "The field “{}” is {}, allowed are {} to {}")                                                \
    X(INVALID_VALUE, 400, "invalid_request_error", "invalid_value", "The field “{}”: {}")          \
    X(UNSUPPORTED, 400, "invalid_request_error", "unsupported_parameter",                          \
      "The field “{}” is not supported by this server yet; leave it out")                          \
    X(BAD_MESSAGES, 400, "invalid_request_error", "invalid_messages",                              \
      "The messages cannot be made a prompt: {}")                                                  \
    X(NO_TEMPLATE, 400, "invalid_request_error", "no_chat_template",                               \
      "The model {} has no chat template: use /v1/completions")                                    \
    X(NO_INFILL, 400, "invalid_request_error", "no_infill",                                        \
      "The model {} has no tokens for what stands between two texts")                              \
    X(CONTEXT_LENGTH, 400, "invalid_request_error", "context_length_exceeded",                     \
      "The prompt is too long: {} tokens > {}; this model's maximum context length is for prompt " \
      "and answer together. Shorten the messages")                                                 \
    X(TEXT_LENGTH, 400, "invalid_request_error", "context_length_exceeded",                        \
      "A text has {} tokens, and this model takes at most {} at once: shorten it or cut it up")    \
    X(WRONG_PURPOSE, 400, "invalid_request_error", "wrong_model_purpose",                          \
      "The model {} is made to {}, and this asks it to {}: name another model")                    \
    X(WRONG_KEY, 401, "authentication_error", "invalid_api_key",                                   \
      "The API key is missing or wrong: send it as “Authorization: Bearer KEY” or “x-api-key”")    \
    X(BAD_HOST, 403, "permission_error", "host_not_allowed",                                       \
      "The host “{}” is not this server's name: use localhost or its address")                     \
    X(BAD_ORIGIN, 403, "permission_error", "origin_not_allowed",                                   \
      "Web pages of “{}” may not use this server: add the origin to the setting server.origins")   \
    X(NOT_OWNER, 403, "permission_error", "not_allowed",                                           \
      "The key “{}” may ask for answers; {} is for the owner of this server")                      \
    X(MODEL_NOT_ALLOWED, 403, "permission_error", "model_not_allowed",                             \
      "The key “{}” may not use the model {}")                                                     \
    X(NOT_FOUND, 404, "invalid_request_error", "not_found", "There is nothing at {}")              \
    X(NO_MODEL, 404, "invalid_request_error", "model_not_found", "{}")                             \
    X(NO_ENTRY, 404, "invalid_request_error", "not_found", "{}")                                   \
    X(NO_JOB, 404, "invalid_request_error", "not_found", "There is no job “{}”")                   \
    X(NO_RESPONSE, 404, "invalid_request_error", "not_found",                                      \
      "There is no response “{}”: it was not stored, or is too old")                               \
    X(NO_REQUEST, 404, "invalid_request_error", "not_found", "There is no running request “{}”")   \
    X(BAD_METHOD, 405, "invalid_request_error", "method_not_allowed", "{} takes {}, not {}")       \
    X(CONFLICT, 409, "invalid_request_error", "conflict", "{}")                                    \
    X(TOO_LARGE, 413, "invalid_request_error", "request_too_large",                                \
      "The body is longer than the {} bytes that this server reads")                               \
    X(MEDIA_TYPE, 415, "invalid_request_error", "unsupported_media_type",                          \
      "The body must come with “Content-Type: application/json”, not “{}”")                        \
    X(NO_MEMORY, 422, "invalid_request_error", "insufficient_memory",                              \
      "The core {} needs {} of memory, and all cores together may take {}: take a smaller one, "   \
      "or "                                                                                        \
      "set engine.memory_budget higher")                                                           \
    X(QUEUE_FULL, 429, "rate_limit_error", "rate_limit_exceeded",                                  \
      "{} requests are waiting already: try again in a moment")                                    \
    X(KEY_LIMIT, 429, "rate_limit_error", "rate_limit_exceeded",                                   \
      "The key “{}” may have {}: try again in {} s")                                               \
    X(INTERNAL, 500, "server_error", "internal_error", "{}")                                       \
    X(NOT_IMPLEMENTED, 501, "server_error", "not_implemented",                                     \
      "This server has nothing that does what {} is for")                                          \
    X(POISON, 500, "server_error", "engine_died",                                                  \
      "The engine ended three times while it worked on this request ({}), so it was given up: {}") \
    X(NOT_FINITE, 500, "server_error", "not_finite",                                               \
      "The model's numbers left their range, so the answer was ended: {}")                         \
    X(NO_CORE, 503, "server_error", "no_core",                                                     \
      "No core is loaded and the request names none: prepare a model first")                       \
    X(ENGINE_FAILED, 503, "server_error", "engine_failed", "The core cannot be loaded: {}")        \
    X(STOPPING, 503, "server_error", "server_stopping", "The server is stopping")                  \
    X(NO_SPACE, 507, "server_error", "no_space", "{}")

typedef enum {
#define X(name, status, type, code, text) SUNDOG_API_ERROR_##name,
    SUNDOG_API_ERRORS(X)
#undef X
} SundogApiErrorCode;

typedef struct {
    SundogApiErrorCode code;
    char *param; /* the field it is about, or NULL */
    char *text;
    unsigned retry_after_s; /* what the client is told, or 0 */
} SundogApiError;

/* values: one text for each {} of the table's text, then NULL. */
SundogApiError *sundog_api_error_new(SundogApiErrorCode code, const char *param,
                                     ...) G_GNUC_NULL_TERMINATED;
void sundog_api_error_free(SundogApiError *error);
/* Sets *error, which must be NULL before; returns false, for `return`. */
bool sundog_api_error_set(SundogApiError **error, SundogApiErrorCode code, const char *param,
                          ...) G_GNUC_NULL_TERMINATED;

SundogApiError *sundog_api_error_copy(const SundogApiError *error);
unsigned sundog_api_error_get_status(const SundogApiError *error);
/* As in the table. */
const char *sundog_api_error_get_type(const SundogApiError *error);
const char *sundog_api_error_get_code(const SundogApiError *error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogApiError, sundog_api_error_free)
