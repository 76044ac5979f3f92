/* A box kept in step with the feed; rows are reused by place, so that a button keeps its focus. */

#include "app/server/engine-list.h"
#include "app/application.h"
#include "app/figures.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <stdbool.h>
#include <string.h>

struct _SundogEngineList {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkWidget *empty;
    GPtrArray *rows; /* Row */
};

typedef struct {
    GtkWidget *line;
    GtkLabel *words;
    GtkWidget *unload;
    char *core;
} Row;

G_DEFINE_FINAL_TYPE(SundogEngineList, sundog_engine_list, GTK_TYPE_WIDGET)

/* "SmolLM2 is loaded and takes 0.3 GB of memory" */
static char *
dup_words(JsonObject *engine)
{
    const char *state = sundog_json_get_string(engine, "state", "none");
    const char *core = sundog_json_get_string(engine, "core", "");
    const char *message = sundog_json_get_string(engine, "message", NULL);
    double memory = sundog_json_get_number(engine, "memory_bytes", 0);
    g_autofree char *size = sundog_figures_dup_bytes(memory);
    if (strcmp(state, "failed") == 0)
        return g_strdup_printf("%s: %s", core, message ? message : _("Failed"));
    if (strcmp(state, "stopping") == 0)
        return g_strdup_printf(_("%s is being unloaded"), core);
    if (strcmp(state, "none") == 0)
        return g_strdup_printf(_("%s waits for memory"), core);
    if (strcmp(state, "ready") != 0)
        return g_strdup_printf(_("%s is being loaded, %d %%"), core,
                               (int)(sundog_json_get_number(engine, "progress", 0) * 100));
    return memory > 0 ? g_strdup_printf(_("%s is loaded and takes %s of memory"), core, size)
                      : g_strdup_printf(_("%s is loaded"), core);
}

static void
on_unload(GtkButton *button, Row *row)
{
    sundog_shelf_unload(sundog_application_get_shelf(sundog_application_get()), row->core);
}

static void
row_free(gpointer data)
{
    Row *row = data;
    g_signal_handlers_disconnect_by_data(row->unload, row);
    gtk_widget_unparent(row->line);
    g_free(row->core);
    g_free(row);
}

static Row *
make_row(SundogEngineList *self)
{
    Row *row = g_new0(Row, 1);
    row->line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
    row->words = g_object_new(GTK_TYPE_LABEL, "xalign", 0.0f, "wrap", TRUE, "wrap-mode",
                              PANGO_WRAP_WORD_CHAR, "hexpand", TRUE, "selectable", TRUE, NULL);
    row->unload = gtk_button_new_with_label(_("Unload"));
    gtk_widget_add_css_class(GTK_WIDGET(row->words), "dim");
    gtk_widget_add_css_class(GTK_WIDGET(row->words), "small");
    gtk_widget_add_css_class(GTK_WIDGET(row->words), "numeric");
    gtk_widget_add_css_class(row->unload, "flat");
    gtk_widget_set_valign(row->unload, GTK_ALIGN_CENTER);
    g_signal_connect(row->unload, "clicked", G_CALLBACK(on_unload), row);
    gtk_box_append(GTK_BOX(row->line), GTK_WIDGET(row->words));
    gtk_box_append(GTK_BOX(row->line), row->unload);
    gtk_box_append(GTK_BOX(self->box), row->line);
    g_ptr_array_add(self->rows, row);
    return row;
}

static void
fill_row(Row *row, JsonObject *engine)
{
    const char *core = sundog_json_get_string(engine, "core", "");
    g_autofree char *words = dup_words(engine);
    g_autofree char *label = g_strdup_printf(_("Unload %s"), core);
    bool is_stopping = strcmp(sundog_json_get_string(engine, "state", ""), "stopping") == 0;
    g_free(row->core);
    row->core = g_strdup(core);
    gtk_label_set_text(row->words, words);
    gtk_widget_set_sensitive(row->unload, !is_stopping);
    gtk_accessible_update_property(GTK_ACCESSIBLE(row->unload), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   label, -1);
}

static void
fill(SundogEngineList *self)
{
    SundogServerFeed *feed = sundog_application_get_feed(sundog_application_get());
    JsonArray *engines = sundog_server_feed_get_engines(feed);
    unsigned n = engines ? json_array_get_length(engines) : 0;
    for (unsigned i = 0; i < n; i++)
        fill_row(i < self->rows->len ? self->rows->pdata[i] : make_row(self),
                 sundog_json_get_element(engines, i));
    g_ptr_array_set_size(self->rows, (int)n);
    gtk_widget_set_visible(self->empty, n == 0);
}

static void
sundog_engine_list_dispose(GObject *object)
{
    SundogEngineList *self = SUNDOG_ENGINE_LIST(object);
    g_clear_pointer(&self->rows, g_ptr_array_unref);
    g_clear_pointer(&self->box, gtk_widget_unparent);
    G_OBJECT_CLASS(sundog_engine_list_parent_class)->dispose(object);
}

static void
sundog_engine_list_class_init(SundogEngineListClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_engine_list_dispose;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
}

static void
sundog_engine_list_init(SundogEngineList *self)
{
    self->rows = g_ptr_array_new_with_free_func(row_free);
    self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
    self->empty = gtk_label_new(_("No model is loaded"));
    gtk_label_set_xalign(GTK_LABEL(self->empty), 0);
    gtk_widget_add_css_class(self->empty, "dim");
    gtk_widget_add_css_class(self->empty, "small");
    gtk_box_append(GTK_BOX(self->box), self->empty);
    gtk_widget_set_parent(self->box, GTK_WIDGET(self));
    g_signal_connect_object(sundog_application_get_feed(sundog_application_get()), "state",
                            G_CALLBACK(fill), self, G_CONNECT_SWAPPED);
    fill(self);
}
