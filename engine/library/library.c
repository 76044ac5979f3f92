/*
 * The models and cores on disk. The folders themselves are the index: nothing is cached, so what a
 * person puts there, takes away or mounts anew is seen with the next listing.
 */

#include "engine/library/library.h"

#include "engine/format/gguf.h"
#include "engine/format/json.h"
#include "engine/library/folder.h"
#include "engine/library/model-folder.h"
#include "engine/library/pull-lock.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_NAME_BYTES 128
/* Near names that an error lists. */
#define MAX_NEAR 5

G_DEFINE_QUARK(sundog - library - error - quark, sundog_library_error)

struct SundogLibrary {
    SundogKeyring *keyring;
};

/* An uninstaller or updater may take the whole prefix away. Shared prefixes (/usr, ~/.local) hold
 * other things as well and are never taken whole; they are told by holding the home folder or being
 * the one the base directories themselves lie in. */
static bool
check_outside_prefix(const char *folder, GError **error)
{
    g_autofree char *prefix = sundog_paths_dup_install_prefix();
    g_autofree char *shared = g_build_filename(g_get_home_dir(), ".local", NULL);
    g_autofree char *real_prefix = prefix ? realpath(prefix, NULL) : NULL;
    g_autofree char *real_folder = realpath(folder, NULL);
    g_autofree char *real_shared = realpath(shared, NULL);
    if (!real_prefix || !real_folder || strcmp(real_prefix, "/") == 0)
        return true;
    g_autofree char *below = g_strconcat(real_prefix, "/", NULL);
    g_autofree char *home = realpath(g_get_home_dir(), NULL);
    bool holds_home = home && (strcmp(home, real_prefix) == 0 || g_str_has_prefix(home, below));
    bool is_shared = holds_home || (real_shared && strcmp(real_shared, real_prefix) == 0);
    if (is_shared || !g_str_has_prefix(real_folder, below))
        return true;
    g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID,
                "The folder %s lies inside the program's own folder %s, which an update may "
                "replace: set XDG_DATA_HOME to another place",
                folder, prefix);
    return false;
}

SundogLibrary *
sundog_library_open(GError **error)
{
    if (!check_outside_prefix(sundog_paths_get_models(), error) ||
        !check_outside_prefix(sundog_paths_get_cores(), error))
        return NULL;
    SundogKeyring *keyring = sundog_keyring_open(sundog_paths_get_keys(), error);
    if (!keyring)
        return NULL;
    SundogLibrary *library = g_new0(SundogLibrary, 1);
    library->keyring = keyring;
    return library;
}

void
sundog_library_free(SundogLibrary *library)
{
    if (!library)
        return;
    sundog_keyring_free(library->keyring);
    g_free(library);
}

SundogKeyring *
sundog_library_get_keyring(SundogLibrary *library)
{
    g_return_val_if_fail(library, NULL);
    return library->keyring;
}

static char *
dup_folder_problem(const char *kind, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) names = sundog_folder_list(folder, &error);
    if (names)
        return NULL;
    return g_strdup_printf("The %s folder %s cannot be read: %s", kind, folder, error->message);
}

char *
sundog_library_dup_problem(SundogLibrary *library)
{
    g_return_val_if_fail(library, NULL);
    char *problem = dup_folder_problem("models", sundog_paths_get_models());
    return problem ? problem : dup_folder_problem("cores", sundog_paths_get_cores());
}

void
sundog_library_entry_free(SundogLibraryEntry *entry)
{
    if (!entry)
        return;
    g_free(entry->name);
    g_free(entry->path);
    g_free(entry->problem);
    g_clear_pointer(&entry->info, json_object_unref);
    g_free(entry);
}

static bool
part_is_valid(const char *part, size_t n_bytes)
{
    if (n_bytes == 0 || part[0] == '.')
        return false;
    for (size_t i = 0; i < n_bytes; i++)
        if (!g_ascii_isalnum(part[i]) && !strchr("._-", part[i]))
            return false;
    return true;
}

bool
sundog_library_name_is_valid(const char *name)
{
    g_return_val_if_fail(name, false);
    if (strlen(name) > MAX_NAME_BYTES)
        return false;
    size_t n_name = strcspn(name, ":@");
    if (!part_is_valid(name, n_name))
        return false;
    const char *rest = name + n_name;
    if (*rest == ':') {
        size_t n_variant = strcspn(++rest, "@");
        if (!part_is_valid(rest, n_variant))
            return false;
        rest += n_variant;
    }
    return *rest == 0 || part_is_valid(rest + 1, strlen(rest + 1));
}

/* A folder's name may hold no colon on every system that a library may travel to. */
static char *
dup_folder_name(const char *name)
{
    return g_strdelimit(g_strdup(name), ":", '~');
}

char *
sundog_library_dup_core_folder(SundogLibrary *library, const char *name)
{
    g_return_val_if_fail(name, NULL);
    g_autofree char *folder_name = dup_folder_name(name);
    return g_build_filename(sundog_paths_get_cores(), folder_name, NULL);
}

static SundogLibraryEntry *
read_core(SundogLibrary *library, const char *name, const char *folder)
{
    SundogLibraryEntry *entry = g_new0(SundogLibraryEntry, 1);
    entry->name = g_strdup(name);
    entry->path = g_strdup(folder);
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogPackage) package = sundog_package_open(folder, library->keyring, &error);
    if (package) {
        entry->n_bytes = sundog_package_get_bytes(package);
        entry->info = json_object_ref(sundog_package_get_manifest(package));
    } else {
        entry->damaged = true;
        entry->problem = g_strdup(error->message);
        entry->n_bytes = sundog_folder_get_bytes(folder);
    }
    return entry;
}

GPtrArray *
sundog_library_list_models(SundogLibrary *library)
{
    g_return_val_if_fail(library, NULL);
    return sundog_model_folder_list(sundog_paths_get_models());
}

GPtrArray *
sundog_library_list_cores(SundogLibrary *library)
{
    g_return_val_if_fail(library, NULL);
    GPtrArray *entries = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_library_entry_free);
    const char *cores = sundog_paths_get_cores();
    g_autoptr(GPtrArray) names = sundog_folder_list(cores, NULL);
    for (guint i = 0; names && i < names->len; i++) {
        g_autofree char *folder = g_build_filename(cores, names->pdata[i], NULL);
        g_autofree char *name = g_strdelimit(g_strdup(names->pdata[i]), "~", ':');
        /* A name that cannot be a core's is a writer's unfinished folder. */
        if (sundog_library_name_is_valid(name) && g_file_test(folder, G_FILE_TEST_IS_DIR))
            g_ptr_array_add(entries, read_core(library, name, folder));
    }
    return entries;
}

static bool
is_path(const char *text)
{
    return strchr(text, '/') || g_str_has_suffix(text, ".gguf") || g_str_has_suffix(text, ".core");
}

static void
set_not_found(const char *kind, const char *name, GPtrArray *entries, GError **error)
{
    g_autoptr(GString) near = g_string_new(NULL);
    for (guint i = 0, n = 0; i < entries->len && n < MAX_NEAR; i++, n++) {
        const SundogLibraryEntry *entry = entries->pdata[i];
        g_string_append_printf(near, "%s%s", n ? ", " : "", entry->name);
    }
    g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                near->len ? "There is no %s “%s”; there are: %s" : "There is no %s “%s”%s", kind,
                name, near->len ? near->str : "");
}

static SundogLibraryEntry *
steal_named(GPtrArray *entries, const char *name)
{
    for (guint i = 0; i < entries->len; i++) {
        SundogLibraryEntry *entry = entries->pdata[i];
        if (strcmp(entry->name, name) == 0)
            return g_ptr_array_steal_index(entries, i);
    }
    return NULL;
}

SundogLibraryEntry *
sundog_library_find_model(SundogLibrary *library, const char *name, GError **error)
{
    g_return_val_if_fail(library && name, NULL);
    g_autoptr(GPtrArray) entries = sundog_library_list_models(library);
    SundogLibraryEntry *entry = steal_named(entries, name);
    if (!entry && is_path(name))
        return sundog_model_folder_read_path(name, error);
    if (!entry)
        set_not_found("model", name, entries, error);
    return entry;
}

/* Whether a full name fits a text that may leave out :VARIANT and @TARGET. */
static bool
core_name_fits(const char *full, const char *text)
{
    size_t n_full = strcspn(full, "@"), n_text = strcspn(text, "@");
    if (text[n_text] && strcmp(full + n_full, text + n_text) != 0)
        return false;
    if (!memchr(text, ':', n_text))
        n_full = strcspn(full, ":@");
    return n_full == n_text && strncmp(full, text, n_text) == 0;
}

static SundogLibraryEntry *
steal_fitting(GPtrArray *entries, const char *name, GError **error)
{
    guint n_fitting = 0, index = 0;
    for (guint i = 0; i < entries->len; i++) {
        const SundogLibraryEntry *entry = entries->pdata[i];
        if (core_name_fits(entry->name, name)) {
            n_fitting++;
            index = i;
        }
    }
    if (n_fitting == 1)
        return g_ptr_array_steal_index(entries, index);
    if (n_fitting == 0)
        set_not_found("core", name, entries, error);
    else
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                    "%u cores fit the name “%s”: give it with its variant or target", n_fitting,
                    name);
    return NULL;
}

static SundogLibraryEntry *
find_core_folder(SundogLibrary *library, const char *path, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_IS_DIR)) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                    g_file_test(path, G_FILE_TEST_EXISTS)
                        ? "%s is a file: a core is used as a folder"
                        : "There is no core at %s",
                    path);
        return NULL;
    }
    g_autofree char *manifest = g_build_filename(path, "core.json", NULL);
    if (!g_file_test(manifest, G_FILE_TEST_EXISTS)) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_NOT_FOUND,
                    "The folder %s holds no core.json, so it is no core", path);
        return NULL;
    }
    g_autofree char *base = g_path_get_basename(path);
    SundogLibraryEntry *entry = read_core(library, g_strdelimit(base, "~", ':'), path);
    if (!entry->info || !json_object_has_member(entry->info, "name"))
        return entry;
    JsonNode *own = json_object_get_member(entry->info, "name");
    if (json_node_get_value_type(own) == G_TYPE_STRING) {
        g_free(entry->name);
        entry->name = json_node_dup_string(own);
    }
    return entry;
}

SundogLibraryEntry *
sundog_library_find_core(SundogLibrary *library, const char *name, GError **error)
{
    g_return_val_if_fail(library && name, NULL);
    g_autoptr(GPtrArray) entries = sundog_library_list_cores(library);
    SundogLibraryEntry *entry = steal_named(entries, name);
    if (entry)
        return entry;
    return is_path(name) ? find_core_folder(library, name, error)
                         : steal_fitting(entries, name, error);
}

/* The name right below a library folder that holds path, or NULL for a path from elsewhere. Links are
 * not resolved: a model that is a link goes as a link. */
static char *
dup_name_below(const char *folder, const char *path)
{
    g_autofree char *below = g_strconcat(folder, "/", NULL);
    g_autofree char *canonical = g_canonicalize_filename(path, NULL);
    if (!g_str_has_prefix(canonical, below))
        return NULL;
    const char *rest = canonical + strlen(below);
    return g_strndup(rest, strcspn(rest, "/"));
}

/* What lies right below a folder under that name, and of a model in several parts all of them. */
static bool
remove_all(const char *root, const char *name, uint64_t *n_bytes, GError **error)
{
    unsigned part, n_parts;
    bool is_split = sundog_gguf_split_parse(name, &part, &n_parts);
    g_autofree char *target = g_build_filename(root, name, NULL);
    if (!sundog_folder_remove(target, n_bytes, error))
        return false;
    for (unsigned i = 1; is_split && i <= n_parts; i++) {
        uint64_t n_part_bytes = 0;
        g_autofree char *path = sundog_gguf_split_dup_name(target, i);
        if (i == part || !g_file_test(path, G_FILE_TEST_EXISTS))
            continue;
        if (!sundog_folder_remove(path, &n_part_bytes, error))
            return false;
        if (n_bytes)
            *n_bytes += n_part_bytes;
    }
    return true;
}

bool
sundog_library_remove(SundogLibrary *library, const SundogLibraryEntry *entry, uint64_t *n_bytes,
                      GError **error)
{
    g_return_val_if_fail(library && entry, false);
    const char *root = sundog_paths_get_models();
    g_autofree char *name = dup_name_below(root, entry->path);
    g_autoptr(SundogPullLock) lock = NULL;
    g_autoptr(GError) lock_error = NULL;
    if (name) {
        lock = sundog_pull_lock_take(entry->name, &lock_error);
    } else {
        root = sundog_paths_get_cores();
        name = dup_name_below(root, entry->path);
    }
    if (!name || !*name) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID,
                    "%s is not in the library: nothing was removed", entry->path);
        return false;
    }
    /* On a full or read-only drive no lock can be made; there the removal itself decides. */
    if (g_error_matches(lock_error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_BUSY)) {
        g_propagate_error(error, g_steal_pointer(&lock_error));
        return false;
    }
    bool removed = remove_all(root, name, n_bytes, error);
    sundog_folder_sync(root);
    return removed;
}
