#pragma once

/* A table of an answer: a grid of labels that scrolls sideways by itself. Cells that did not change
 * are left alone, so that a table can grow while it streams. */

#include "app/markdown/markdown.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_TABLE_VIEW (sundog_table_view_get_type())
G_DECLARE_FINAL_TYPE(SundogTableView, sundog_table_view, SUNDOG, TABLE_VIEW, GtkWidget)

GtkWidget *sundog_table_view_new(const SundogBlock *block);
void sundog_table_view_update(SundogTableView *table, const SundogBlock *block);
/* The header and what is selected of the rows, as a block has them, owned by the caller; NULL where
 * nothing is. */
GPtrArray *sundog_table_view_dup_selected(SundogTableView *table);
