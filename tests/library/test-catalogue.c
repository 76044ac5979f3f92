/* The installed catalogue, and catalogues that are wrong. */

#include "engine/library/catalogue.h"

#include "engine/format/json-members.h"
#include "engine/library/library.h"
#include <glib/gstdio.h>
#include <string.h>

/* What every entry says, and within which bounds. */
static void
check_facts(const SundogCatalogueEntry *entry)
{
    static const char *const texts[] = {"title", "maker", "family", "licence", "description"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        const char *text = sundog_json_get_string(entry->json, texts[i], "");
        g_assert_cmpuint(strlen(text), >, 0);
        g_assert_cmpuint(strlen(text), <, 160);
    }
    JsonArray *purpose = sundog_json_get_array(entry->json, "purpose");
    g_assert_cmpuint(json_array_get_length(purpose), >=, 1);
    double context = sundog_json_get_number(entry->json, "context_length", 0);
    g_assert_true(context >= 512 && context <= 1 << 24);
    double n_parameters = sundog_json_get_number(entry->json, "n_parameters", 1e8);
    g_assert_true(n_parameters >= 1e7 && n_parameters <= 2e12);
    for (uint32_t i = 0; i < entry->n_files; i++) {
        g_assert_true(g_str_has_prefix(entry->files[i].url, "https://"));
        g_assert_true(g_str_has_suffix(entry->files[i].url, entry->files[i].name));
    }
}

/* Profiles hold nothing but numbers of the settings that sampling has. */
static void
check_sampling(const SundogCatalogueEntry *entry)
{
    static const struct {
        const char *name;
        double max;
    } settings[] = {{"temperature", 2}, {"top_p", 1}, {"top_k", 1000}, {"min_p", 1}};
    JsonObject *sampling = sundog_json_get_object(entry->json, "sampling");
    guint n_known = 0;
    for (size_t i = 0; sampling && i < G_N_ELEMENTS(settings); i++) {
        double value = sundog_json_get_number(sampling, settings[i].name, 0);
        g_assert_true(value >= 0 && value <= settings[i].max);
        n_known += json_object_has_member(sampling, settings[i].name);
    }
    g_assert_true(!sampling || n_known == json_object_get_size(sampling));
}

static void
test_sizes(void)
{
    g_autoptr(SundogCatalogue) catalogue = sundog_catalogue_open(NULL, NULL);
    bool is_exact;
    const SundogCatalogueEntry *entry = sundog_catalogue_find(catalogue, "smollm2-135m-instruct");
    g_assert_cmpuint(sundog_catalogue_entry_get_bytes(entry, &is_exact), ==, 98362432);
    g_assert_true(is_exact);
    entry = sundog_catalogue_find(catalogue, "llama-3.1-8b-instruct");
    uint64_t n_bytes = sundog_catalogue_entry_get_bytes(entry, &is_exact);
    g_assert_true(n_bytes > 4.5e9 && n_bytes < 5.5e9);
    g_assert_false(is_exact);
}

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
        check_facts(entry);
        check_sampling(entry);
    }
    g_assert_cmpuint(sundog_catalogue_get_n_entries(catalogue), >=, 40);
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
    g_test_add_func("/catalogue/sizes", test_sizes);
    g_test_add_func("/catalogue/wrong", test_wrong);
    return g_test_run();
}
