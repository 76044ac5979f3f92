#pragma once

/* Ctrl+F: looks through the messages of a chat. Signal: "found" (index of the message, what was looked for). */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_FIND_BAR (sundog_find_bar_get_type())
G_DECLARE_FINAL_TYPE(SundogFindBar, sundog_find_bar, SUNDOG, FIND_BAR, GtkWidget)

/* `messages` is an array of SundogMessage; it is looked through as it is now. */
void sundog_find_bar_open(SundogFindBar *bar, GPtrArray *messages);
void sundog_find_bar_close(SundogFindBar *bar);
