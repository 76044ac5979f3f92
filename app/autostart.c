/* One file, made or removed. */

#include "app/autostart.h"
#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>

static char *
dup_path(void)
{
    return g_build_filename(g_get_user_config_dir(), "autostart", "org.sundog.Sundog.desktop",
                            NULL);
}

bool
sundog_autostart_is_on(void)
{
    g_autofree char *path = dup_path();
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static bool
fail(const char *path, GError **error)
{
    int code = errno;
    g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "%s: %s", path,
                g_strerror(code));
    return false;
}

/* A path in Exec= is quoted, and its percent signs are doubled (desktop entry specification). */
static char *
dup_command(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    GString *command = g_string_new("\"");
    for (const char *p = program ? program : "sundog-desktop"; *p; p++) {
        if (*p == '"' || *p == '`' || *p == '$' || *p == '\\')
            g_string_append_c(command, '\\');
        g_string_append_c(command, *p);
        if (*p == '%')
            g_string_append_c(command, '%');
    }
    return g_string_free(g_string_append(command, "\" --gapplication-service"), FALSE);
}

bool
sundog_autostart_set(bool on, GError **error)
{
    g_autofree char *path = dup_path();
    if (!on)
        return g_unlink(path) == 0 || errno == ENOENT || fail(path, error);
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *command = dup_command();
    g_autofree char *entry = g_strdup_printf(
        "[Desktop Entry]\nType=Application\nName=Sundog\nExec=%s\nIcon=org.sundog.Sundog\n",
        command);
    if (g_mkdir_with_parents(folder, 0700) != 0)
        return fail(folder, error);
    return g_file_set_contents(path, entry, -1, error);
}
