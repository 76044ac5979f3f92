/* Two providers: the rules, and the colours of the present scheme. */

#include "app/appearance.h"
#include <stdbool.h>

#define PORTAL "org.freedesktop.portal.Desktop"
#define PORTAL_PATH "/org/freedesktop/portal/desktop"
#define PORTAL_SETTINGS "org.freedesktop.portal.Settings"
#define NAMESPACE "org.freedesktop.appearance"

typedef struct {
    GdkDisplay *display;
    GSettings *settings;
    GtkCssProvider *colours;
    GDBusConnection *bus;
    bool portal_dark;
    bool portal_contrast;
} Appearance;

static void
apply(Appearance *self)
{
    int scheme = g_settings_get_enum(self->settings, "color-scheme");
    bool dark = scheme == 2 || (scheme == 0 && self->portal_dark);
    gtk_css_provider_load_from_resource(self->colours, dark ? "/org/sundog/Sundog/dark.css"
                                                            : "/org/sundog/Sundog/light.css");
    /* The sheet is written over GTK's own theme; others would show through between its rules. */
    g_object_set(gtk_settings_get_for_display(self->display), "gtk-application-prefer-dark-theme",
                 dark, "gtk-theme-name", self->portal_contrast ? "Default-hc" : "Default", NULL);
}

/* The portal wraps values in one or two variants, by its version. */
static unsigned
unpack_number(GVariant *value)
{
    g_autoptr(GVariant) inner = g_variant_ref(value);
    while (g_variant_is_of_type(inner, G_VARIANT_TYPE_VARIANT)) {
        GVariant *next = g_variant_get_variant(inner);
        g_variant_unref(inner);
        inner = next;
    }
    return g_variant_is_of_type(inner, G_VARIANT_TYPE_UINT32) ? g_variant_get_uint32(inner) : 0;
}

static void
take_setting(Appearance *self, const char *key, GVariant *value)
{
    if (g_str_equal(key, "color-scheme"))
        self->portal_dark = unpack_number(value) == 1;
    else if (g_str_equal(key, "contrast"))
        self->portal_contrast = unpack_number(value) == 1;
    else
        return;
    apply(self);
}

static void
on_setting_changed(GDBusConnection *bus, const char *sender, const char *path,
                   const char *interface, const char *signal, GVariant *parameters,
                   gpointer user_data)
{
    const char *namespace, *key;
    g_autoptr(GVariant) value = NULL;
    if (!g_variant_is_of_type(parameters, G_VARIANT_TYPE("(ssv)")))
        return;
    g_variant_get(parameters, "(&s&sv)", &namespace, &key, &value);
    if (g_str_equal(namespace, NAMESPACE))
        take_setting(user_data, key, value);
}

typedef struct {
    Appearance *appearance;
    const char *key;
} Read;

static void
on_read(GObject *bus, GAsyncResult *result, gpointer user_data)
{
    g_autofree Read *read = user_data;
    g_autoptr(GVariant) answer =
        g_dbus_connection_call_finish(G_DBUS_CONNECTION(bus), result, NULL);
    if (!answer || !g_variant_is_of_type(answer, G_VARIANT_TYPE("(v)")))
        return;
    g_autoptr(GVariant) value = g_variant_get_child_value(answer, 0);
    take_setting(read->appearance, read->key, value);
}

static void
read_setting(Appearance *self, const char *key)
{
    Read *read = g_new(Read, 1);
    *read = (Read){self, key};
    g_dbus_connection_call(self->bus, PORTAL, PORTAL_PATH, PORTAL_SETTINGS, "Read",
                           g_variant_new("(ss)", NAMESPACE, key), NULL, G_DBUS_CALL_FLAGS_NONE,
                           2000, NULL, on_read, read);
}

static void
on_bus(GObject *source, GAsyncResult *result, gpointer user_data)
{
    Appearance *self = user_data;
    self->bus = g_bus_get_finish(result, NULL);
    if (!self->bus)
        return;
    g_dbus_connection_signal_subscribe(self->bus, PORTAL, PORTAL_SETTINGS, "SettingChanged",
                                       PORTAL_PATH, NAMESPACE, G_DBUS_SIGNAL_FLAGS_NONE,
                                       on_setting_changed, self, NULL);
    read_setting(self, "color-scheme");
    read_setting(self, "contrast");
}

void
sundog_appearance_install(GdkDisplay *display, GSettings *settings)
{
    static Appearance appearance;
    appearance.display = display;
    appearance.settings = g_object_ref(settings);
    appearance.colours = gtk_css_provider_new();
    GtkCssProvider *rules = gtk_css_provider_new();
    apply(&appearance);
    gtk_css_provider_load_from_resource(rules, "/org/sundog/Sundog/style.css");
    /* Walking through a conversation with Tab must not select each paragraph on the way. */
    g_object_set(gtk_settings_get_for_display(display), "gtk-label-select-on-focus", FALSE, NULL);
    gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(appearance.colours),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(rules),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    g_object_unref(rules);
    g_signal_connect_swapped(settings, "changed::color-scheme", G_CALLBACK(apply), &appearance);
    g_bus_get(G_BUS_TYPE_SESSION, NULL, on_bus, &appearance);
}
