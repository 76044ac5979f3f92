#pragma once

/* The prompt of a plain completion: "prompt" is a text, a list of tokens, or a list with one of these;
 * with a "suffix" the answer is what stands between the two. */

#include "engine/server/completion-request.h"

bool sundog_openai_prompt_read(SundogCompletionRequest *request, JsonObject *object,
                               SundogApiError **error);
