#pragma once

/* The page of one chat: its messages, the composer, and what stands there while it is empty. Signal:
 * "chat-changed" when the chat was stored or named. */

#include "app/chats/chat.h"
#include <gtk/gtk.h>
#include <stdbool.h>

#define SUNDOG_TYPE_CONVERSATION (sundog_conversation_get_type())
G_DECLARE_FINAL_TYPE(SundogConversation, sundog_conversation, SUNDOG, CONVERSATION, GtkWidget)

void sundog_conversation_open(SundogConversation *conversation, SundogChat *chat);
/* Borrowed; never NULL once one was opened. */
SundogChat *sundog_conversation_get_chat(SundogConversation *conversation);
void sundog_conversation_save_draft(SundogConversation *conversation);
void sundog_conversation_focus_composer(SundogConversation *conversation);
/* What keys do; each does nothing where it does not apply. Stop tells whether there was something. */
bool sundog_conversation_stop(SundogConversation *conversation);
void sundog_conversation_regenerate(SundogConversation *conversation);
void sundog_conversation_switch_branch(SundogConversation *conversation, int step);
void sundog_conversation_copy_answer(SundogConversation *conversation);
void sundog_conversation_find(SundogConversation *conversation);
