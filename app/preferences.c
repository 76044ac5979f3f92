/* Switches bound to settings. */

#include "app/preferences.h"
#include "app/application.h"

struct _SundogPreferences {
    GtkWindow parent_instance;
    GtkDropDown *scheme;
    GtkSwitch *graphics_card;
    GtkSwitch *enter_sends;
    GtkSwitch *show_reasoning;
};

G_DEFINE_FINAL_TYPE(SundogPreferences, sundog_preferences, GTK_TYPE_WINDOW)

static void
on_scheme(SundogPreferences *self)
{
    GSettings *settings = sundog_application_get_settings(sundog_application_get());
    g_settings_set_enum(settings, "color-scheme", (int)gtk_drop_down_get_selected(self->scheme));
}

static void
sundog_preferences_class_init(SundogPreferencesClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/preferences.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogPreferences, scheme);
    gtk_widget_class_bind_template_child(widget_class, SundogPreferences, graphics_card);
    gtk_widget_class_bind_template_child(widget_class, SundogPreferences, enter_sends);
    gtk_widget_class_bind_template_child(widget_class, SundogPreferences, show_reasoning);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_Escape, 0, "window.close", NULL);
}

static void
sundog_preferences_init(SundogPreferences *self)
{
    GSettings *settings = sundog_application_get_settings(sundog_application_get());
    gtk_widget_init_template(GTK_WIDGET(self));
    gtk_drop_down_set_selected(self->scheme, g_settings_get_enum(settings, "color-scheme"));
    g_signal_connect_swapped(self->scheme, "notify::selected", G_CALLBACK(on_scheme), self);
    g_settings_bind(settings, "draw-with-graphics-card", self->graphics_card, "active",
                    G_SETTINGS_BIND_DEFAULT);
    g_settings_bind(settings, "enter-sends", self->enter_sends, "active", G_SETTINGS_BIND_DEFAULT);
    g_settings_bind(settings, "show-reasoning", self->show_reasoning, "active",
                    G_SETTINGS_BIND_DEFAULT);
}

GtkWidget *
sundog_preferences_new(GtkWindow *parent)
{
    return g_object_new(SUNDOG_TYPE_PREFERENCES, "transient-for", parent, NULL);
}
