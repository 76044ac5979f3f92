#pragma once

/* The preferences window. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_PREFERENCES (sundog_preferences_get_type())
G_DECLARE_FINAL_TYPE(SundogPreferences, sundog_preferences, SUNDOG, PREFERENCES, GtkWindow)

GtkWidget *sundog_preferences_new(GtkWindow *parent);
