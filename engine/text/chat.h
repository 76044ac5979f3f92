#pragma once

/*
 * From a request's messages to the prompt's tokens, the same way for the server, `run` and `chat`.
 * Messages are normalised first: `developer` means `system`; content may be a string, null, absent or a
 * list of text parts; a system turn that the template refuses or ignores is folded into the first user
 * turn; arguments of calls become what the template takes. After a template no BOS is added that the
 * template wrote itself.
 */

#include "engine/text/output/output-syntax.h"

typedef struct {
    JsonArray *messages; /* as the client sent them, checked for shape here */
    bool add_generation_prompt;
    bool continues;    /* the answer goes on from the last message, where that is the assistant's */
    JsonObject *extra; /* further template variables (chat_template_kwargs), or NULL */
    JsonArray *tools;  /* normalised, or NULL */
    const SundogOutputSyntax *syntax; /* how the template takes calls; NULL: as JSON objects */
} SundogChat;

/* The functions among a request's tools, as templates can take them: each with a description and
 * parameters. Other kinds of tools are left out. Owned by the caller. */
JsonArray *sundog_chat_normalise_tools(JsonArray *tools);

/* The prompt's text as spans and its tokens (GArray of uint32_t, owned by the caller). rendering may
 * be NULL where it is not wanted. A message of wrong shape is an error that names its index and key. */
GArray *sundog_chat_encode(const SundogTemplate *chat_template, const SundogTokenizer *tokenizer,
                           const SundogChat *chat, SundogRendering **rendering, GError **error);
