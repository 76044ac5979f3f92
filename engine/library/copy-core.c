/* Cores under second names: the copy is made beside and renamed, as every folder of the library. */

#include "engine/library/copy-core.h"

#include "engine/format/error.h"
#include "engine/library/folder.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

#define fail(error, ...) \
    sundog_error_set(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID, __VA_ARGS__)

static bool
copy_file(const char *from, const char *to, GError **error)
{
    if (link(from, to) == 0)
        return true;
    g_autoptr(GFile) source = g_file_new_for_path(from);
    g_autoptr(GFile) target = g_file_new_for_path(to);
    return g_file_copy(source, target, G_FILE_COPY_NOFOLLOW_SYMLINKS, NULL, NULL, NULL, error);
}

static bool
copy_folder(const char *from, const char *to, GError **error)
{
    g_autoptr(GPtrArray) names = sundog_folder_list(from, error);
    if (!names)
        return false;
    if (g_mkdir(to, 0700) != 0)
        return fail(error, "The folder %s cannot be made: %s", to, g_strerror(errno));
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *source = g_build_filename(from, names->pdata[i], NULL);
        g_autofree char *target = g_build_filename(to, names->pdata[i], NULL);
        bool is_folder = g_file_test(source, G_FILE_TEST_IS_DIR);
        if (!(is_folder ? copy_folder(source, target, error) : copy_file(source, target, error)))
            return false;
    }
    return true;
}

bool
sundog_library_copy_core(SundogLibrary *library, const SundogLibraryEntry *core, const char *name,
                         GError **error)
{
    g_return_val_if_fail(library && core, false);
    if (!sundog_library_name_is_valid(name))
        return fail(error, "“%s” cannot be a core's name", name);
    g_autofree char *target = sundog_library_dup_core_folder(library, name);
    if (g_file_test(target, G_FILE_TEST_EXISTS))
        return fail(error, "There is a core %s already", name);
    g_autofree char *beside =
        g_strdup_printf("%s/.copy-%08x", sundog_paths_get_cores(), g_random_int());
    bool is_copied = copy_folder(core->path, beside, error) &&
                     (g_rename(beside, target) == 0 ||
                      fail(error, "%s cannot be renamed: %s", beside, g_strerror(errno)));
    if (!is_copied)
        sundog_folder_remove(beside, NULL, NULL);
    else
        sundog_folder_sync(sundog_paths_get_cores());
    return is_copied;
}
