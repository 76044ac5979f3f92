/* Folders that tests make and leave empty-handed. */

#include "tests/temporary-folder.h"

#include <glib.h>
#include <glib/gstdio.h>

void
temporary_folder_remove(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *inside = g_build_filename(path, name, NULL);
        if (g_file_test(inside, G_FILE_TEST_IS_SYMLINK))
            g_unlink(inside);
        else
            temporary_folder_remove(inside);
    }
    g_remove(path);
}
