/* Text blocks are a label, with a marker beside it where they begin a list item; code and tables have
 * widgets of their own. The block's shape is kept on the widget, to tell whether it can be reused. */

#include "app/block-view.h"
#include "app/code-card.h"
#include "app/table-view.h"
#include <string.h>

#define INDENT 26
#define QUOTE_INDENT 12
#define GAP 12
#define TIGHT_GAP 3
#define SHAPE "sundog-block-shape"

static unsigned
get_shape(const SundogBlock *block)
{
    return 1u | block->kind << 1 | block->level << 5 | block->n_quotes << 9 |
           block->n_indents << 14 | (block->marker != NULL) << 19 | block->tight << 20 |
           block->continued << 21;
}

static GtkWidget *
make_label(const SundogBlock *block)
{
    GtkWidget *label =
        g_object_new(GTK_TYPE_LABEL, "xalign", 0.0f, "yalign", 0.0f, "wrap", TRUE, "wrap-mode",
                     PANGO_WRAP_WORD_CHAR, "selectable", TRUE, "hexpand", TRUE, NULL);
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
    g_object_set_data(G_OBJECT(view), SHAPE, GUINT_TO_POINTER(get_shape(block)));
    sundog_block_view_update(view, block);
    return view;
}

static void
update_label(GtkWidget *view, const SundogBlock *block)
{
    GtkWidget *label = view;
    if (GTK_IS_BOX(view)) {
        gtk_label_set_text(GTK_LABEL(gtk_widget_get_first_child(view)), block->marker);
        label = gtk_widget_get_last_child(view);
    }
    if (strcmp(gtk_label_get_label(GTK_LABEL(label)), block->text) != 0)
        gtk_label_set_markup(GTK_LABEL(label), block->text);
}

bool
sundog_block_view_update(GtkWidget *view, const SundogBlock *block)
{
    if (GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(view), SHAPE)) != get_shape(block))
        return false;
    if (SUNDOG_IS_CODE_CARD(view))
        sundog_code_card_update(SUNDOG_CODE_CARD(view), block);
    else if (SUNDOG_IS_TABLE_VIEW(view))
        sundog_table_view_update(SUNDOG_TABLE_VIEW(view), block);
    else if (block->kind != SUNDOG_BLOCK_RULE)
        update_label(view, block);
    return true;
}
