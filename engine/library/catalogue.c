/* The catalogue: every entry is checked when the file is opened, so that users need not. */

#include "engine/library/catalogue.h"

#include "engine/format/error.h"
#include "engine/format/json.h"
#include "engine/library/library.h"
#include <string.h>

#define CATALOGUE_VERSION 1
#define SHA256_HEX_LENGTH 64

struct SundogCatalogue {
    JsonNode *root;  /* owns every text of the entries */
    GArray *entries; /* SundogCatalogueEntry */
};

static void
entry_clear(void *data)
{
    SundogCatalogueEntry *entry = data;
    g_free((void *)entry->files);
}

#define fail(error, ...)                                                        \
    sundog_error_set(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID, \
                     "The catalogue " __VA_ARGS__)

static const char *
get_text(JsonObject *object, const char *key)
{
    JsonNode *node = json_object_get_member(object, key);
    return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                   : NULL;
}

static JsonArray *
get_array(JsonObject *object, const char *key)
{
    JsonNode *node = json_object_get_member(object, key);
    return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static JsonObject *
get_object(JsonArray *array, guint index)
{
    JsonNode *node = json_array_get_element(array, index);
    return JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static bool
is_sha256(const char *text)
{
    return strlen(text) == SHA256_HEX_LENGTH &&
           strspn(text, "0123456789abcdef") == SHA256_HEX_LENGTH;
}

static bool
read_file(JsonObject *object, const char *model, SundogCatalogueFile *file, GError **error)
{
    file->name = get_text(object, "name");
    file->url = get_text(object, "url");
    file->sha256 = get_text(object, "sha256");
    int64_t n_bytes = json_object_get_int_member_with_default(object, "bytes", 0);
    if (!file->name || strchr(file->name, ':') || !sundog_library_name_is_valid(file->name))
        return fail(error, "entry %s has a file without a proper name", model);
    if (!file->url ||
        !(g_str_has_prefix(file->url, "https://") || g_str_has_prefix(file->url, "http://")))
        return fail(error, "entry %s: the file %s has no https URL", model, file->name);
    if (n_bytes < 0)
        return fail(error, "entry %s: the file %s has %" G_GINT64_FORMAT " bytes", model,
                    file->name, n_bytes);
    if (file->sha256 && !is_sha256(file->sha256))
        return fail(error, "entry %s: the hash of %s is not 64 lower-case hex digits", model,
                    file->name);
    file->n_bytes = (uint64_t)n_bytes;
    return true;
}

static bool
read_files(JsonObject *object, SundogCatalogueEntry *entry, GError **error)
{
    JsonArray *files = get_array(object, "files");
    if (!files || json_array_get_length(files) == 0)
        return fail(error, "entry %s has no files", entry->name);
    entry->n_files = json_array_get_length(files);
    SundogCatalogueFile *list = g_new0(SundogCatalogueFile, entry->n_files);
    entry->files = list;
    for (guint i = 0; i < entry->n_files; i++) {
        JsonObject *file = get_object(files, i);
        if (!file)
            return fail(error, "entry %s: file %u is no object", entry->name, i);
        if (!read_file(file, entry->name, &list[i], error))
            return false;
    }
    return true;
}

static bool
read_entry(SundogCatalogue *catalogue, JsonObject *object, guint index, GError **error)
{
    SundogCatalogueEntry entry = {.name = get_text(object, "name"),
                                  .title = get_text(object, "title"),
                                  .licence = get_text(object, "licence"),
                                  .json = object};
    if (!entry.name || strpbrk(entry.name, ":@") || !sundog_library_name_is_valid(entry.name))
        return fail(error, "entry %u has no proper name", index);
    if (sundog_catalogue_find(catalogue, entry.name))
        return fail(error, "has the entry %s twice", entry.name);
    if (!entry.title || !entry.licence)
        return fail(error, "entry %s has no title or licence", entry.name);
    bool read = read_files(object, &entry, error);
    g_array_append_val(catalogue->entries, entry);
    return read;
}

static bool
read_root(SundogCatalogue *catalogue, GError **error)
{
    if (!JSON_NODE_HOLDS_OBJECT(catalogue->root))
        return fail(error, "holds no object");
    JsonObject *root = json_node_get_object(catalogue->root);
    int64_t version = json_object_get_int_member_with_default(root, "version", 0);
    if (version != CATALOGUE_VERSION)
        return fail(error, "has version %" G_GINT64_FORMAT ", this program reads %d", version,
                    CATALOGUE_VERSION);
    JsonArray *models = get_array(root, "models");
    if (!models)
        return fail(error, "has no list of models");
    for (guint i = 0; i < json_array_get_length(models); i++) {
        JsonObject *object = get_object(models, i);
        if (!object)
            return fail(error, "entry %u is no object", i);
        if (!read_entry(catalogue, object, i, error))
            return false;
    }
    return true;
}

SundogCatalogue *
sundog_catalogue_open(const char *path, GError **error)
{
    g_autofree char *installed = path ? NULL : sundog_paths_dup_data_file("catalogue.json");
    const char *file = path ? path : installed;
    if (!file) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                    "The catalogue of models is missing from the installation: install it again");
        return NULL;
    }
    g_autofree char *text = NULL;
    size_t n_bytes = 0;
    if (!g_file_get_contents(file, &text, &n_bytes, error))
        return NULL;
    JsonNode *root = sundog_json_parse(text, n_bytes, error);
    if (!root) {
        g_prefix_error(error, "%s: ", file);
        return NULL;
    }
    g_autoptr(SundogCatalogue) catalogue = g_new0(SundogCatalogue, 1);
    catalogue->root = root;
    catalogue->entries = g_array_new(false, true, sizeof(SundogCatalogueEntry));
    g_array_set_clear_func(catalogue->entries, entry_clear);
    return read_root(catalogue, error) ? g_steal_pointer(&catalogue) : NULL;
}

void
sundog_catalogue_free(SundogCatalogue *catalogue)
{
    if (!catalogue)
        return;
    g_array_unref(catalogue->entries);
    json_node_unref(catalogue->root);
    g_free(catalogue);
}

uint32_t
sundog_catalogue_get_n_entries(const SundogCatalogue *catalogue)
{
    g_return_val_if_fail(catalogue, 0);
    return catalogue->entries->len;
}

const SundogCatalogueEntry *
sundog_catalogue_get_entry(const SundogCatalogue *catalogue, uint32_t index)
{
    g_return_val_if_fail(catalogue && index < catalogue->entries->len, NULL);
    return &g_array_index(catalogue->entries, SundogCatalogueEntry, index);
}

const SundogCatalogueEntry *
sundog_catalogue_find(const SundogCatalogue *catalogue, const char *name)
{
    g_return_val_if_fail(catalogue && name, NULL);
    for (guint i = 0; i < catalogue->entries->len; i++) {
        const SundogCatalogueEntry *entry =
            &g_array_index(catalogue->entries, SundogCatalogueEntry, i);
        if (strcmp(entry->name, name) == 0)
            return entry;
    }
    return NULL;
}
