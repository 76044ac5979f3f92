/* Start, shared objects, and the main menu's actions. */

#include "app/application.h"
#include "app/appearance.h"
#include "app/drawing.h"
#include "app/preferences.h"
#include "app/settings.h"
#include "app/window.h"
#include "engine/library/paths.h"
#include <glib/gi18n.h>

struct _SundogApplication {
    GtkApplication parent_instance;
    GSettings *settings;
    SundogClient *client;
    SundogSupervisor *supervisor;
    SundogServerFeed *feed;
    SundogShelf *shelf;
    SundogChats *chats;
    char *chats_problem;
    bool held; /* serving goes on without a window */
};

G_DEFINE_FINAL_TYPE(SundogApplication, sundog_application, GTK_TYPE_APPLICATION)

static GtkWindow *
get_window(SundogApplication *self)
{
    return gtk_application_get_active_window(GTK_APPLICATION(self));
}

static void
on_preferences(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    GtkWidget *preferences = sundog_preferences_new(get_window(user_data));
    gtk_window_present(GTK_WINDOW(preferences));
}

static void
on_about(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    static const char *const authors[] = {"The Sundog authors", NULL};
    gtk_show_about_dialog(
        get_window(user_data), "program-name", _("Sundog"), "version", SUNDOG_VERSION,
        "logo-icon-name", SUNDOG_APPLICATION_ID, "license-type", GTK_LICENSE_APACHE_2_0, "authors",
        authors, "comments",
        _("Language models on your own computer, prepared once and then only replayed."), NULL);
}

static void
on_quit(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    for (GList *l; (l = gtk_application_get_windows(user_data)) != NULL;)
        gtk_window_destroy(l->data);
    g_application_quit(user_data);
}

static const GActionEntry actions[] = {
    {"preferences", on_preferences, NULL, NULL, NULL, {0}},
    {"about", on_about, NULL, NULL, NULL, {0}},
    {"quit", on_quit, NULL, NULL, NULL, {0}},
};

/* The keys of the shortcuts window and of the menus come from here. */
static const struct {
    const char *action;
    const char *accelerators[4];
} accelerators[] = {
    {"app.preferences", {"<Control>comma"}},
    {"app.quit", {"<Control>q"}},
    {"win.show-help-overlay", {"<Control>question"}},
    {"win.new-chat", {"<Control>n"}},
    {"win.go", {"<Control>k"}},
    {"win.find", {"<Control>f"}},
    {"win.find-everywhere", {"<Control><Shift>f"}},
    {"win.focus-composer", {"<Control>l"}},
    {"win.regenerate", {"<Control>r"}},
    {"win.branch-before", {"<Alt>Left"}},
    {"win.branch-after", {"<Alt>Right"}},
    {"win.copy-answer", {"<Control><Shift>c"}},
    {"win.sidebar", {"F9"}},
    {"win.page::chat", {"<Control>1"}},
    {"win.page::library", {"<Control>2"}},
    {"win.page::server", {"<Control>3"}},
    {"window.close", {"<Control>w"}},
};

static void
add_actions(SundogApplication *self)
{
    g_action_map_add_action_entries(G_ACTION_MAP(self), actions, G_N_ELEMENTS(actions), self);
    for (unsigned i = 0; i < G_N_ELEMENTS(accelerators); i++)
        gtk_application_set_accels_for_action(GTK_APPLICATION(self), accelerators[i].action,
                                              accelerators[i].accelerators);
}

static void
open_chats(SundogApplication *self)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(g_get_user_data_dir(), "sundog", NULL);
    g_autofree char *path = g_build_filename(folder, "chats.db", NULL);
    g_mkdir_with_parents(folder, 0700);
    SundogChatStore *store = sundog_chat_store_open(path, &error);
    if (!store) {
        self->chats_problem = g_strdup(error->message);
        store = sundog_chat_store_open(":memory:", NULL);
    }
    self->chats = sundog_chats_new(store, self->client);
}

static void
on_server_state(SundogApplication *self)
{
    SundogSupervisorState state = sundog_supervisor_get_state(self->supervisor);
    if (state == SUNDOG_SUPERVISOR_READY)
        sundog_chats_retry(self->chats);
    else if (state == SUNDOG_SUPERVISOR_FAILED)
        sundog_chats_fail(self->chats, _("The server does not start."),
                          sundog_supervisor_get_problem(self->supervisor));
}

static void
start_server(SundogApplication *self)
{
    g_autofree char *server = sundog_paths_dup_program("sundog");
    self->supervisor = sundog_supervisor_new(self->client, server);
    self->feed = sundog_server_feed_new(self->client, self->supervisor);
    self->shelf = sundog_shelf_new(self->client, self->feed);
    g_signal_connect_object(self->supervisor, "notify::state", G_CALLBACK(on_server_state), self,
                            G_CONNECT_SWAPPED);
}

static void
update_hold(SundogApplication *self)
{
    bool hold = g_settings_get_boolean(self->settings, "keep-serving");
    if (hold == self->held)
        return;
    self->held = hold;
    if (hold)
        g_application_hold(G_APPLICATION(self));
    else
        g_application_release(G_APPLICATION(self));
}

static void
sundog_application_startup(GApplication *application)
{
    SundogApplication *self = SUNDOG_APPLICATION(application);
    g_autoptr(GError) error = NULL;
    self->settings = sundog_settings_new(&error);
    if (!self->settings)
        g_error("%s: install Sundog, or run it from its build folder", error->message);
    sundog_drawing_choose(self->settings);
    G_APPLICATION_CLASS(sundog_application_parent_class)->startup(application);
    gtk_window_set_default_icon_name(SUNDOG_APPLICATION_ID);
    sundog_appearance_install(gdk_display_get_default(), self->settings);
    add_actions(self);
    self->client = sundog_client_new();
    open_chats(self);
    start_server(self);
    g_signal_connect_object(self->settings, "changed::keep-serving", G_CALLBACK(update_hold), self,
                            G_CONNECT_SWAPPED);
    update_hold(self);
}

/* The server is looked for once the window is on its way: nothing that it does may delay that. */
static gboolean
start_supervisor(gpointer user_data)
{
    sundog_supervisor_start(SUNDOG_APPLICATION(user_data)->supervisor);
    return G_SOURCE_REMOVE;
}

static void
sundog_application_activate(GApplication *application)
{
    SundogApplication *self = SUNDOG_APPLICATION(application);
    GtkWindow *window = get_window(self);
    if (!window)
        window = GTK_WINDOW(sundog_window_new(self));
    gtk_window_present(window);
    g_idle_add(start_supervisor, self);
}

static void
sundog_application_shutdown(GApplication *application)
{
    SundogApplication *self = SUNDOG_APPLICATION(application);
    sundog_supervisor_stop(self->supervisor);
    g_object_run_dispose(G_OBJECT(self->chats));
    G_APPLICATION_CLASS(sundog_application_parent_class)->shutdown(application);
}

static void
sundog_application_finalize(GObject *object)
{
    SundogApplication *self = SUNDOG_APPLICATION(object);
    g_clear_object(&self->shelf);
    g_clear_object(&self->feed);
    g_clear_object(&self->supervisor);
    g_clear_object(&self->chats);
    g_clear_object(&self->client);
    g_clear_object(&self->settings);
    g_free(self->chats_problem);
    G_OBJECT_CLASS(sundog_application_parent_class)->finalize(object);
}

static void
sundog_application_class_init(SundogApplicationClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_application_finalize;
    G_APPLICATION_CLASS(class)->startup = sundog_application_startup;
    G_APPLICATION_CLASS(class)->activate = sundog_application_activate;
    G_APPLICATION_CLASS(class)->shutdown = sundog_application_shutdown;
}

static void
sundog_application_init(SundogApplication *self)
{
}

SundogApplication *
sundog_application_new(void)
{
    return g_object_new(SUNDOG_TYPE_APPLICATION, "application-id", SUNDOG_APPLICATION_ID,
                        "resource-base-path", "/org/sundog/Sundog", NULL);
}

SundogApplication *
sundog_application_get(void)
{
    return SUNDOG_APPLICATION(g_application_get_default());
}

SundogClient *
sundog_application_get_client(SundogApplication *application)
{
    return application->client;
}

SundogSupervisor *
sundog_application_get_supervisor(SundogApplication *application)
{
    return application->supervisor;
}

SundogServerFeed *
sundog_application_get_feed(SundogApplication *application)
{
    return application->feed;
}

SundogShelf *
sundog_application_get_shelf(SundogApplication *application)
{
    return application->shelf;
}

SundogChats *
sundog_application_get_chats(SundogApplication *application)
{
    return application->chats;
}

GSettings *
sundog_application_get_settings(SundogApplication *application)
{
    return application->settings;
}

const char *
sundog_application_get_chats_problem(SundogApplication *application)
{
    return application->chats_problem;
}
