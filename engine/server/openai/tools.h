#pragma once

/* OpenAI's fields for tools and for the form of an answer: tools, tool_choice, parallel_tool_calls,
 * reasoning_effort, response_format, llama-server's grammar and json_schema,
 * vLLM's guided_regex and guided_choice. */

#include "engine/server/completion-request.h"

bool sundog_openai_tools_read(SundogCompletionRequest *request, JsonObject *object,
                              SundogApiError **error);
bool sundog_openai_tool_choice_read(SundogCompletionRequest *request, JsonObject *object,
                                    SundogApiError **error);
/* What a json_schema is: {name, strict, schema}, as in a response_format. */
bool sundog_openai_schema_read(SundogCompletionRequest *request, JsonObject *object,
                               SundogApiError **error);
