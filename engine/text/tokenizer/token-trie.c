/* Nodes in one array, the children of each side by side and ordered by their bytes. */

#include "engine/text/tokenizer/token-trie.h"

#include "engine/format/error.h"

#include <string.h>

#define MAX_NODES (1u << 25)

typedef struct {
    uint32_t first_child;
    uint32_t token;
    uint16_t n_children;
} Node;

struct SundogTokenTrie {
    GArray *nodes;      /* of Node */
    GByteArray *labels; /* [nodes->len] the byte that leads to each node */
};

typedef struct {
    const char *bytes;
    size_t n_bytes;
    uint32_t token;
} Entry;

/* The entries that a node stands for; they agree in their first depth bytes. */
typedef struct {
    uint32_t low;
    uint32_t high;
    uint32_t depth;
} Span;

static int
compare_entries(const void *a, const void *b)
{
    const Entry *left = a;
    const Entry *right = b;
    int order = memcmp(left->bytes, right->bytes, MIN(left->n_bytes, right->n_bytes));
    if (order != 0)
        return order;
    if (left->n_bytes != right->n_bytes)
        return left->n_bytes < right->n_bytes ? -1 : 1;
    return left->token < right->token ? -1 : 1;
}

static GArray *
collect(const SundogVocabulary *vocabulary, const SundogTokenTable *table)
{
    GArray *entries = g_array_new(FALSE, FALSE, sizeof(Entry));
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        Entry entry = {.token = i};
        entry.bytes = sundog_token_table_get(table, i, &entry.n_bytes);
        if (sundog_token_table_find(table, entry.bytes, entry.n_bytes) == i)
            g_array_append_val(entries, entry);
    }
    if (entries->len != 0)
        qsort(entries->data, entries->len, sizeof(Entry), compare_entries);
    return entries;
}

static void
add_node(SundogTokenTrie *trie, GArray *spans, uint8_t label, Span span)
{
    Node node = {.token = SUNDOG_TOKEN_NONE};
    g_array_append_val(trie->nodes, node);
    g_byte_array_append(trie->labels, &label, 1);
    g_array_append_val(spans, span);
}

/* Gives the node its token and its children, which are added behind all nodes there are. */
static void
expand(SundogTokenTrie *trie, GArray *spans, const Entry *entries, uint32_t index)
{
    Span span = g_array_index(spans, Span, index);
    uint32_t token = SUNDOG_TOKEN_NONE;
    for (; span.low < span.high && entries[span.low].n_bytes == span.depth; span.low++)
        token = token == SUNDOG_TOKEN_NONE ? entries[span.low].token : token;
    uint32_t first_child = trie->nodes->len;
    for (uint32_t low = span.low, end; low < span.high; low = end) {
        uint8_t byte = (uint8_t)entries[low].bytes[span.depth];
        for (end = low + 1; end < span.high; end++)
            if ((uint8_t)entries[end].bytes[span.depth] != byte)
                break;
        add_node(trie, spans, byte, (Span){low, end, span.depth + 1});
    }
    g_array_index(trie->nodes, Node, index) =
        (Node){first_child, token, (uint16_t)(trie->nodes->len - first_child)};
}

SundogTokenTrie *
sundog_token_trie_new(const SundogVocabulary *vocabulary, const SundogTokenTable *table,
                      GError **error)
{
    g_autoptr(SundogTokenTrie) trie = g_new0(SundogTokenTrie, 1);
    g_autoptr(GArray) entries = collect(vocabulary, table);
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(Span));
    trie->nodes = g_array_new(FALSE, FALSE, sizeof(Node));
    trie->labels = g_byte_array_new();
    add_node(trie, spans, 0, (Span){0, entries->len, 0});
    for (uint32_t i = 0; i < trie->nodes->len; i++) {
        if (trie->nodes->len > MAX_NODES) {
            g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                        "the tokens have more than %u different beginnings", MAX_NODES);
            return NULL;
        }
        expand(trie, spans, (const Entry *)(const void *)entries->data, i);
    }
    return g_steal_pointer(&trie);
}

void
sundog_token_trie_free(SundogTokenTrie *trie)
{
    if (trie == NULL)
        return;
    g_array_unref(trie->nodes);
    g_byte_array_unref(trie->labels);
    g_free(trie);
}

uint32_t
sundog_token_trie_step(const SundogTokenTrie *trie, uint32_t node, uint8_t byte)
{
    const Node *parent = &g_array_index(trie->nodes, Node, node);
    const uint8_t *labels = trie->labels->data + parent->first_child;
    uint32_t low = 0;
    uint32_t high = parent->n_children;
    while (high - low > 4) {
        uint32_t middle = low + (high - low) / 2;
        if (labels[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    for (; low < high; low++)
        if (labels[low] == byte)
            return parent->first_child + low;
    return SUNDOG_TOKEN_TRIE_NONE;
}

uint32_t
sundog_token_trie_get_token(const SundogTokenTrie *trie, uint32_t node)
{
    return g_array_index(trie->nodes, Node, node).token;
}

uint32_t
sundog_token_trie_longest(const SundogTokenTrie *trie, const char *text, size_t n_bytes,
                          size_t *length)
{
    uint32_t longest = SUNDOG_TOKEN_NONE;
    uint32_t node = SUNDOG_TOKEN_TRIE_ROOT;
    for (size_t pos = 0; pos < n_bytes; pos++) {
        node = sundog_token_trie_step(trie, node, (uint8_t)text[pos]);
        if (node == SUNDOG_TOKEN_TRIE_NONE)
            break;
        uint32_t token = sundog_token_trie_get_token(trie, node);
        if (token == SUNDOG_TOKEN_NONE)
            continue;
        longest = token;
        *length = pos + 1;
    }
    return longest;
}
