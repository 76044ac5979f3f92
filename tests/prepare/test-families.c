/* The catalogue offers nothing that this version cannot run without saying so. */

#include "engine/library/catalogue.h"
#include "engine/recipe/recipe.h"

static void
test_catalogue(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogCatalogue) catalogue = sundog_catalogue_open(NULL, &error);
    g_assert_no_error(error);
    for (uint32_t i = 0; i < sundog_catalogue_get_n_entries(catalogue); i++) {
        const SundogCatalogueEntry *entry = sundog_catalogue_get_entry(catalogue, i);
        const char *family = json_object_get_string_member(entry->json, "family");
        if (entry->needs == NULL)
            sundog_recipe_find(family, &error);
        if (error != NULL)
            g_error("%s: %s", entry->name, error->message);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/families/catalogue", test_catalogue);
    return g_test_run();
}
