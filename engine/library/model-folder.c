/* Models as folders of files. */

#include "engine/library/model-folder.h"

#include "engine/format/gguf.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/library/folder.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

/* model.json is a few hundred bytes; more is not one. */
#define MAX_INFO_BYTES (1u << 20)

static bool
get_file_bytes(const char *path, uint64_t *n_bytes)
{
    GStatBuf status;
    if (g_stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    *n_bytes = (uint64_t)status.st_size;
    return true;
}

static void set_problem(SundogLibraryEntry *entry, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
set_problem(SundogLibraryEntry *entry, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_free(entry->problem);
    entry->problem = g_strdup_vprintf(format, arguments);
    entry->damaged = true;
    va_end(arguments);
}

static JsonObject *
read_info(const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, SUNDOG_MODEL_FILE, NULL);
    g_autofree char *text = NULL;
    size_t n_bytes = 0;
    uint64_t size = 0;
    if (get_file_bytes(path, &size) && size > MAX_INFO_BYTES) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID,
                    "model.json has %" G_GUINT64_FORMAT " bytes, at most %u are read", size,
                    MAX_INFO_BYTES);
        return NULL;
    }
    if (!g_file_get_contents(path, &text, &n_bytes, error))
        return NULL;
    g_autoptr(JsonNode) root = sundog_json_parse(text, n_bytes, error);
    if (!root)
        return NULL;
    if (!JSON_NODE_HOLDS_OBJECT(root)) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID,
                    "model.json holds no object");
        return NULL;
    }
    return json_node_dup_object(root);
}

/* Nothing hidden and nothing outside: a name, or one in a folder beside the others. */
static bool
is_file_name(const char *name)
{
    const char *slash = strchr(name, '/');
    return name[0] != '.' && name[0] != '/' &&
           (slash == NULL || (slash[1] != '.' && slash[1] != '\0' && !strchr(slash + 1, '/')));
}

/* Compares the files with what model.json says of them; the first difference is the problem. */
static bool
check_files(SundogLibraryEntry *entry, const char *folder, JsonObject *info)
{
    JsonNode *node = json_object_get_member(info, "files");
    if (!node || !JSON_NODE_HOLDS_ARRAY(node)) {
        set_problem(entry, "model.json names no files");
        return false;
    }
    JsonArray *files = json_node_get_array(node);
    for (guint i = 0; i < json_array_get_length(files); i++) {
        JsonNode *element = json_array_get_element(files, i);
        JsonObject *file = JSON_NODE_HOLDS_OBJECT(element) ? json_node_get_object(element) : NULL;
        const char *name = file ? sundog_json_get_string(file, "name", NULL) : NULL;
        if (!name || !is_file_name(name)) {
            set_problem(entry, "model.json has a file without a proper name");
            return false;
        }
        g_autofree char *path = g_build_filename(folder, name, NULL);
        uint64_t expected = (uint64_t)json_object_get_int_member_with_default(file, "bytes", 0);
        uint64_t found = 0;
        if (!get_file_bytes(path, &found)) {
            set_problem(entry, "The file %s is missing", name);
            return false;
        }
        if (found != expected) {
            set_problem(
                entry, "The file %s has %" G_GUINT64_FORMAT " bytes in place of %" G_GUINT64_FORMAT,
                name, found, expected);
            return false;
        }
    }
    return true;
}

/* What a file or folder without model.json tells of itself. */
static JsonObject *
make_info(const char *name, const char *file)
{
    JsonObject *info = json_object_new();
    json_object_set_string_member(info, "name", name);
    json_object_set_string_member(info, "title", name);
    json_object_set_string_member(info, "file", file);
    return info;
}

static SundogLibraryEntry *
entry_new(const char *name, const char *path)
{
    SundogLibraryEntry *entry = g_new0(SundogLibraryEntry, 1);
    entry->name = g_strdup(name);
    entry->path = g_strdup(path);
    return entry;
}

static char *
dup_main_path(const char *folder, const char *file)
{
    return strcmp(file, SUNDOG_MODEL_IS_FOLDER) == 0 ? g_strdup(folder)
                                                     : g_build_filename(folder, file, NULL);
}

static const char *
find_with_suffix(GPtrArray *names, const char *suffix)
{
    for (guint i = 0; i < names->len; i++)
        if (g_str_has_suffix(names->pdata[i], suffix))
            return names->pdata[i];
    return NULL;
}

/* A model that is a folder of safetensors: config.json says what it is. */
static bool
holds_safetensors(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, "config.json", NULL);
    return g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

/* A folder without model.json: an unfinished download, or files put there by hand. NULL: neither. */
static SundogLibraryEntry *
read_plain_folder(const char *name, const char *folder)
{
    g_autoptr(GPtrArray) files = sundog_folder_list(folder, NULL);
    if (!files)
        return NULL;
    const char *partial = find_with_suffix(files, SUNDOG_PARTIAL_SUFFIX);
    const char *file = find_with_suffix(files, ".gguf");
    if (!file && holds_safetensors(folder))
        file = SUNDOG_MODEL_IS_FOLDER;
    if (!partial && !file)
        return NULL;
    g_autofree char *path = dup_main_path(folder, file ? file : partial);
    SundogLibraryEntry *entry = entry_new(name, path);
    if (partial)
        set_problem(entry, "The download is not complete: pull it again to go on");
    else
        entry->info = make_info(name, file);
    return entry;
}

/* Whether "file" of model.json names a file of the folder, or the folder itself. */
static bool
is_main_name(const char *file)
{
    return file &&
           (strcmp(file, SUNDOG_MODEL_IS_FOLDER) == 0 || (!strchr(file, '/') && file[0] != '.'));
}

static SundogLibraryEntry *
read_folder(const char *name, const char *folder)
{
    g_autofree char *info_path = g_build_filename(folder, SUNDOG_MODEL_FILE, NULL);
    SundogLibraryEntry *entry = NULL;
    if (!g_file_test(info_path, G_FILE_TEST_EXISTS)) {
        entry = read_plain_folder(name, folder);
    } else {
        g_autoptr(GError) error = NULL;
        g_autoptr(JsonObject) info = read_info(folder, &error);
        const char *file = info ? sundog_json_get_string(info, "file", NULL) : NULL;
        bool is_name = is_main_name(file);
        g_autofree char *path = dup_main_path(folder, is_name ? file : SUNDOG_MODEL_IS_FOLDER);
        entry = entry_new(name, path);
        if (!info)
            set_problem(entry, "%s", error->message);
        else if (!is_name)
            set_problem(entry, "model.json names no main file");
        else if (check_files(entry, folder, info))
            entry->info = g_steal_pointer(&info);
    }
    if (entry)
        entry->n_bytes = sundog_folder_get_bytes(folder);
    return entry;
}

/* Whether a file is a part of a model that another one stands for. */
static bool
is_later_part(const char *file)
{
    unsigned part, n_parts;
    return sundog_gguf_split_parse(file, &part, &n_parts) && part > 1;
}

/* Bytes of the other parts of a model that begins with this file. */
static uint64_t
count_other_parts(const char *path)
{
    unsigned part, n_parts;
    uint64_t n_bytes = 0;
    if (!sundog_gguf_split_parse(path, &part, &n_parts))
        return 0;
    for (unsigned i = 1; i <= n_parts; i++) {
        g_autofree char *other = sundog_gguf_split_dup_name(path, i);
        uint64_t found = 0;
        if (i != part && get_file_bytes(other, &found))
            n_bytes += found;
    }
    return n_bytes;
}

/* "Foo Bar.Q8_0.gguf" to "foo-bar.q8_0", and of several parts without their number. */
static char *
dup_name_of_file(const char *file)
{
    unsigned part, n_parts;
    g_autofree char *base = g_path_get_basename(file);
    if (sundog_gguf_split_parse(base, &part, &n_parts))
        base[strlen(base) - strlen("-00001-of-00002.gguf")] = 0;
    if (g_str_has_suffix(base, ".gguf"))
        base[strlen(base) - strlen(".gguf")] = 0;
    for (char *byte = base; *byte; byte++)
        *byte = g_ascii_isalnum(*byte) || strchr("._-", *byte) ? g_ascii_tolower(*byte) : '-';
    size_t skipped = strspn(base, ".");
    return g_strndup(base[skipped] ? base + skipped : "model", 96);
}

SundogLibraryEntry *
sundog_model_folder_read_path(const char *path, GError **error)
{
    uint64_t n_bytes = 0;
    bool is_folder = holds_safetensors(path);
    if (is_folder) {
        n_bytes = sundog_folder_get_bytes(path);
    } else if (!get_file_bytes(path, &n_bytes)) {
        bool is_there = g_file_test(path, G_FILE_TEST_IS_DIR);
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                    is_there ? "The folder %s holds no config.json, so it is no model"
                             : "There is no model file at %s",
                    path);
        return NULL;
    }
    g_autofree char *name = dup_name_of_file(path);
    g_autofree char *base = g_path_get_basename(path);
    g_autofree char *absolute = g_canonicalize_filename(path, NULL);
    SundogLibraryEntry *entry = entry_new(name, absolute);
    entry->n_bytes = n_bytes + (is_folder ? 0 : count_other_parts(path));
    entry->info = make_info(name, is_folder ? SUNDOG_MODEL_IS_FOLDER : base);
    return entry;
}

static bool
has_name(GPtrArray *entries, const char *name)
{
    for (guint i = 0; i < entries->len; i++)
        if (strcmp(((SundogLibraryEntry *)entries->pdata[i])->name, name) == 0)
            return true;
    return false;
}

static int
compare_entries(gconstpointer a, gconstpointer b)
{
    const SundogLibraryEntry *const *first = a, *const *second = b;
    return strcmp((*first)->name, (*second)->name);
}

static void
add_files(GPtrArray *entries, const char *models, GPtrArray *names)
{
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *path = g_build_filename(models, name, NULL);
        if (!g_str_has_suffix(name, ".gguf") || is_later_part(name) ||
            g_file_test(path, G_FILE_TEST_IS_DIR))
            continue;
        SundogLibraryEntry *entry = sundog_model_folder_read_path(path, NULL);
        if (!entry)
            continue;
        /* A folder of the same name came first: the file keeps its whole name. */
        if (has_name(entries, entry->name)) {
            g_free(entry->name);
            entry->name = g_strdup(name);
        }
        g_ptr_array_add(entries, entry);
    }
}

GPtrArray *
sundog_model_folder_list(const char *models)
{
    GPtrArray *entries = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_library_entry_free);
    g_autoptr(GPtrArray) names = sundog_folder_list(models, NULL);
    if (!names)
        return entries;
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_build_filename(models, names->pdata[i], NULL);
        if (!g_file_test(path, G_FILE_TEST_IS_DIR))
            continue;
        SundogLibraryEntry *entry = read_folder(names->pdata[i], path);
        if (entry)
            g_ptr_array_add(entries, entry);
    }
    add_files(entries, models, names);
    g_ptr_array_sort(entries, compare_entries);
    return entries;
}

bool
sundog_model_folder_is_complete(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, SUNDOG_MODEL_FILE, NULL);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return false;
    g_autoptr(SundogLibraryEntry) entry = read_folder("model", folder);
    return entry && !entry->damaged;
}

bool
sundog_model_folder_write(const char *folder, JsonObject *info, GError **error)
{
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(root, info);
    g_autofree char *text = sundog_json_print(root, true);
    g_autofree char *path = g_build_filename(folder, SUNDOG_MODEL_FILE, NULL);
    return g_file_set_contents_full(
        path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600, error);
}
