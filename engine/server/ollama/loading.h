#pragma once

/* Requests without a prompt: they load the model, or with keep_alive 0 unload it. */

#include "engine/server/completion-request.h"

/* Replies when the core is loaded, or has gone. member: the empty answer of the endpoint's form, as
 * "\"response\":\"\"". Takes the request. */
void sundog_ollama_load(SundogExchange *exchange, SundogCompletionRequest *request,
                        const char *member);
