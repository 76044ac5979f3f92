#pragma once

/* Search, the chats by time, and the way to the pages. Signals: "open-chat" (SundogChat),
 * "delete-chat" (SundogChat), "show-page" (name). */

#include "app/chats/chat.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_SIDEBAR (sundog_sidebar_get_type())
G_DECLARE_FINAL_TYPE(SundogSidebar, sundog_sidebar, SUNDOG, SIDEBAR, GtkWidget)

/* Marks the chat that is shown; one without a row marks none. */
void sundog_sidebar_select(SundogSidebar *sidebar, SundogChat *chat);
void sundog_sidebar_set_page(SundogSidebar *sidebar, const char *page);
void sundog_sidebar_focus_search(SundogSidebar *sidebar);
