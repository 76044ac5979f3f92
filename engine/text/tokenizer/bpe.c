/*
 * Merging works on symbols: a pair of neighbours is looked up in one table that gives the merge's
 * rank and result. Short words, nearly all, are scanned for their best pair again after each merge;
 * long ones keep their pairs in a heap.
 */

#include "engine/text/tokenizer/bpe.h"

#include "engine/text/tokenizer/merge-table.h"

#include <stdatomic.h>
#include <string.h>

#define LONGEST_WORD_BYTES ((size_t)1 << 20)
/* Up to here the scan of a few cache lines beats the heap's bookkeeping. */
#define SHORT_WORD_BYTES 32
#define NO_RANK UINT32_MAX

/* Whether merging a token's own bytes gives that token: found out at first use, and the same for each
 * thread that does, so that no lock is needed. */
typedef enum { WHOLE_UNKNOWN, WHOLE_YES, WHOLE_NO } Whole;

struct SundogBpe {
    const SundogTokenTable *table;
    bool ignore_merges;
    SundogSymbols *symbols;
    SundogMergeTable *merges;
    _Atomic uint8_t *whole; /* [n_tokens] of Whole */
};

/* A long word while it is merged: its symbols as a list. */
typedef struct {
    uint32_t symbol;
    uint32_t previous; /* index, or END */
    uint32_t next;
} Link;

#define END UINT32_MAX

typedef struct {
    const SundogBpe *bpe;
    Link *links; /* [n_links] */
    uint32_t n_links;
    uint64_t *heap; /* [n_heap] of pairs: rank << 32 | left link, so best and leftmost first */
    size_t n_heap;
} LongWord;

static uint32_t
rank_of(const SundogBpe *bpe, uint32_t left, uint32_t right)
{
    const SundogMerge *merge = sundog_merge_table_find(bpe->merges, left, right);
    return merge == NULL ? NO_RANK : merge->rank;
}

static size_t
best_pair(const uint32_t *ranks, size_t n_pairs)
{
    size_t best = 0;
    for (size_t i = 1; i < n_pairs; i++)
        if (ranks[i] < ranks[best])
            best = i;
    return best;
}

static void
encode_short(const SundogBpe *bpe, const char *word, size_t n_bytes, GArray *tokens)
{
    uint32_t symbols[SHORT_WORD_BYTES];
    uint32_t ranks[SHORT_WORD_BYTES]; /* [n - 1] of the pair that begins at each symbol */
    size_t n = sundog_symbols_split(bpe->symbols, word, n_bytes, symbols);
    for (size_t i = 0; i + 1 < n; i++)
        ranks[i] = rank_of(bpe, symbols[i], symbols[i + 1]);
    while (n > 1) {
        size_t best = best_pair(ranks, n - 1);
        if (ranks[best] == NO_RANK)
            break;
        symbols[best] =
            sundog_merge_table_find(bpe->merges, symbols[best], symbols[best + 1])->merged;
        memmove(&symbols[best + 1], &symbols[best + 2], (n - best - 2) * sizeof symbols[0]);
        memmove(&ranks[best], &ranks[best + 1], (n - best - 2) * sizeof ranks[0]);
        n--;
        if (best > 0)
            ranks[best - 1] = rank_of(bpe, symbols[best - 1], symbols[best]);
        if (best + 1 < n)
            ranks[best] = rank_of(bpe, symbols[best], symbols[best + 1]);
    }
    sundog_symbols_append(bpe->symbols, symbols, n, tokens);
}

static void
sift_down(uint64_t *heap, size_t n, size_t at)
{
    uint64_t value = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1] < heap[child])
            child++;
        if (value <= heap[child])
            break;
        heap[at] = heap[child];
    }
    heap[at] = value;
}

static uint64_t
pop_pair(LongWord *word)
{
    uint64_t top = word->heap[0];
    word->heap[0] = word->heap[--word->n_heap];
    sift_down(word->heap, word->n_heap, 0);
    return top;
}

static void
push_pair(LongWord *word, uint32_t left)
{
    const Link *link = &word->links[left];
    if (link->next == END)
        return;
    uint32_t rank = rank_of(word->bpe, link->symbol, word->links[link->next].symbol);
    if (rank == NO_RANK)
        return;
    uint64_t pair = (uint64_t)rank << 32 | left;
    size_t at = word->n_heap++;
    for (size_t parent; at > 0 && word->heap[parent = (at - 1) / 2] > pair; at = parent)
        word->heap[at] = word->heap[parent];
    word->heap[at] = pair;
}

/* Each merge takes a pair off the heap and puts at most two on it, so that the heap never holds more
 * than two pairs a symbol. */
static void
begin_long(LongWord *word, const uint32_t *symbols, size_t n_symbols)
{
    word->links = g_new(Link, n_symbols);
    word->heap = g_new(uint64_t, 2 * n_symbols);
    word->n_links = (uint32_t)n_symbols;
    for (uint32_t i = 0; i < word->n_links; i++)
        word->links[i] =
            (Link){symbols[i], i == 0 ? END : i - 1, i + 1 == word->n_links ? END : i + 1};
    for (uint32_t i = 0; i < word->n_links; i++)
        push_pair(word, i);
}

static void
join(LongWord *word, uint32_t left, uint32_t merged)
{
    Link *link = &word->links[left];
    Link *gone = &word->links[link->next];
    link->symbol = merged;
    link->next = gone->next;
    if (link->next != END)
        word->links[link->next].previous = left;
    gone->next = END;
    if (link->previous != END)
        push_pair(word, link->previous);
    push_pair(word, left);
}

static void
merge_long(LongWord *word)
{
    while (word->n_heap != 0) {
        uint64_t pair = pop_pair(word);
        uint32_t left = (uint32_t)pair;
        const Link *link = &word->links[left];
        if (link->next == END)
            continue;
        const SundogMerge *merge = sundog_merge_table_find(word->bpe->merges, link->symbol,
                                                           word->links[link->next].symbol);
        /* A neighbour was merged meanwhile: what the pair has become was pushed then. */
        if (merge == NULL || merge->rank != (uint32_t)(pair >> 32))
            continue;
        join(word, left, merge->merged);
    }
}

static void
encode_long(const SundogBpe *bpe, const char *bytes, size_t n_bytes, GArray *tokens)
{
    LongWord word = {.bpe = bpe};
    g_autofree uint32_t *symbols = g_new(uint32_t, n_bytes);
    size_t n_symbols = sundog_symbols_split(bpe->symbols, bytes, n_bytes, symbols);
    begin_long(&word, symbols, n_symbols);
    merge_long(&word);
    size_t n_left = 0;
    for (uint32_t i = word.n_links == 0 ? END : 0; i != END; i = word.links[i].next)
        symbols[n_left++] = word.links[i].symbol;
    sundog_symbols_append(bpe->symbols, symbols, n_left, tokens);
    g_free(word.links);
    g_free(word.heap);
}

/* How much of a word is merged at once: no more than a MiB, and no part of a character. */
static size_t
bounded_length(const char *word, size_t n_bytes)
{
    size_t length = MIN(n_bytes, LONGEST_WORD_BYTES);
    if (length == n_bytes)
        return length;
    for (size_t n_back = 0; n_back < 3 && ((uint8_t)word[length] & 0xC0) == 0x80; n_back++)
        length--;
    return length;
}

static void
encode_merging(const SundogBpe *bpe, const char *word, size_t n_bytes, GArray *tokens)
{
    if (n_bytes <= SHORT_WORD_BYTES) {
        encode_short(bpe, word, n_bytes, tokens);
        return;
    }
    for (size_t length; n_bytes != 0; word += length, n_bytes -= length) {
        length = bounded_length(word, n_bytes);
        encode_long(bpe, word, length, tokens);
    }
}

void
sundog_bpe_encode(const SundogBpe *bpe, const char *word, size_t n_bytes, GArray *tokens)
{
    uint32_t token = sundog_token_table_find(bpe->table, word, n_bytes);
    if (token == SUNDOG_TOKEN_NONE) {
        encode_merging(bpe, word, n_bytes, tokens);
        return;
    }
    Whole whole = bpe->ignore_merges
                      ? WHOLE_YES
                      : atomic_load_explicit(&bpe->whole[token], memory_order_relaxed);
    if (whole == WHOLE_YES) {
        g_array_append_val(tokens, token);
        return;
    }
    guint before = tokens->len;
    encode_merging(bpe, word, n_bytes, tokens);
    if (whole == WHOLE_UNKNOWN) {
        bool alone = tokens->len == before + 1 && g_array_index(tokens, uint32_t, before) == token;
        atomic_store_explicit(&bpe->whole[token], alone ? WHOLE_YES : WHOLE_NO,
                              memory_order_relaxed);
    }
}

SundogBpe *
sundog_bpe_new(const SundogVocabulary *vocabulary, const SundogTokenTable *table,
               bool ignore_merges)
{
    SundogSpelling spelling = sundog_spelling_of(vocabulary->kind);
    SundogBpe *bpe = g_new0(SundogBpe, 1);
    bpe->table = table;
    bpe->ignore_merges = ignore_merges;
    bpe->symbols = spelling == SUNDOG_SPELLING_LETTERS
                       ? sundog_symbols_new_of_bytes(vocabulary, table)
                       : sundog_symbols_new_of_characters(vocabulary, table);
    bpe->merges = vocabulary->kind == SUNDOG_TOKENIZER_SCORED_BPE
                      ? sundog_merge_table_new_from_scores(vocabulary, table, bpe->symbols)
                      : sundog_merge_table_new(vocabulary, table, spelling);
    bpe->whole = g_new0(_Atomic uint8_t, MAX(vocabulary->n_tokens, 1));
    return bpe;
}

void
sundog_bpe_free(SundogBpe *bpe)
{
    if (bpe == NULL)
        return;
    sundog_symbols_free(bpe->symbols);
    sundog_merge_table_free(bpe->merges);
    g_free((void *)bpe->whole);
    g_free(bpe);
}
