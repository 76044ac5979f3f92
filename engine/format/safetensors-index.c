/* Which safetensors files make up a folder's model. */

#include "engine/format/safetensors-private.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/format/name-table.h"

#include <string.h>
#include <sys/stat.h>

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"
#define ENDING ".safetensors"
/* The largest published one has some ten megabytes. */
#define MAX_INDEX_BYTES (100u << 20)
#define MAX_FILES 4096

static bool
is_there(const char *folder, const char *file)
{
    g_autofree char *path = g_build_filename(folder, file, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char **
steal_list(GPtrArray *names)
{
    g_ptr_array_sort(names, compare_names);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

/* --- Reading the index -------------------------------------------------------------------------- */

typedef struct {
    GHashTable *placed; /* tensor -> file, both owned */
    GHashTable *files;  /* set of names borrowed from `placed` */
    bool has_map;
} Index;

/* A file beside the index, whose name leads nowhere else. */
static bool
is_plain(const char *file)
{
    return g_str_has_suffix(file, ENDING) && file[0] != '.' && strpbrk(file, "/\\") == NULL &&
           sundog_name_is_good(file, strlen(file));
}

static bool
take_place(const char *name, const char *value, size_t n_bytes, void *data, GError **error)
{
    Index *index = data;
    g_autoptr(JsonNode) node = sundog_json_parse(value, n_bytes, error);
    if (node == NULL)
        return false;
    const char *file = sundog_json_get_text(node);
    if (file == NULL || !is_plain(file)) {
        g_autofree char *tensor = sundog_format_quote(name, NULL);
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "the tensor %s lies in what is no name of a file NAME" ENDING " beside it",
                    tensor);
        return false;
    }
    g_hash_table_replace(index->placed, g_strdup(name), g_strdup(file));
    return true;
}

static bool
take_member(const char *name, const char *value, size_t n_bytes, void *data, GError **error)
{
    Index *index = data;
    if (strcmp(name, "weight_map") != 0)
        return true;
    index->has_map = true;
    return sundog_json_for_each_member(value, n_bytes, take_place, index, error);
}

static bool
read_index(Index *index, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, INDEX, NULL);
    g_autofree char *text = NULL;
    size_t n_bytes;
    struct stat status;
    if (stat(path, &status) == 0 && status.st_size > MAX_INDEX_BYTES) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    INDEX " has %" G_GINT64_FORMAT " bytes, expected at most %u",
                    (gint64)status.st_size, MAX_INDEX_BYTES);
        return false;
    }
    if (!g_file_get_contents(path, &text, &n_bytes, error))
        return false;
    if (!sundog_json_for_each_member(text, n_bytes, take_member, index, error)) {
        g_prefix_error(error, INDEX ": ");
        return false;
    }
    if (index->has_map && g_hash_table_size(index->placed) > 0)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                INDEX " has no weight_map that names tensors");
    return false;
}

static char **
list_of_index(Index *index, GError **error)
{
    GHashTableIter iter;
    gpointer file;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_hash_table_iter_init(&iter, index->placed);
    while (g_hash_table_iter_next(&iter, NULL, &file))
        if (g_hash_table_add(index->files, file))
            g_ptr_array_add(names, g_strdup(file));
    if (names->len <= MAX_FILES)
        return steal_list(g_steal_pointer(&names));
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                INDEX " names %u files, expected at most %d", names->len, MAX_FILES);
    return NULL;
}

/* --- Without an index --------------------------------------------------------------------------- */

static char **
list_single(const char *folder, GError **error)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, error);
    if (dir == NULL)
        return NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
        if (is_plain(name))
            g_ptr_array_add(names, g_strdup(name));
    if (names->len == 1)
        return steal_list(g_steal_pointer(&names));
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "%s holds %s", folder,
                names->len == 0 ? "no file NAME" ENDING
                                : "several files NAME" ENDING ", but no " INDEX " that joins them");
    return NULL;
}

/* The files that the index names; *placed says which tensor lies in which. */
static char **
list_indexed(const char *folder, GHashTable **placed, GError **error)
{
    g_autoptr(GHashTable) table = sundog_name_table_new(g_free);
    g_autoptr(GHashTable) files = g_hash_table_new(g_str_hash, g_str_equal);
    Index index = {.placed = table, .files = files};
    if (!read_index(&index, folder, error))
        return NULL;
    char **list = list_of_index(&index, error);
    if (list != NULL)
        *placed = g_steal_pointer(&table);
    return list;
}

char **
sundog_safetensors_dup_index_files(const char *folder, GError **error)
{
    g_autoptr(GHashTable) placed = NULL;
    return list_indexed(folder, &placed, error);
}

char **
sundog_safetensors_list_files(const char *folder, GHashTable **placed, GError **error)
{
    static const char *const single[] = {SINGLE, NULL};
    *placed = NULL;
    if (is_there(folder, SINGLE))
        return g_strdupv((char **)single);
    return is_there(folder, INDEX) ? list_indexed(folder, placed, error)
                                   : list_single(folder, error);
}
