/* One step of SQL a version; a step is never changed once it was released. */

#include "app/chats/chat-schema.h"
#include "app/chats/chat-store.h"
#include <gio/gio.h>
#include <glib/gstdio.h>

static const char *const steps[SUNDOG_CHAT_STORE_VERSION] = {
    /* 1: chats and the trees of their messages. */
    "CREATE TABLE chat (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT '',"
    " core TEXT, instructions TEXT, parameters TEXT, head INTEGER NOT NULL DEFAULT 0,"
    " updated_us INTEGER NOT NULL, pinned INTEGER NOT NULL DEFAULT 0,"
    " deleted INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,"
    " parent INTEGER NOT NULL DEFAULT 0, role INTEGER NOT NULL, state INTEGER NOT NULL,"
    " content TEXT NOT NULL DEFAULT '', reasoning TEXT NOT NULL DEFAULT '', problem TEXT,"
    " details TEXT, model TEXT, statistics TEXT, created_us INTEGER NOT NULL);"
    "CREATE INDEX message_parent ON message (chat, parent);",
    /* 2: what is typed but not sent outlives the app. */
    "ALTER TABLE chat ADD COLUMN draft TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE chat ADD COLUMN queued TEXT;",
};

static bool
run(sqlite3 *database, const char *sql, GError **error)
{
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    g_set_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_FAILED, "%s",
                sqlite3_errmsg(database));
    return false;
}

static int
read_version(sqlite3 *database, GError **error)
{
    sqlite3_stmt *statement = NULL;
    int version = -1;
    if (sqlite3_prepare_v2(database, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        version = sqlite3_column_int(statement, 0);
    else
        g_set_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_FAILED, "%s",
                    sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    return version;
}

/* SQLite itself makes the copy, so that it is whole even with a log beside the file. */
static bool
back_up(sqlite3 *database, const char *path, int version, GError **error)
{
    g_autofree char *copy = g_strdup_printf("%s.v%d", path, version);
    g_autofree char *beside = g_strconcat(copy, ".part", NULL);
    g_remove(beside);
    sqlite3_stmt *statement = NULL;
    bool done = sqlite3_prepare_v2(database, "VACUUM INTO ?", -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_bind_text(statement, 1, beside, -1, SQLITE_TRANSIENT) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_DONE && g_rename(beside, copy) == 0;
    if (!done)
        g_set_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_FAILED,
                    "could not copy %s to %s before updating it: %s", path, copy,
                    sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    return done;
}

static bool
take_step(sqlite3 *database, int version, GError **error)
{
    g_autofree char *sql = g_strdup_printf("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT;",
                                           steps[version], version + 1);
    if (run(database, sql, error))
        return true;
    sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

bool
sundog_chat_schema_migrate(sqlite3 *database, const char *path, GError **error)
{
    int version = read_version(database, error);
    if (version < 0)
        return false;
    if (version > SUNDOG_CHAT_STORE_VERSION) {
        g_set_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_NEWER,
                    "%s has version %d, this Sundog knows versions up to %d", path, version,
                    SUNDOG_CHAT_STORE_VERSION);
        return false;
    }
    if (version > 0 && version < SUNDOG_CHAT_STORE_VERSION &&
        !back_up(database, path, version, error))
        return false;
    for (; version < SUNDOG_CHAT_STORE_VERSION; version++)
        if (!take_step(database, version, error))
            return false;
    return true;
}
