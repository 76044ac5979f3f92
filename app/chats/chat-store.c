/* Rows to objects and back; the tree of a chat's messages. */

#include "app/chats/chat-store.h"
#include "app/chats/chat-schema.h"
#include <sqlite3.h>
#include <string.h>

struct SundogChatStore {
    sqlite3 *database;
};

G_DEFINE_QUARK(sundog - chat - store - error - quark, sundog_chat_store_error)

static bool
fail(SundogChatStore *store, GError **error)
{
    g_set_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_FAILED, "%s",
                sqlite3_errmsg(store->database));
    return false;
}

/* Prepares a statement and binds its arguments: 'i' an int64_t, 's' a string or NULL. */
static sqlite3_stmt *
prepare(SundogChatStore *store, const char *sql, GError **error, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail(store, error);
        return NULL;
    }
    va_list arguments;
    va_start(arguments, types);
    for (int i = 0; types[i]; i++)
        if (types[i] == 'i')
            sqlite3_bind_int64(statement, i + 1, va_arg(arguments, int64_t));
        else
            sqlite3_bind_text(statement, i + 1, va_arg(arguments, const char *), -1,
                              SQLITE_TRANSIENT);
    va_end(arguments);
    return statement;
}

/* Steps a statement that returns no rows and frees it. */
static bool
finish(SundogChatStore *store, sqlite3_stmt *statement, GError **error)
{
    if (!statement)
        return false;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    bool done = code == SQLITE_DONE || fail(store, error);
    sqlite3_finalize(statement);
    return done;
}

static bool
run(SundogChatStore *store, const char *sql, GError **error)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK || fail(store, error);
}

static char *
dup_column(sqlite3_stmt *statement, int column)
{
    return g_strdup((const char *)sqlite3_column_text(statement, column));
}

SundogChatStore *
sundog_chat_store_open(const char *path, GError **error)
{
    g_autoptr(SundogChatStore) store = g_new0(SundogChatStore, 1);
    if (sqlite3_open(path, &store->database) != SQLITE_OK) {
        g_set_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_FAILED, "%s: %s", path,
                    sqlite3_errmsg(store->database));
        return NULL;
    }
    sqlite3_busy_timeout(store->database, 2000);
    if (!run(store,
             "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
             error) ||
        !sundog_chat_schema_migrate(store->database, path, error))
        return NULL;
    sqlite3_stmt *recover =
        prepare(store, "UPDATE message SET state = ? WHERE state = ?", error, "ii",
                (int64_t)SUNDOG_MESSAGE_INTERRUPTED, (int64_t)SUNDOG_MESSAGE_STREAMING);
    if (!finish(store, recover, error) || !sundog_chat_store_purge(store, error))
        return NULL;
    return g_steal_pointer(&store);
}

void
sundog_chat_store_free(SundogChatStore *store)
{
    if (!store)
        return;
    sqlite3_close(store->database);
    g_free(store);
}

#define CHAT_COLUMNS \
    "id, title, core, instructions, parameters, head, updated_us, pinned, draft, queued"

static SundogChat *
read_chat(sqlite3_stmt *row)
{
    SundogChat *chat = sundog_chat_new();
    chat->id = sqlite3_column_int64(row, 0);
    g_free(chat->title);
    chat->title = dup_column(row, 1);
    chat->core = dup_column(row, 2);
    chat->instructions = dup_column(row, 3);
    chat->parameters = dup_column(row, 4);
    chat->head = sqlite3_column_int64(row, 5);
    chat->updated_us = sqlite3_column_int64(row, 6);
    chat->pinned = sqlite3_column_int(row, 7) != 0;
    g_free(chat->draft);
    chat->draft = dup_column(row, 8);
    chat->queued = dup_column(row, 9);
    return chat;
}

GPtrArray *
sundog_chat_store_list_chats(SundogChatStore *store, GError **error)
{
    sqlite3_stmt *statement = prepare(store,
                                      "SELECT " CHAT_COLUMNS " FROM chat WHERE NOT deleted"
                                      " ORDER BY pinned DESC, updated_us DESC, id DESC",
                                      error, "");
    if (!statement)
        return NULL;
    GPtrArray *chats = g_ptr_array_new_with_free_func(g_object_unref);
    while (sqlite3_step(statement) == SQLITE_ROW)
        g_ptr_array_add(chats, read_chat(statement));
    sqlite3_finalize(statement);
    return chats;
}

bool
sundog_chat_store_save_chat(SundogChatStore *store, SundogChat *chat, GError **error)
{
    bool new = chat->id == 0;
    const char *sql =
        new ? "INSERT INTO chat (title, core, instructions, parameters, draft, queued, head,"
              " updated_us, pinned) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            : "UPDATE chat SET title = ?, core = ?, instructions = ?, parameters = ?, draft = ?,"
              " queued = ?, head = ?, updated_us = ?, pinned = ? WHERE id = ?";
    sqlite3_stmt *statement =
        prepare(store, sql, error, new ? "ssssssiii" : "ssssssiiii", chat->title, chat->core,
                chat->instructions, chat->parameters, chat->draft, chat->queued, chat->head,
                chat->updated_us, (int64_t)chat->pinned, chat->id);
    if (!finish(store, statement, error))
        return false;
    if (new)
        chat->id = sqlite3_last_insert_rowid(store->database);
    return true;
}

bool
sundog_chat_store_set_deleted(SundogChatStore *store, SundogChat *chat, bool deleted,
                              GError **error)
{
    return finish(store,
                  prepare(store, "UPDATE chat SET deleted = ? WHERE id = ?", error, "ii",
                          (int64_t)deleted, chat->id),
                  error);
}

bool
sundog_chat_store_purge(SundogChatStore *store, GError **error)
{
    return run(store, "DELETE FROM chat WHERE deleted", error);
}

#define MESSAGE_COLUMNS                                                                       \
    "id, chat, parent, role, state, content, reasoning, problem, details, model, statistics," \
    " created_us"

static SundogMessage *
read_message(sqlite3_stmt *row)
{
    SundogMessage *message =
        sundog_message_new(sqlite3_column_int(row, 3), (const char *)sqlite3_column_text(row, 5));
    message->id = sqlite3_column_int64(row, 0);
    message->chat_id = sqlite3_column_int64(row, 1);
    message->parent_id = sqlite3_column_int64(row, 2);
    message->state = sqlite3_column_int(row, 4);
    g_string_assign(message->reasoning, (const char *)sqlite3_column_text(row, 6));
    message->problem = dup_column(row, 7);
    message->details = dup_column(row, 8);
    message->model = dup_column(row, 9);
    message->statistics = dup_column(row, 10);
    message->created_us = sqlite3_column_int64(row, 11);
    message->alternative = sqlite3_column_int(row, 12);
    message->n_alternatives = sqlite3_column_int(row, 13);
    return message;
}

GPtrArray *
sundog_chat_store_load_messages(SundogChatStore *store, SundogChat *chat, GError **error)
{
    /* The depth bound keeps a damaged file with a circle of parents from looping for ever. */
    sqlite3_stmt *statement = prepare(
        store,
        "WITH RECURSIVE path(node, depth) AS (SELECT ?1, 0 UNION ALL SELECT m.parent, depth + 1"
        "  FROM path JOIN message m ON m.id = path.node AND m.chat = ?2 WHERE depth < 100000)"
        " SELECT " MESSAGE_COLUMNS ","
        "  (SELECT count(*) FROM message s WHERE s.chat = m.chat AND s.parent = m.parent"
        "   AND s.id <= m.id),"
        "  (SELECT count(*) FROM message s WHERE s.chat = m.chat AND s.parent = m.parent)"
        " FROM path JOIN message m ON m.id = path.node AND m.chat = ?2 ORDER BY depth DESC",
        error, "ii", chat->head, chat->id);
    if (!statement)
        return NULL;
    GPtrArray *messages = g_ptr_array_new_with_free_func(g_object_unref);
    while (sqlite3_step(statement) == SQLITE_ROW)
        g_ptr_array_add(messages, read_message(statement));
    sqlite3_finalize(statement);
    return messages;
}

static void
count_alternatives(SundogChatStore *store, SundogMessage *message)
{
    sqlite3_stmt *statement =
        prepare(store, "SELECT count(*) FROM message WHERE chat = ? AND parent = ?", NULL, "ii",
                message->chat_id, message->parent_id);
    if (statement && sqlite3_step(statement) == SQLITE_ROW)
        message->alternative = message->n_alternatives = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
}

bool
sundog_chat_store_add_message(SundogChatStore *store, SundogChat *chat, SundogMessage *message,
                              int64_t parent_id, GError **error)
{
    if (chat->id == 0 && !sundog_chat_store_save_chat(store, chat, error))
        return false;
    message->chat_id = chat->id;
    message->parent_id = parent_id;
    sqlite3_stmt *statement = prepare(
        store,
        "INSERT INTO message (chat, parent, role, state, content, reasoning, problem, details,"
        " model, statistics, created_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        error, "iiiissssssi", chat->id, parent_id, (int64_t)message->role, (int64_t)message->state,
        message->content->str, message->reasoning->str, message->problem, message->details,
        message->model, message->statistics, message->created_us);
    if (!finish(store, statement, error))
        return false;
    message->id = sqlite3_last_insert_rowid(store->database);
    count_alternatives(store, message);
    chat->head = message->id;
    chat->updated_us = g_get_real_time();
    return sundog_chat_store_save_chat(store, chat, error);
}

bool
sundog_chat_store_save_message(SundogChatStore *store, SundogMessage *message, GError **error)
{
    sqlite3_stmt *statement = prepare(
        store,
        "UPDATE message SET state = ?, content = ?, reasoning = ?, problem = ?,"
        " details = ?, model = ?, statistics = ? WHERE id = ?",
        error, "issssssi", (int64_t)message->state, message->content->str, message->reasoning->str,
        message->problem, message->details, message->model, message->statistics, message->id);
    return finish(store, statement, error);
}

/* The single number a query answers, or `otherwise` where it has no row. */
static int64_t
select_id(SundogChatStore *store, const char *sql, int64_t chat, int64_t parent, int64_t offset,
          int64_t otherwise)
{
    sqlite3_stmt *statement = prepare(store, sql, NULL, "iii", chat, parent, offset);
    if (statement && sqlite3_step(statement) == SQLITE_ROW)
        otherwise = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return otherwise;
}

static int64_t
find_newest_leaf(SundogChatStore *store, int64_t chat, int64_t message)
{
    static const char newest_child[] =
        "SELECT id FROM message WHERE chat = ? AND parent = ? AND id > ? ORDER BY id DESC LIMIT 1";
    for (int64_t child; (child = select_id(store, newest_child, chat, message, message, 0)) != 0;)
        message = child;
    return message;
}

bool
sundog_chat_store_switch_branch(SundogChatStore *store, SundogChat *chat, SundogMessage *message,
                                int step, GError **error)
{
    int64_t offset = (int64_t)message->alternative - 1 + step;
    int64_t sibling =
        offset < 0 ? 0
                   : select_id(store,
                               "SELECT id FROM message WHERE chat = ? AND parent = ? ORDER BY id"
                               " LIMIT 1 OFFSET ?",
                               chat->id, message->parent_id, offset, 0);
    if (sibling == 0)
        return false;
    chat->head = find_newest_leaf(store, chat->id, sibling);
    return sundog_chat_store_save_chat(store, chat, error);
}

static char *
dup_like_pattern(const char *text)
{
    GString *pattern = g_string_new("%");
    for (; *text; text++) {
        if (strchr("%_\\", *text))
            g_string_append_c(pattern, '\\');
        g_string_append_c(pattern, *text);
    }
    return g_string_free(g_string_append_c(pattern, '%'), FALSE);
}

GHashTable *
sundog_chat_store_search(SundogChatStore *store, const char *text, GError **error)
{
    g_autofree char *pattern = dup_like_pattern(text);
    sqlite3_stmt *statement =
        prepare(store,
                "SELECT id FROM chat WHERE title LIKE ?1 ESCAPE '\\'"
                " UNION SELECT chat FROM message WHERE content LIKE ?1 ESCAPE '\\'",
                error, "s", pattern);
    if (!statement)
        return NULL;
    GHashTable *found = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(statement, 0);
        g_hash_table_add(found, g_memdup2(&id, sizeof id));
    }
    sqlite3_finalize(statement);
    return found;
}
