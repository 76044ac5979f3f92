#pragma once

/*
 * All chats and the answers being written in them: what a person can do with a chat, whichever widget
 * asks for it. Owns the store. Text that streams is written to the store every second.
 *
 * Signals: "generation" (SundogChat) when an answer begins or ends in a chat, "problem" (text) when
 * the store refuses. Main thread.
 */

#include "app/chats/chat-store.h"
#include "app/conversation/generation.h"
#include <gio/gio.h>

#define SUNDOG_TYPE_CHATS (sundog_chats_get_type())
G_DECLARE_FINAL_TYPE(SundogChats, sundog_chats, SUNDOG, CHATS, GObject)

/* Takes the store. */
SundogChats *sundog_chats_new(SundogChatStore *store, SundogClient *client);
/* Model of SundogChat, pinned first, then newest first; borrowed. */
GListModel *sundog_chats_get_list(SundogChats *chats);
/* The chat with this id, or NULL; borrowed. */
SundogChat *sundog_chats_find(SundogChats *chats, int64_t id);

/* The messages that are shown of a chat, with the running answer's own object; owned by the caller. */
GPtrArray *sundog_chats_load(SundogChats *chats, SundogChat *chat);
/* The answer being written in a chat, or NULL; borrowed. */
SundogGeneration *sundog_chats_get_generation(SundogChats *chats, SundogChat *chat);
bool sundog_chats_is_any_running(SundogChats *chats);

/* Adds what the person wrote after `parent_id` and begins the answer, with `core` or, where it is
 * NULL, whichever is loaded. False where it could not be stored. A new chat enters the list. */
bool sundog_chats_send(SundogChats *chats, SundogChat *chat, const char *text, int64_t parent_id,
                       const char *core);
/* Writes another answer to the same question, beside the one there is. */
bool sundog_chats_regenerate(SundogChats *chats, SundogChat *chat, SundogMessage *answer,
                             const char *core);
void sundog_chats_stop(SundogChats *chats, SundogChat *chat);
/* Shows the answer or question `step` before or after this one. */
bool sundog_chats_switch_branch(SundogChats *chats, SundogChat *chat, SundogMessage *message,
                                int step);

void sundog_chats_rename(SundogChats *chats, SundogChat *chat, const char *title);
void sundog_chats_set_pinned(SundogChats *chats, SundogChat *chat, bool pinned);
/* Writes the chat's draft, queue, instructions and parameters; a chat never stored stays so while
 * all of them are empty. */
void sundog_chats_save(SundogChats *chats, SundogChat *chat);
/* Stops its answer and takes it off the list; undelete brings it back until the next purge. */
void sundog_chats_delete(SundogChats *chats, SundogChat *chat);
void sundog_chats_undelete(SundogChats *chats, SundogChat *chat);
void sundog_chats_purge(SundogChats *chats);
/* Set of the ids (int64_t *) of chats that hold the text; owned by the caller, may be NULL. */
GHashTable *sundog_chats_search(SundogChats *chats, const char *text);

/* The server became ready: answers that wait for it try again at once. */
void sundog_chats_retry(SundogChats *chats);
/* No server will come: answers that wait for one end with these words. */
void sundog_chats_fail(SundogChats *chats, const char *problem, const char *details);
