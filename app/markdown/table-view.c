/* A GtkGrid kept in step with the rows of a block. */

#include "app/markdown/table-view.h"
#include "app/markdown/markup.h"
#include "app/selection/text-leaf.h"
#include "app/sideways.h"
#include <stdbool.h>
#include <string.h>

/* A cell longer than this wraps, at this width: a column that could be narrower would make the table as
 * high as its narrowest form. */
#define CELL_MAX_CHARACTERS 44

struct _SundogTableView {
    GtkWidget parent_instance;
    GtkWidget *scroller;
    GtkGrid *grid;
    unsigned n_rows;
    unsigned n_columns;
    bool has_header;
};

G_DEFINE_FINAL_TYPE(SundogTableView, sundog_table_view, GTK_TYPE_WIDGET)

static GtkWidget *
make_cell(const SundogBlock *block, unsigned row, unsigned column)
{
    char alignment = block->alignments[column];
    float xalign = alignment == 'r' ? 1.0f : alignment == 'c' ? 0.5f : 0.0f;
    GtkWidget *label = g_object_new(GTK_TYPE_LABEL, "xalign", xalign, "yalign", 0.0f, "wrap-mode",
                                    PANGO_WRAP_WORD_CHAR, "hexpand", TRUE, NULL);
    sundog_text_leaf_mark(label);
    gtk_widget_add_css_class(label, row == 0 && !block->continued ? "header" : "body");
    return label;
}

static void
update_cell(SundogTableView *self, const SundogBlock *block, unsigned row, unsigned column)
{
    const GPtrArray *cells = block->rows->pdata[row];
    const char *markup = column < cells->len ? cells->pdata[column] : "";
    GtkWidget *label = gtk_grid_get_child_at(self->grid, column, row);
    if (!label) {
        label = make_cell(block, row, column);
        gtk_grid_attach(self->grid, label, column, row, 1, 1);
    } else if (strcmp(gtk_label_get_label(GTK_LABEL(label)), markup) == 0)
        return;
    gtk_label_set_markup(GTK_LABEL(label), markup);
    bool wraps = g_utf8_strlen(gtk_label_get_text(GTK_LABEL(label)), -1) > CELL_MAX_CHARACTERS;
    gtk_label_set_wrap(GTK_LABEL(label), wraps);
    gtk_label_set_width_chars(GTK_LABEL(label), wraps ? CELL_MAX_CHARACTERS : -1);
    gtk_label_set_max_width_chars(GTK_LABEL(label), wraps ? CELL_MAX_CHARACTERS : -1);
}

static void
drop_beyond(SundogTableView *self, unsigned n_rows, unsigned n_columns)
{
    while (self->n_rows > n_rows)
        gtk_grid_remove_row(self->grid, --self->n_rows);
    while (self->n_columns > n_columns)
        gtk_grid_remove_column(self->grid, --self->n_columns);
}

void
sundog_table_view_update(SundogTableView *table, const SundogBlock *block)
{
    unsigned n_columns = strlen(block->alignments);
    drop_beyond(table, block->rows->len, n_columns);
    for (unsigned row = 0; row < block->rows->len; row++)
        for (unsigned column = 0; column < n_columns; column++)
            update_cell(table, block, row, column);
    table->n_rows = block->rows->len;
    table->n_columns = n_columns;
    table->has_header = !block->continued;
}

/* A cell of the header is always taken: without it the rows would be no table. */
static char *
dup_cell(GtkWidget *label, bool header)
{
    unsigned start, end;
    const char *markup = gtk_label_get_label(GTK_LABEL(label));
    if (header || sundog_text_leaf_is_whole(label))
        return g_strdup(markup);
    if (!sundog_text_leaf_get_selected(label, &start, &end))
        return g_strdup("");
    return sundog_markup_dup_stretch(markup, start, end);
}

static bool
is_row_selected(SundogTableView *self, unsigned row)
{
    for (unsigned column = 0; column < self->n_columns; column++)
        if (sundog_text_leaf_get_selected(gtk_grid_get_child_at(self->grid, column, row), NULL,
                                          NULL))
            return true;
    return false;
}

GPtrArray *
sundog_table_view_dup_selected(SundogTableView *table)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
    bool any = false;
    for (unsigned row = 0; row < table->n_rows; row++) {
        bool header = row == 0 && table->has_header, selected = is_row_selected(table, row);
        any |= selected;
        if (!header && !selected)
            continue;
        GPtrArray *cells = g_ptr_array_new_with_free_func(g_free);
        for (unsigned column = 0; column < table->n_columns; column++)
            g_ptr_array_add(cells,
                            dup_cell(gtk_grid_get_child_at(table->grid, column, row), header));
        g_ptr_array_add(rows, cells);
    }
    return any ? g_steal_pointer(&rows) : NULL;
}

static void
sundog_table_view_dispose(GObject *object)
{
    g_clear_pointer(&SUNDOG_TABLE_VIEW(object)->scroller, gtk_widget_unparent);
    G_OBJECT_CLASS(sundog_table_view_parent_class)->dispose(object);
}

static void
sundog_table_view_class_init(SundogTableViewClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_table_view_dispose;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_TABLE);
}

static void
sundog_table_view_init(SundogTableView *self)
{
    self->grid = GTK_GRID(gtk_grid_new());
    self->scroller = g_object_new(GTK_TYPE_SCROLLED_WINDOW, "vscrollbar-policy", GTK_POLICY_NEVER,
                                  "propagate-natural-height", TRUE, "child", self->grid, NULL);
    sundog_sideways_release_vertical(GTK_SCROLLED_WINDOW(self->scroller));
    gtk_widget_add_css_class(self->scroller, "table");
    gtk_widget_set_overflow(self->scroller, GTK_OVERFLOW_HIDDEN);
    gtk_widget_set_parent(self->scroller, GTK_WIDGET(self));
}

GtkWidget *
sundog_table_view_new(const SundogBlock *block)
{
    SundogTableView *self = g_object_new(SUNDOG_TYPE_TABLE_VIEW, NULL);
    sundog_table_view_update(self, block);
    return GTK_WIDGET(self);
}
