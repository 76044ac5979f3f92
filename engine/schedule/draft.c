/* A hash table of the places where three tokens in a row ended last. */

#include "engine/schedule/draft.h"
#include <glib.h>
#include <string.h>

/* Fewer tokens in a row recur by chance, more are found too late. */
#define N_GRAM 3
#define WEIGHT 0.125 /* of the newest guess */
#define FIRST_SHARE 0.5

void
sundog_draft_init(SundogDraft *draft, uint32_t n_limit)
{
    *draft = (SundogDraft){.n_slots = 64, .share = FIRST_SHARE};
    while (draft->n_slots < n_limit)
        draft->n_slots *= 2;
    draft->ends = g_new0(uint32_t, draft->n_slots);
}

void
sundog_draft_clear(SundogDraft *draft)
{
    g_clear_pointer(&draft->ends, g_free);
}

/* Of the tokens that end before `end`. */
static uint32_t *
slot_of(const SundogDraft *draft, const uint32_t *tokens, uint32_t end)
{
    uint32_t hash = 0;
    for (uint32_t i = end - N_GRAM; i < end; i++)
        hash = (hash ^ tokens[i]) * 0x9e3779b1u;
    return &draft->ends[(hash ^ hash >> 15) & (draft->n_slots - 1)];
}

bool
sundog_draft_find(SundogDraft *draft, const uint32_t *tokens, uint32_t n_tokens)
{
    draft->source = 0;
    if (n_tokens < N_GRAM)
        return false;
    /* The last tokens themselves are left out: they would be found first. */
    for (uint32_t end = MAX(draft->n_indexed + 1, N_GRAM); end < n_tokens; end++)
        *slot_of(draft, tokens, end) = end;
    draft->n_indexed = n_tokens - 1;
    uint32_t end = *slot_of(draft, tokens, n_tokens);
    if (end != 0 &&
        memcmp(tokens + end - N_GRAM, tokens + n_tokens - N_GRAM, N_GRAM * sizeof *tokens) == 0)
        draft->source = end;
    return draft->source != 0;
}

void
sundog_draft_write(const SundogDraft *draft, uint32_t *tokens, uint32_t n_tokens, uint32_t n_drafts)
{
    /* One by one, since the source may run into what is written here: so a cycle goes on. */
    for (uint32_t i = 0; i < n_drafts; i++)
        tokens[n_tokens + i] = tokens[draft->source + i];
}

void
sundog_draft_learn(SundogDraft *draft, const uint32_t *tokens, uint32_t n_tokens, uint32_t token,
                   uint32_t n_tried, uint32_t n_right)
{
    if (draft->source == 0)
        return;
    if (n_tried == 0)
        n_right = draft->source < n_tokens && tokens[draft->source] == token;
    for (uint32_t i = 0; i < n_right; i++)
        draft->share += WEIGHT * (1 - draft->share);
    if (n_right < MAX(n_tried, 1))
        draft->share -= WEIGHT * draft->share;
}
