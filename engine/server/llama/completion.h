#pragma once

/* Answers as llama-server gives them: {"content", "stop", …}, in a stream one such object an event, the
 * last one with what was measured. */

#include "engine/server/answer.h"

/* endpoint: "/completion" or "/infill". Reads the request, its prompt by read_prompt, and begins the
 * answer; replies in any case. */
void sundog_llama_answer(SundogExchange *exchange, const char *endpoint,
                         bool (*read_prompt)(SundogCompletionRequest *request, JsonObject *object,
                                             SundogApiError **error));
