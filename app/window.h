#pragma once

/* The main window: sidebar, header bar, pages, job strip and toasts; and the actions that keys and
 * menus name "win.…". */

#include "app/application.h"

#define SUNDOG_TYPE_WINDOW (sundog_window_get_type())
G_DECLARE_FINAL_TYPE(SundogWindow, sundog_window, SUNDOG, WINDOW, GtkApplicationWindow)

GtkWidget *sundog_window_new(SundogApplication *application);
/* "chat", "library" or "server". */
void sundog_window_show_page(SundogWindow *window, const char *page);
void sundog_window_open_chat(SundogWindow *window, SundogChat *chat);
/* A toast without a button. */
void sundog_window_tell(SundogWindow *window, const char *text);
/* The window that holds a widget; borrowed. */
SundogWindow *sundog_window_of(GtkWidget *widget);
