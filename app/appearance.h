#pragma once

/* The style sheet, and light or dark: by the preference, else by the desktop portal's colour scheme.
 * High contrast follows the portal and GTK's theme. Kept up to date until the display closes. */

#include <gtk/gtk.h>

/* Installs the look on a display; called once, settings are kept. */
void sundog_appearance_install(GdkDisplay *display, GSettings *settings);
