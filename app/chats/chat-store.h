#pragma once

/*
 * The chats on disk: one SQLite file in WAL mode. A chat's messages are a tree by `parent_id`, so that
 * an edited question or a regenerated answer loses nothing; `head` names the branch that is shown.
 *
 * The schema has a version (PRAGMA user_version); an older file is copied to FILE.vN before it is
 * migrated, a newer one is refused. Answers found "streaming" when the file is opened were cut off by
 * a crash and become "interrupted".
 *
 * Order: open, anything, free. Main thread only: a write is one small transaction without fsync
 * (synchronous=NORMAL), so a killed app loses nothing that was written, a power cut at most the last
 * seconds.
 */

#include "app/chats/chat.h"
#include "app/conversation/message.h"
#include <gio/gio.h>

#define SUNDOG_CHAT_STORE_VERSION 2

#define SUNDOG_CHAT_STORE_ERROR (sundog_chat_store_error_quark())
typedef enum {
    SUNDOG_CHAT_STORE_ERROR_NEWER,  /* Written by a newer Sundog: leave it alone. */
    SUNDOG_CHAT_STORE_ERROR_FAILED, /* The file or the disk refused; the text says why. */
} SundogChatStoreError;
GQuark sundog_chat_store_error_quark(void);

typedef struct SundogChatStore SundogChatStore;

/* `path` may be ":memory:". */
SundogChatStore *sundog_chat_store_open(const char *path, GError **error);
void sundog_chat_store_free(SundogChatStore *store);

/* All chats that are not deleted: pinned ones first, then by time, newest first. Array of SundogChat,
 * owned by the caller. */
GPtrArray *sundog_chat_store_list_chats(SundogChatStore *store, GError **error);
/* Inserts the chat where its id is 0 (and sets it), else writes all its fields. */
bool sundog_chat_store_save_chat(SundogChatStore *store, SundogChat *chat, GError **error);
/* Marks a chat as deleted, or takes that back. */
bool sundog_chat_store_set_deleted(SundogChatStore *store, SundogChat *chat, bool deleted,
                                   GError **error);
/* Removes for good what is marked as deleted. */
bool sundog_chat_store_purge(SundogChatStore *store, GError **error);

/* The messages from the first to the chat's head. Array of SundogMessage, owned by the caller. */
GPtrArray *sundog_chat_store_load_messages(SundogChatStore *store, SundogChat *chat,
                                           GError **error);
/* Stores a new message after `parent_id` (0: a first one), sets its id and makes it the head. */
bool sundog_chat_store_add_message(SundogChatStore *store, SundogChat *chat, SundogMessage *message,
                                   int64_t parent_id, GError **error);
/* Writes a message's content, state and figures. */
bool sundog_chat_store_save_message(SundogChatStore *store, SundogMessage *message, GError **error);
/* Makes the sibling `step` before or after `message` the branch that is shown, down to its newest
 * leaf. False without an error where there is none. */
bool sundog_chat_store_switch_branch(SundogChatStore *store, SundogChat *chat,
                                     SundogMessage *message, int step, GError **error);
/* Ids of the chats whose title or messages hold `text`, whatever its case. Set of int64_t * keys,
 * owned by the caller. */
GHashTable *sundog_chat_store_search(SundogChatStore *store, const char *text, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogChatStore, sundog_chat_store_free)
