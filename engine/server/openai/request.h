#pragma once

/* The fields that chat and plain completions share, as OpenAI's API names them, with the further ones
 * (top_k, min_p, …) that local servers have. Fields that this server cannot honour yet are refused by
 * name; unknown ones are ignored. */

#include "engine/server/completion-request.h"

/* Reads all but the prompt. request->core must be set. include_usage: of stream_options. */
bool sundog_openai_request_read(SundogCompletionRequest *request, JsonObject *object,
                                bool *include_usage, SundogApiError **error);
/* How many answers there are, and what of their tokens is told: n, best_of, logprobs and top_logprobs, echo.
 * After the others. */
bool sundog_openai_choices_read(SundogCompletionRequest *request, JsonObject *object, bool is_chat,
                                SundogApiError **error);
