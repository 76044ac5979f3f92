#pragma once

/*
 * From a request's messages to the prompt's tokens, the same way for the server, `run` and `chat`.
 * Messages are normalised first: `developer` means `system`; content may be a string, null, absent or a
 * list of text parts; a system turn that the template refuses or ignores is folded into the first user
 * turn. After a template no BOS is added that the template wrote itself.
 */

#include "engine/text/template/template.h"

typedef struct {
    JsonArray *messages; /* as the client sent them, checked for shape here */
    bool add_generation_prompt;
    bool continues;    /* the answer goes on from the last message, where that is the assistant's */
    JsonObject *extra; /* further template variables (chat_template_kwargs), or NULL */
} SundogChat;

/* The prompt's text as spans and its tokens (GArray of uint32_t, owned by the caller). rendering may
 * be NULL where it is not wanted. A message of wrong shape is an error that names its index and key. */
GArray *sundog_chat_encode(const SundogTemplate *chat_template, const SundogTokenizer *tokenizer,
                           const SundogChat *chat, SundogRendering **rendering, GError **error);
