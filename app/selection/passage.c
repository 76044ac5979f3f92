/* Marks on widgets, and the way back from what is selected to text. */

#include "app/selection/passage.h"
#include "app/markdown/block-view.h"
#include "app/markdown/markdown-writer.h"
#include "app/selection/text-leaf.h"

#define SOURCE "sundog-passage"

void
sundog_passage_mark(GtkWidget *widget, const GString *source)
{
    g_object_set_data(G_OBJECT(widget), SOURCE, (gpointer)source);
    gtk_widget_set_focusable(widget, TRUE);
    gtk_widget_add_css_class(widget, "passage");
}

bool
sundog_passage_is(GtkWidget *widget)
{
    return g_object_get_data(G_OBJECT(widget), SOURCE) != NULL;
}

void
sundog_passage_collect(GtkWidget *root, GPtrArray *passages)
{
    if (!gtk_widget_get_visible(root) || !gtk_widget_get_child_visible(root))
        return;
    if (sundog_passage_is(root)) {
        g_ptr_array_add(passages, root);
        return;
    }
    GtkWidget *child = gtk_widget_get_first_child(root);
    for (; child; child = gtk_widget_get_next_sibling(child))
        sundog_passage_collect(child, passages);
}

bool
sundog_passage_is_whole(GtkWidget *widget)
{
    g_autoptr(GPtrArray) leaves = g_ptr_array_new();
    sundog_text_leaf_collect(widget, leaves);
    for (unsigned i = 0; i < leaves->len; i++)
        if (!sundog_text_leaf_is_whole(leaves->pdata[i]))
            return false;
    return leaves->len > 0;
}

/* A rule has nothing to select: it counts where there is something on both sides of it. */
static char *
dup_blocks(GtkWidget *widget)
{
    SundogMarkdownWriter *writer = sundog_markdown_writer_new();
    SundogBlock *rule = NULL;
    bool any = false;
    GtkWidget *view = gtk_widget_get_first_child(widget);
    for (; view; view = gtk_widget_get_next_sibling(view)) {
        SundogBlock *block = sundog_block_view_dup_selected(view);
        if (block && block->kind != SUNDOG_BLOCK_RULE) {
            if (rule)
                sundog_markdown_writer_add_block(writer, rule);
            sundog_markdown_writer_add_block(writer, block);
            any = true;
        }
        g_clear_pointer(&rule, sundog_block_free);
        if (any && block && block->kind == SUNDOG_BLOCK_RULE)
            rule = g_steal_pointer(&block);
        sundog_block_free(block);
    }
    sundog_block_free(rule);
    g_autofree char *text = sundog_markdown_writer_finish(writer);
    return any ? g_steal_pointer(&text) : NULL;
}

static char *
dup_plain(GtkWidget *widget)
{
    GString *text = NULL;
    GtkWidget *leaf = gtk_widget_get_first_child(widget);
    for (; leaf; leaf = gtk_widget_get_next_sibling(leaf)) {
        if (!sundog_text_leaf_get_selected(leaf, NULL, NULL))
            continue;
        g_autofree char *piece = sundog_text_leaf_dup_selected(leaf);
        if (text)
            g_string_append_c(text, '\n');
        else
            text = g_string_new(NULL);
        g_string_append(text, piece);
    }
    return text ? g_string_free(text, FALSE) : NULL;
}

char *
sundog_passage_dup_selected(GtkWidget *widget)
{
    const GString *source = g_object_get_data(G_OBJECT(widget), SOURCE);
    if (sundog_passage_is_whole(widget))
        return g_strndup(source->str, source->len);
    GtkWidget *first = gtk_widget_get_first_child(widget);
    return first && sundog_block_view_is(first) ? dup_blocks(widget) : dup_plain(widget);
}
