/* The installed catalogue, and catalogues that are wrong. */

#include "engine/library/catalogue.h"

#include "engine/library/library.h"
#include <glib/gstdio.h>
#include <string.h>

static void
test_installed(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogCatalogue) catalogue = sundog_catalogue_open(NULL, &error);
    g_assert_no_error(error);
    const SundogCatalogueEntry *starter = sundog_catalogue_find(catalogue, "smollm2-135m-instruct");
    g_assert_nonnull(starter);
    g_assert_cmpuint(starter->files[0].n_bytes, ==, 98362432);
    for (uint32_t i = 0; i < sundog_catalogue_get_n_entries(catalogue); i++) {
        const SundogCatalogueEntry *entry = sundog_catalogue_get_entry(catalogue, i);
        const char *const needed[] = {"title",   "maker",        "family",         "licence",
                                      "purpose", "n_parameters", "context_length", "description"};
        for (size_t k = 0; k < G_N_ELEMENTS(needed); k++)
            g_assert_true(json_object_has_member(entry->json, needed[k]));
        for (uint32_t k = 0; k < entry->n_files; k++)
            g_assert_true(g_str_has_prefix(entry->files[k].url, "https://"));
    }
}

static void
assert_refused(const char *models, const char *words)
{
    g_autofree char *path = g_build_filename(g_get_home_dir(), "catalogue.json", NULL);
    g_autofree char *text = g_strdup_printf("{\"version\":1,\"models\":%s}", models);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_catalogue_open(path, &error));
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, words));
}

#define HEAD "{\"name\":\"a\",\"title\":\"A\",\"licence\":\"MIT\",\"files\":"

static void
test_wrong(void)
{
    assert_refused("5", "no list");
    assert_refused("[5]", "no object");
    assert_refused("[{}]", "no proper name");
    assert_refused("[{\"name\":\"../x\"}]", "no proper name");
    assert_refused("[{\"name\":\"a\"}]", "no title");
    assert_refused("[" HEAD "[]}]", "no files");
    assert_refused("[" HEAD "[5]}]", "no object");
    assert_refused("[" HEAD "[{\"name\":\"../x\",\"url\":\"https://h/x\"}]}]", "proper name");
    assert_refused("[" HEAD "[{\"name\":\"x\",\"url\":\"file:///etc/passwd\"}]}]", "URL");
    assert_refused("[" HEAD "[{\"name\":\"x\",\"url\":\"https://h/x\",\"bytes\":-1}]}]", "-1");
    assert_refused("[" HEAD "[{\"name\":\"x\",\"url\":\"https://h/x\",\"sha256\":\"AB\"}]}]",
                   "hash");
    assert_refused("[" HEAD "[{\"name\":\"x\",\"url\":\"https://h/x\"}]}," HEAD
                   "[{\"name\":\"x\",\"url\":\"https://h/x\"}]}]",
                   "twice");
    assert_refused("[", "line 1");
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_catalogue_open("/nonexistent", &error));
    g_assert_nonnull(error);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/catalogue/installed", test_installed);
    g_test_add_func("/catalogue/wrong", test_wrong);
    return g_test_run();
}
