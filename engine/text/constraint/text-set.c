/* Sets of texts: what they are made of, and what is made of two. */

#include "engine/text/constraint/text-set-private.h"

#include <string.h>

#define NOWHERE UINT32_MAX

SundogTextSet *
sundog_text_set_new(void)
{
    SundogTextSet *set = g_new0(SundogTextSet, 1);
    set->edges = g_array_new(FALSE, FALSE, sizeof(SundogTextEdge));
    set->firsts = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    set->accepts = g_array_new(FALSE, FALSE, sizeof(bool));
    return set;
}

void
sundog_text_set_free(SundogTextSet *set)
{
    if (set == NULL)
        return;
    g_array_unref(set->edges);
    g_array_unref(set->firsts);
    g_array_unref(set->accepts);
    g_free(set);
}

bool
sundog_text_set_begin_state(SundogTextSet *set, bool accepts, GError **error)
{
    uint32_t first = set->edges->len;
    if (set->firsts->len >= SUNDOG_TEXT_SET_MAX_STATES) {
        g_set_error(error, SUNDOG_GRAMMAR_ERROR, SUNDOG_GRAMMAR_ERROR_LIMIT,
                    "together the conditions on a text need more than %d states",
                    SUNDOG_TEXT_SET_MAX_STATES);
        return false;
    }
    g_array_append_val(set->firsts, first);
    g_array_append_val(set->accepts, accepts);
    return true;
}

void
sundog_text_set_add_edge(SundogTextSet *set, uint32_t low, uint32_t high, uint32_t to)
{
    SundogTextEdge edge = {low, high, to};
    g_array_append_val(set->edges, edge);
}

size_t
sundog_text_set_get_n_states(const SundogTextSet *set)
{
    return set->firsts->len;
}

const SundogTextEdge *
sundog_text_set_get_edges(const SundogTextSet *set, uint32_t state, size_t *n)
{
    uint32_t first = g_array_index(set->firsts, uint32_t, state);
    uint32_t end = state + 1 < set->firsts->len ? g_array_index(set->firsts, uint32_t, state + 1)
                                                : set->edges->len;
    *n = end - first;
    return (const SundogTextEdge *)(void *)set->edges->data + first;
}

bool
sundog_text_set_accepts(const SundogTextSet *set, uint32_t state)
{
    return g_array_index(set->accepts, bool, state);
}

/* Texts and lengths */

static int
compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Texts in order that are alike up to depth, and the state that stands for that. */
typedef struct {
    size_t begin, end, depth;
} Group;

static bool
add_group(SundogTextSet *set, const char **texts, Group group, GArray *groups, GError **error)
{
    bool accepts = texts[group.begin][group.depth] == '\0';
    if (!sundog_text_set_begin_state(set, accepts, error))
        return false;
    while (group.begin < group.end && texts[group.begin][group.depth] == '\0')
        group.begin++;
    for (size_t i = group.begin; i < group.end; i = group.begin) {
        gunichar character = g_utf8_get_char(texts[i] + group.depth);
        while (group.begin < group.end &&
               g_utf8_get_char(texts[group.begin] + group.depth) == character)
            group.begin++;
        Group next = {i, group.begin, group.depth + (size_t)g_unichar_to_utf8(character, NULL)};
        sundog_text_set_add_edge(set, character, character, groups->len);
        g_array_append_val(groups, next);
    }
    return true;
}

SundogTextSet *
sundog_text_set_new_of_texts(const char *const *texts, size_t n_texts, GError **error)
{
    g_autoptr(SundogTextSet) set = sundog_text_set_new();
    g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(Group));
    g_autofree const char **sorted = g_memdup2(texts, n_texts * sizeof *texts);
    if (n_texts == 0)
        return sundog_text_set_begin_state(set, false, error) ? g_steal_pointer(&set) : NULL;
    qsort(sorted, n_texts, sizeof *sorted, compare_texts);
    Group all = {0, n_texts, 0};
    g_array_append_val(groups, all);
    for (guint i = 0; i < groups->len; i++)
        if (!add_group(set, sorted, g_array_index(groups, Group, i), groups, error))
            return NULL;
    return g_steal_pointer(&set);
}

SundogTextSet *
sundog_text_set_new_of_lengths(uint32_t least, uint32_t most, GError **error)
{
    g_autoptr(SundogTextSet) set = sundog_text_set_new();
    bool is_open = most == SUNDOG_AUTOMATON_UNBOUNDED;
    uint32_t last = is_open ? least : most;
    for (uint32_t i = 0; i <= last; i++) {
        if (!sundog_text_set_begin_state(set, i >= least, error))
            return NULL;
        if (i < last || is_open)
            sundog_text_set_add_edge(set, 0, SUNDOG_LAST_CODE_POINT, i < last ? i + 1 : i);
    }
    return g_steal_pointer(&set);
}

/* Two at once */

/* States of the product, each a pair; the second of a difference may be NOWHERE. */
typedef struct {
    const SundogTextSet *first, *second;
    bool subtracts;
    GHashTable *numbers; /* pair -> number + 1 */
    GArray *pairs;       /* uint64_t */
} Product;

static uint32_t
number_of(Product *product, uint32_t first, uint32_t second)
{
    uint64_t pair = (uint64_t)first << 32 | second;
    gpointer known = g_hash_table_lookup(product->numbers, &pair);
    if (known != NULL)
        return GPOINTER_TO_UINT(known) - 1;
    uint32_t number = product->pairs->len;
    g_array_append_val(product->pairs, pair);
    g_hash_table_insert(product->numbers, g_memdup2(&pair, sizeof pair),
                        GUINT_TO_POINTER(number + 1));
    return number;
}

/* One edge of the first, cut where the second's edges begin and end. */
static void
add_cut_edge(Product *product, SundogTextSet *set, const SundogTextEdge *edge,
             const SundogTextEdge *others, size_t n_others)
{
    uint32_t at = edge->low;
    for (size_t i = 0; i < n_others && at <= edge->high; i++) {
        if (others[i].high < at || others[i].low > edge->high)
            continue;
        if (others[i].low > at && product->subtracts)
            sundog_text_set_add_edge(set, at, others[i].low - 1,
                                     number_of(product, edge->to, NOWHERE));
        uint32_t low = MAX(at, others[i].low), high = MIN(edge->high, others[i].high);
        sundog_text_set_add_edge(set, low, high, number_of(product, edge->to, others[i].to));
        at = high + 1;
    }
    if (at <= edge->high && product->subtracts)
        sundog_text_set_add_edge(set, at, edge->high, number_of(product, edge->to, NOWHERE));
}

static bool
add_pair(Product *product, SundogTextSet *set, uint64_t pair, GError **error)
{
    uint32_t first = (uint32_t)(pair >> 32), second = (uint32_t)pair;
    size_t n_edges, n_others = 0;
    const SundogTextEdge *edges = sundog_text_set_get_edges(product->first, first, &n_edges);
    const SundogTextEdge *others =
        second != NOWHERE ? sundog_text_set_get_edges(product->second, second, &n_others) : NULL;
    bool is_of_second = second != NOWHERE && sundog_text_set_accepts(product->second, second);
    bool accepts =
        sundog_text_set_accepts(product->first, first) && is_of_second != product->subtracts;
    if (!sundog_text_set_begin_state(set, accepts, error))
        return false;
    for (size_t i = 0; i < n_edges; i++)
        add_cut_edge(product, set, &edges[i], others, n_others);
    return true;
}

static SundogTextSet *
multiply(const SundogTextSet *first, const SundogTextSet *second, bool subtracts, GError **error)
{
    g_autoptr(SundogTextSet) set = sundog_text_set_new();
    g_autoptr(GHashTable) numbers =
        g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    Product product = {first, second, subtracts, numbers, pairs};
    number_of(&product, 0, 0);
    for (guint i = 0; i < pairs->len; i++)
        if (!add_pair(&product, set, g_array_index(pairs, uint64_t, i), error))
            return NULL;
    return g_steal_pointer(&set);
}

SundogTextSet *
sundog_text_set_intersect(const SundogTextSet *first, const SundogTextSet *second, GError **error)
{
    return multiply(first, second, false, error);
}

SundogTextSet *
sundog_text_set_subtract(const SundogTextSet *first, const SundogTextSet *second, GError **error)
{
    return multiply(first, second, true, error);
}

/* Use */

bool
sundog_text_set_is_empty(const SundogTextSet *set)
{
    /* All states are reached from the first. */
    for (guint i = 0; i < set->accepts->len; i++)
        if (g_array_index(set->accepts, bool, i))
            return false;
    return true;
}

bool
sundog_text_set_has(const SundogTextSet *set, const char *text)
{
    uint32_t state = 0;
    for (; *text != '\0'; text = g_utf8_next_char(text)) {
        uint32_t character = g_utf8_get_char(text);
        size_t n_edges, i = 0;
        const SundogTextEdge *edges = sundog_text_set_get_edges(set, state, &n_edges);
        while (i < n_edges && (character < edges[i].low || character > edges[i].high))
            i++;
        if (i == n_edges)
            return false;
        state = edges[i].to;
    }
    return sundog_text_set_accepts(set, state);
}

uint32_t
sundog_text_set_emit(const SundogTextSet *set, SundogAutomatonBuilder *builder,
                     SundogGrammarEncode encode, uint32_t from)
{
    g_autofree uint32_t *states = g_new(uint32_t, set->firsts->len);
    uint32_t to = sundog_automaton_builder_add_state(builder);
    for (guint i = 0; i < set->firsts->len; i++)
        states[i] = sundog_automaton_builder_add_state(builder);
    for (guint i = 0; i < set->firsts->len; i++) {
        size_t n_edges;
        const SundogTextEdge *edges = sundog_text_set_get_edges(set, i, &n_edges);
        for (size_t k = 0; k < n_edges; k++)
            encode(builder, states[i], edges[k].low, edges[k].high, states[edges[k].to]);
        if (sundog_text_set_accepts(set, i))
            sundog_automaton_builder_add_empty(builder, states[i], to);
    }
    sundog_automaton_builder_add_empty(builder, from, states[0]);
    return to;
}
