#pragma once

/*
 * The answer to a completion in OpenAI's form, plain or as a stream of chunks. Chunks of a stream carry
 * the same id, created, model, object and system_fingerprint; the last one with a choice has the
 * finish_reason, and "sundog" with what was measured; a chunk with the usage follows where it was asked
 * for, then [DONE].
 */

#include "engine/server/answer.h"

typedef enum {
    SUNDOG_OPENAI_CHAT,
    SUNDOG_OPENAI_COMPLETION,
} SundogOpenaiKind;

/* Reads the prompt of a request's body into the request; false and the reason where it is wrong. */
typedef bool (*SundogOpenaiReadPrompt)(SundogCompletionRequest *request, JsonObject *object,
                                       SundogApiError **error);

/* Reads the request and begins the answer. Replies in any case. */
void sundog_openai_answer(SundogExchange *exchange, SundogOpenaiKind kind,
                          SundogOpenaiReadPrompt read_prompt);
