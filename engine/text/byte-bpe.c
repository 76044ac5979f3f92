/*
 * Merging works on token ids: a pair of neighbours is looked up in one table that gives the merge's
 * rank and result. Short words, nearly all, are scanned for their best pair again after each merge;
 * long ones keep their pairs in a heap.
 */

#include "engine/text/byte-bpe.h"

#include "engine/text/merge-table.h"

#include <stdatomic.h>
#include <string.h>

#define LONGEST_WORD_BYTES ((size_t)1 << 20)
/* Up to here the scan of a few cache lines beats the heap's bookkeeping. */
#define SHORT_WORD_BYTES 32
#define NO_RANK UINT32_MAX

/* Whether merging a token's own bytes gives that token: found out at first use, and the same for each
 * thread that does, so that no lock is needed. */
typedef enum { WHOLE_UNKNOWN, WHOLE_YES, WHOLE_NO } Whole;

struct SundogByteBpe {
    const SundogTokenTable *table;
    bool ignore_merges;
    uint32_t byte_tokens[256];
    SundogMergeTable *merges;
    _Atomic uint8_t *whole; /* [n_tokens] of Whole */
};

/* A long word while it is merged: a list of symbols in place of its bytes. */
typedef struct {
    uint32_t token;
    uint32_t previous; /* index, or END */
    uint32_t next;
} Symbol;

#define END UINT32_MAX

typedef struct {
    const SundogByteBpe *bpe;
    Symbol *symbols; /* [n_symbols] at first one a byte */
    uint32_t n_symbols;
    uint64_t *heap; /* [n_heap] of pairs: rank << 32 | left symbol, so best and leftmost first */
    size_t n_heap;
} LongWord;

static uint32_t
rank_of(const SundogByteBpe *bpe, uint32_t left, uint32_t right)
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
encode_short(const SundogByteBpe *bpe, const char *word, size_t n_bytes, GArray *tokens)
{
    uint32_t symbols[SHORT_WORD_BYTES];
    uint32_t ranks[SHORT_WORD_BYTES]; /* [n - 1] of the pair that begins at each symbol */
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        symbols[n] = bpe->byte_tokens[(uint8_t)word[i]];
        n += symbols[n] != SUNDOG_TOKEN_NONE;
    }
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
    g_array_append_vals(tokens, symbols, (guint)n);
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
    const Symbol *symbol = &word->symbols[left];
    if (symbol->next == END)
        return;
    uint32_t rank = rank_of(word->bpe, symbol->token, word->symbols[symbol->next].token);
    if (rank == NO_RANK)
        return;
    uint64_t pair = (uint64_t)rank << 32 | left;
    size_t at = word->n_heap++;
    for (size_t parent; at > 0 && word->heap[parent = (at - 1) / 2] > pair; at = parent)
        word->heap[at] = word->heap[parent];
    word->heap[at] = pair;
}

/* Each merge takes a pair off the heap and puts at most two on it, so that the heap never holds more
 * than two pairs a byte. */
static void
begin_long(LongWord *word, const char *bytes, size_t n_bytes)
{
    word->symbols = g_new(Symbol, n_bytes);
    word->heap = g_new(uint64_t, 2 * n_bytes);
    for (size_t i = 0; i < n_bytes; i++) {
        uint32_t token = word->bpe->byte_tokens[(uint8_t)bytes[i]];
        uint32_t at = word->n_symbols;
        if (token == SUNDOG_TOKEN_NONE)
            continue;
        word->symbols[at] = (Symbol){token, at == 0 ? END : at - 1, END};
        if (at != 0)
            word->symbols[at - 1].next = at;
        word->n_symbols++;
    }
    for (uint32_t i = 0; i < word->n_symbols; i++)
        push_pair(word, i);
}

static void
join(LongWord *word, uint32_t left, uint32_t merged)
{
    Symbol *symbol = &word->symbols[left];
    Symbol *gone = &word->symbols[symbol->next];
    symbol->token = merged;
    symbol->next = gone->next;
    if (symbol->next != END)
        word->symbols[symbol->next].previous = left;
    gone->next = END;
    if (symbol->previous != END)
        push_pair(word, symbol->previous);
    push_pair(word, left);
}

static void
encode_long(const SundogByteBpe *bpe, const char *bytes, size_t n_bytes, GArray *tokens)
{
    LongWord word = {.bpe = bpe};
    begin_long(&word, bytes, n_bytes);
    while (word.n_heap != 0) {
        uint64_t pair = pop_pair(&word);
        uint32_t left = (uint32_t)pair;
        const Symbol *symbol = &word.symbols[left];
        if (symbol->next == END)
            continue;
        const SundogMerge *merge =
            sundog_merge_table_find(bpe->merges, symbol->token, word.symbols[symbol->next].token);
        /* A neighbour was merged meanwhile: what the pair has become was pushed then. */
        if (merge == NULL || merge->rank != (uint32_t)(pair >> 32))
            continue;
        join(&word, left, merge->merged);
    }
    for (uint32_t i = word.n_symbols == 0 ? END : 0; i != END; i = word.symbols[i].next)
        g_array_append_val(tokens, word.symbols[i].token);
    g_free(word.symbols);
    g_free(word.heap);
}

static void
encode_merging(const SundogByteBpe *bpe, const char *word, size_t n_bytes, GArray *tokens)
{
    if (n_bytes <= SHORT_WORD_BYTES) {
        encode_short(bpe, word, n_bytes, tokens);
        return;
    }
    for (size_t pos = 0; pos < n_bytes; pos += LONGEST_WORD_BYTES)
        encode_long(bpe, word + pos, MIN(n_bytes - pos, LONGEST_WORD_BYTES), tokens);
}

void
sundog_byte_bpe_encode(const SundogByteBpe *bpe, const char *word, size_t n_bytes, GArray *tokens)
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

SundogByteBpe *
sundog_byte_bpe_new(const SundogVocabulary *vocabulary, const SundogTokenTable *table,
                    bool ignore_merges)
{
    SundogByteBpe *bpe = g_new0(SundogByteBpe, 1);
    bpe->table = table;
    bpe->merges = sundog_merge_table_new(vocabulary, table);
    bpe->ignore_merges = ignore_merges;
    for (size_t i = 0; i < 256; i++) {
        char byte = (char)i;
        bpe->byte_tokens[i] = sundog_token_table_find(table, &byte, 1);
    }
    bpe->whole = g_new0(_Atomic uint8_t, MAX(vocabulary->n_tokens, 1));
    return bpe;
}

void
sundog_byte_bpe_free(SundogByteBpe *bpe)
{
    if (bpe == NULL)
        return;
    sundog_merge_table_free(bpe->merges);
    g_free((void *)bpe->whole);
    g_free(bpe);
}
