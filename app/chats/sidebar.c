/* A list box over the chats, filtered by the search, with headings. Of very many chats the newest are
 * given rows; searching reaches all. */

#include "app/chats/sidebar.h"
#include "app/application.h"
#include "app/chats/chat-row.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <string.h>

#define FIRST_ROWS 200

struct _SundogSidebar {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkSearchEntry *search;
    GtkListBox *list;
    GtkWidget *older;
    GtkLabel *server_state;
    GtkWidget *server_dot;
    GtkWidget *library_button;
    GtkWidget *server_button;
    GtkFilterListModel *filtered;
    GtkSliceListModel *slice;
    GtkCustomFilter *filter;
    GHashTable *found; /* ids that match, NULL while nothing is searched */
    SundogChat *selected;
    unsigned midnight;
};

enum { OPEN_CHAT, DELETE_CHAT, SHOW_PAGE, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogSidebar, sundog_sidebar, GTK_TYPE_WIDGET)

static gboolean
is_found(gpointer item, gpointer user_data)
{
    SundogSidebar *self = user_data;
    return !self->found || g_hash_table_contains(self->found, &SUNDOG_CHAT(item)->id);
}

static void
on_row_delete(SundogChatRow *row, SundogSidebar *self)
{
    g_signal_emit(self, signals[DELETE_CHAT], 0, sundog_chat_row_get_chat(row));
}

static GtkWidget *
make_row(gpointer item, gpointer user_data)
{
    GtkWidget *row = sundog_chat_row_new(item);
    g_signal_connect_object(row, "delete", G_CALLBACK(on_row_delete), user_data, 0);
    return row;
}

static char *
dup_section(GtkListBoxRow *row)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    return sundog_chat_dup_section(sundog_chat_row_get_chat(SUNDOG_CHAT_ROW(row)), now);
}

static void
set_heading(GtkListBoxRow *row, GtkListBoxRow *before, gpointer user_data)
{
    g_autofree char *section = dup_section(row);
    g_autofree char *section_before = before ? dup_section(before) : NULL;
    if (g_strcmp0(section, section_before) == 0) {
        gtk_list_box_row_set_header(row, NULL);
        return;
    }
    GtkWidget *label = gtk_label_new(section);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_widget_add_css_class(label, "heading");
    gtk_list_box_row_set_header(row, label);
}

static void
apply_selection(SundogSidebar *self)
{
    GtkListBoxRow *row;
    for (int i = 0; (row = gtk_list_box_get_row_at_index(self->list, i)) != NULL; i++)
        if (sundog_chat_row_get_chat(SUNDOG_CHAT_ROW(row)) == self->selected) {
            gtk_list_box_select_row(self->list, row);
            return;
        }
    gtk_list_box_unselect_all(self->list);
}

static void
on_items_changed(SundogSidebar *self)
{
    guint n_all = g_list_model_get_n_items(G_LIST_MODEL(self->filtered));
    gtk_widget_set_visible(self->older, n_all > gtk_slice_list_model_get_size(self->slice));
    apply_selection(self);
}

void
sundog_sidebar_select(SundogSidebar *sidebar, SundogChat *chat)
{
    g_set_object(&sidebar->selected, chat);
    apply_selection(sidebar);
}

void
sundog_sidebar_set_page(SundogSidebar *sidebar, const char *page)
{
    GtkWidget *here = strcmp(page, "library") == 0  ? sidebar->library_button
                      : strcmp(page, "server") == 0 ? sidebar->server_button
                                                    : NULL;
    gtk_widget_remove_css_class(sidebar->library_button, "here");
    gtk_widget_remove_css_class(sidebar->server_button, "here");
    if (here) {
        gtk_widget_add_css_class(here, "here");
        gtk_list_box_unselect_all(sidebar->list);
    } else
        apply_selection(sidebar);
}

void
sundog_sidebar_focus_search(SundogSidebar *sidebar)
{
    gtk_widget_grab_focus(GTK_WIDGET(sidebar->search));
}

static void
on_search(GtkSearchEntry *entry, SundogSidebar *self)
{
    const char *text = gtk_editable_get_text(GTK_EDITABLE(entry));
    SundogChats *chats = sundog_application_get_chats(sundog_application_get());
    g_clear_pointer(&self->found, g_hash_table_unref);
    if (*text)
        self->found = sundog_chats_search(chats, text);
    gtk_filter_changed(GTK_FILTER(self->filter), GTK_FILTER_CHANGE_DIFFERENT);
}

static void
on_stop_search(GtkSearchEntry *entry, SundogSidebar *self)
{
    gtk_editable_set_text(GTK_EDITABLE(entry), "");
    gtk_widget_activate_action(GTK_WIDGET(self), "win.focus-composer", NULL);
}

/* Enter in the search opens the first that is found, also before the entry has told of the last keys. */
static void
on_search_activate(GtkSearchEntry *entry, SundogSidebar *self)
{
    on_search(entry, self);
    GtkListBoxRow *row = gtk_list_box_get_row_at_index(self->list, 0);
    if (row)
        g_signal_emit(self, signals[OPEN_CHAT], 0, sundog_chat_row_get_chat(SUNDOG_CHAT_ROW(row)));
}

static void
on_row_activated(GtkListBox *list, GtkListBoxRow *row, SundogSidebar *self)
{
    g_signal_emit(self, signals[OPEN_CHAT], 0, sundog_chat_row_get_chat(SUNDOG_CHAT_ROW(row)));
}

static void
on_older(GtkButton *button, SundogSidebar *self)
{
    gtk_slice_list_model_set_size(self->slice,
                                  gtk_slice_list_model_get_size(self->slice) + FIRST_ROWS);
    on_items_changed(self);
}

static void
on_library(GtkButton *button, SundogSidebar *self)
{
    g_signal_emit(self, signals[SHOW_PAGE], 0, "library");
}

static void
on_server(GtkButton *button, SundogSidebar *self)
{
    g_signal_emit(self, signals[SHOW_PAGE], 0, "server");
}

static void
set_dot(SundogSidebar *self, const char *class)
{
    static const char *const classes[] = {"good", "busy", "bad"};
    for (unsigned i = 0; i < G_N_ELEMENTS(classes); i++)
        gtk_widget_remove_css_class(self->server_dot, classes[i]);
    if (class)
        gtk_widget_add_css_class(self->server_dot, class);
}

static void
update_server(SundogSidebar *self)
{
    SundogApplication *application = sundog_application_get();
    SundogServerFeed *feed = sundog_application_get_feed(application);
    SundogSupervisorState state =
        sundog_supervisor_get_state(sundog_application_get_supervisor(application));
    int port = (int)sundog_json_get_number(sundog_server_feed_get_state(feed), "port", 0);
    g_autofree char *text = state == SUNDOG_SUPERVISOR_FAILED    ? g_strdup(_("Does not start"))
                            : state == SUNDOG_SUPERVISOR_STOPPED ? g_strdup(_("Off"))
                            : state != SUNDOG_SUPERVISOR_READY   ? g_strdup(_("Starting"))
                            : port > 0 ? g_strdup_printf(_("Port %d"), port)
                                       : g_strdup(_("Running"));
    gtk_label_set_text(self->server_state, text);
    set_dot(self, state == SUNDOG_SUPERVISOR_READY     ? "good"
                  : state == SUNDOG_SUPERVISOR_FAILED  ? "bad"
                  : state == SUNDOG_SUPERVISOR_STOPPED ? NULL
                                                       : "busy");
}

static void schedule_midnight(SundogSidebar *self);

static gboolean
on_midnight(gpointer user_data)
{
    SundogSidebar *self = user_data;
    self->midnight = 0;
    gtk_list_box_invalidate_headers(self->list);
    schedule_midnight(self);
    return G_SOURCE_REMOVE;
}

/* "Today" becomes "Yesterday" without a clock that ticks. */
static void
schedule_midnight(SundogSidebar *self)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    unsigned passed = g_date_time_get_hour(now) * 3600 + g_date_time_get_minute(now) * 60 +
                      g_date_time_get_second(now);
    self->midnight = g_timeout_add_seconds(86400 - passed + 5, on_midnight, self);
}

static void
sundog_sidebar_dispose(GObject *object)
{
    SundogSidebar *self = SUNDOG_SIDEBAR(object);
    g_clear_handle_id(&self->midnight, g_source_remove);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_SIDEBAR);
    g_clear_object(&self->slice);
    g_clear_object(&self->filtered);
    g_clear_object(&self->filter);
    g_clear_object(&self->selected);
    g_clear_pointer(&self->found, g_hash_table_unref);
    G_OBJECT_CLASS(sundog_sidebar_parent_class)->dispose(object);
}

static void
sundog_sidebar_class_init(SundogSidebarClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_sidebar_dispose;
    signals[OPEN_CHAT] = g_signal_new("open-chat", SUNDOG_TYPE_SIDEBAR, G_SIGNAL_RUN_LAST, 0, NULL,
                                      NULL, NULL, G_TYPE_NONE, 1, SUNDOG_TYPE_CHAT);
    signals[DELETE_CHAT] = g_signal_new("delete-chat", SUNDOG_TYPE_SIDEBAR, G_SIGNAL_RUN_LAST, 0,
                                        NULL, NULL, NULL, G_TYPE_NONE, 1, SUNDOG_TYPE_CHAT);
    signals[SHOW_PAGE] = g_signal_new("show-page", SUNDOG_TYPE_SIDEBAR, G_SIGNAL_RUN_LAST, 0, NULL,
                                      NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/sidebar.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, box);
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, search);
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, list);
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, older);
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, server_state);
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, server_dot);
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, library_button);
    gtk_widget_class_bind_template_child(widget_class, SundogSidebar, server_button);
    gtk_widget_class_bind_template_callback(widget_class, on_search);
    gtk_widget_class_bind_template_callback(widget_class, on_stop_search);
    gtk_widget_class_bind_template_callback(widget_class, on_search_activate);
    gtk_widget_class_bind_template_callback(widget_class, on_row_activated);
    gtk_widget_class_bind_template_callback(widget_class, on_older);
    gtk_widget_class_bind_template_callback(widget_class, on_library);
    gtk_widget_class_bind_template_callback(widget_class, on_server);
}

static void
sundog_sidebar_init(SundogSidebar *self)
{
    SundogApplication *application = sundog_application_get();
    SundogChats *chats = sundog_application_get_chats(application);
    gtk_widget_init_template(GTK_WIDGET(self));
    gtk_widget_add_css_class(GTK_WIDGET(self), "side");
    self->filter = gtk_custom_filter_new(is_found, self, NULL);
    self->filtered = gtk_filter_list_model_new(g_object_ref(sundog_chats_get_list(chats)),
                                               GTK_FILTER(g_object_ref(self->filter)));
    self->slice =
        gtk_slice_list_model_new(G_LIST_MODEL(g_object_ref(self->filtered)), 0, FIRST_ROWS);
    gtk_list_box_bind_model(self->list, G_LIST_MODEL(self->slice), make_row, self, NULL);
    gtk_list_box_set_header_func(self->list, set_heading, NULL, NULL);
    g_signal_connect_object(self->slice, "items-changed", G_CALLBACK(on_items_changed), self,
                            G_CONNECT_SWAPPED | G_CONNECT_AFTER);
    g_signal_connect_object(sundog_application_get_supervisor(application), "notify::state",
                            G_CALLBACK(update_server), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(sundog_application_get_feed(application), "state",
                            G_CALLBACK(update_server), self, G_CONNECT_SWAPPED);
    update_server(self);
    on_items_changed(self);
    schedule_midnight(self);
}
