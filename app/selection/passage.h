#pragma once

/*
 * A widget that shows one text of a message, in one or many leaves (text-leaf.h): an answer, the thoughts
 * before it, or what the person wrote. Its children are block views, or the labels of a plain text. It takes
 * the focus, so that a person without a mouse goes from one passage to the next. Main thread.
 */

#include <gtk/gtk.h>
#include <stdbool.h>

/* Says that this widget is one, and what it shows, as it was written; borrowed, outlives the widget. */
void sundog_passage_mark(GtkWidget *widget, const GString *source);
bool sundog_passage_is(GtkWidget *widget);
/* Appends the passages below `root` that are not folded away, in reading order; borrowed. */
void sundog_passage_collect(GtkWidget *root, GPtrArray *passages);
/* Whether all of it is selected. */
bool sundog_passage_is_whole(GtkWidget *widget);
/* What is selected of it as Markdown, the source itself where all is; NULL where nothing is. Owned by the
 * caller. */
char *sundog_passage_dup_selected(GtkWidget *widget);
