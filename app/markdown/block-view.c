/* Text blocks are a label, with a marker beside it where they begin a list item; code and tables have
 * widgets of their own. The block without its text is kept on the widget, to tell whether it can be
 * reused, and what is copied of it. */

#include "app/markdown/block-view.h"
#include "app/markdown/code-card.h"
#include "app/markdown/markup.h"
#include "app/markdown/table-view.h"
#include "app/selection/text-leaf.h"
#include <string.h>

#define INDENT 26
#define QUOTE_INDENT 12
#define GAP 12
#define TIGHT_GAP 3
#define BLOCK "sundog-block"

static const SundogBlock *
get_block(GtkWidget *view)
{
    return g_object_get_data(G_OBJECT(view), BLOCK);
}

static SundogBlock *
dup_without_text(const SundogBlock *block)
{
    SundogBlock *copy = sundog_block_new(block->kind);
    *copy = *block;
    copy->marker = g_strdup(block->marker);
    copy->language = g_strdup(block->language);
    copy->alignments = g_strdup(block->alignments);
    copy->text = NULL;
    copy->rows = NULL;
    return copy;
}

static void
set_block(GtkWidget *view, const SundogBlock *block)
{
    g_object_set_data_full(G_OBJECT(view), BLOCK, dup_without_text(block),
                           (GDestroyNotify)sundog_block_free);
}

static bool
fits(const SundogBlock *before, const SundogBlock *block)
{
    return before->kind == block->kind && before->level == block->level &&
           before->n_quotes == block->n_quotes && before->n_indents == block->n_indents &&
           !before->marker == !block->marker && before->tight == block->tight &&
           before->continued == block->continued;
}

static GtkWidget *
make_label(const SundogBlock *block)
{
    GtkWidget *label = g_object_new(GTK_TYPE_LABEL, "xalign", 0.0f, "yalign", 0.0f, "wrap", TRUE,
                                    "wrap-mode", PANGO_WRAP_WORD_CHAR, "hexpand", TRUE, NULL);
    sundog_text_leaf_mark(label);
    if (block->kind == SUNDOG_BLOCK_HEADING) {
        g_autofree char *class = g_strdup_printf("heading-%d", MIN(block->level, 4));
        gtk_widget_add_css_class(label, class);
    } else
        gtk_widget_add_css_class(label, "text");
    return label;
}

static GtkWidget *
make_item(const SundogBlock *block)
{
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    GtkWidget *marker = g_object_new(GTK_TYPE_LABEL, "label", block->marker, "xalign", 1.0f,
                                     "yalign", 0.0f, "width-request", INDENT - 6, NULL);
    gtk_widget_add_css_class(marker, "marker");
    gtk_box_append(GTK_BOX(row), marker);
    gtk_box_append(GTK_BOX(row), make_label(block));
    return row;
}

static GtkWidget *
make_rule(void)
{
    GtkWidget *rule =
        g_object_new(GTK_TYPE_BOX, "accessible-role", GTK_ACCESSIBLE_ROLE_SEPARATOR, NULL);
    gtk_widget_add_css_class(rule, "rule");
    return rule;
}

static GtkWidget *
make_kind(const SundogBlock *block)
{
    switch (block->kind) {
    case SUNDOG_BLOCK_CODE:
        return sundog_code_card_new(block);
    case SUNDOG_BLOCK_TABLE:
        return sundog_table_view_new(block);
    case SUNDOG_BLOCK_RULE:
        return make_rule();
    default:
        return block->marker ? make_item(block) : make_label(block);
    }
}

GtkWidget *
sundog_block_view_new(const SundogBlock *block)
{
    GtkWidget *view = make_kind(block);
    bool item =
        block->marker && (block->kind == SUNDOG_BLOCK_TEXT || block->kind == SUNDOG_BLOCK_HEADING);
    int n_indents = block->n_indents - (item ? 1 : 0);
    gtk_widget_set_margin_start(
        view,
        n_indents * INDENT + (block->n_quotes > 0 ? (block->n_quotes - 1) * QUOTE_INDENT : 0));
    gtk_widget_set_margin_top(view, block->tight ? TIGHT_GAP : GAP);
    if (block->n_quotes > 0)
        gtk_widget_add_css_class(view, "quote");
    set_block(view, block);
    sundog_block_view_update(view, block);
    return view;
}

static GtkWidget *
get_label(GtkWidget *view)
{
    return GTK_IS_BOX(view) ? gtk_widget_get_last_child(view) : view;
}

static void
update_label(GtkWidget *view, const SundogBlock *block)
{
    GtkWidget *label = get_label(view);
    if (label != view)
        gtk_label_set_text(GTK_LABEL(gtk_widget_get_first_child(view)), block->marker);
    if (strcmp(gtk_label_get_label(GTK_LABEL(label)), block->text) != 0)
        gtk_label_set_markup(GTK_LABEL(label), block->text);
}

bool
sundog_block_view_update(GtkWidget *view, const SundogBlock *block)
{
    if (!fits(get_block(view), block))
        return false;
    set_block(view, block);
    if (SUNDOG_IS_CODE_CARD(view))
        sundog_code_card_update(SUNDOG_CODE_CARD(view), block);
    else if (SUNDOG_IS_TABLE_VIEW(view))
        sundog_table_view_update(SUNDOG_TABLE_VIEW(view), block);
    else if (block->kind != SUNDOG_BLOCK_RULE)
        update_label(view, block);
    return true;
}

bool
sundog_block_view_is(GtkWidget *view)
{
    return get_block(view) != NULL;
}

/* Without the spaces at both ends: emphasis that a space stands in is not read as such. */
static char *
dup_markup(GtkWidget *label)
{
    unsigned start, end;
    g_autofree char *text = sundog_text_leaf_dup_selected(label);
    sundog_text_leaf_get_selected(label, &start, &end);
    size_t n_before = strspn(text, " \n"), n = strlen(text);
    while (n > n_before && strchr(" \n", text[n - 1])) {
        n--;
        end--;
    }
    return sundog_markup_dup_stretch(gtk_label_get_label(GTK_LABEL(label)), start + n_before, end);
}

/* What is left of a block that is not selected from its begin is neither an item nor a heading. */
static bool
take_label(GtkWidget *label, SundogBlock *block)
{
    unsigned start;
    if (!sundog_text_leaf_get_selected(label, &start, NULL))
        return false;
    if (start > 0) {
        block->kind = SUNDOG_BLOCK_TEXT;
        g_clear_pointer(&block->marker, g_free);
    }
    block->text = dup_markup(label);
    return true;
}

static bool
take_code(SundogCodeCard *card, SundogBlock *block)
{
    GtkWidget *leaf = sundog_code_card_get_leaf(card);
    if (!sundog_text_leaf_get_selected(leaf, NULL, NULL))
        return false;
    g_autofree char *code = sundog_text_leaf_dup_selected(leaf);
    block->text = g_strconcat(code, *code ? "\n" : "", NULL);
    return true;
}

static bool
take(GtkWidget *view, SundogBlock *block)
{
    switch (block->kind) {
    case SUNDOG_BLOCK_CODE:
        return take_code(SUNDOG_CODE_CARD(view), block);
    case SUNDOG_BLOCK_TABLE:
        block->rows = sundog_table_view_dup_selected(SUNDOG_TABLE_VIEW(view));
        return block->rows != NULL;
    case SUNDOG_BLOCK_RULE:
        return true;
    default:
        return take_label(get_label(view), block);
    }
}

SundogBlock *
sundog_block_view_dup_selected(GtkWidget *view)
{
    SundogBlock *block = dup_without_text(get_block(view));
    if (take(view, block))
        return block;
    sundog_block_free(block);
    return NULL;
}
