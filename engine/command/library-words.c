/* Names on the command line. */

#include "engine/command/library-words.h"

SundogLibraryEntry *
sundog_words_find_core(SundogLibrary *library, const char *name, GError **error)
{
    g_autoptr(GError) own = NULL;
    SundogLibraryEntry *core = sundog_library_find_core(library, name, &own);
    if (core != NULL)
        return core;
    g_autoptr(SundogLibraryEntry) model = sundog_library_find_model(library, name, NULL);
    if (model == NULL) {
        g_propagate_error(error, g_steal_pointer(&own));
        return NULL;
    }
    g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                "%s is a model that has not been prepared yet: run `sundog prepare %s` first", name,
                name);
    return NULL;
}

SundogCore *
sundog_words_open_core(SundogLibrary *library, const char *name, SundogLibraryEntry **entry,
                       GError **error)
{
    g_autoptr(SundogLibraryEntry) found = sundog_words_find_core(library, name, error);
    if (found == NULL)
        return NULL;
    SundogCore *core = sundog_core_open(found->path, sundog_library_get_keyring(library), error);
    if (core != NULL)
        *entry = g_steal_pointer(&found);
    return core;
}

SundogLibraryEntry *
sundog_words_find_model(SundogLibrary *library, const char *name, GError **error)
{
    g_autoptr(GError) own = NULL;
    SundogLibraryEntry *model = sundog_library_find_model(library, name, &own);
    if (model != NULL)
        return model;
    g_autoptr(SundogCatalogue) catalogue = sundog_catalogue_open(NULL, NULL);
    if (catalogue == NULL || sundog_catalogue_find(catalogue, name) == NULL) {
        g_propagate_error(error, g_steal_pointer(&own));
        return NULL;
    }
    g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                "%s is not on this computer yet: run `sundog pull %s` first", name, name);
    return NULL;
}
