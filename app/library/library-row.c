/* Facts in one line, the fit in words below, buttons at the end. */

#include "app/library/library-row.h"
#include "app/application.h"
#include "app/figures.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

struct _SundogLibraryRow {
    GtkListBoxRow parent_instance;
    GtkLabel *name;
    GtkLabel *tag;
    GtkLabel *facts;
    GtkLabel *fit;
    GtkButton *main;
    GtkWidget *unload;
    GtkWidget *remove;
    SundogLibraryKind kind;
    JsonObject *entry;
};

enum { USE, PREPARE, GET, REMOVE, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogLibraryRow, sundog_library_row, GTK_TYPE_LIST_BOX_ROW)

static SundogShelf *
get_shelf(void)
{
    return sundog_application_get_shelf(sundog_application_get());
}

static void
append_fact(GString *facts, const char *fact)
{
    if (fact && *fact)
        g_string_append_printf(facts, "%s%s", facts->len ? " · " : "", fact);
}

/* On disk; where the catalogue does not know it, what so many parameters take. */
static char *
dup_size(JsonObject *entry)
{
    double bytes = sundog_json_get_number(entry, "bytes", 0);
    double estimate = sundog_json_get_number(entry, "estimated_bytes", 0);
    g_autofree char *size = sundog_figures_dup_bytes(bytes > 0 ? bytes : estimate);
    if (bytes > 0)
        return g_steal_pointer(&size);
    return estimate > 0 ? g_strdup_printf(_("about %s"), size) : NULL;
}

static char *
dup_facts(JsonObject *entry)
{
    GString *facts = g_string_new(NULL);
    double n_parameters = sundog_json_get_number(entry, "n_parameters", 0);
    double context = sundog_json_get_number(entry, "context_length", 0);
    g_autofree char *size = dup_size(entry);
    append_fact(facts, sundog_json_get_string(entry, "maker", NULL));
    if (n_parameters > 0) {
        g_autofree char *count = sundog_figures_dup_count(n_parameters);
        g_autofree char *text = g_strdup_printf(_("%s parameters"), count);
        append_fact(facts, text);
    }
    append_fact(facts, size);
    append_fact(facts, sundog_json_get_string(entry, "licence", NULL));
    if (context > 0) {
        g_autofree char *number = sundog_figures_dup_number(context);
        g_autofree char *text = g_strdup_printf(_("context %s"), number);
        append_fact(facts, text);
    }
    return g_string_free(facts, FALSE);
}

static double
get_machine_bytes(void)
{
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);
}

/* Whether what the catalogue offers can run here: weights alone tell when it cannot. */
static char *
dup_fit_of_offer(JsonObject *entry)
{
    const char *needs = sundog_json_get_string(entry, "needs", NULL);
    double bytes =
        sundog_json_get_number(entry, "bytes", sundog_json_get_number(entry, "estimated_bytes", 0));
    if (needs)
        return g_strdup_printf(_("Cannot run yet: it needs %s"), needs);
    if (bytes <= get_machine_bytes())
        return NULL;
    g_autofree char *wants = sundog_figures_dup_bytes(bytes);
    g_autofree char *has = sundog_figures_dup_bytes(get_machine_bytes());
    return g_strdup_printf(_("Does not fit: needs more than %s of memory, this computer has %s"),
                           wants, has);
}

/* The core's own plan of memory and its measured speed, in words; NULL where neither is known. */
static char *
dup_fit(JsonObject *entry)
{
    double memory = sundog_json_get_number(entry, "memory_bytes", 0);
    double speed = sundog_json_get_number(sundog_json_get_object(entry, "speed"),
                                          "decode_tokens_per_second", 0);
    bool host = strcmp(sundog_json_get_string(entry, "target", "host"), "host") == 0;
    if (memory <= 0 || !host)
        return NULL;
    if (memory > get_machine_bytes()) {
        g_autofree char *needs = sundog_figures_dup_bytes(memory);
        g_autofree char *has = sundog_figures_dup_bytes(get_machine_bytes());
        return g_strdup_printf(_("Does not fit: needs %s of memory, this computer has %s"), needs,
                               has);
    }
    if (speed > 0)
        return g_strdup_printf(
            _("Runs on the processor, %.1f of %.1f GB, about %.0f tokens a second"), memory / 1e9,
            get_machine_bytes() / 1e9, speed);
    return g_strdup_printf(_("Runs on the processor, %.1f of %.1f GB"), memory / 1e9,
                           get_machine_bytes() / 1e9);
}

static void
set_tag(SundogLibraryRow *self, const char *text, const char *class)
{
    gtk_widget_set_visible(GTK_WIDGET(self->tag), text != NULL);
    gtk_label_set_text(self->tag, text ? text : "");
    if (class)
        gtk_widget_add_css_class(GTK_WIDGET(self->tag), class);
}

static void
fill_state(SundogLibraryRow *self)
{
    static const char *const main_labels[] = {N_("Chat"), N_("Prepare"), N_("Get")};
    bool damaged = sundog_json_get_bool(self->entry, "damaged", false);
    bool installed = sundog_json_get_bool(self->entry, "installed", false);
    bool available = self->kind == SUNDOG_LIBRARY_AVAILABLE;
    bool loaded = sundog_json_get_bool(self->entry, "loaded", false);
    gtk_button_set_label(self->main, _(main_labels[self->kind]));
    gtk_widget_set_visible(GTK_WIDGET(self->main), !damaged && !installed);
    gtk_widget_set_visible(self->remove, !available);
    gtk_widget_set_visible(self->unload, loaded);
    if (damaged)
        set_tag(self, _("Damaged"), "bad");
    else if (loaded)
        set_tag(self, _("Loaded"), "good");
    else if (installed)
        set_tag(self, _("On this computer"), NULL);
    else if (!available)
        set_tag(self, self->kind == SUNDOG_LIBRARY_CORE ? _("Ready") : _("Model file"), NULL);
    else
        set_tag(self, NULL, NULL);
    if (available)
        gtk_widget_add_css_class(GTK_WIDGET(self->main), "suggested-action");
    gtk_widget_set_sensitive(GTK_WIDGET(self->main),
                             !available || !sundog_json_has(self->entry, "needs"));
}

static void
fill(SundogLibraryRow *self)
{
    const char *title = sundog_shelf_get_title(get_shelf(), self->entry);
    const char *problem = sundog_json_get_string(self->entry, "problem", NULL);
    g_autofree char *facts = dup_facts(self->entry);
    bool available = self->kind == SUNDOG_LIBRARY_AVAILABLE;
    g_autofree char *fit = problem     ? g_strdup(problem)
                           : available ? dup_fit_of_offer(self->entry)
                                       : dup_fit(self->entry);
    g_autofree char *remove = g_strdup_printf(_("Delete %s"), title);
    g_autofree char *unload = g_strdup_printf(_("Unload %s"), title);
    gtk_label_set_text(self->name, title);
    gtk_label_set_text(self->facts, facts);
    gtk_label_set_text(self->fit, fit ? fit : "");
    gtk_widget_set_visible(GTK_WIDGET(self->fit), fit != NULL);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, title,
                                   GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, facts, -1);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->remove), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   remove, -1);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->unload), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   unload, -1);
    fill_state(self);
    g_autofree char *main = g_strdup_printf("%s: %s", gtk_button_get_label(self->main), title);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->main), GTK_ACCESSIBLE_PROPERTY_LABEL, main,
                                   -1);
}

static void
on_main(GtkButton *button, SundogLibraryRow *self)
{
    static const int by_kind[] = {USE, PREPARE, GET};
    g_signal_emit(self, signals[by_kind[self->kind]], 0);
}

static void
on_unload(GtkButton *button, SundogLibraryRow *self)
{
    gtk_widget_set_sensitive(self->unload, FALSE);
    sundog_shelf_unload(get_shelf(), sundog_json_get_string(self->entry, "name", ""));
}

static void
on_remove(GtkButton *button, SundogLibraryRow *self)
{
    g_signal_emit(self, signals[REMOVE], 0);
}

SundogLibraryKind
sundog_library_row_get_kind(SundogLibraryRow *row)
{
    return row->kind;
}

JsonObject *
sundog_library_row_get_entry(SundogLibraryRow *row)
{
    return row->entry;
}

static void
sundog_library_row_dispose(GObject *object)
{
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_LIBRARY_ROW);
    g_clear_pointer(&SUNDOG_LIBRARY_ROW(object)->entry, json_object_unref);
    G_OBJECT_CLASS(sundog_library_row_parent_class)->dispose(object);
}

static void
sundog_library_row_class_init(SundogLibraryRowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_library_row_dispose;
    static const char *const names[N_SIGNALS] = {"use", "prepare", "get", "remove"};
    for (int i = 0; i < N_SIGNALS; i++)
        signals[i] = g_signal_new(names[i], SUNDOG_TYPE_LIBRARY_ROW, G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 0);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/library-row.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryRow, name);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryRow, tag);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryRow, facts);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryRow, fit);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryRow, main);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryRow, remove);
    gtk_widget_class_bind_template_child(widget_class, SundogLibraryRow, unload);
    gtk_widget_class_bind_template_callback(widget_class, on_main);
    gtk_widget_class_bind_template_callback(widget_class, on_remove);
    gtk_widget_class_bind_template_callback(widget_class, on_unload);
}

static void
sundog_library_row_init(SundogLibraryRow *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
}

GtkWidget *
sundog_library_row_new(SundogLibraryKind kind, JsonObject *entry)
{
    SundogLibraryRow *self = g_object_new(SUNDOG_TYPE_LIBRARY_ROW, NULL);
    self->kind = kind;
    self->entry = json_object_ref(entry);
    fill(self);
    return GTK_WIDGET(self);
}
