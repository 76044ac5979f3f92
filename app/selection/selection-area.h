#pragma once

/*
 * Around the messages of a chat: what the pointer is dragged over is selected, shown, and copied as Markdown.
 * A double click takes a word, a third the block, Shift+click extends; Shift with the arrows, Home and End
 * moves the cursor from where it was or from the passage that has the focus; Ctrl+A takes the passage,
 * Ctrl+C copies, and a menu has both. A drag beyond the edge of the scrolled window around it scrolls.
 *
 * Property: "child". Signal: "begun", where a person begins to select.
 */

#include "app/selection/place.h"

#define SUNDOG_TYPE_SELECTION_AREA (sundog_selection_area_get_type())
G_DECLARE_FINAL_TYPE(SundogSelectionArea, sundog_selection_area, SUNDOG, SELECTION_AREA, GtkWidget)

void sundog_selection_area_select(SundogSelectionArea *area, SundogPlace anchor,
                                  SundogPlace cursor);
SundogPlace sundog_selection_area_get_anchor(SundogSelectionArea *area);
SundogPlace sundog_selection_area_get_cursor(SundogSelectionArea *area);
/* Scrolls the window around the area as far as the cursor needs to be seen. */
void sundog_selection_area_show_cursor(SundogSelectionArea *area);
/* What is selected; owned by the caller, NULL where nothing is. */
char *sundog_selection_area_dup_text(SundogSelectionArea *area);
/* The passage that has the focus, or else the one of the cursor; NULL where there is neither. */
GtkWidget *sundog_selection_area_get_passage(SundogSelectionArea *area);
/* Gives a passage the focus because a person points at it. */
void sundog_selection_area_focus(SundogSelectionArea *area, GtkWidget *passage);
/* Tells the area's owner that a person begins to select. */
void sundog_selection_area_begin(SundogSelectionArea *area);
