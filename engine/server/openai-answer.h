#pragma once

/*
 * The answer to a completion in OpenAI's form, plain or as a stream of chunks: from the prompt's
 * tokens through the supervisor to the client. Chunks of a stream carry the same id, created, model,
 * object and system_fingerprint; the last one with a choice has the finish_reason, and "sundog" with
 * what was measured; a chunk with the usage follows where it was asked for, then [DONE].
 */

#include "engine/server/openai-request.h"
#include "engine/server/service.h"

typedef enum {
    SUNDOG_OPENAI_CHAT,
    SUNDOG_OPENAI_COMPLETION,
} SundogOpenaiKind;

/* The prompt's tokens of a request's body (GArray of uint32_t), or NULL and the reason. */
typedef GArray *(*SundogOpenaiEncode)(JsonObject *object, const SundogCoreText *core,
                                      SundogApiError **error);

/* Reads the request, encodes its prompt and begins the answer. Replies in any case. */
void sundog_openai_answer(SundogExchange *exchange, SundogOpenaiKind kind,
                          SundogOpenaiEncode encode);
