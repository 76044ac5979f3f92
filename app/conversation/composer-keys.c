/* A key controller ahead of the text view's own, which asks the input method itself. */

#include "app/conversation/composer-keys.h"
#include "app/application.h"
#include <stdbool.h>

typedef struct {
    GtkTextView *view;
    void (*send)(gpointer user_data);
    gpointer user_data;
} Keys;

static bool
is_send_key(guint keyval, GdkModifierType modifiers)
{
    bool enter =
        keyval == GDK_KEY_Return || keyval == GDK_KEY_KP_Enter || keyval == GDK_KEY_ISO_Enter;
    if (!enter || (modifiers & (GDK_ALT_MASK | GDK_SUPER_MASK)))
        return false;
    if (modifiers & GDK_CONTROL_MASK)
        return true;
    bool shift = modifiers & GDK_SHIFT_MASK;
    GSettings *settings = sundog_application_get_settings(sundog_application_get());
    return shift != g_settings_get_boolean(settings, "enter-sends");
}

static gboolean
on_key_pressed(GtkEventControllerKey *controller, guint keyval, guint code,
               GdkModifierType modifiers, gpointer user_data)
{
    Keys *keys = user_data;
    GdkEvent *event = gtk_event_controller_get_current_event(GTK_EVENT_CONTROLLER(controller));
    if (!is_send_key(keyval, modifiers))
        return FALSE;
    if (gtk_text_view_im_context_filter_keypress(keys->view, event))
        return TRUE;
    keys->send(keys->user_data);
    return TRUE;
}

static void
keys_free(gpointer data, GClosure *closure)
{
    g_free(data);
}

void
sundog_composer_keys_attach(GtkTextView *view, GCallback send, gpointer user_data)
{
    Keys *keys = g_new0(Keys, 1);
    keys->view = view;
    keys->send = (void (*)(gpointer))send;
    keys->user_data = user_data;
    GtkEventController *controller = gtk_event_controller_key_new();
    gtk_event_controller_set_propagation_phase(controller, GTK_PHASE_CAPTURE);
    g_signal_connect_data(controller, "key-pressed", G_CALLBACK(on_key_pressed), keys, keys_free,
                          0);
    gtk_widget_add_controller(GTK_WIDGET(view), controller);
}
