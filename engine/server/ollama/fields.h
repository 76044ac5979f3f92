#pragma once

/* What the bodies of Ollama's API share: names of models, which may end in ":latest", options, form of
 * the answer, and how long the model is kept. */

#include "engine/server/completion-request.h"

/* "model", or the older "name", without ":latest"; owned by the caller. NULL and the reason where there
 * is none. */
char *sundog_ollama_dup_model(JsonObject *object, SundogApiError **error);

/* "keep_alive": seconds, or a duration such as "5m"; negative is for ever. *ms: -1 for that; as it was
 * where it is absent. */
bool sundog_ollama_read_keep_alive(JsonObject *object, int64_t *ms, SundogApiError **error);

/* All but the prompt. NULL and the reason where it is wrong. */
SundogCompletionRequest *sundog_ollama_request_read(SundogExchange *exchange, JsonObject *object,
                                                    SundogApiError **error);
