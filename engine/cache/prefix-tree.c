/* The tree of pages: one node a page, linked by page numbers, in arrays made once. */

#include "engine/cache/prefix-tree.h"
#include <string.h>

#define ROOT SUNDOG_NULL_PAGE
#define NONE (-1)

typedef struct {
    int32_t parent; /* NONE where the page is not in the tree */
    int32_t first_child;
    int32_t next_sibling;
    int32_t previous_sibling;
    int32_t older; /* in the list of unpinned nodes */
    int32_t newer;
    uint32_t n_pins;
    uint32_t n_tokens;
} Node;

struct SundogPrefixTree {
    SundogPagePool *pool;
    uint32_t page_tokens;
    Node *nodes;      /* [n_pages + 1] */
    uint32_t *tokens; /* [n_pages + 1, page_tokens] */
    int32_t oldest;   /* of the unpinned; NONE */
    int32_t newest;
    int32_t n_unpinned;
    int32_t max_unpinned;
};

static uint32_t *
tokens_of(const SundogPrefixTree *tree, int32_t page)
{
    return tree->tokens + (size_t)page * tree->page_tokens;
}

/* The list of unpinned nodes. An ancestor is always newer than its descendants: it is pinned at
 * least as long as they are, and unpinned after them. So the oldest has no children. */

static void
list_append(SundogPrefixTree *tree, int32_t page)
{
    Node *node = &tree->nodes[page];
    node->older = tree->newest;
    node->newer = NONE;
    *(tree->newest == NONE ? &tree->oldest : &tree->nodes[tree->newest].newer) = page;
    tree->newest = page;
    tree->n_unpinned++;
}

static void
list_remove(SundogPrefixTree *tree, int32_t page)
{
    Node *node = &tree->nodes[page];
    *(node->older == NONE ? &tree->oldest : &tree->nodes[node->older].newer) = node->newer;
    *(node->newer == NONE ? &tree->newest : &tree->nodes[node->newer].older) = node->older;
    tree->n_unpinned--;
}

static void
link_child(SundogPrefixTree *tree, int32_t parent, int32_t page)
{
    Node *node = &tree->nodes[page];
    node->parent = parent;
    node->first_child = NONE;
    node->previous_sibling = NONE;
    node->next_sibling = tree->nodes[parent].first_child;
    if (node->next_sibling != NONE)
        tree->nodes[node->next_sibling].previous_sibling = page;
    tree->nodes[parent].first_child = page;
}

static void
unlink_child(SundogPrefixTree *tree, int32_t page)
{
    Node *node = &tree->nodes[page];
    *(node->previous_sibling == NONE ? &tree->nodes[node->parent].first_child
                                     : &tree->nodes[node->previous_sibling].next_sibling) =
        node->next_sibling;
    if (node->next_sibling != NONE)
        tree->nodes[node->next_sibling].previous_sibling = node->previous_sibling;
    node->parent = NONE;
}

static void
drop(SundogPrefixTree *tree, int32_t page)
{
    g_assert(tree->nodes[page].n_pins == 0 && tree->nodes[page].first_child == NONE);
    list_remove(tree, page);
    unlink_child(tree, page);
    sundog_page_pool_release(tree->pool, page);
}

static uint32_t
common_prefix(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* The child that shares most of the tokens, or NONE where none shares the first. */
static int32_t
best_child(const SundogPrefixTree *tree, int32_t parent, const uint32_t *tokens, uint32_t n_tokens,
           uint32_t *n_shared)
{
    int32_t best = NONE;
    *n_shared = 0;
    for (int32_t page = tree->nodes[parent].first_child; page != NONE;
         page = tree->nodes[page].next_sibling) {
        uint32_t n =
            common_prefix(tokens_of(tree, page), tokens, MIN(tree->nodes[page].n_tokens, n_tokens));
        if (n > *n_shared) {
            *n_shared = n;
            best = page;
        }
    }
    return best;
}

SundogPrefixTree *
sundog_prefix_tree_new(SundogPagePool *pool, uint32_t page_tokens, int32_t max_unpinned)
{
    g_return_val_if_fail(page_tokens > 0, NULL);
    size_t n_nodes = (size_t)sundog_page_pool_get_n_pages(pool) + 1;
    SundogPrefixTree *tree = g_new0(SundogPrefixTree, 1);
    tree->pool = pool;
    tree->page_tokens = page_tokens;
    tree->nodes = g_new0(Node, n_nodes);
    tree->tokens = g_new0(uint32_t, n_nodes * page_tokens);
    tree->oldest = tree->newest = NONE;
    tree->max_unpinned = max_unpinned;
    for (size_t i = 0; i < n_nodes; i++) {
        tree->nodes[i].parent = NONE;
        tree->nodes[i].first_child = NONE;
    }
    return tree;
}

void
sundog_prefix_tree_free(SundogPrefixTree *tree)
{
    if (tree) {
        g_free(tree->nodes);
        g_free(tree->tokens);
        g_free(tree);
    }
}

SundogPrefixMatch
sundog_prefix_tree_match(const SundogPrefixTree *tree, const uint32_t *tokens, uint32_t n_tokens,
                         int32_t *pages)
{
    SundogPrefixMatch match = {.tail = SUNDOG_NULL_PAGE};
    int32_t parent = ROOT;
    while (n_tokens > 0) {
        uint32_t n_shared;
        int32_t page = best_child(tree, parent, tokens, n_tokens, &n_shared);
        if (page == NONE)
            break;
        if (n_shared < tree->page_tokens) {
            match.n_tail = n_shared;
            match.tail = page;
            break;
        }
        pages[match.n_pages++] = page;
        parent = page;
        tokens += n_shared;
        n_tokens -= n_shared;
    }
    return match;
}

/* Drops the leaves of which the tokens are a beginning: whatever they match, the new page matches. */
static void
drop_beginnings(SundogPrefixTree *tree, int32_t parent, const uint32_t *tokens, uint32_t n_tokens)
{
    int32_t page = tree->nodes[parent].first_child;
    while (page != NONE) {
        Node *node = &tree->nodes[page];
        int32_t next = node->next_sibling;
        if (node->n_tokens < n_tokens && node->n_pins == 0 &&
            common_prefix(tokens_of(tree, page), tokens, node->n_tokens) == node->n_tokens)
            drop(tree, page);
        page = next;
    }
}

int32_t
sundog_prefix_tree_insert(SundogPrefixTree *tree, int32_t parent, const uint32_t *tokens,
                          uint32_t n_tokens, int32_t page)
{
    g_assert(n_tokens > 0 && n_tokens <= tree->page_tokens);
    uint32_t n_shared;
    int32_t present = best_child(tree, parent, tokens, n_tokens, &n_shared);
    if (present != NONE && n_shared == n_tokens) {
        /* The window of a page that holds more would be whole only in part. */
        if (tree->nodes[present].n_tokens == n_tokens)
            sundog_page_pool_merge(tree->pool, page, present);
        else
            sundog_page_pool_release(tree->pool, page);
        if (tree->nodes[present].n_pins == 0) {
            list_remove(tree, present);
            list_append(tree, present);
        }
        return present;
    }
    drop_beginnings(tree, parent, tokens, n_tokens);
    Node *node = &tree->nodes[page];
    node->n_pins = 0;
    node->n_tokens = n_tokens;
    memcpy(tokens_of(tree, page), tokens, n_tokens * sizeof *tokens);
    link_child(tree, parent, page);
    list_append(tree, page);
    return page;
}

void
sundog_prefix_tree_pin(SundogPrefixTree *tree, int32_t page)
{
    Node *node = &tree->nodes[page];
    g_assert(node->parent == ROOT || tree->nodes[node->parent].n_pins > 0);
    if (node->n_pins++ == 0)
        list_remove(tree, page);
}

void
sundog_prefix_tree_unpin(SundogPrefixTree *tree, int32_t page)
{
    Node *node = &tree->nodes[page];
    g_assert(node->n_pins > 0);
    if (--node->n_pins == 0)
        list_append(tree, page);
}

void
sundog_prefix_tree_forget(SundogPrefixTree *tree, int32_t page)
{
    if (tree->nodes[page].n_pins == 0 && tree->nodes[page].first_child == NONE)
        drop(tree, page);
}

void
sundog_prefix_tree_trim(SundogPrefixTree *tree)
{
    while (tree->n_unpinned > tree->max_unpinned)
        drop(tree, tree->oldest);
}

bool
sundog_prefix_tree_evict(SundogPrefixTree *tree)
{
    if (tree->oldest == NONE)
        return false;
    drop(tree, tree->oldest);
    return true;
}

const uint32_t *
sundog_prefix_tree_get_full(const SundogPrefixTree *tree, int32_t page)
{
    const Node *node = &tree->nodes[page];
    return node->parent != NONE && node->n_tokens == tree->page_tokens ? tokens_of(tree, page)
                                                                       : NULL;
}

bool
sundog_prefix_tree_is_pinned(const SundogPrefixTree *tree, int32_t page)
{
    return tree->nodes[page].n_pins > 0;
}

int32_t
sundog_prefix_tree_get_n_unpinned(const SundogPrefixTree *tree)
{
    return tree->n_unpinned;
}
