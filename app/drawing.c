/* GTK takes its renderer from its environment alone, so that is where it is told. */

#include "app/drawing.h"
#include <gtk/gtk.h>
#include <string.h>

/* Without this GTK loads the OpenGL driver with the display, even if it never draws with it: 60 MB of
 * Mesa here, and memory of the card, which belongs to the model. GTK 4.16 took it to a variable of its own. */
static void
leave_driver_alone(void)
{
    if (gtk_get_minor_version() >= 16)
        g_setenv("GDK_DISABLE", "gl,vulkan", FALSE);
    else
        g_setenv("GDK_DEBUG", "gl-disable", FALSE);
}

void
sundog_drawing_choose(GSettings *settings)
{
    if (!g_settings_get_boolean(settings, "draw-with-graphics-card"))
        g_setenv("GSK_RENDERER", "cairo", FALSE);
    if (g_strcmp0(g_getenv("GSK_RENDERER"), "cairo") == 0)
        leave_driver_alone();
}
