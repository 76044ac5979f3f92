#pragma once

/* Scrolled windows that only go sideways inside a page that goes up and down. */

#include <gtk/gtk.h>

/* Lets the page have the wheel's up and down: GtkScrolledWindow keeps those events even where its
 * vertical policy is "never", so that the page would stand still under the pointer. */
void sundog_sideways_release_vertical(GtkScrolledWindow *scroller);
