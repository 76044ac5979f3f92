#pragma once

/* A chat's row in the sidebar: its title, renamed in place; a menu; a sign while an answer is being
 * written. Signal: "delete". */

#include "app/chats/chat.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_CHAT_ROW (sundog_chat_row_get_type())
G_DECLARE_FINAL_TYPE(SundogChatRow, sundog_chat_row, SUNDOG, CHAT_ROW, GtkListBoxRow)

GtkWidget *sundog_chat_row_new(SundogChat *chat);
SundogChat *sundog_chat_row_get_chat(SundogChatRow *row);
