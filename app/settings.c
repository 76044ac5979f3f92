/* Where schema and values lie. */

#define G_SETTINGS_ENABLE_BACKEND
#include "app/settings.h"
#include <gio/gsettingsbackend.h>

#define SCHEMA "org.sundog.Sundog"

/* The schema beside the program, in the build folder or under the prefix that it was installed to;
 * then the system's. */
static GSettingsSchema *
find_schema(void)
{
    static const char *const places[] = {"data", "../share/glib-2.0/schemas"};
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = g_path_get_dirname(program ? program : ".");
    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autofree char *place = g_build_filename(folder, places[i], NULL);
        g_autoptr(GSettingsSchemaSource) source = g_settings_schema_source_new_from_directory(
            place, g_settings_schema_source_get_default(), TRUE, NULL);
        GSettingsSchema *schema =
            source ? g_settings_schema_source_lookup(source, SCHEMA, FALSE) : NULL;
        if (schema)
            return schema;
    }
    GSettingsSchemaSource *system = g_settings_schema_source_get_default();
    return system ? g_settings_schema_source_lookup(system, SCHEMA, TRUE) : NULL;
}

GSettings *
sundog_settings_new(GError **error)
{
    g_autoptr(GSettingsSchema) schema = find_schema();
    if (!schema) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "the settings schema %s is missing",
                    SCHEMA);
        return NULL;
    }
    g_autofree char *path =
        g_build_filename(g_get_user_config_dir(), "sundog", "desktop.ini", NULL);
    g_autofree char *folder = g_path_get_dirname(path);
    g_mkdir_with_parents(folder, 0700);
    g_autoptr(GSettingsBackend) backend =
        g_keyfile_settings_backend_new(path, "/org/sundog/Sundog/", "Sundog");
    return g_settings_new_full(schema, backend, NULL);
}
