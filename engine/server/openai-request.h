#pragma once

/* The fields that chat and plain completions share, as OpenAI's API names them, with the further ones
 * (top_k, min_p, …) that local servers have. Fields that this server cannot honour yet are refused by
 * name; unknown ones are ignored. */

#include "engine/server/core-text.h"
#include "engine/server/fields.h"
#include "engine/wire/messages.h"

typedef struct {
    bool stream;
    bool include_usage;
    bool progress; /* "sundog": {"progress": true} */
    char **stops;  /* NULL-terminated, or NULL; owned */
    /* Sampling, seed and max_tokens; UINT32_MAX where the client sets no limit. */
    SundogSubmit submit;
} SundogOpenaiRequest;

bool sundog_openai_request_read(SundogOpenaiRequest *request, JsonObject *object,
                                const SundogCoreText *core, SundogApiError **error);
void sundog_openai_request_clear(SundogOpenaiRequest *request);
