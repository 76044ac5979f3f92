/* The catalogue: every entry is checked when the file is opened, so that users need not. */

#include "engine/library/catalogue.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
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

static bool
is_sha256(const char *text)
{
    return strlen(text) == SHA256_HEX_LENGTH &&
           strspn(text, "0123456789abcdef") == SHA256_HEX_LENGTH;
}

static bool
read_file(JsonObject *object, const char *model, SundogCatalogueFile *file, GError **error)
{
    file->name = sundog_json_get_string(object, "name", NULL);
    file->url = sundog_json_get_string(object, "url", NULL);
    file->sha256 = sundog_json_get_string(object, "sha256", NULL);
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
    JsonArray *files = sundog_json_get_array(object, "files");
    if (!files || json_array_get_length(files) == 0)
        return fail(error, "entry %s has no files", entry->name);
    entry->n_files = json_array_get_length(files);
    SundogCatalogueFile *list = g_new0(SundogCatalogueFile, entry->n_files);
    entry->files = list;
    for (guint i = 0; i < entry->n_files; i++) {
        JsonObject *file = sundog_json_get_element(files, i);
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
    SundogCatalogueEntry entry = {.name = sundog_json_get_string(object, "name", NULL),
                                  .title = sundog_json_get_string(object, "title", NULL),
                                  .licence = sundog_json_get_string(object, "licence", NULL),
                                  .needs = sundog_json_get_string(object, "needs", NULL),
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
    JsonArray *models = sundog_json_get_array(root, "models");
    if (!models)
        return fail(error, "has no list of models");
    for (guint i = 0; i < json_array_get_length(models); i++) {
        JsonObject *object = sundog_json_get_element(models, i);
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

/* Bits of a weight by what stands in a file's name, as whole models of that kind come out: their larger
 * matrices may be of another type than the name says. */
static double
guess_bits(const char *file)
{
    static const struct {
        const char *type;
        double bits;
    } types[] = {{"q2_k", 3.2},  {"q3_k", 4.0}, {"q4_0", 4.7}, {"q4_1", 5.1},
                 {"q4_k", 4.9},  {"q5_k", 5.7}, {"q6_k", 6.6}, {"q8_0", 8.5},
                 {"mxfp4", 4.6}, {"f16", 16},   {"bf16", 16},  {"safetensors", 16}};
    g_autofree char *lower = g_ascii_strdown(file, -1);
    for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
        if (strstr(lower, types[i].type) != NULL)
            return types[i].bits;
    return 0;
}

uint64_t
sundog_catalogue_entry_get_bytes(const SundogCatalogueEntry *entry, bool *is_exact)
{
    uint64_t n_bytes = 0;
    *is_exact = true;
    for (uint32_t i = 0; i < entry->n_files; i++) {
        n_bytes += entry->files[i].n_bytes;
        *is_exact = *is_exact && entry->files[i].n_bytes > 0;
    }
    if (*is_exact)
        return n_bytes;
    double n_parameters = 0;
    sundog_json_get_double(entry->json, "n_parameters", &n_parameters);
    return (uint64_t)(n_parameters * guess_bits(entry->files[entry->n_files - 1].name) / 8);
}
