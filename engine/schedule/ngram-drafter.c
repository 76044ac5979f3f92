/* Drafts by n-grams. */

#include "engine/schedule/drafter.h"

static void
begin(SundogDrafter *drafter, SundogRequest *request)
{
    sundog_ngrams_init(&request->ngrams, request->n_limit);
}

static bool
find(SundogDrafter *drafter, SundogRequest *request)
{
    return sundog_ngrams_find(&request->ngrams, request->tokens, request->n_tokens);
}

static void
draft(SundogDrafter *drafter, SundogRequest *const *requests, uint32_t n_requests)
{
    for (uint32_t i = 0; i < n_requests; i++) {
        SundogRequest *request = requests[i];
        sundog_ngrams_write(&request->ngrams, request->tokens, request->n_tokens,
                            request->n_wanted);
        request->n_drafts = request->n_wanted;
    }
}

static bool
peek(SundogDrafter *drafter, const SundogRequest *request, uint32_t *token)
{
    if (request->ngrams.source == 0)
        return false;
    *token = request->tokens[request->ngrams.source];
    return true;
}

static void
end(SundogDrafter *drafter, SundogRequest *request)
{
    sundog_ngrams_clear(&request->ngrams);
}

SundogDrafter *
sundog_ngram_drafter_new(void)
{
    SundogDrafter *drafter = g_new0(SundogDrafter, 1);
    *drafter = (SundogDrafter){.begin = begin,
                               .find = find,
                               .draft = draft,
                               .peek = peek,
                               .end = end,
                               .free = (void (*)(SundogDrafter *))g_free};
    return drafter;
}

void
sundog_drafter_free(SundogDrafter *drafter)
{
    if (drafter)
        drafter->free(drafter);
}
