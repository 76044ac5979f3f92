#pragma once

/* Short notes over the content that need no answer, at most with one button ("Undo"). One is shown at
 * a time; a newer one takes its place. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_TOASTER (sundog_toaster_get_type())
G_DECLARE_FINAL_TYPE(SundogToaster, sundog_toaster, SUNDOG, TOASTER, GtkWidget)

/* `button` may be NULL. `undo` is called where the button was pressed, `gone` where the toast went
 * without it; one of both, once. Either may be NULL. `user_data` is freed by `free_data`. */
void sundog_toaster_show(SundogToaster *toaster, const char *text, const char *button,
                         void (*undo)(gpointer), void (*gone)(gpointer), gpointer user_data,
                         GDestroyNotify free_data);
