#pragma once

/*
 * The body of POST /v1/responses as a neutral request. Items become messages: a function_call a tool call
 * of the assistant, its output a message of the role tool, reasoning that of the assistant's next
 * message. Kinds of items and tools that are not known here are left out, and the log says so.
 */

#include "engine/server/completion-request.h"

typedef struct {
    SundogCompletionRequest *request;
    JsonArray *conversation; /* what is read, without the instructions, which hold for once */
    const char *previous;    /* id, or NULL; borrowed from the body */
    bool is_stored;
} SundogResponsesRequest;

/* False and the reason where it is wrong. */
bool sundog_responses_request_read(SundogResponsesRequest *responses, SundogExchange *exchange,
                                   JsonObject *object, SundogApiError **error);
void sundog_responses_request_clear(SundogResponsesRequest *responses);
