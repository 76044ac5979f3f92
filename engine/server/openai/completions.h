#pragma once

/* The prompts of a plain completion: "prompt" is a text, a list of tokens, or a list of these, each a prompt of
 * its own; with a "suffix" the answer is what stands between a text and it. After the number of choices. */

#include "engine/server/completion-request.h"

bool sundog_openai_prompt_read(SundogCompletionRequest *request, JsonObject *object,
                               SundogApiError **error);
