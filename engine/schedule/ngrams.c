/* A hash table of the places where three tokens in a row ended last. */

#include "engine/schedule/ngrams.h"
#include <glib.h>
#include <string.h>

/* Fewer tokens in a row recur by chance, more are found too late. */
#define N_GRAM 3

void
sundog_ngrams_init(SundogNgrams *ngrams, uint32_t n_limit)
{
    *ngrams = (SundogNgrams){.n_slots = 64};
    while (ngrams->n_slots < n_limit)
        ngrams->n_slots *= 2;
    ngrams->ends = g_new0(uint32_t, ngrams->n_slots);
}

void
sundog_ngrams_clear(SundogNgrams *ngrams)
{
    g_clear_pointer(&ngrams->ends, g_free);
}

/* Of the tokens that end before `end`. */
static uint32_t *
slot_of(const SundogNgrams *ngrams, const uint32_t *tokens, uint32_t end)
{
    uint32_t hash = 0;
    for (uint32_t i = end - N_GRAM; i < end; i++)
        hash = (hash ^ tokens[i]) * 0x9e3779b1u;
    return &ngrams->ends[(hash ^ hash >> 15) & (ngrams->n_slots - 1)];
}

bool
sundog_ngrams_find(SundogNgrams *ngrams, const uint32_t *tokens, uint32_t n_tokens)
{
    ngrams->source = 0;
    if (n_tokens < N_GRAM)
        return false;
    /* The last tokens themselves are left out: they would be found first. */
    for (uint32_t end = MAX(ngrams->n_indexed + 1, N_GRAM); end < n_tokens; end++)
        *slot_of(ngrams, tokens, end) = end;
    ngrams->n_indexed = n_tokens - 1;
    uint32_t end = *slot_of(ngrams, tokens, n_tokens);
    if (end != 0 &&
        memcmp(tokens + end - N_GRAM, tokens + n_tokens - N_GRAM, N_GRAM * sizeof *tokens) == 0)
        ngrams->source = end;
    return ngrams->source != 0;
}

void
sundog_ngrams_write(const SundogNgrams *ngrams, uint32_t *tokens, uint32_t n_tokens,
                    uint32_t n_drafts)
{
    /* One by one, since the source may run into what is written here: so a cycle goes on. */
    for (uint32_t i = 0; i < n_drafts; i++)
        tokens[n_tokens + i] = tokens[ngrams->source + i];
}
