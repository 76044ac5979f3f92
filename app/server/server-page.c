/* Rows of facts, kept in step with supervisor and feed. */

#include "app/server/server-page.h"
#include "app/application.h"
#include "app/autostart.h"
#include "app/server/engine-list.h"
#include "app/server/log-view.h"
#include "app/server/request-list.h"
#include "app/server/snippets.h"
#include "app/sideways.h"
#include "app/window.h"
#include <glib/gi18n.h>

struct _SundogServerPage {
    GtkWidget parent_instance;
    GtkWidget *scroller;
    GtkLabel *state;
    GtkLabel *state_details;
    GtkSwitch *power;
    GtkLabel *address;
    GtkWidget *copy_address;
    GtkLabel *key;
    GtkWidget *copy_key;
    GtkDropDown *tool;
    GtkLabel *snippet;
    GtkScrolledWindow *snippet_scroller;
    GtkSwitch *keep_serving;
    GtkSwitch *start_at_login;
    bool updating;
};

G_DEFINE_FINAL_TYPE(SundogServerPage, sundog_server_page, GTK_TYPE_WIDGET)

static SundogClient *
get_client(void)
{
    return sundog_application_get_client(sundog_application_get());
}

static SundogSupervisor *
get_supervisor(void)
{
    return sundog_application_get_supervisor(sundog_application_get());
}

static SundogServerFeed *
get_feed(void)
{
    return sundog_application_get_feed(sundog_application_get());
}

static const char *
get_state_words(SundogSupervisorState state)
{
    switch (state) {
    case SUNDOG_SUPERVISOR_READY:
        return sundog_supervisor_owns_server(get_supervisor())
                   ? _("Running")
                   : _("Running, started by another program");
    case SUNDOG_SUPERVISOR_STOPPED:
        return _("Off");
    case SUNDOG_SUPERVISOR_FAILED:
        return _("Does not start");
    case SUNDOG_SUPERVISOR_WAITING:
        return _("It ended unexpectedly and starts again");
    default:
        return _("Starting");
    }
}

static void
update_snippet(SundogServerPage *self)
{
    const char *address = sundog_client_get_address(get_client());
    g_autofree char *text = sundog_snippets_dup(
        gtk_drop_down_get_selected(self->tool), address ? address : "http://127.0.0.1:7410",
        sundog_client_get_key(get_client()), sundog_server_feed_get_core(get_feed()));
    gtk_label_set_text(self->snippet, text);
}

static void
update(SundogServerPage *self)
{
    SundogSupervisorState state = sundog_supervisor_get_state(get_supervisor());
    const char *address = sundog_client_get_address(get_client());
    const char *key = sundog_client_get_key(get_client());
    const char *problem = sundog_supervisor_get_problem(get_supervisor());
    gtk_label_set_text(self->state, get_state_words(state));
    gtk_widget_set_visible(GTK_WIDGET(self->state_details), problem != NULL);
    gtk_label_set_text(self->state_details, problem ? problem : "");
    self->updating = true;
    gtk_switch_set_active(self->power, state != SUNDOG_SUPERVISOR_STOPPED);
    self->updating = false;
    gtk_label_set_text(self->address, address ? address : _("Not running"));
    gtk_widget_set_sensitive(self->copy_address, address != NULL);
    gtk_label_set_text(self->key, key ? "••••••••••••" : _("None is needed on this computer"));
    gtk_widget_set_visible(self->copy_key, key != NULL);
    update_snippet(self);
}

static void
on_stopped(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(JsonNode) answer = sundog_client_call_finish(SUNDOG_CLIENT(source), result, NULL);
    sundog_supervisor_stop(get_supervisor());
}

/* A server that another program started is asked to stop; ours is simply ended. */
static gboolean
on_power(GtkSwitch *power, gboolean on, SundogServerPage *self)
{
    if (self->updating)
        return FALSE;
    if (on)
        sundog_supervisor_start(get_supervisor());
    else if (sundog_supervisor_owns_server(get_supervisor()))
        sundog_supervisor_stop(get_supervisor());
    else
        sundog_client_call_async(get_client(), "POST", "/sundog/v1/stop", NULL, NULL, on_stopped,
                                 NULL);
    return FALSE;
}

static void
copy(SundogServerPage *self, const char *text)
{
    if (!text)
        return;
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), text);
    sundog_window_tell(sundog_window_of(GTK_WIDGET(self)), _("Copied"));
}

static void
on_copy_address(GtkButton *button, SundogServerPage *self)
{
    const char *address = sundog_client_get_address(get_client());
    g_autofree char *base = address ? g_strconcat(address, "/v1", NULL) : NULL;
    copy(self, base);
}

static void
on_copy_key(GtkButton *button, SundogServerPage *self)
{
    copy(self, sundog_client_get_key(get_client()));
}

static void
on_copy_snippet(GtkButton *button, SundogServerPage *self)
{
    copy(self, gtk_label_get_text(self->snippet));
}

static void
on_tool(SundogServerPage *self)
{
    if (self->snippet)
        update_snippet(self);
}

static gboolean
on_start_at_login(GtkSwitch *widget, gboolean on, SundogServerPage *self)
{
    g_autoptr(GError) error = NULL;
    if (sundog_autostart_is_on() != on && !sundog_autostart_set(on, &error))
        sundog_window_tell(sundog_window_of(GTK_WIDGET(self)), error->message);
    return FALSE;
}

static void
sundog_server_page_dispose(GObject *object)
{
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_SERVER_PAGE);
    G_OBJECT_CLASS(sundog_server_page_parent_class)->dispose(object);
}

static void
sundog_server_page_class_init(SundogServerPageClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_server_page_dispose;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    g_type_ensure(SUNDOG_TYPE_ENGINE_LIST);
    g_type_ensure(SUNDOG_TYPE_LOG_VIEW);
    g_type_ensure(SUNDOG_TYPE_REQUEST_LIST);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/server-page.ui");
#define BIND(name) gtk_widget_class_bind_template_child(widget_class, SundogServerPage, name)
    BIND(scroller);
    BIND(state);
    BIND(state_details);
    BIND(power);
    BIND(address);
    BIND(copy_address);
    BIND(key);
    BIND(copy_key);
    BIND(tool);
    BIND(snippet);
    BIND(snippet_scroller);
    BIND(keep_serving);
    BIND(start_at_login);
#undef BIND
#define BIND(name) gtk_widget_class_bind_template_callback(widget_class, name)
    BIND(on_power);
    BIND(on_copy_address);
    BIND(on_copy_key);
    BIND(on_copy_snippet);
    BIND(on_tool);
    BIND(on_start_at_login);
#undef BIND
}

static void
sundog_server_page_init(SundogServerPage *self)
{
    SundogApplication *application = sundog_application_get();
    gtk_widget_init_template(GTK_WIDGET(self));
    sundog_sideways_release_vertical(self->snippet_scroller);
    g_autoptr(GtkStringList) tools = gtk_string_list_new(sundog_snippets_get_names());
    gtk_drop_down_set_model(self->tool, G_LIST_MODEL(tools));
    g_settings_bind(sundog_application_get_settings(application), "keep-serving",
                    self->keep_serving, "active", G_SETTINGS_BIND_DEFAULT);
    gtk_switch_set_active(self->start_at_login, sundog_autostart_is_on());
    g_signal_connect_object(get_supervisor(), "notify::state", G_CALLBACK(update), self,
                            G_CONNECT_SWAPPED);
    g_signal_connect_object(get_feed(), "state", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
    update(self);
}
