#pragma once

/*
 * What is selected in a conversation: from one place to another, over blocks and messages. Where the passage
 * of either place goes, nothing is selected any more.
 *
 * Zero-initialised it is empty; clear before it goes. Main thread.
 */

#include "app/selection/place.h"

/* The anchor stays where a selection began, the cursor moves. */
typedef struct {
    SundogPlace anchor;
    SundogPlace cursor;
} SundogSelection;

void sundog_selection_clear(SundogSelection *selection);
void sundog_selection_set(SundogSelection *selection, SundogPlace anchor, SundogPlace cursor);
bool sundog_selection_is_empty(const SundogSelection *selection);
/* Tells each leaf below `root` what of it is selected (text-leaf.h), and appends those of which something is
 * to `leaves`, borrowed. */
void sundog_selection_apply(const SundogSelection *selection, GtkWidget *root, GPtrArray *leaves);
/* What is selected below `root`: plain text within one block, else Markdown, with a blank line between
 * messages. Owned by the caller; NULL where nothing is. */
char *sundog_selection_dup_text(const SundogSelection *selection, GtkWidget *root);
