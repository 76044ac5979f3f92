#pragma once

/*
 * A widget of a message whose text can be selected: a label, or the text view of a code card. It knows
 * which stretch of it is selected. Offsets count characters; one past the end counts as the end. Points
 * are in the widget's own coordinates. Main thread.
 */

#include <gtk/gtk.h>
#include <stdbool.h>

/* Says that this label or text view is one. */
void sundog_text_leaf_mark(GtkWidget *leaf);
/* Appends the leaves at and below `root` that are not folded away, in reading order; borrowed. */
void sundog_text_leaf_collect(GtkWidget *root, GPtrArray *leaves);
unsigned sundog_text_leaf_count(GtkWidget *leaf);
/* All of its text; owned by the caller. */
char *sundog_text_leaf_dup_text(GtkWidget *leaf);
/* The offset nearest to a point. */
unsigned sundog_text_leaf_find_at(GtkWidget *leaf, double x, double y);
/* The word around an offset; a single character where there is none. */
void sundog_text_leaf_find_word(GtkWidget *leaf, unsigned offset, unsigned *start, unsigned *end);
/* Where a word begins (by < 0) or ends (by > 0) next to an offset; the leaf's own begin or end where none does. */
unsigned sundog_text_leaf_step_word(GtkWidget *leaf, unsigned offset, int by);
/* Where a caret would stand. */
void sundog_text_leaf_locate(GtkWidget *leaf, unsigned offset, GdkRectangle *caret);

/* Selects a stretch, or with `selected` false nothing. An empty stretch is selected where it lies between
 * others. */
void sundog_text_leaf_select(GtkWidget *leaf, bool selected, unsigned start, unsigned end);
/* False where nothing is selected; either of the offsets may be NULL. */
bool sundog_text_leaf_get_selected(GtkWidget *leaf, unsigned *start, unsigned *end);
bool sundog_text_leaf_is_whole(GtkWidget *leaf);
/* What is selected; owned by the caller. Empty where nothing is. */
char *sundog_text_leaf_dup_selected(GtkWidget *leaf);
/* Finds out what the selected stretch covers: while sizes are given out, since a text view may lay itself
 * out anew for it and change its scroll bars, which it must not while it is drawn. */
void sundog_text_leaf_measure(GtkWidget *leaf);
/* Draws that over the leaf. */
void sundog_text_leaf_snapshot(GtkWidget *leaf, GtkSnapshot *snapshot, const GdkRGBA *colour);
