/* Matchers by their automata's words; masks by rows. */

#include "engine/schedule/constraints.h"
#include <string.h>

/* Matchers kept beside those that requests hold: each takes some megabytes at most. */
#define MAX_KEPT 16

typedef struct {
    GBytes *words;
    SundogMatcher *matcher;
} Kept;

struct SundogConstraints {
    SundogMaskTrie *trie;
    GArray *kept; /* of Kept, the last used last */
};

static void
clear_kept(gpointer data)
{
    Kept *kept = data;
    g_bytes_unref(kept->words);
    sundog_matcher_unref(kept->matcher);
}

SundogConstraints *
sundog_constraints_new(void)
{
    SundogConstraints *constraints = g_new0(SundogConstraints, 1);
    constraints->kept = g_array_new(FALSE, FALSE, sizeof(Kept));
    g_array_set_clear_func(constraints->kept, clear_kept);
    return constraints;
}

void
sundog_constraints_free(SundogConstraints *constraints)
{
    if (constraints) {
        g_array_unref(constraints->kept);
        sundog_mask_trie_free(constraints->trie);
        g_free(constraints);
    }
}

bool
sundog_constraints_set_vocabulary(SundogConstraints *constraints,
                                  const SundogWireVocabulary *vocabulary)
{
    if (!constraints->trie) {
        constraints->trie = sundog_mask_trie_new(vocabulary->ends, vocabulary->n_tokens,
                                                 vocabulary->bytes, vocabulary->n_bytes);
    }
    return constraints->trie != NULL;
}

static SundogMatcher *
find_kept(SundogConstraints *constraints, GBytes *words)
{
    for (guint i = constraints->kept->len; i-- > 0;) {
        Kept kept = g_array_index(constraints->kept, Kept, i);
        if (g_bytes_equal(kept.words, words)) {
            /* To the end, whose elements the array must not clear as it moves them. */
            memmove(&g_array_index(constraints->kept, Kept, i),
                    &g_array_index(constraints->kept, Kept, i + 1),
                    (constraints->kept->len - i - 1) * sizeof kept);
            g_array_index(constraints->kept, Kept, constraints->kept->len - 1) = kept;
            return sundog_matcher_ref(kept.matcher);
        }
    }
    return NULL;
}

SundogMatcher *
sundog_constraints_dup_matcher(SundogConstraints *constraints, const uint32_t *words,
                               uint32_t n_words, GError **error)
{
    g_autoptr(GBytes) key = g_bytes_new(words, n_words * sizeof *words);
    SundogMatcher *matcher = find_kept(constraints, key);
    if (matcher)
        return matcher;
    if (!constraints->trie) {
        g_set_error_literal(error, SUNDOG_WIRE_ERROR, SUNDOG_WIRE_ERROR_MALFORMED,
                            "a constraint came before the vocabulary");
        return NULL;
    }
    SundogAutomaton *automaton = sundog_automaton_read(words, n_words, error);
    if (!automaton)
        return NULL;
    matcher = sundog_matcher_new(automaton, constraints->trie);
    Kept kept = {g_steal_pointer(&key), sundog_matcher_ref(matcher)};
    g_array_append_val(constraints->kept, kept);
    if (constraints->kept->len > MAX_KEPT)
        g_array_remove_index(constraints->kept, 0);
    return matcher;
}

/* Rows */

static bool
advance(const SundogRequest *request, SundogMatch *match, uint32_t n_tokens)
{
    return sundog_match_advance(match, request->tokens + request->n_prompt,
                                n_tokens - request->n_prompt);
}

static bool
is_empty(const uint64_t *mask, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++)
        if (mask[i] != 0)
            return false;
    return true;
}

/* Ends belong to the request, not to the automaton. */
static void
set_ends(const SundogRequest *request, uint32_t *mask, uint32_t n_vocabulary, bool may_end)
{
    for (uint32_t i = 0; i < request->n_ends; i++) {
        uint32_t end = request->ends[i], bit = 1u << end % 32;
        if (end < n_vocabulary)
            mask[end / 32] = may_end ? mask[end / 32] | bit : mask[end / 32] & ~bit;
    }
}

/* The row for the token after n_tokens; false where the constraint does not lead there. */
static bool
fill_mask(const SundogRequest *request, SundogMatch *match, uint32_t n_tokens,
          const SundogStepRunner *runner, uint32_t *row)
{
    size_t n_row_bytes = runner->max.mask * sizeof *row;
    const uint64_t *mask = advance(request, match, n_tokens) ? sundog_match_get_mask(match) : NULL;
    if (!mask)
        return false;
    bool may_end = sundog_match_may_end(match);
    size_t n_words = sundog_match_get_n_words(match);
    if (!may_end && is_empty(mask, n_words))
        return false;
    size_t n_copied = MIN(n_words * sizeof *mask, n_row_bytes);
    memcpy(row, mask, n_copied);
    memset((uint8_t *)row + n_copied, 0, n_row_bytes - n_copied);
    set_ends(request, row, runner->n_vocabulary, may_end);
    return true;
}

/* Its own row and those of its drafts, from a copy of the match: not all drafts will stay. */
static void
fill_masks(SundogRequest *request, const SundogStepRunner *runner)
{
    request->is_stuck = !advance(request, &request->match, request->n_tokens);
    SundogMatch match = request->match;
    for (uint32_t i = 0; i <= request->n_drafts && !request->is_stuck; i++) {
        uint32_t row = request->logit_row + i;
        uint32_t *mask = (uint32_t *)runner->mask + (size_t)row * runner->max.mask;
        bool filled = fill_mask(request, &match, request->n_tokens + i, runner, mask);
        /* Behind a draft that is not allowed, which then is not what will be sampled. */
        runner->sampling[row].masked = filled;
        request->is_stuck = !filled && i == 0;
    }
}

/* Entries that a row of the request may have. */
static uint32_t
count_biases(const SundogRequest *request, const SundogStepRunner *runner)
{
    uint32_t n_dry = sundog_dry_is_on(&request->dry) ? SUNDOG_DRY_MAX_TOKENS : 0;
    return MIN(request->n_biases + n_dry, runner->max.bias / SUNDOG_BIAS_WORDS);
}

static void
fill_biases(const SundogRequest *request, const SundogStepSize *size,
            const SundogStepRunner *runner)
{
    uint32_t n_dry_room = count_biases(request, runner) - request->n_biases;
    for (uint32_t i = 0; i <= request->n_drafts; i++) {
        uint32_t row = request->logit_row + i;
        SundogBias *biases = (SundogBias *)(void *)(runner->bias + (size_t)row * size->bias);
        uint32_t n = request->n_biases;
        if (n > 0)
            memcpy(biases, request->biases, n * sizeof *biases);
        if (n_dry_room > 0) {
            n += sundog_dry_write(&request->dry, request->tokens, request->n_tokens + i, biases + n,
                                  n_dry_room);
        }
        runner->sampling[row].n_bias = n;
    }
}

void
sundog_constraints_fill(SundogRequest *const *requests, uint32_t n_requests, SundogStepSize *size,
                        const SundogStepRunner *runner)
{
    for (uint32_t i = 0; i < n_requests; i++) {
        if (requests[i]->logit_row != UINT32_MAX) {
            size->bias = MAX(size->bias, count_biases(requests[i], runner) * SUNDOG_BIAS_WORDS);
            size->mask = requests[i]->match.matcher ? runner->max.mask : size->mask;
        }
    }
    for (uint32_t i = 0; i < n_requests; i++) {
        SundogRequest *request = requests[i];
        if (request->logit_row != UINT32_MAX)
            fill_biases(request, size, runner);
        if (request->logit_row != UINT32_MAX && request->match.matcher)
            fill_masks(request, runner);
    }
}

uint32_t
sundog_constraints_count_allowed(SundogRequest *request, uint32_t n_drafts)
{
    uint32_t n_allowed = 0;
    if (!request->match.matcher)
        return n_drafts;
    if (!advance(request, &request->match, request->n_tokens))
        return 0;
    SundogMatch match = request->match;
    while (n_allowed < n_drafts && advance(request, &match, request->n_tokens + n_allowed + 1))
        n_allowed++;
    return n_allowed;
}

bool
sundog_constraints_is_complete(SundogRequest *request)
{
    return request->match.matcher && advance(request, &request->match, request->n_tokens) &&
           sundog_match_is_complete(&request->match);
}
