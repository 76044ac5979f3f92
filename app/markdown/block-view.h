#pragma once

/* The widget of one Markdown block. */

#include "app/markdown/block.h"
#include <gtk/gtk.h>
#include <stdbool.h>

/* A new widget that shows the block; floating. */
GtkWidget *sundog_block_view_new(const SundogBlock *block);
/* Shows another block in the same widget; false where that needs another kind of widget. */
bool sundog_block_view_update(GtkWidget *view, const SundogBlock *block);
bool sundog_block_view_is(GtkWidget *view);
/* The block with what is selected of it alone, owned by the caller; NULL where nothing is. A rule is
 * always given: it has nothing to select. */
SundogBlock *sundog_block_view_dup_selected(GtkWidget *view);
