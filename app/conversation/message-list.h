#pragma once

/*
 * The messages of a chat in a column that scrolls. Only the newest are given widgets at first; more are
 * made as the person scrolls up, so that a long chat opens at once. The view follows what is written
 * while it stands at the end and never moves when the person has scrolled away; then a button leads
 * back.
 *
 * Signals: "edit" (SundogMessage, text), "regenerate" (SundogMessage), "switch" (SundogMessage, step).
 */

#include "app/conversation/message.h"
#include <gtk/gtk.h>
#include <stdbool.h>

#define SUNDOG_TYPE_MESSAGE_LIST (sundog_message_list_get_type())
G_DECLARE_FINAL_TYPE(SundogMessageList, sundog_message_list, SUNDOG, MESSAGE_LIST, GtkWidget)

/* Takes over the array of SundogMessage; messages that are shown already keep their widgets. */
void sundog_message_list_set_messages(SundogMessageList *list, GPtrArray *messages);
GPtrArray *sundog_message_list_get_messages(SundogMessageList *list);
/* What the last answer is doing before its first token, or NULL. */
void sundog_message_list_set_activity(SundogMessageList *list, const char *activity);
void sundog_message_list_scroll_to_end(SundogMessageList *list);
/* Opens the editor of the last thing that the person wrote. */
void sundog_message_list_edit_last(SundogMessageList *list);
/* Brings the message at an index into view and selects a text in it. */
void sundog_message_list_reveal(SundogMessageList *list, unsigned index, const char *text);
