/* The frame: what is remembered, which page is shown, and what keys do. */

#include "app/window.h"
#include "app/chats/sidebar.h"
#include "app/conversation/conversation.h"
#include "app/conversation/model-switcher.h"
#include "app/library/job-strip.h"
#include "app/library/library-page.h"
#include "app/server/server-page.h"
#include "app/split.h"
#include "app/toaster.h"
#include <glib/gi18n.h>
#include <string.h>

struct _SundogWindow {
    GtkApplicationWindow parent_instance;
    SundogSplit *split;
    SundogSidebar *sidebar;
    GtkStack *title;
    GtkLabel *page_title;
    GtkStack *pages;
    SundogModelSwitcher *switcher;
    SundogConversation *conversation;
    SundogToaster *toaster;
};

G_DEFINE_FINAL_TYPE(SundogWindow, sundog_window, GTK_TYPE_APPLICATION_WINDOW)

static SundogChats *
get_chats(void)
{
    return sundog_application_get_chats(sundog_application_get());
}

static GSettings *
get_settings(void)
{
    return sundog_application_get_settings(sundog_application_get());
}

static const char *
get_page_title(const char *page)
{
    return strcmp(page, "library") == 0  ? _("Library")
           : strcmp(page, "server") == 0 ? _("Server")
                                         : NULL;
}

/* The window's own title says what is shown, for task lists and screen readers. */
static void
update_title(SundogWindow *self)
{
    const char *page = gtk_stack_get_visible_child_name(self->pages);
    const char *title = get_page_title(page ? page : "chat");
    SundogChat *chat = sundog_conversation_get_chat(self->conversation);
    const char *shown = title ? title : sundog_chat_get_display_title(chat);
    /* Translators: the window's title, what is shown and the app's name. */
    g_autofree char *whole = g_strdup_printf(_("%s – Sundog"), shown);
    gtk_window_set_title(GTK_WINDOW(self), whole);
    gtk_label_set_text(self->page_title, title ? title : "");
    gtk_stack_set_visible_child_name(self->title, title ? "page" : "chat");
}

void
sundog_window_show_page(SundogWindow *window, const char *page)
{
    gtk_stack_set_visible_child_name(window->pages, page);
    sundog_sidebar_set_page(window->sidebar, page);
    sundog_split_fold(window->split);
    update_title(window);
    if (strcmp(page, "chat") == 0)
        sundog_conversation_focus_composer(window->conversation);
}

void
sundog_window_open_chat(SundogWindow *window, SundogChat *chat)
{
    sundog_conversation_open(window->conversation, chat);
    sundog_sidebar_select(window->sidebar, chat);
    sundog_model_switcher_set_chat(window->switcher, chat);
    sundog_window_show_page(window, "chat");
    g_settings_set_int64(get_settings(), "last-chat", chat->id);
}

void
sundog_window_tell(SundogWindow *window, const char *text)
{
    sundog_toaster_show(window->toaster, text, NULL, NULL, NULL, NULL, NULL);
}

SundogWindow *
sundog_window_of(GtkWidget *widget)
{
    return SUNDOG_WINDOW(gtk_widget_get_ancestor(widget, SUNDOG_TYPE_WINDOW));
}

/* Deleting, with a way back while the toast stands. */

typedef struct {
    SundogWindow *window;
    SundogChat *chat;
} Deletion;

static void
deletion_free(gpointer data)
{
    Deletion *deletion = data;
    g_object_unref(deletion->chat);
    g_free(deletion);
}

static void
undo_deletion(gpointer data)
{
    Deletion *deletion = data;
    sundog_chats_undelete(get_chats(), deletion->chat);
    sundog_window_open_chat(deletion->window, deletion->chat);
}

static void
confirm_deletion(gpointer data)
{
    if (get_chats())
        sundog_chats_purge(get_chats());
}

static void
on_delete_chat(SundogWindow *self, SundogChat *chat)
{
    Deletion *deletion = g_new(Deletion, 1);
    *deletion = (Deletion){self, g_object_ref(chat)};
    bool shown = sundog_conversation_get_chat(self->conversation) == chat;
    sundog_chats_delete(get_chats(), chat);
    if (shown) {
        g_autoptr(SundogChat) empty = sundog_chat_new();
        sundog_window_open_chat(self, empty);
    }
    g_autofree char *text =
        g_strdup_printf(_("“%s” was deleted"), sundog_chat_get_display_title(chat));
    sundog_toaster_show(self->toaster, text, _("Undo"), undo_deletion, confirm_deletion, deletion,
                        deletion_free);
}

static void
on_open_chat(SundogWindow *self, SundogChat *chat)
{
    sundog_window_open_chat(self, chat);
}

static void
on_show_page(SundogWindow *self, const char *page)
{
    sundog_window_show_page(self, page);
}

/* A new chat got its id, or a title. */
static void
on_chat_changed(SundogWindow *self)
{
    SundogChat *chat = sundog_conversation_get_chat(self->conversation);
    g_settings_set_int64(get_settings(), "last-chat", chat->id);
    sundog_sidebar_select(self->sidebar, chat);
    update_title(self);
}

static void
on_narrow(SundogWindow *self)
{
    bool narrow = sundog_split_is_narrow(self->split);
    sundog_model_switcher_set_narrow(self->switcher, narrow);
    if (narrow)
        gtk_widget_add_css_class(GTK_WIDGET(self), "narrow");
    else
        gtk_widget_remove_css_class(GTK_WIDGET(self), "narrow");
}

/* Actions */

static void
new_chat(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    g_autoptr(SundogChat) chat = sundog_chat_new();
    sundog_window_open_chat(user_data, chat);
}

static void
toggle_sidebar(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_split_toggle(SUNDOG_WINDOW(user_data)->split);
}

static void
show_page(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_window_show_page(user_data, g_variant_get_string(parameter, NULL));
}

static void
focus_search(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    SundogWindow *self = user_data;
    g_object_set(self->split, "shown", TRUE, NULL);
    sundog_sidebar_focus_search(self->sidebar);
}

static void
find(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    SundogWindow *self = user_data;
    sundog_window_show_page(self, "chat");
    sundog_conversation_find(self->conversation);
}

static void
focus_composer(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_window_show_page(user_data, "chat");
}

static void
stop(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_conversation_stop(SUNDOG_WINDOW(user_data)->conversation);
}

static void
regenerate(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_conversation_regenerate(SUNDOG_WINDOW(user_data)->conversation);
}

static void
branch_before(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_conversation_switch_branch(SUNDOG_WINDOW(user_data)->conversation, -1);
}

static void
branch_after(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_conversation_switch_branch(SUNDOG_WINDOW(user_data)->conversation, 1);
}

static void
copy_answer(GSimpleAction *action, GVariant *parameter, gpointer user_data)
{
    sundog_conversation_copy_answer(SUNDOG_WINDOW(user_data)->conversation);
}

static const GActionEntry actions[] = {
    {"branch-after", branch_after, NULL, NULL, NULL, {0}},
    {"branch-before", branch_before, NULL, NULL, NULL, {0}},
    {"copy-answer", copy_answer, NULL, NULL, NULL, {0}},
    {"find", find, NULL, NULL, NULL, {0}},
    {"find-everywhere", focus_search, NULL, NULL, NULL, {0}},
    {"focus-composer", focus_composer, NULL, NULL, NULL, {0}},
    {"go", focus_search, NULL, NULL, NULL, {0}},
    {"new-chat", new_chat, NULL, NULL, NULL, {0}},
    {"page", show_page, "s", NULL, NULL, {0}},
    {"regenerate", regenerate, NULL, NULL, NULL, {0}},
    {"sidebar", toggle_sidebar, NULL, NULL, NULL, {0}},
    {"stop", stop, NULL, NULL, NULL, {0}},
};

/* Escape comes last, after popovers, editors and the search bar had their chance to take it. */
static gboolean
on_escape(GtkEventControllerKey *keys, guint keyval, guint code, GdkModifierType modifiers,
          SundogWindow *self)
{
    return keyval == GDK_KEY_Escape && sundog_conversation_stop(self->conversation);
}

/* What is remembered */

static void
save_size(SundogWindow *self)
{
    int width, height;
    gtk_window_get_default_size(GTK_WINDOW(self), &width, &height);
    bool maximized = gtk_window_is_maximized(GTK_WINDOW(self));
    g_settings_set_boolean(get_settings(), "maximized", maximized);
    if (!maximized && width >= 360 && height >= 480) {
        g_settings_set_int(get_settings(), "width", width);
        g_settings_set_int(get_settings(), "height", height);
    }
}

static gboolean
sundog_window_close_request(GtkWindow *window)
{
    save_size(SUNDOG_WINDOW(window));
    sundog_conversation_save_draft(SUNDOG_WINDOW(window)->conversation);
    return GTK_WINDOW_CLASS(sundog_window_parent_class)->close_request(window);
}

static void
restore(SundogWindow *self)
{
    GSettings *settings = get_settings();
    gtk_window_set_default_size(GTK_WINDOW(self), g_settings_get_int(settings, "width"),
                                g_settings_get_int(settings, "height"));
    if (g_settings_get_boolean(settings, "maximized"))
        gtk_window_maximize(GTK_WINDOW(self));
    g_settings_bind(settings, "sidebar", self->split, "docked",
                    G_SETTINGS_BIND_DEFAULT | G_SETTINGS_BIND_NO_SENSITIVITY);
    SundogChat *last = sundog_chats_find(get_chats(), g_settings_get_int64(settings, "last-chat"));
    g_autoptr(SundogChat) chat = last ? g_object_ref(last) : sundog_chat_new();
    sundog_window_open_chat(self, chat);
}

static void
on_problem(SundogWindow *self, const char *text)
{
    sundog_window_tell(self, text);
}

static void
sundog_window_class_init(SundogWindowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    GTK_WINDOW_CLASS(class)->close_request = sundog_window_close_request;
    g_type_ensure(SUNDOG_TYPE_SPLIT);
    g_type_ensure(SUNDOG_TYPE_SIDEBAR);
    g_type_ensure(SUNDOG_TYPE_CONVERSATION);
    g_type_ensure(SUNDOG_TYPE_TOASTER);
    g_type_ensure(SUNDOG_TYPE_MODEL_SWITCHER);
    g_type_ensure(SUNDOG_TYPE_LIBRARY_PAGE);
    g_type_ensure(SUNDOG_TYPE_SERVER_PAGE);
    g_type_ensure(SUNDOG_TYPE_JOB_STRIP);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/window.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, split);
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, sidebar);
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, title);
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, page_title);
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, pages);
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, switcher);
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, conversation);
    gtk_widget_class_bind_template_child(widget_class, SundogWindow, toaster);
    gtk_widget_class_bind_template_callback(widget_class, on_open_chat);
    gtk_widget_class_bind_template_callback(widget_class, on_show_page);
    gtk_widget_class_bind_template_callback(widget_class, on_delete_chat);
    gtk_widget_class_bind_template_callback(widget_class, on_chat_changed);
    gtk_widget_class_bind_template_callback(widget_class, on_narrow);
}

static void
sundog_window_init(SundogWindow *self)
{
    g_action_map_add_action_entries(G_ACTION_MAP(self), actions, G_N_ELEMENTS(actions), self);
    gtk_widget_init_template(GTK_WIDGET(self));
    GtkEventController *keys = gtk_event_controller_key_new();
    g_signal_connect(keys, "key-pressed", G_CALLBACK(on_escape), self);
    gtk_widget_add_controller(GTK_WIDGET(self), keys);
    g_signal_connect_object(get_chats(), "problem", G_CALLBACK(on_problem), self,
                            G_CONNECT_SWAPPED);
    restore(self);
    const char *problem = sundog_application_get_chats_problem(sundog_application_get());
    if (problem) {
        g_autofree char *text = g_strdup_printf(_("Chats cannot be kept: %s"), problem);
        sundog_window_tell(self, text);
    }
}

GtkWidget *
sundog_window_new(SundogApplication *application)
{
    return g_object_new(SUNDOG_TYPE_WINDOW, "application", application, NULL);
}
