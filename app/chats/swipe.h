#pragma once

/*
 * Lays a row over what swiping it does: dragged to either side it uncovers a word, and let go far enough away it
 * says so; else it goes back. For fingers and pointers alike; the word is nothing to see or reach otherwise.
 *
 * Properties: "child", "label". Signal: "swiped".
 */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_SWIPE (sundog_swipe_get_type())
G_DECLARE_FINAL_TYPE(SundogSwipe, sundog_swipe, SUNDOG, SWIPE, GtkWidget)
