/* The scrolled window's own controllers, told to listen to one axis. */

#include "app/sideways.h"

void
sundog_sideways_release_vertical(GtkScrolledWindow *scroller)
{
    g_autoptr(GListModel) controllers = gtk_widget_observe_controllers(GTK_WIDGET(scroller));
    for (guint i = 0; i < g_list_model_get_n_items(controllers); i++) {
        g_autoptr(GtkEventController) controller = g_list_model_get_item(controllers, i);
        if (GTK_IS_EVENT_CONTROLLER_SCROLL(controller))
            gtk_event_controller_scroll_set_flags(GTK_EVENT_CONTROLLER_SCROLL(controller),
                                                  GTK_EVENT_CONTROLLER_SCROLL_HORIZONTAL |
                                                      GTK_EVENT_CONTROLLER_SCROLL_KINETIC);
    }
}
