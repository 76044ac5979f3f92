/* sundog-desktop: the app. */

#include "app/application.h"
#include <glib/gi18n.h>
#include <locale.h>

/* Translations lie under the prefix that the program was installed to. */
static char *
dup_locale_folder(void)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *folder = g_path_get_dirname(program ? program : ".");
    return g_build_filename(folder, "..", "share", "locale", NULL);
}

int
main(int argc, char **argv)
{
    g_autofree char *locale_folder = dup_locale_folder();
    setlocale(LC_ALL, "");
    bindtextdomain("sundog", locale_folder);
    bind_textdomain_codeset("sundog", "UTF-8");
    textdomain("sundog");
    g_set_application_name(_("Sundog"));
    g_autoptr(SundogApplication) application = sundog_application_new();
    return g_application_run(G_APPLICATION(application), argc, argv);
}
