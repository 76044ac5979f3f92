/* A list box kept in step with the feed; rows are reused by place. */

#include "app/server/request-list.h"
#include "app/application.h"
#include "app/figures.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <stdbool.h>
#include <string.h>

#define MAX_ROWS 20
/* Running requests change with every token; the eye needs no more than this. */
#define REFRESH_MS 250

struct _SundogRequestList {
    GtkWidget parent_instance;
    GtkListBox *list;
    unsigned timer;
};

typedef struct {
    GtkLabel *title;
    GtkLabel *facts;
    GtkWidget *stop;
    char *id;
} Row;

G_DEFINE_FINAL_TYPE(SundogRequestList, sundog_request_list, GTK_TYPE_WIDGET)

static const struct {
    const char *state, *words;
} states[] = {
    {"queued", N_("Waiting")}, {"prefill", N_("Reading")},          {"decode", N_("Writing")},
    {"stop", N_("Done")},      {"length", N_("Reached its limit")}, {"cancelled", N_("Stopped")},
    {"failed", N_("Failed")},
};

static bool
is_running(const char *state)
{
    return strcmp(state, "queued") == 0 || strcmp(state, "prefill") == 0 ||
           strcmp(state, "decode") == 0;
}

static const char *
get_words(const char *state)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(states); i++)
        if (strcmp(states[i].state, state) == 0)
            return _(states[i].words);
    return state;
}

static void
append_number(GString *facts, const char *sentence, double value)
{
    if (value < 0)
        return;
    g_autofree char *number = sundog_figures_dup_number(value);
    g_autoptr(GString) part = g_string_new(sentence);
    g_string_replace(part, "%s", number, 1);
    g_string_append_printf(facts, " · %s", part->str);
}

static char *
dup_facts(JsonObject *request)
{
    GString *facts = g_string_new(get_words(sundog_json_get_string(request, "state", "")));
    double reused = sundog_json_get_number(request, "cached_tokens", 0);
    append_number(facts, _("%s tokens in"), sundog_json_get_number(request, "prompt_tokens", -1));
    append_number(facts, _("%s reused"), reused > 0 ? reused : -1);
    append_number(facts, _("%s out"), sundog_json_get_number(request, "produced_tokens", -1));
    append_number(facts, _("first after %s ms"),
                  sundog_json_get_number(request, "time_to_first_token_ms", -1));
    append_number(facts, _("%s tokens/s"),
                  sundog_json_get_number(request, "tokens_per_second", -1));
    return g_string_free(facts, FALSE);
}

static void
on_answer(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(JsonNode) answer = sundog_client_call_finish(SUNDOG_CLIENT(source), result, NULL);
}

static void
on_stop(GtkButton *button, Row *row)
{
    g_autofree char *id = g_uri_escape_string(row->id, NULL, FALSE);
    g_autofree char *path = g_strconcat("/sundog/v1/requests/", id, NULL);
    sundog_client_call_async(sundog_application_get_client(sundog_application_get()), "DELETE",
                             path, NULL, NULL, on_answer, NULL);
}

static void
row_free(gpointer data)
{
    g_free(((Row *)data)->id);
    g_free(data);
}

static GtkWidget *
make_label(const char *class)
{
    GtkWidget *label =
        g_object_new(GTK_TYPE_LABEL, "xalign", 0.0f, "ellipsize", PANGO_ELLIPSIZE_END, NULL);
    gtk_widget_add_css_class(label, class);
    return label;
}

static GtkWidget *
make_row(void)
{
    Row *row = g_new0(Row, 1);
    GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
    GtkWidget *texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    row->title = GTK_LABEL(make_label("name"));
    row->facts = GTK_LABEL(make_label("dim"));
    gtk_widget_add_css_class(GTK_WIDGET(row->facts), "small");
    gtk_widget_add_css_class(GTK_WIDGET(row->facts), "numeric");
    row->stop = gtk_button_new_from_icon_name("sundog-stop-symbolic");
    gtk_widget_set_valign(row->stop, GTK_ALIGN_CENTER);
    gtk_widget_add_css_class(row->stop, "flat");
    gtk_widget_set_tooltip_text(row->stop, _("Stop"));
    gtk_accessible_update_property(GTK_ACCESSIBLE(row->stop), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   _("Stop this request"), -1);
    g_signal_connect(row->stop, "clicked", G_CALLBACK(on_stop), row);
    gtk_widget_set_hexpand(texts, TRUE);
    gtk_box_append(GTK_BOX(texts), GTK_WIDGET(row->title));
    gtk_box_append(GTK_BOX(texts), GTK_WIDGET(row->facts));
    gtk_box_append(GTK_BOX(line), texts);
    gtk_box_append(GTK_BOX(line), row->stop);
    GtkWidget *widget = g_object_new(GTK_TYPE_LIST_BOX_ROW, "child", line, "activatable", FALSE,
                                     "focusable", FALSE, NULL);
    g_object_set_data_full(G_OBJECT(widget), "row", row, row_free);
    return widget;
}

static void
fill_row(GtkWidget *widget, JsonObject *request)
{
    Row *row = g_object_get_data(G_OBJECT(widget), "row");
    g_autofree char *facts = dup_facts(request);
    const char *model = sundog_json_get_string(request, "model", "");
    const char *endpoint = sundog_json_get_string(request, "endpoint", "");
    const char *key = sundog_json_get_string(request, "key", NULL);
    g_autofree char *title = key ? g_strdup_printf("%s  %s  %s", key, model, endpoint)
                                 : g_strdup_printf("%s  %s", model, endpoint);
    g_free(row->id);
    row->id = g_strdup(sundog_json_get_string(request, "id", ""));
    gtk_label_set_text(row->title, title);
    gtk_label_set_text(row->facts, facts);
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                   -1);
    gtk_widget_set_visible(row->stop, is_running(sundog_json_get_string(request, "state", "")));
}

static void
fill(SundogRequestList *self)
{
    GPtrArray *requests =
        sundog_server_feed_get_requests(sundog_application_get_feed(sundog_application_get()));
    unsigned n = MIN(requests->len, MAX_ROWS);
    for (unsigned i = 0; i < n; i++) {
        GtkWidget *row = GTK_WIDGET(gtk_list_box_get_row_at_index(self->list, i));
        if (!row) {
            row = make_row();
            gtk_list_box_append(self->list, row);
        }
        fill_row(row, requests->pdata[i]);
    }
    GtkListBoxRow *extra;
    while ((extra = gtk_list_box_get_row_at_index(self->list, n)) != NULL)
        gtk_list_box_remove(self->list, GTK_WIDGET(extra));
}

static gboolean
on_timer(gpointer user_data)
{
    SundogRequestList *self = user_data;
    self->timer = 0;
    fill(self);
    return G_SOURCE_REMOVE;
}

static void
on_requests(SundogRequestList *self)
{
    if (gtk_widget_get_mapped(GTK_WIDGET(self)) && !self->timer)
        self->timer = g_timeout_add(REFRESH_MS, on_timer, self);
}

static void
sundog_request_list_map(GtkWidget *widget)
{
    GTK_WIDGET_CLASS(sundog_request_list_parent_class)->map(widget);
    fill(SUNDOG_REQUEST_LIST(widget));
}

static void
sundog_request_list_dispose(GObject *object)
{
    SundogRequestList *self = SUNDOG_REQUEST_LIST(object);
    g_clear_handle_id(&self->timer, g_source_remove);
    if (self->list)
        gtk_widget_unparent(GTK_WIDGET(self->list));
    self->list = NULL;
    G_OBJECT_CLASS(sundog_request_list_parent_class)->dispose(object);
}

static void
sundog_request_list_class_init(SundogRequestListClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_request_list_dispose;
    GTK_WIDGET_CLASS(class)->map = sundog_request_list_map;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
}

static void
sundog_request_list_init(SundogRequestList *self)
{
    GtkWidget *empty = gtk_label_new(_("No requests yet"));
    gtk_widget_add_css_class(empty, "dim");
    gtk_widget_set_margin_top(empty, 18);
    gtk_widget_set_margin_bottom(empty, 18);
    self->list = GTK_LIST_BOX(gtk_list_box_new());
    gtk_list_box_set_selection_mode(self->list, GTK_SELECTION_NONE);
    gtk_list_box_set_placeholder(self->list, empty);
    gtk_widget_add_css_class(GTK_WIDGET(self->list), "cards");
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   _("Requests"), -1);
    gtk_widget_set_parent(GTK_WIDGET(self->list), GTK_WIDGET(self));
    g_signal_connect_object(sundog_application_get_feed(sundog_application_get()), "requests",
                            G_CALLBACK(on_requests), self, G_CONNECT_SWAPPED);
}
