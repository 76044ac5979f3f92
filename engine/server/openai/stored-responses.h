#pragma once

/*
 * Responses that are kept for clients that name them later, with the conversation that led to them, in
 * memory and for as long as the server runs: the newest ones, within a bound of number and size. Main
 * context.
 */

#include <json-glib/json-glib.h>
#include <stdbool.h>

typedef struct SundogStoredResponses SundogStoredResponses;

SundogStoredResponses *sundog_stored_responses_new(void);
void sundog_stored_responses_free(SundogStoredResponses *stored);

/* Takes the response (its "id" is its name, an older one of that name goes) and the conversation up to
 * and with it, messages in the form of prompt.h. */
void sundog_stored_responses_put(SundogStoredResponses *stored, JsonObject *response,
                                 JsonArray *conversation);
/* Borrowed, or NULL. */
JsonObject *sundog_stored_responses_get(const SundogStoredResponses *stored, const char *id);
JsonArray *sundog_stored_responses_get_conversation(const SundogStoredResponses *stored,
                                                    const char *id);
/* False where there is none. */
bool sundog_stored_responses_remove(SundogStoredResponses *stored, const char *id);
