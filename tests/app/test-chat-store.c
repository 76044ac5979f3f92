/* The chat file: round trips, branches, deletion and undo, migration with a copy, refusal of newer
 * files, and what is left after a kill in the middle of a stream. */

#include "app/chats/chat-store.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *
dup_path(void)
{
    g_autofree char *folder = g_dir_make_tmp("sundog-chats-XXXXXX", NULL);
    return g_build_filename(folder, "chats.db", NULL);
}

static SundogMessage *
add(SundogChatStore *store, SundogChat *chat, SundogRole role, const char *text, int64_t parent)
{
    g_autoptr(GError) error = NULL;
    SundogMessage *message = sundog_message_new(role, text);
    g_assert_true(sundog_chat_store_add_message(store, chat, message, parent, &error));
    g_assert_no_error(error);
    return message;
}

static void
assert_contents(SundogChatStore *store, SundogChat *chat, const char *expected)
{
    g_autoptr(GPtrArray) messages = sundog_chat_store_load_messages(store, chat, NULL);
    g_autoptr(GString) all = g_string_new(NULL);
    for (unsigned i = 0; i < messages->len; i++)
        g_string_append_printf(all, "%s;", ((SundogMessage *)messages->pdata[i])->content->str);
    g_assert_cmpstr(all->str, ==, expected);
}

static void
test_round_trip(void)
{
    g_autofree char *path = dup_path();
    g_autoptr(SundogChat) chat = sundog_chat_new();
    {
        g_autoptr(SundogChatStore) store = sundog_chat_store_open(path, NULL);
        chat->title = (g_free(chat->title), g_strdup("100% of ü"));
        chat->draft = (g_free(chat->draft), g_strdup("half a sen"));
        g_autoptr(SundogMessage) question = add(store, chat, SUNDOG_ROLE_USER, "Why?", 0);
        g_autoptr(SundogMessage) answer =
            add(store, chat, SUNDOG_ROLE_ASSISTANT, "Because.", question->id);
        answer->statistics = g_strdup("{\"tokens_per_second\":7}");
        g_assert_true(sundog_chat_store_save_message(store, answer, NULL));
    }
    g_autoptr(SundogChatStore) store = sundog_chat_store_open(path, NULL);
    g_autoptr(GPtrArray) chats = sundog_chat_store_list_chats(store, NULL);
    g_assert_cmpuint(chats->len, ==, 1);
    SundogChat *read = chats->pdata[0];
    g_assert_cmpstr(read->title, ==, "100% of ü");
    g_assert_cmpstr(read->draft, ==, "half a sen");
    g_assert_null(read->queued);
    assert_contents(store, read, "Why?;Because.;");
    g_autoptr(GPtrArray) messages = sundog_chat_store_load_messages(store, read, NULL);
    g_assert_cmpstr(((SundogMessage *)messages->pdata[1])->statistics, ==,
                    "{\"tokens_per_second\":7}");
}

static void
test_branches(void)
{
    g_autoptr(SundogChatStore) store = sundog_chat_store_open(":memory:", NULL);
    g_autoptr(SundogChat) chat = sundog_chat_new();
    g_autoptr(SundogMessage) q1 = add(store, chat, SUNDOG_ROLE_USER, "q1", 0);
    g_autoptr(SundogMessage) a1 = add(store, chat, SUNDOG_ROLE_ASSISTANT, "a1", q1->id);
    g_autoptr(SundogMessage) q2 = add(store, chat, SUNDOG_ROLE_USER, "q2", a1->id);
    g_autoptr(SundogMessage) again = add(store, chat, SUNDOG_ROLE_ASSISTANT, "a1b", q1->id);
    assert_contents(store, chat, "q1;a1b;");
    g_assert_cmpuint(again->alternative, ==, 2);
    g_assert_cmpuint(again->n_alternatives, ==, 2);
    g_assert_true(sundog_chat_store_switch_branch(store, chat, again, -1, NULL));
    assert_contents(store, chat, "q1;a1;q2;");
    g_autoptr(GPtrArray) messages = sundog_chat_store_load_messages(store, chat, NULL);
    SundogMessage *shown = messages->pdata[1];
    g_assert_cmpuint(shown->alternative, ==, 1);
    g_assert_cmpuint(shown->n_alternatives, ==, 2);
    g_assert_false(sundog_chat_store_switch_branch(store, chat, shown, -1, NULL));
    g_assert_true(sundog_chat_store_switch_branch(store, chat, shown, 1, NULL));
    assert_contents(store, chat, "q1;a1b;");
    g_assert_false(sundog_chat_store_switch_branch(store, chat, again, 1, NULL));
    g_assert_cmpint(q2->parent_id, ==, a1->id);
}

static void
test_delete(void)
{
    g_autofree char *path = dup_path();
    g_autoptr(SundogChatStore) store = sundog_chat_store_open(path, NULL);
    g_autoptr(SundogChat) chat = sundog_chat_new();
    g_autoptr(SundogMessage) q = add(store, chat, SUNDOG_ROLE_USER, "keep me", 0);
    g_assert_true(sundog_chat_store_set_deleted(store, chat, true, NULL));
    g_autoptr(GPtrArray) none = sundog_chat_store_list_chats(store, NULL);
    g_assert_cmpuint(none->len, ==, 0);
    g_assert_true(sundog_chat_store_set_deleted(store, chat, false, NULL));
    assert_contents(store, chat, "keep me;");
    g_assert_true(sundog_chat_store_set_deleted(store, chat, true, NULL));
    g_clear_pointer(&store, sundog_chat_store_free);
    store = sundog_chat_store_open(path, NULL);
    g_assert_true(sundog_chat_store_set_deleted(store, chat, false, NULL));
    assert_contents(store, chat, "");
}

static void
test_search(void)
{
    g_autoptr(SundogChatStore) store = sundog_chat_store_open(":memory:", NULL);
    g_autoptr(SundogChat) a = sundog_chat_new();
    g_autoptr(SundogChat) b = sundog_chat_new();
    g_autoptr(SundogMessage) m1 = add(store, a, SUNDOG_ROLE_USER, "100% Certain", 0);
    g_autoptr(SundogMessage) m2 = add(store, b, SUNDOG_ROLE_USER, "1000 uncertain", 0);
    static const struct {
        const char *text;
        unsigned n;
    } cases[] = {{"certain", 2}, {"0%", 1}, {"100", 2}, {"%", 1}, {"_", 0}, {"'; DROP", 0}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GHashTable) found = sundog_chat_store_search(store, cases[i].text, NULL);
        g_assert_cmpuint(g_hash_table_size(found), ==, cases[i].n);
    }
}

static void
make_version_1(const char *path)
{
    sqlite3 *database = NULL;
    g_assert_cmpint(sqlite3_open(path, &database), ==, SQLITE_OK);
    static const char sql[] =
        "CREATE TABLE chat (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT '',"
        " core TEXT, instructions TEXT, parameters TEXT, head INTEGER NOT NULL DEFAULT 0,"
        " updated_us INTEGER NOT NULL, pinned INTEGER NOT NULL DEFAULT 0,"
        " deleted INTEGER NOT NULL DEFAULT 0);"
        "CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE,"
        " parent INTEGER NOT NULL DEFAULT 0, role INTEGER NOT NULL, state INTEGER NOT NULL,"
        " content TEXT NOT NULL DEFAULT '', reasoning TEXT NOT NULL DEFAULT '', problem TEXT,"
        " details TEXT, model TEXT, statistics TEXT, created_us INTEGER NOT NULL);"
        "CREATE INDEX message_parent ON message (chat, parent);"
        "INSERT INTO chat (title, head, updated_us) VALUES ('old', 1, 5);"
        "INSERT INTO message (chat, role, state, content, created_us) VALUES (1, 0, 0, 'hi', 5);"
        "PRAGMA user_version = 1;";
    g_assert_cmpint(sqlite3_exec(database, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(database);
}

static void
test_migration(void)
{
    g_autofree char *path = dup_path();
    make_version_1(path);
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogChatStore) store = sundog_chat_store_open(path, &error);
    g_assert_no_error(error);
    g_autoptr(GPtrArray) chats = sundog_chat_store_list_chats(store, NULL);
    SundogChat *chat = chats->pdata[0];
    g_assert_cmpstr(chat->title, ==, "old");
    assert_contents(store, chat, "hi;");
    g_autofree char *copy = g_strconcat(path, ".v1", NULL);
    g_assert_true(g_file_test(copy, G_FILE_TEST_IS_REGULAR));
    sqlite3 *database = NULL;
    g_assert_cmpint(sqlite3_open(copy, &database), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(database, "SELECT draft FROM chat", NULL, NULL, NULL), !=,
                    SQLITE_OK);
    sqlite3_close(database);
}

static void
test_newer(void)
{
    g_autofree char *path = dup_path();
    sqlite3 *database = NULL;
    g_assert_cmpint(sqlite3_open(path, &database), ==, SQLITE_OK);
    sqlite3_exec(database, "PRAGMA user_version = 99; CREATE TABLE x (y);", NULL, NULL, NULL);
    sqlite3_close(database);
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_chat_store_open(path, &error));
    g_assert_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_NEWER);
}

static void
test_damaged(void)
{
    g_autofree char *path = dup_path();
    g_assert_true(g_file_set_contents(path,
                                      "this is not a database, but long enough to be one "
                                      "that SQLite looks at twice before refusing it",
                                      -1, NULL));
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_chat_store_open(path, &error));
    g_assert_error(error, SUNDOG_CHAT_STORE_ERROR, SUNDOG_CHAT_STORE_ERROR_FAILED);
}

/* Writes an answer word by word until it is killed; tells the parent after each word is stored. */
static void
write_until_killed(const char *path, int ready)
{
    SundogChatStore *store = sundog_chat_store_open(path, NULL);
    SundogChat *chat = sundog_chat_new();
    SundogMessage *question = add(store, chat, SUNDOG_ROLE_USER, "tell me", 0);
    SundogMessage *answer = sundog_message_new(SUNDOG_ROLE_ASSISTANT, "");
    answer->state = SUNDOG_MESSAGE_STREAMING;
    sundog_chat_store_add_message(store, chat, answer, question->id, NULL);
    for (int i = 0;; i++) {
        g_string_append_printf(answer->content, "word%d ", i);
        sundog_chat_store_save_message(store, answer, NULL);
        if (write(ready, "x", 1) != 1)
            _exit(0);
    }
}

static void
test_kill(void)
{
    for (int round = 0; round < 5; round++) {
        g_autofree char *path = dup_path();
        int ends[2];
        g_assert_cmpint(pipe(ends), ==, 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            write_until_killed(path, ends[1]);
        }
        close(ends[1]);
        int n_words = 0;
        for (char byte; n_words < 20 + round * 7 && read(ends[0], &byte, 1) == 1; n_words++)
            ;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ends[0]);
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogChatStore) store = sundog_chat_store_open(path, &error);
        g_assert_no_error(error);
        g_autoptr(GPtrArray) chats = sundog_chat_store_list_chats(store, NULL);
        g_autoptr(GPtrArray) messages =
            sundog_chat_store_load_messages(store, chats->pdata[0], NULL);
        g_assert_cmpuint(messages->len, ==, 2);
        SundogMessage *answer = messages->pdata[1];
        g_assert_cmpint(answer->state, ==, SUNDOG_MESSAGE_INTERRUPTED);
        g_autofree char *last = g_strdup_printf("word%d ", n_words - 1);
        g_assert_nonnull(strstr(answer->content->str, last));
    }
}

static void
test_titles(void)
{
    static const struct {
        const char *message, *title;
    } cases[] = {
        {"Hello", "Hello"},
        {"  \n Two\nlines", "Two"},
        {"", ""},
        {"A question that goes on for quite a while and then some more of it",
         "A question that goes on for quite a while and…"},
        {"漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"
         "漢字漢字漢字",
         "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"
         "漢字漢字…"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *title = sundog_chat_dup_title_from(cases[i].message);
        g_assert_cmpstr(title, ==, cases[i].title);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/chat-store/round-trip", test_round_trip);
    g_test_add_func("/chat-store/branches", test_branches);
    g_test_add_func("/chat-store/delete", test_delete);
    g_test_add_func("/chat-store/search", test_search);
    g_test_add_func("/chat-store/migration", test_migration);
    g_test_add_func("/chat-store/newer", test_newer);
    g_test_add_func("/chat-store/damaged", test_damaged);
    g_test_add_func("/chat-store/kill", test_kill);
    g_test_add_func("/chat-store/titles", test_titles);
    return g_test_run();
}
