#pragma once

/* The widget of one Markdown block. */

#include "app/markdown.h"
#include <gtk/gtk.h>
#include <stdbool.h>

/* A new widget that shows the block; floating. */
GtkWidget *sundog_block_view_new(const SundogBlock *block);
/* Shows another block in the same widget; false where that needs another kind of widget. */
bool sundog_block_view_update(GtkWidget *view, const SundogBlock *block);
