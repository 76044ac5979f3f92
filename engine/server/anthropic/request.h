#pragma once

/*
 * The body of Anthropic's /v1/messages and /v1/messages/count_tokens as a neutral request. Blocks become
 * parts and messages: a tool_use a tool call of the assistant, a tool_result a message of the role tool,
 * thinking its reasoning. Blocks and tools that only Anthropic's own servers carry out are left out;
 * what this server does not know is ignored.
 */

#include "engine/server/completion-request.h"

/* NULL and the reason where it is wrong. */
SundogCompletionRequest *sundog_anthropic_request_read(SundogExchange *exchange, JsonObject *object,
                                                       SundogApiError **error);
