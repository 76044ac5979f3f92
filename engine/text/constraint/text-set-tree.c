/* From a tree to a set of texts: first states that several edges of one character may leave, then the sets
 * of these that one text can lead to. */

#include "engine/text/constraint/text-set-private.h"

#include <string.h>

/* A tree whose repetitions are written out may need so many. */
#define MAX_NODES 16384

/* Looks at nodes while their sets are made: some tens of milliseconds. */
#define MAX_LOOKS (1u << 23)

typedef struct {
    uint32_t from;
    uint32_t to;
    uint32_t low, high; /* EMPTY, 0: without a character */
} Step;

#define EMPTY 1u

typedef struct {
    GArray *steps; /* Step, in the order of from once sorted */
    uint32_t n_nodes;
    bool is_full;
} Net;

static uint32_t
add_node(Net *net)
{
    net->is_full |= net->n_nodes >= MAX_NODES;
    return net->n_nodes++;
}

static void
add_step(Net *net, uint32_t from, uint32_t low, uint32_t high, uint32_t to)
{
    Step step = {from, to, low, high};
    g_array_append_val(net->steps, step);
}

static uint32_t add_tree(Net *net, const SundogGrammarNode *tree, uint32_t from);

static const SundogGrammarNode *
child_of(const SundogGrammarNode *node, guint index)
{
    return g_ptr_array_index(node->children, index);
}

static uint32_t
add_repeat(Net *net, const SundogGrammarNode *tree, uint32_t from)
{
    const SundogGrammarNode *child = child_of(tree, 0);
    for (uint32_t i = 0; i < tree->least && !net->is_full; i++)
        from = add_tree(net, child, from);
    uint32_t to = add_node(net);
    if (tree->most == SUNDOG_AUTOMATON_UNBOUNDED) {
        add_step(net, from, EMPTY, 0, to);
        add_step(net, add_tree(net, child, to), EMPTY, 0, to);
        return to;
    }
    for (uint32_t i = tree->least; i < tree->most && !net->is_full; i++) {
        add_step(net, from, EMPTY, 0, to);
        from = add_tree(net, child, from);
    }
    add_step(net, from, EMPTY, 0, to);
    return to;
}

static uint32_t
add_text(Net *net, const char *text, uint32_t from)
{
    for (; *text != '\0' && !net->is_full; text = g_utf8_next_char(text)) {
        uint32_t to = add_node(net);
        add_step(net, from, g_utf8_get_char(text), g_utf8_get_char(text), to);
        from = to;
    }
    return from;
}

static uint32_t
add_set(Net *net, const GArray *set, uint32_t from)
{
    uint32_t to = add_node(net);
    for (guint i = 0; i < set->len; i++) {
        SundogCharacterRange range = g_array_index(set, SundogCharacterRange, i);
        add_step(net, from, range.low, range.high, to);
    }
    return to;
}

static uint32_t
add_choice(Net *net, const SundogGrammarNode *tree, uint32_t from)
{
    uint32_t to = add_node(net);
    for (guint i = 0; i < tree->children->len; i++)
        add_step(net, add_tree(net, child_of(tree, i), from), EMPTY, 0, to);
    return to;
}

/* The node behind the tree. */
static uint32_t
add_tree(Net *net, const SundogGrammarNode *tree, uint32_t from)
{
    if (net->is_full)
        return from;
    switch (tree->kind) {
    case SUNDOG_GRAMMAR_SET:
        return add_set(net, tree->set, from);
    case SUNDOG_GRAMMAR_TEXT:
        return add_text(net, tree->text, from);
    case SUNDOG_GRAMMAR_CHOICE:
        return add_choice(net, tree, from);
    case SUNDOG_GRAMMAR_REPEAT:
        return add_repeat(net, tree, from);
    default:
        break;
    }
    for (guint i = 0; i < tree->children->len; i++)
        from = add_tree(net, child_of(tree, i), from);
    return from;
}

/* The sets of nodes */

typedef struct {
    const Net *net;
    uint32_t *firsts; /* [n_nodes + 1] where a node's steps begin */
    uint32_t end;     /* the node behind the whole tree */
    uint32_t *stamps; /* [n_nodes] the run that last saw a node */
    uint32_t n_runs;
    size_t n_looks;
    GHashTable *numbers; /* GBytes of ordered nodes -> number + 1 */
    GPtrArray *sets;     /* GBytes, borrowed from the table */
} Subsets;

static int
compare_steps(gconstpointer a, gconstpointer b)
{
    const Step *left = a, *right = b;
    return left->from < right->from ? -1 : left->from > right->from;
}

static int
compare_nodes(gconstpointer a, gconstpointer b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static const Step *
steps_of(const Subsets *subsets, uint32_t node, uint32_t *n)
{
    *n = subsets->firsts[node + 1] - subsets->firsts[node];
    return &g_array_index(subsets->net->steps, Step, 0) + subsets->firsts[node];
}

/* Adds the nodes that are reached from those in the list without a character, and orders all. */
static void
close_set(Subsets *subsets, GArray *nodes)
{
    subsets->n_runs++;
    for (guint i = 0; i < nodes->len; i++)
        subsets->stamps[g_array_index(nodes, uint32_t, i)] = subsets->n_runs;
    for (guint i = 0; i < nodes->len; i++) {
        uint32_t n_steps;
        const Step *steps = steps_of(subsets, g_array_index(nodes, uint32_t, i), &n_steps);
        for (uint32_t k = 0; k < n_steps; k++)
            if (steps[k].low > steps[k].high && subsets->stamps[steps[k].to] != subsets->n_runs) {
                subsets->stamps[steps[k].to] = subsets->n_runs;
                g_array_append_val(nodes, steps[k].to);
            }
    }
    g_array_sort(nodes, compare_nodes);
}

/* Takes the list's content. */
static uint32_t
number_of(Subsets *subsets, GArray *nodes)
{
    close_set(subsets, nodes);
    GBytes *bytes = g_bytes_new(nodes->data, nodes->len * sizeof(uint32_t));
    gpointer known = g_hash_table_lookup(subsets->numbers, bytes);
    if (known != NULL) {
        g_bytes_unref(bytes);
        return GPOINTER_TO_UINT(known) - 1;
    }
    g_ptr_array_add(subsets->sets, bytes);
    g_hash_table_insert(subsets->numbers, bytes, GUINT_TO_POINTER(subsets->sets->len));
    return subsets->sets->len - 1;
}

/* The characters at which what follows may change: where a step begins, or one has ended. */
static GArray *
find_borders(const Subsets *subsets, const uint32_t *nodes, size_t n_nodes)
{
    GArray *borders = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (size_t i = 0; i < n_nodes; i++) {
        uint32_t n_steps;
        const Step *steps = steps_of(subsets, nodes[i], &n_steps);
        for (uint32_t k = 0; k < n_steps; k++)
            if (steps[k].low <= steps[k].high) {
                uint32_t behind = steps[k].high + 1;
                g_array_append_val(borders, steps[k].low);
                g_array_append_val(borders, behind);
            }
    }
    g_array_sort(borders, compare_nodes);
    return borders;
}

/* The nodes behind one character; the caller's. */
static GArray *
find_next(Subsets *subsets, const uint32_t *nodes, size_t n_nodes, uint32_t character)
{
    GArray *next = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    subsets->n_runs++;
    subsets->n_looks += n_nodes;
    for (size_t i = 0; i < n_nodes; i++) {
        uint32_t n_steps;
        const Step *steps = steps_of(subsets, nodes[i], &n_steps);
        for (uint32_t k = 0; k < n_steps; k++)
            if (steps[k].low <= character && character <= steps[k].high &&
                subsets->stamps[steps[k].to] != subsets->n_runs) {
                subsets->stamps[steps[k].to] = subsets->n_runs;
                g_array_append_val(next, steps[k].to);
            }
    }
    return next;
}

static bool
fail_as_too_large(GError **error)
{
    g_set_error(error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_LIMIT,
                "the expression is too large beside other conditions");
    return false;
}

static bool
add_state(Subsets *subsets, SundogTextSet *set, uint32_t number, GError **error)
{
    if (subsets->n_looks > MAX_LOOKS)
        return fail_as_too_large(error);
    gsize n_bytes;
    const uint32_t *nodes = g_bytes_get_data(subsets->sets->pdata[number], &n_bytes);
    size_t n_nodes = n_bytes / sizeof *nodes;
    bool accepts = bsearch(&subsets->end, nodes, n_nodes, sizeof *nodes, compare_nodes) != NULL;
    if (!sundog_text_set_begin_state(set, accepts, error))
        return false;
    g_autoptr(GArray) borders = find_borders(subsets, nodes, n_nodes);
    for (guint i = 0; i + 1 < borders->len; i++) {
        uint32_t low = g_array_index(borders, uint32_t, i);
        uint32_t behind = g_array_index(borders, uint32_t, i + 1);
        if (low == behind)
            continue;
        g_autoptr(GArray) next = find_next(subsets, nodes, n_nodes, low);
        if (next->len > 0)
            sundog_text_set_add_edge(set, low, behind - 1, number_of(subsets, next));
    }
    return true;
}

static uint32_t *
find_firsts(const Net *net)
{
    uint32_t *firsts = g_new0(uint32_t, net->n_nodes + 1);
    for (guint i = 0; i < net->steps->len; i++)
        firsts[g_array_index(net->steps, Step, i).from + 1]++;
    for (uint32_t i = 0; i < net->n_nodes; i++)
        firsts[i + 1] += firsts[i];
    return firsts;
}

static SundogTextSet *
determine(const Net *net, uint32_t start, uint32_t end, GError **error)
{
    g_autofree uint32_t *firsts = find_firsts(net);
    g_autofree uint32_t *stamps = g_new0(uint32_t, net->n_nodes);
    g_autoptr(GHashTable) numbers =
        g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    g_autoptr(GPtrArray) sets = g_ptr_array_new();
    Subsets subsets = {net, firsts, end, stamps, 0, 0, numbers, sets};
    g_autoptr(SundogTextSet) set = sundog_text_set_new();
    g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_array_append_val(first, start);
    number_of(&subsets, first);
    for (guint i = 0; i < sets->len; i++)
        if (!add_state(&subsets, set, i, error))
            return NULL;
    return g_steal_pointer(&set);
}

SundogTextSet *
sundog_text_set_new_of_tree(const SundogGrammarNode *tree, GError **error)
{
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(Step));
    Net net = {steps, 0, false};
    uint32_t start = add_node(&net);
    uint32_t end = add_tree(&net, tree, start);
    if (net.is_full) {
        fail_as_too_large(error);
        return NULL;
    }
    g_array_sort(steps, compare_steps);
    return determine(&net, start, end, error);
}
