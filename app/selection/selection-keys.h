#pragma once

/* Selecting with the keyboard: Shift with the arrows, Home and End; with Ctrl by word and by message. */

#include <gtk/gtk.h>

/* Adds the keys to the class of the selection area. */
void sundog_selection_keys_install(GtkWidgetClass *class);
