/* The XDG folders, and where installed files and programs lie beside the running program. */

#include "engine/library/paths.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Makes the folder where it can, once: one that vanishes later, with its drive perhaps, is missing and
 * not empty. A failure is not told here: who then opens a file in it gets the system's reason
 * together with the file's name, which says more. */
static const char *
made(const char *base, const char *name)
{
    static GHashTable *asked;
    static GMutex mutex;
    g_autofree char *folder = g_build_filename(base, "sundog", name, NULL);
    const char *interned = g_intern_string(folder);
    g_mutex_lock(&mutex);
    if (!asked)
        asked = g_hash_table_new(NULL, NULL);
    if (g_hash_table_add(asked, (char *)interned))
        g_mkdir_with_parents(interned, 0700);
    g_mutex_unlock(&mutex);
    return interned;
}

static const char *
file_in(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return g_intern_string(path);
}

const char *
sundog_paths_get_models(void)
{
    return made(g_get_user_data_dir(), "models");
}

const char *
sundog_paths_get_cores(void)
{
    return made(g_get_user_data_dir(), "cores");
}

const char *
sundog_paths_get_keys(void)
{
    return made(g_get_user_data_dir(), "keys");
}

const char *
sundog_paths_get_config_file(void)
{
    return file_in(made(g_get_user_config_dir(), NULL), "config.json");
}

const char *
sundog_paths_get_api_keys_file(void)
{
    return file_in(made(g_get_user_config_dir(), NULL), "api-keys.json");
}

const char *
sundog_paths_get_cache(void)
{
    return made(g_get_user_cache_dir(), NULL);
}

const char *
sundog_paths_get_records(void)
{
    return made(g_get_user_cache_dir(), "prefixes");
}

const char *
sundog_paths_get_state(void)
{
    return made(g_get_user_state_dir(), NULL);
}

const char *
sundog_paths_get_request_log(void)
{
    return file_in(sundog_paths_get_state(), "requests.jsonl");
}

/* GLib puts the cache folder in place of a missing runtime folder; a server file there would be swept
 * away with the cache while the server runs, so the state folder stands in instead. */
const char *
sundog_paths_get_server_file(void)
{
    const char *runtime = g_getenv("XDG_RUNTIME_DIR");
    if (runtime && g_path_is_absolute(runtime) && g_file_test(runtime, G_FILE_TEST_IS_DIR))
        return file_in(made(runtime, NULL), "server.json");
    return file_in(sundog_paths_get_state(), "server.json");
}

static char *
dup_own_folder(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    return program ? g_path_get_dirname(program) : NULL;
}

/* The build folder that holds the running program, or NULL when it is an installed one. Tests and the
 * app lie up to two folders below its root. */
static char *
dup_build_root(void)
{
    g_autofree char *folder = dup_own_folder();
    for (int level = 0; folder && level < 3; level++) {
        g_autofree char *mark = g_build_filename(folder, "meson-private", NULL);
        if (g_file_test(mark, G_FILE_TEST_IS_DIR))
            return g_steal_pointer(&folder);
        char *parent = g_path_get_dirname(folder);
        g_free(folder);
        folder = parent;
    }
    return NULL;
}

char *
sundog_paths_dup_install_prefix(void)
{
    g_autofree char *root = dup_build_root();
    if (root)
        return g_steal_pointer(&root);
    g_autofree char *folder = dup_own_folder();
    return folder ? g_path_get_dirname(folder) : NULL;
}

static char *
existing(char *path)
{
    if (path && g_file_test(path, G_FILE_TEST_EXISTS))
        return path;
    g_free(path);
    return NULL;
}

char *
sundog_paths_dup_data_file(const char *name)
{
    g_return_val_if_fail(name, NULL);
    g_autofree char *root = dup_build_root();
    if (root)
        return existing(g_build_filename(root, "data", name, NULL));
    g_autofree char *prefix = sundog_paths_dup_install_prefix();
    return prefix ? existing(g_build_filename(prefix, "share", "sundog", name, NULL)) : NULL;
}

char *
sundog_paths_dup_program(const char *name)
{
    g_return_val_if_fail(name, NULL);
    g_autofree char *root = dup_build_root();
    g_autofree char *own = dup_own_folder();
    return g_build_filename(root ? root : own ? own : ".", name, NULL);
}
