/* Tokens sorted by bytes are the leaves and inner nodes of the trie in the order of its walk. */

#include "engine/schedule/mask-trie.h"
#include <string.h>

typedef struct {
    const uint8_t *bytes;
    uint32_t n_bytes;
    uint32_t token;
} Entry;

static int
compare_entries(const void *a, const void *b)
{
    const Entry *left = a, *right = b;
    int order = memcmp(left->bytes, right->bytes, MIN(left->n_bytes, right->n_bytes));
    if (order != 0)
        return order;
    if (left->n_bytes != right->n_bytes)
        return left->n_bytes < right->n_bytes ? -1 : 1;
    return left->token < right->token ? -1 : left->token > right->token;
}

static bool
copy_tokens(SundogMaskTrie *trie, const uint32_t *ends, const uint8_t *bytes, size_t n_bytes)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < trie->n_tokens; i++) {
        if (ends[i] < last || ends[i] > n_bytes)
            return false;
        last = ends[i];
    }
    trie->ends = g_memdup2(ends, trie->n_tokens * sizeof *ends);
    trie->bytes = g_memdup2(bytes, n_bytes);
    return true;
}

const uint8_t *
sundog_mask_trie_get_bytes(const SundogMaskTrie *trie, uint32_t token, uint32_t *n_bytes)
{
    uint32_t begin = token > 0 ? trie->ends[token - 1] : 0;
    *n_bytes = trie->ends[token] - begin;
    return trie->bytes + begin;
}

static Entry *
sort_entries(const SundogMaskTrie *trie, uint32_t *n_entries)
{
    Entry *entries = g_new(Entry, trie->n_tokens);
    *n_entries = 0;
    for (uint32_t i = 0; i < trie->n_tokens; i++) {
        Entry entry = {.token = i};
        entry.bytes = sundog_mask_trie_get_bytes(trie, i, &entry.n_bytes);
        if (entry.n_bytes > 0 && entry.n_bytes <= SUNDOG_MASK_MAX_TOKEN_BYTES)
            entries[(*n_entries)++] = entry;
    }
    if (*n_entries > 0)
        qsort(entries, *n_entries, sizeof *entries, compare_entries);
    return entries;
}

static uint32_t
count_common(const Entry *a, const Entry *b)
{
    uint32_t n = 0, most = MIN(a->n_bytes, b->n_bytes);
    while (n < most && a->bytes[n] == b->bytes[n])
        n++;
    return n;
}

/* Closes the nodes of the path that are deeper than this. */
static void
close_path(SundogMaskNode *nodes, uint32_t n_nodes, const uint32_t *path, uint32_t *depth,
           uint32_t to)
{
    for (; *depth > to; (*depth)--)
        nodes[path[*depth]].next = n_nodes;
}

static bool
is_of_walk(const Entry *entry, SundogMaskWalk walk)
{
    return (entry->n_bytes > SUNDOG_MASK_SHORT_BYTES) == (walk == SUNDOG_MASK_LONG);
}

/* The entries of one walk to the front; returns how many there are. They keep their order. */
static uint32_t
select_entries(const Entry *entries, uint32_t n_entries, SundogMaskWalk walk, Entry *selected)
{
    uint32_t n_selected = 0;
    for (uint32_t i = 0; i < n_entries; i++)
        if (is_of_walk(&entries[i], walk))
            selected[n_selected++] = entries[i];
    return n_selected;
}

static void
add_entries(SundogMaskTrie *trie, SundogMaskNodes *walk, const Entry *entries, uint32_t n_entries)
{
    g_autoptr(GArray) nodes = g_array_new(FALSE, FALSE, sizeof(SundogMaskNode));
    g_autofree uint32_t *path = g_new0(uint32_t, SUNDOG_MASK_MAX_TOKEN_BYTES + 1);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < n_entries; i++) {
        uint32_t n_common = i > 0 ? count_common(&entries[i - 1], &entries[i]) : 0;
        if (i > 0 && n_common == entries[i].n_bytes) { /* the same bytes */
            trie->same[entries[i].token] = trie->same[entries[i - 1].token];
            trie->same[entries[i - 1].token] = entries[i].token;
            continue;
        }
        close_path((SundogMaskNode *)(void *)nodes->data, nodes->len, path, &depth, n_common);
        while (depth < entries[i].n_bytes) {
            SundogMaskNode node = {.token = SUNDOG_MASK_NO_TOKEN,
                                   .depth = (uint16_t)(depth + 1),
                                   .byte = entries[i].bytes[depth]};
            path[++depth] = nodes->len;
            g_array_append_val(nodes, node);
        }
        g_array_index(nodes, SundogMaskNode, nodes->len - 1).token = entries[i].token;
        walk->depth = (uint16_t)MAX(walk->depth, depth);
    }
    close_path((SundogMaskNode *)(void *)nodes->data, nodes->len, path, &depth, 0);
    walk->n_nodes = nodes->len;
    walk->nodes = g_memdup2(nodes->data, nodes->len * sizeof(SundogMaskNode));
}

SundogMaskTrie *
sundog_mask_trie_new(const uint32_t *ends, uint32_t n_tokens, const uint8_t *bytes, size_t n_bytes)
{
    g_autoptr(SundogMaskTrie) trie = g_new0(SundogMaskTrie, 1);
    trie->n_tokens = n_tokens;
    if (!copy_tokens(trie, ends, bytes, n_bytes))
        return NULL;
    trie->same = g_new(uint32_t, n_tokens);
    memset(trie->same, 0xff, n_tokens * sizeof *trie->same);
    uint32_t n_entries;
    g_autofree Entry *entries = sort_entries(trie, &n_entries);
    g_autofree Entry *selected = g_new(Entry, n_entries);
    for (int i = 0; i < SUNDOG_N_MASK_WALKS; i++) {
        uint32_t n_selected = select_entries(entries, n_entries, (SundogMaskWalk)i, selected);
        add_entries(trie, &trie->walks[i], selected, n_selected);
    }
    return g_steal_pointer(&trie);
}

void
sundog_mask_trie_free(SundogMaskTrie *trie)
{
    if (trie) {
        for (int i = 0; i < SUNDOG_N_MASK_WALKS; i++)
            g_free(trie->walks[i].nodes);
        g_free(trie->same);
        g_free(trie->ends);
        g_free(trie->bytes);
        g_free(trie);
    }
}
