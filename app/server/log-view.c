/* A text view that is written anew when lines come, from the feed's bounded list. */

#include "app/server/log-view.h"
#include "app/application.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <stdbool.h>
#include <string.h>

/* A flood of lines redraws no more often than this. */
#define REFRESH_MS 250

struct _SundogLogView {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkSearchEntry *search;
    GtkDropDown *level;
    GtkScrolledWindow *scroller;
    GtkTextBuffer *buffer;
    unsigned timer;
};

static const char *const levels[] = {"debug", "info", "warning", "error"};

G_DEFINE_FINAL_TYPE(SundogLogView, sundog_log_view, GTK_TYPE_WIDGET)

static unsigned
get_level(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(levels); i++)
        if (g_ascii_strncasecmp(name, levels[i], 4) == 0)
            return i;
    return 1;
}

static bool
is_wanted(SundogLogView *self, JsonObject *line, const char *folded)
{
    if (get_level(sundog_json_get_string(line, "level", "info")) <
        gtk_drop_down_get_selected(self->level))
        return false;
    g_autofree char *text = g_utf8_casefold(sundog_json_get_string(line, "text", ""), -1);
    return !*folded || strstr(text, folded) != NULL;
}

/* The time of day is enough in a live log. */
static void
append_line(GString *all, JsonObject *line)
{
    const char *time = sundog_json_get_string(line, "time", "");
    const char *clock = strchr(time, 'T');
    g_string_append_printf(all, "%s%.8s  %-7s  %s", all->len ? "\n" : "", clock ? clock + 1 : time,
                           sundog_json_get_string(line, "level", ""),
                           sundog_json_get_string(line, "text", ""));
}

static void
fill(SundogLogView *self)
{
    GPtrArray *log =
        sundog_server_feed_get_log(sundog_application_get_feed(sundog_application_get()));
    GtkAdjustment *adjustment = gtk_scrolled_window_get_vadjustment(self->scroller);
    bool at_end = gtk_adjustment_get_value(adjustment) + gtk_adjustment_get_page_size(adjustment) >=
                  gtk_adjustment_get_upper(adjustment) - 12;
    g_autofree char *folded =
        g_utf8_casefold(gtk_editable_get_text(GTK_EDITABLE(self->search)), -1);
    g_autoptr(GString) all = g_string_new(NULL);
    for (unsigned i = 0; i < log->len; i++)
        if (is_wanted(self, log->pdata[i], folded))
            append_line(all, log->pdata[i]);
    gtk_text_buffer_set_text(self->buffer, all->str, all->len);
    if (!at_end)
        return;
    GtkTextIter end;
    gtk_text_buffer_get_end_iter(self->buffer, &end);
    gtk_text_buffer_place_cursor(self->buffer, &end);
    GtkWidget *view = gtk_scrolled_window_get_child(self->scroller);
    gtk_text_view_scroll_to_mark(GTK_TEXT_VIEW(view), gtk_text_buffer_get_insert(self->buffer), 0,
                                 FALSE, 0, 0);
}

static gboolean
on_timer(gpointer user_data)
{
    SundogLogView *self = user_data;
    self->timer = 0;
    fill(self);
    return G_SOURCE_REMOVE;
}

static void
on_log(SundogLogView *self)
{
    if (gtk_widget_get_mapped(GTK_WIDGET(self)) && !self->timer)
        self->timer = g_timeout_add(REFRESH_MS, on_timer, self);
}

static void
on_filter(SundogLogView *self)
{
    fill(self);
}

static void
on_level(SundogLogView *self)
{
    if (self->search)
        fill(self);
}

static void
sundog_log_view_map(GtkWidget *widget)
{
    GTK_WIDGET_CLASS(sundog_log_view_parent_class)->map(widget);
    fill(SUNDOG_LOG_VIEW(widget));
}

static void
sundog_log_view_dispose(GObject *object)
{
    g_clear_handle_id(&SUNDOG_LOG_VIEW(object)->timer, g_source_remove);
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_LOG_VIEW);
    G_OBJECT_CLASS(sundog_log_view_parent_class)->dispose(object);
}

static void
sundog_log_view_class_init(SundogLogViewClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_log_view_dispose;
    widget_class->map = sundog_log_view_map;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/log-view.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogLogView, box);
    gtk_widget_class_bind_template_child(widget_class, SundogLogView, search);
    gtk_widget_class_bind_template_child(widget_class, SundogLogView, level);
    gtk_widget_class_bind_template_child(widget_class, SundogLogView, scroller);
    gtk_widget_class_bind_template_child(widget_class, SundogLogView, buffer);
    gtk_widget_class_bind_template_callback(widget_class, on_filter);
    gtk_widget_class_bind_template_callback(widget_class, on_level);
}

static void
sundog_log_view_init(SundogLogView *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    gtk_drop_down_set_selected(self->level, 1);
    g_signal_connect_object(sundog_application_get_feed(sundog_application_get()), "log",
                            G_CALLBACK(on_log), self, G_CONNECT_SWAPPED);
}
