/* One of three faces: ready, without a model, and without a server. */

#include "app/conversation/welcome.h"
#include "app/application.h"
#include <glib/gi18n.h>

struct _SundogWelcome {
    GtkWidget parent_instance;
    GtkWidget *scroller;
    GtkLabel *title;
    GtkLabel *subtitle;
    GtkWidget *suggestions;
    GtkWidget *get_model;
    GtkWidget *try_again;
    GtkExpander *details;
    GtkLabel *details_text;
    SundogChat *chat;
};

enum { SUGGESTION, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogWelcome, sundog_welcome, GTK_TYPE_WIDGET)

static const char *const suggestions[] = {
    N_("Explain how rainbows and sundogs come about"),
    N_("Write a short letter that declines an invitation kindly"),
    N_("Show me how to reverse a list in Python"),
};

static void
on_suggestion(GtkButton *button, SundogWelcome *self)
{
    const char *text = g_object_get_data(G_OBJECT(button), "text");
    g_signal_emit(self, signals[SUGGESTION], 0, text);
}

static void
on_get_model(GtkButton *button, SundogWelcome *self)
{
    gtk_widget_activate_action(GTK_WIDGET(self), "win.page", "s", "library");
}

static void
on_try_again(GtkButton *button, SundogWelcome *self)
{
    sundog_supervisor_start(sundog_application_get_supervisor(sundog_application_get()));
}

static void
show_face(SundogWelcome *self, const char *title, const char *subtitle, GtkWidget *face)
{
    GtkWidget *const faces[] = {self->suggestions, self->get_model, self->try_again};
    gtk_label_set_text(self->title, title);
    gtk_label_set_text(self->subtitle, subtitle ? subtitle : "");
    gtk_widget_set_visible(GTK_WIDGET(self->subtitle), subtitle != NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(faces); i++)
        gtk_widget_set_visible(faces[i], faces[i] == face);
    const char *problem =
        sundog_supervisor_get_problem(sundog_application_get_supervisor(sundog_application_get()));
    gtk_widget_set_visible(GTK_WIDGET(self->details), face == self->try_again && problem);
    gtk_label_set_text(self->details_text, problem ? problem : "");
}

static void
update(SundogWelcome *self)
{
    SundogApplication *application = sundog_application_get();
    SundogShelf *shelf = sundog_application_get_shelf(application);
    SundogSupervisorState state =
        sundog_supervisor_get_state(sundog_application_get_supervisor(application));
    const char *core = sundog_shelf_choose_core(shelf, self->chat ? self->chat->core : NULL);
    JsonObject *entry = sundog_shelf_find_core(shelf, core);
    if (state == SUNDOG_SUPERVISOR_FAILED)
        show_face(self, _("The server does not start"), NULL, self->try_again);
    else if (core)
        show_face(self, entry ? sundog_shelf_get_title(shelf, entry) : core, NULL,
                  self->suggestions);
    else if (sundog_shelf_is_known(shelf))
        show_face(self, _("Welcome to Sundog"), _("Get a model first. It stays on this computer."),
                  self->get_model);
    else
        show_face(self, _("Sundog"), _("Starting the server"), NULL);
}

void
sundog_welcome_set_chat(SundogWelcome *welcome, SundogChat *chat)
{
    g_set_object(&welcome->chat, chat);
    update(welcome);
}

static void
add_suggestion(SundogWelcome *self, const char *text)
{
    GtkWidget *label = g_object_new(GTK_TYPE_LABEL, "label", text, "wrap", TRUE, "xalign", 0.0f,
                                    "natural-wrap-mode", GTK_NATURAL_WRAP_NONE, NULL);
    GtkWidget *button = g_object_new(GTK_TYPE_BUTTON, "child", label, NULL);
    gtk_widget_add_css_class(button, "suggestion");
    gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
    g_object_set_data_full(G_OBJECT(button), "text", g_strdup(text), g_free);
    g_signal_connect(button, "clicked", G_CALLBACK(on_suggestion), self);
    gtk_box_append(GTK_BOX(self->suggestions), button);
}

static void
sundog_welcome_dispose(GObject *object)
{
    SundogWelcome *self = SUNDOG_WELCOME(object);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_WELCOME);
    g_clear_object(&self->chat);
    G_OBJECT_CLASS(sundog_welcome_parent_class)->dispose(object);
}

static void
sundog_welcome_class_init(SundogWelcomeClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_welcome_dispose;
    signals[SUGGESTION] = g_signal_new("suggestion", SUNDOG_TYPE_WELCOME, G_SIGNAL_RUN_LAST, 0,
                                       NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/welcome.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, scroller);
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, title);
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, subtitle);
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, suggestions);
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, get_model);
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, try_again);
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, details);
    gtk_widget_class_bind_template_child(widget_class, SundogWelcome, details_text);
    gtk_widget_class_bind_template_callback(widget_class, on_get_model);
    gtk_widget_class_bind_template_callback(widget_class, on_try_again);
}

static void
sundog_welcome_init(SundogWelcome *self)
{
    SundogApplication *application = sundog_application_get();
    gtk_widget_init_template(GTK_WIDGET(self));
    for (unsigned i = 0; i < G_N_ELEMENTS(suggestions); i++)
        add_suggestion(self, _(suggestions[i]));
    g_signal_connect_object(sundog_application_get_shelf(application), "changed",
                            G_CALLBACK(update), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(sundog_application_get_feed(application), "state", G_CALLBACK(update),
                            self, G_CONNECT_SWAPPED);
    g_signal_connect_object(sundog_application_get_supervisor(application), "notify::state",
                            G_CALLBACK(update), self, G_CONNECT_SWAPPED);
    update(self);
}
