#pragma once

/*
 * What a request wants read: a chat, a text or tokens, in a form that knows no dialect, and its way to
 * tokens. Long ones are encoded on a thread of their own, since a megabyte takes some 70 ms in which
 * the main loop would serve nobody; short ones at once.
 */

#include "engine/server/core-text.h"
#include "engine/server/exchange.h"

typedef struct {
    /* A chat: messages as chat templates take them (OpenAI's chat messages: role; content as text or
     * parts; of the assistant also reasoning_content and tool_calls; of the role tool, tool_call_id). */
    JsonArray *messages;
    JsonArray *tools;      /* [{"type": "function", "function": {name, description, parameters}}] */
    JsonObject *variables; /* further ones of the template, or NULL */
    bool continues; /* the answer goes on from the last message, where that is the assistant's */
    bool adds_turn; /* the template opens the assistant's turn */
    /* Or a text, with the flags of its tokens. */
    char *text;
    SundogTokenizeFlags flags;
    /* Or tokens (GArray of uint32_t). */
    GArray *tokens;
    size_t n_bytes; /* about; decides where it is encoded */
} SundogPrompt;

void sundog_prompt_clear(SundogPrompt *prompt);
/* Tools as a client sent them, in OpenAI's form: those that are functions are kept, as templates can
 * take them. */
void sundog_prompt_set_tools(SundogPrompt *prompt, JsonArray *tools);
/* A variable of the template, unless the client has set it. Takes the value. */
void sundog_prompt_set_variable(SundogPrompt *prompt, const char *name, JsonNode *value);

/* Tokens (GArray of uint32_t, owned by the caller), or NULL and the reason. rendering: what a chat's
 * template made, or NULL where it is not wanted. Any thread. */
GArray *sundog_prompt_encode(const SundogPrompt *prompt, const SundogCoreText *core,
                             SundogRendering **rendering, SundogApiError **error);

/* What encoding came to: tokens, or error where they are NULL; the rendering of a chat. Whoever gets it
 * takes what it wants out. */
typedef struct {
    GArray *tokens;
    SundogRendering *rendering;
    SundogApiError *error;
} SundogEncoded;

/* As encode, for the exchange, which is held back and watched meanwhile; prompt and core must stay until
 * `done`, which is called exactly once, maybe before this returns. Where the client has left by then,
 * the exchange is over, and the server may be gone. Main context. */
void sundog_prompt_encode_async(const SundogPrompt *prompt, const SundogCoreText *core,
                                SundogExchange *exchange,
                                void (*done)(SundogEncoded *encoded, void *data), void *data);
