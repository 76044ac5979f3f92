/* A title, a bar, words and two buttons. */

#include "app/library/job-row.h"
#include "app/application.h"
#include "app/figures.h"
#include "app/meter.h"
#include "engine/format/json-members.h"
#include <glib/gi18n.h>
#include <string.h>

struct _SundogJobRow {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkLabel *title;
    GtkLabel *words;
    SundogMeter *bar;
    GtkButton *pause;
    GtkButton *cancel;
    char *id;
    char *state;
};

G_DEFINE_FINAL_TYPE(SundogJobRow, sundog_job_row, GTK_TYPE_WIDGET)

bool
sundog_job_is_shown(JsonObject *job)
{
    const char *state = sundog_json_get_string(job, "state", "");
    return strcmp(state, "done") != 0 && strcmp(state, "cancelled") != 0;
}

/* "1.2 of 4.5 GB, 12 MB a second, about 5 minutes left" */
static char *
dup_transfer(JsonObject *job)
{
    double done = sundog_json_get_number(job, "bytes_done", 0);
    double total = sundog_json_get_number(job, "bytes_total", 0);
    double rate = sundog_json_get_number(job, "bytes_per_second", 0);
    if (total <= 0)
        return NULL;
    g_autofree char *of = sundog_figures_dup_bytes(total);
    g_autofree char *so_far = sundog_figures_dup_bytes(done);
    if (rate <= 0)
        return g_strdup_printf(_("%s of %s"), so_far, of);
    g_autofree char *speed = sundog_figures_dup_bytes(rate);
    g_autofree char *left = sundog_figures_dup_time_left((total - done) / rate);
    return g_strdup_printf(_("%s of %s, %s a second, %s"), so_far, of, speed, left);
}

static const struct {
    const char *phase, *words;
} phases[] = {
    {"transfer", N_("Downloading")},
    {"verify", N_("Checking")},
    {"plan", N_("Planning")},
    {"weights", N_("Laying out the weights")},
    {"text", N_("Reading the vocabulary")},
    {"sign", N_("Signing")},
    {"fit", N_("Measuring")},
    {"done", N_("Done")},
};

static const char *
get_phase_words(JsonObject *job)
{
    const char *phase = sundog_json_get_string(job, "phase", "");
    for (unsigned i = 0; i < G_N_ELEMENTS(phases); i++)
        if (strcmp(phases[i].phase, phase) == 0)
            return _(phases[i].words);
    return phase;
}

static const struct {
    const char *kind, *member, *title;
} kinds[] = {
    {"pull", "source", N_("Getting %s")},
    {"prepare", "model", N_("Preparing %s")},
    {"fit", "core", N_("Measuring %s")},
    {"verify", "core", N_("Checking %s")},
};

/* In the person's language, where the server says what the job is about. */
static char *
dup_title(JsonObject *job)
{
    const char *kind = sundog_json_get_string(job, "kind", "");
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const char *name = sundog_json_get_string(job, kinds[i].member, NULL);
        if (strcmp(kinds[i].kind, kind) != 0 || !name)
            continue;
        g_autoptr(GString) title = g_string_new(_(kinds[i].title));
        g_string_replace(title, "%s", name, 1);
        return g_strdup(title->str);
    }
    return g_strdup(sundog_json_get_string(job, "title", sundog_json_get_string(job, "id", "")));
}

static char *
dup_words(JsonObject *job)
{
    const char *state = sundog_json_get_string(job, "state", "");
    const char *message = sundog_json_get_string(job, "message", "");
    const char *phase = get_phase_words(job);
    double fraction = sundog_json_get_number(job, "fraction", -1);
    if (strcmp(state, "failed") == 0 || (strcmp(state, "waiting") == 0 && *message))
        return g_strdup(*message ? message : _("Failed"));
    if (strcmp(state, "paused") == 0)
        return g_strdup(_("Paused"));
    if (strcmp(state, "queued") == 0)
        return g_strdup(_("Waiting for its turn"));
    char *transfer = dup_transfer(job);
    if (transfer)
        return transfer;
    if (*phase && fraction >= 0)
        /* Translators: a step of the work as the server names it, and how much of it is done. */
        return g_strdup_printf(_("%s, %d %%"), phase, (int)(fraction * 100));
    return g_strdup(phase);
}

static void
set_button(GtkButton *button, const char *icon, const char *name)
{
    gtk_button_set_icon_name(button, icon);
    gtk_widget_set_tooltip_text(GTK_WIDGET(button), name);
    gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

void
sundog_job_row_set_job(SundogJobRow *row, JsonObject *job)
{
    g_free(row->id);
    g_free(row->state);
    row->id = g_strdup(sundog_json_get_string(job, "id", ""));
    row->state = g_strdup(sundog_json_get_string(job, "state", ""));
    bool failed = strcmp(row->state, "failed") == 0;
    bool paused = strcmp(row->state, "paused") == 0;
    bool pull = strcmp(sundog_json_get_string(job, "kind", ""), "pull") == 0;
    g_autofree char *title = dup_title(job);
    g_autofree char *words = dup_words(job);
    gtk_label_set_text(row->title, title);
    gtk_label_set_text(row->words, words);
    gtk_widget_set_tooltip_text(GTK_WIDGET(row->words), words);
    sundog_meter_set_fraction(row->bar, sundog_json_get_number(job, "fraction", 0));
    gtk_widget_set_visible(GTK_WIDGET(row->bar), !failed);
    gtk_widget_set_visible(GTK_WIDGET(row->pause), pull && !failed);
    set_button(row->pause, paused ? "sundog-play-symbolic" : "sundog-pause-symbolic",
               paused ? _("Resume") : _("Pause"));
    set_button(row->cancel, "sundog-close-symbolic", failed ? _("Dismiss") : _("Cancel"));
    if (failed)
        gtk_widget_add_css_class(GTK_WIDGET(row->words), "bad");
    else
        gtk_widget_remove_css_class(GTK_WIDGET(row->words), "bad");
}

const char *
sundog_job_row_get_id(SundogJobRow *row)
{
    return row->id;
}

static void
on_answer(GObject *source, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(JsonNode) answer = sundog_client_call_finish(SUNDOG_CLIENT(source), result, NULL);
}

static void
call(SundogJobRow *self, const char *method, const char *verb)
{
    g_autofree char *path = g_strconcat("/sundog/v1/jobs/", self->id, verb, NULL);
    sundog_client_call_async(sundog_application_get_client(sundog_application_get()), method, path,
                             NULL, NULL, on_answer, NULL);
}

static void
on_pause(GtkButton *button, SundogJobRow *self)
{
    call(self, "POST", strcmp(self->state, "paused") == 0 ? "/resume" : "/pause");
}

static void
on_cancel(GtkButton *button, SundogJobRow *self)
{
    call(self, "DELETE", "");
}

static void
sundog_job_row_dispose(GObject *object)
{
    SundogJobRow *self = SUNDOG_JOB_ROW(object);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_JOB_ROW);
    g_clear_pointer(&self->id, g_free);
    g_clear_pointer(&self->state, g_free);
    G_OBJECT_CLASS(sundog_job_row_parent_class)->dispose(object);
}

static void
sundog_job_row_class_init(SundogJobRowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_job_row_dispose;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    g_type_ensure(SUNDOG_TYPE_METER);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/job-row.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogJobRow, box);
    gtk_widget_class_bind_template_child(widget_class, SundogJobRow, title);
    gtk_widget_class_bind_template_child(widget_class, SundogJobRow, words);
    gtk_widget_class_bind_template_child(widget_class, SundogJobRow, bar);
    gtk_widget_class_bind_template_child(widget_class, SundogJobRow, pause);
    gtk_widget_class_bind_template_child(widget_class, SundogJobRow, cancel);
    gtk_widget_class_bind_template_callback(widget_class, on_pause);
    gtk_widget_class_bind_template_callback(widget_class, on_cancel);
}

static void
sundog_job_row_init(SundogJobRow *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
}

GtkWidget *
sundog_job_row_new(void)
{
    return g_object_new(SUNDOG_TYPE_JOB_ROW, NULL);
}
