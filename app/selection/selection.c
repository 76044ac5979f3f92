/* Two places, put in order by a walk over the passages between them. */

#include "app/selection/selection.h"
#include "app/selection/passage.h"
#include "app/selection/text-leaf.h"
#include <string.h>

static void
set_place(SundogPlace *place, SundogPlace value)
{
    g_set_weak_pointer(&place->passage, value.passage);
    place->leaf = value.leaf;
    place->offset = value.offset;
}

void
sundog_selection_set(SundogSelection *selection, SundogPlace anchor, SundogPlace cursor)
{
    set_place(&selection->anchor, anchor);
    set_place(&selection->cursor, cursor);
}

void
sundog_selection_clear(SundogSelection *selection)
{
    sundog_selection_set(selection, (SundogPlace){0}, (SundogPlace){0});
}

bool
sundog_selection_is_empty(const SundogSelection *selection)
{
    return !selection->anchor.passage || !selection->cursor.passage ||
           sundog_place_equal(selection->anchor, selection->cursor);
}

/* The earlier place first, as indices of passages; false where nothing is selected or a passage is gone. */
typedef struct {
    SundogPlace first, last;
    unsigned first_passage, last_passage;
} Range;

static bool
get_range(const SundogSelection *selection, const GPtrArray *passages, Range *range)
{
    SundogPlace a = selection->anchor, b = selection->cursor;
    unsigned at_a, at_b;
    GPtrArray *list = (GPtrArray *)passages;
    if (sundog_selection_is_empty(selection) || !g_ptr_array_find(list, a.passage, &at_a) ||
        !g_ptr_array_find(list, b.passage, &at_b))
        return false;
    bool forwards = at_a != at_b       ? at_a < at_b
                    : a.leaf != b.leaf ? a.leaf < b.leaf
                                       : a.offset < b.offset;
    *range = forwards ? (Range){a, b, at_a, at_b} : (Range){b, a, at_b, at_a};
    return true;
}

static int
compare_leaves(unsigned passage, unsigned leaf, unsigned other_passage, unsigned other_leaf)
{
    if (passage != other_passage)
        return passage < other_passage ? -1 : 1;
    return leaf < other_leaf ? -1 : leaf > other_leaf;
}

/* An end that only touches a leaf selects nothing of it; an empty leaf counts where it lies between others. */
static bool
select_leaf(const Range *range, unsigned passage, unsigned index, GtkWidget *leaf)
{
    int to_first = compare_leaves(passage, index, range->first_passage, range->first.leaf);
    int to_last = compare_leaves(passage, index, range->last_passage, range->last.leaf);
    unsigned n = sundog_text_leaf_count(leaf);
    unsigned start = to_first == 0 ? MIN(range->first.offset, n) : 0;
    unsigned end = to_last == 0 ? MIN(range->last.offset, n) : n;
    bool between = to_first > 0 && to_last < 0;
    bool selected = to_first >= 0 && to_last <= 0 && (start < end || (n == 0 && between));
    sundog_text_leaf_select(leaf, selected, start, end);
    return selected;
}

static void
apply_to_passage(const Range *range, unsigned index, GtkWidget *passage, GPtrArray *selected)
{
    g_autoptr(GPtrArray) leaves = g_ptr_array_new();
    sundog_text_leaf_collect(passage, leaves);
    for (unsigned i = 0; i < leaves->len; i++)
        if (!range)
            sundog_text_leaf_select(leaves->pdata[i], false, 0, 0);
        else if (select_leaf(range, index, i, leaves->pdata[i]))
            g_ptr_array_add(selected, leaves->pdata[i]);
}

void
sundog_selection_apply(const SundogSelection *selection, GtkWidget *root, GPtrArray *leaves)
{
    g_autoptr(GPtrArray) passages = g_ptr_array_new();
    Range range;
    sundog_passage_collect(root, passages);
    bool any = get_range(selection, passages, &range);
    for (unsigned i = 0; i < passages->len; i++)
        apply_to_passage(any ? &range : NULL, i, passages->pdata[i], leaves);
}

static char *
dup_markdown(GtkWidget *root)
{
    g_autoptr(GPtrArray) passages = g_ptr_array_new();
    GString *text = g_string_new(NULL);
    sundog_passage_collect(root, passages);
    for (unsigned i = 0; i < passages->len; i++) {
        g_autofree char *piece = sundog_passage_dup_selected(passages->pdata[i]);
        if (!piece)
            continue;
        if (text->len > 0)
            g_string_append(text, g_str_has_suffix(text->str, "\n") ? "\n" : "\n\n");
        g_string_append(text, piece);
    }
    return g_string_free(text, FALSE);
}

char *
sundog_selection_dup_text(const SundogSelection *selection, GtkWidget *root)
{
    g_autoptr(GPtrArray) leaves = g_ptr_array_new();
    sundog_selection_apply(selection, root, leaves);
    if (leaves->len == 0)
        return NULL;
    bool plain = leaves->len == 1 && !sundog_passage_is_whole(selection->cursor.passage);
    return plain ? sundog_text_leaf_dup_selected(leaves->pdata[0]) : dup_markdown(root);
}
