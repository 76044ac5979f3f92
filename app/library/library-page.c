/* Lists over the shelf, and the calls that rows ask for. */

#include "app/library/library-page.h"
#include "app/application.h"
#include "app/figures.h"
#include "app/library/library-row.h"
#include "app/window.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <string.h>

struct _SundogLibraryPage {
    GtkWidget parent_instance;
    GtkWidget *scroller;
    GtkWidget *here_box;
    GtkListBox *here;
    GtkWidget *available_box;
    GtkListBox *available;
    GtkWidget *empty;
};

G_DEFINE_FINAL_TYPE(SundogLibraryPage, sundog_library_page, GTK_TYPE_WIDGET)

static SundogShelf *
get_shelf(void)
{
    return sundog_application_get_shelf(sundog_application_get());
}

/* Calls to the server; what goes wrong becomes a toast. */

static void
on_answer(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(SundogLibraryPage) self = user_data;
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) answer = sundog_client_call_finish(SUNDOG_CLIENT(source), result, &error);
    SundogWindow *window = sundog_window_of(GTK_WIDGET(self));
    if (!window)
        return;
    JsonObject *object =
        answer && JSON_NODE_HOLDS_OBJECT(answer) ? json_node_get_object(answer) : NULL;
    double n_bytes = sundog_json_get_number(object, "bytes_freed", -1);
    if (error)
        sundog_window_tell(window, error->message);
    else if (n_bytes >= 0) {
        g_autofree char *size = sundog_figures_dup_bytes(n_bytes);
        g_autofree char *text = g_strdup_printf(_("%s came back"), size);
        sundog_window_tell(window, text);
    }
    sundog_shelf_refresh(get_shelf());
}

static void
call(SundogLibraryPage *self, const char *method, const char *path, JsonObject *object)
{
    g_autoptr(JsonNode) body = object ? json_node_init_object(json_node_alloc(), object) : NULL;
    sundog_client_call_async(sundog_application_get_client(sundog_application_get()), method, path,
                             body, NULL, on_answer, g_object_ref(self));
}

static void
start_job(SundogLibraryPage *self, const char *kind, const char *member, JsonObject *entry)
{
    g_autoptr(JsonObject) job = json_object_new();
    json_object_set_string_member(job, "kind", kind);
    json_object_set_string_member(job, member, sundog_json_get_string(entry, "name", ""));
    if (strcmp(kind, "pull") == 0)
        json_object_set_boolean_member(job, "then_prepare", TRUE);
    call(self, "POST", "/sundog/v1/jobs", job);
}

static void
on_use(SundogLibraryRow *row, SundogLibraryPage *self)
{
    SundogWindow *window = sundog_window_of(GTK_WIDGET(self));
    g_autoptr(SundogChat) chat = sundog_chat_new();
    chat->core = g_strdup(sundog_json_get_string(sundog_library_row_get_entry(row), "name", NULL));
    sundog_window_open_chat(window, chat);
}

static void
on_prepare(SundogLibraryRow *row, SundogLibraryPage *self)
{
    start_job(self, "prepare", "model", sundog_library_row_get_entry(row));
}

static void
on_get(SundogLibraryRow *row, SundogLibraryPage *self)
{
    start_job(self, "pull", "source", sundog_library_row_get_entry(row));
}

/* Deleting says what goes, how much comes back, and what stays. */

typedef struct {
    SundogLibraryPage *page;
    char *path;
} Removal;

static void
on_removal_response(GtkDialog *dialog, int response, gpointer user_data)
{
    Removal *removal = user_data;
    if (response == GTK_RESPONSE_ACCEPT)
        call(removal->page, "DELETE", removal->path, NULL);
    gtk_window_destroy(GTK_WINDOW(dialog));
    g_object_unref(removal->page);
    g_free(removal->path);
    g_free(removal);
}

static char *
dup_consequences(SundogLibraryKind kind, JsonObject *entry)
{
    g_autofree char *size = sundog_figures_dup_bytes(sundog_json_get_number(entry, "bytes", 0));
    if (kind == SUNDOG_LIBRARY_CORE)
        return g_strdup_printf(_("What was prepared goes, and %s come back. The model it was made "
                                 "from stays where you "
                                 "have it, and your chats stay."),
                               size);
    return g_strdup_printf(_("The downloaded file goes, and %s come back. What was prepared from "
                             "it stays and goes on working."),
                           size);
}

static void
on_remove(SundogLibraryRow *row, SundogLibraryPage *self)
{
    SundogLibraryKind kind = sundog_library_row_get_kind(row);
    JsonObject *entry = sundog_library_row_get_entry(row);
    g_autofree char *consequences = dup_consequences(kind, entry);
    g_autofree char *escaped =
        g_uri_escape_string(sundog_json_get_string(entry, "name", ""), ":@", FALSE);
    GtkWidget *dialog = gtk_message_dialog_new(
        GTK_WINDOW(sundog_window_of(GTK_WIDGET(self))), GTK_DIALOG_MODAL, GTK_MESSAGE_QUESTION,
        GTK_BUTTONS_NONE, _("Delete “%s”?"), sundog_shelf_get_title(get_shelf(), entry));
    gtk_message_dialog_format_secondary_text(GTK_MESSAGE_DIALOG(dialog), "%s", consequences);
    gtk_dialog_add_button(GTK_DIALOG(dialog), _("Cancel"), GTK_RESPONSE_CANCEL);
    GtkWidget *yes = gtk_dialog_add_button(GTK_DIALOG(dialog), _("Delete"), GTK_RESPONSE_ACCEPT);
    gtk_widget_add_css_class(yes, "destructive-action");
    gtk_widget_add_css_class(dialog, "sundog");
    gtk_dialog_set_default_response(GTK_DIALOG(dialog), GTK_RESPONSE_CANCEL);
    Removal *removal = g_new(Removal, 1);
    removal->page = g_object_ref(self);
    removal->path = g_strdup_printf("/sundog/v1/%s/%s",
                                    kind == SUNDOG_LIBRARY_CORE ? "cores" : "models", escaped);
    g_signal_connect(dialog, "response", G_CALLBACK(on_removal_response), removal);
    gtk_window_present(GTK_WINDOW(dialog));
}

static void
clear(GtkListBox *list)
{
    GtkWidget *row;
    while ((row = gtk_widget_get_first_child(GTK_WIDGET(list))) != NULL)
        gtk_list_box_remove(list, row);
}

static unsigned
append_entries(SundogLibraryPage *self, GtkListBox *list, SundogLibraryKind kind,
               JsonArray *entries)
{
    unsigned n = 0;
    for (unsigned i = 0; entries && i < json_array_get_length(entries); i++) {
        JsonObject *entry = sundog_json_get_element(entries, i);
        if (!entry)
            continue;
        GtkWidget *row = sundog_library_row_new(kind, entry);
        g_signal_connect_object(row, "use", G_CALLBACK(on_use), self, 0);
        g_signal_connect_object(row, "prepare", G_CALLBACK(on_prepare), self, 0);
        g_signal_connect_object(row, "get", G_CALLBACK(on_get), self, 0);
        g_signal_connect_object(row, "remove", G_CALLBACK(on_remove), self, 0);
        gtk_list_box_append(list, row);
        n++;
    }
    return n;
}

static void
update(SundogLibraryPage *self)
{
    SundogShelf *shelf = get_shelf();
    clear(self->here);
    clear(self->available);
    unsigned n_here =
        append_entries(self, self->here, SUNDOG_LIBRARY_CORE, sundog_shelf_get_cores(shelf)) +
        append_entries(self, self->here, SUNDOG_LIBRARY_MODEL, sundog_shelf_get_models(shelf));
    unsigned n_available = append_entries(self, self->available, SUNDOG_LIBRARY_AVAILABLE,
                                          sundog_shelf_get_available(shelf));
    gtk_widget_set_visible(self->here_box, n_here > 0);
    gtk_widget_set_visible(self->available_box, n_available > 0);
    gtk_widget_set_visible(self->empty, n_here + n_available == 0);
    gtk_label_set_text(GTK_LABEL(self->empty), sundog_shelf_is_known(shelf)
                                                   ? _("The library is empty.")
                                                   : _("Waiting for the server"));
}

static void
sundog_library_page_dispose(GObject *object)
{
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_LIBRARY_PAGE);
    G_OBJECT_CLASS(sundog_library_page_parent_class)->dispose(object);
}

static void
sundog_library_page_class_init(SundogLibraryPageClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_library_page_dispose;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/library-page.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryPage, scroller);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryPage, here_box);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryPage, here);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryPage, available_box);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryPage, available);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryPage, empty);
}

static void
sundog_library_page_init(SundogLibraryPage *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    g_signal_connect_object(get_shelf(), "changed", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
    update(self);
}
