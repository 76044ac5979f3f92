/* Settings: types, ranges, damage, migration, secrets, and two writers. */

#include "engine/library/config.h"

#include "engine/format/json.h"
#include "engine/library/library.h"
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

static void
write_file(const char *text)
{
    g_assert_true(g_file_set_contents(sundog_paths_get_config_file(), text, -1, NULL));
}

static void
assert_refused(const char *text, const char *words)
{
    write_file(text);
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_config_open(&error));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, words));
    g_autofree char *kept = NULL;
    g_assert_true(g_file_get_contents(sundog_paths_get_config_file(), &kept, NULL, NULL));
    g_assert_cmpstr(kept, ==, text);
    g_unlink(sundog_paths_get_config_file());
}

static void
test_defaults(void)
{
    g_unlink(sundog_paths_get_config_file());
    g_autoptr(SundogConfig) config = sundog_config_open(NULL);
    g_assert_cmpint(sundog_config_get_integer(config, "server.port"), ==, 7410);
    g_assert_cmpstr(sundog_config_get_text(config, "server.address"), ==, "127.0.0.1");
    g_assert_false(g_file_test(sundog_paths_get_config_file(), G_FILE_TEST_EXISTS));
}

static void
test_set(void)
{
    g_autoptr(SundogConfig) config = sundog_config_open(NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(sundog_config_set(config, "server.port", "8000", &error));
    struct stat status;
    g_assert_cmpint(stat(sundog_paths_get_config_file(), &status), ==, 0);
    g_assert_cmpint(status.st_mode & 0777, ==, 0600);
    g_autoptr(SundogConfig) again = sundog_config_open(NULL);
    g_assert_cmpint(sundog_config_get_integer(again, "server.port"), ==, 8000);
    /* Another writer's change of another key is not lost. */
    g_assert_true(sundog_config_set(again, "engine.threads", "3", &error));
    g_assert_true(sundog_config_set(config, "server.core", "tiny", &error));
    g_assert_cmpint(sundog_config_get_integer(config, "engine.threads"), ==, 3);
    g_assert_true(sundog_config_set(config, "server.port", NULL, &error));
    g_assert_cmpint(sundog_config_get_integer(config, "server.port"), ==, 7410);
    const char *const bad[][2] = {{"server.port", "70000"},    {"server.port", "-1"},
                                  {"server.port", "12x"},      {"server.port", ""},
                                  {"server.address", "here"},  {"server.key", "two words"},
                                  {"server.key", "a\r\nb"},    {"server.origins", "a\nb"},
                                  {"server.core", "\xff\xfe"}, {"no.such", "1"}};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_assert_false(sundog_config_set(config, bad[i][0], bad[i][1], &error));
        g_assert_nonnull(strstr(error->message, bad[i][0]));
        g_clear_error(&error);
    }
    g_unlink(sundog_paths_get_config_file());
}

static void
test_damaged(void)
{
    assert_refused("{\"version\":1,\n\"settings\":{\"server.port\":}}", "line 2");
    assert_refused("[]", "no object");
    assert_refused("{\"version\":99,\"settings\":{}}", "version 99");
    assert_refused("{\"version\":1,\"settings\":[]}", "no object");
    assert_refused("{\"version\":1,\"settings\":{\"server.port\":\"x\"}}", "server.port");
    assert_refused("{\"version\":1,\"settings\":{\"server.port\":99999}}", "0 to 65535");
    assert_refused("", "config.json");
}

static void
test_migration(void)
{
    const char *old = "{\"settings\":{\"server.port\":9000,\"of.the.future\":[1]}}";
    write_file(old);
    g_autoptr(SundogConfig) config = sundog_config_open(NULL);
    g_assert_cmpint(sundog_config_get_integer(config, "server.port"), ==, 9000);
    g_assert_true(sundog_config_set(config, "engine.threads", "2", NULL));
    g_autofree char *kept_path = g_strconcat(sundog_paths_get_config_file(), ".v0", NULL);
    g_autofree char *kept = NULL, *now = NULL;
    g_assert_true(g_file_get_contents(kept_path, &kept, NULL, NULL));
    g_assert_cmpstr(kept, ==, old);
    g_assert_true(g_file_get_contents(sundog_paths_get_config_file(), &now, NULL, NULL));
    g_assert_nonnull(strstr(now, "of.the.future"));
    g_unlink(sundog_paths_get_config_file());
}

static void
test_secrets(void)
{
    g_autoptr(SundogConfig) config = sundog_config_open(NULL);
    g_assert_true(sundog_config_set(config, "server.key", "sesame", NULL));
    g_assert_true(sundog_config_set(config, "library.token", "hf_sesame", NULL));
    g_autoptr(JsonNode) node = sundog_config_describe(config);
    g_autofree char *text = sundog_json_print(node, false);
    g_assert_null(strstr(text, "sesame"));
    g_assert_nonnull(strstr(text, "\"is_set\":true"));
    g_assert_cmpstr(sundog_config_get_text(config, "server.key"), ==, "sesame");
    g_unlink(sundog_paths_get_config_file());
}

/* A core's own entry goes before that for all, and none drafts for itself. */
static void
test_drafts(void)
{
    static const struct {
        const char *text, *core, *draft;
        bool is_own;
    } cases[] = {
        {"", "large", NULL, false},
        {"small", "large", "small", false},
        {"small", "small", NULL, false},
        {"small", "small:q8@host", NULL, false},
        {"small", "smaller", "small", false},
        {"large=small", "large:q4", "small", true},
        {"large = small , other=tiny, rest", "other", "tiny", true},
        {"large = small , other=tiny, rest", "third", "rest", false},
        {"large=small", "larger", NULL, false},
        {"=small,,", "large", NULL, false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        bool is_own;
        g_autofree char *draft = sundog_config_dup_draft(cases[i].text, cases[i].core, &is_own);
        g_assert_cmpstr(draft, ==, cases[i].draft);
        g_assert_cmpint(is_own, ==, cases[i].is_own);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/config/defaults", test_defaults);
    g_test_add_func("/config/set", test_set);
    g_test_add_func("/config/damaged", test_damaged);
    g_test_add_func("/config/migration", test_migration);
    g_test_add_func("/config/drafts", test_drafts);
    g_test_add_func("/config/secrets", test_secrets);
    return g_test_run();
}
