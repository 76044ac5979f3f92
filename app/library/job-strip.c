/* Rows by job id; a row stays while its job does, so that a button is not replaced under the pointer. */

#include "app/library/job-strip.h"
#include "app/application.h"
#include "app/library/job-row.h"
#include "engine/format/json-members.h"
#include <string.h>

struct _SundogJobStrip {
    GtkWidget parent_instance;
    GtkWidget *box;
};

G_DEFINE_FINAL_TYPE(SundogJobStrip, sundog_job_strip, GTK_TYPE_WIDGET)

static JsonObject *
find_job(GPtrArray *jobs, const char *id)
{
    for (unsigned i = 0; i < jobs->len; i++)
        if (strcmp(sundog_json_get_string(jobs->pdata[i], "id", ""), id) == 0)
            return sundog_job_is_shown(jobs->pdata[i]) ? jobs->pdata[i] : NULL;
    return NULL;
}

static GtkWidget *
find_row(SundogJobStrip *self, const char *id)
{
    GtkWidget *row = gtk_widget_get_first_child(self->box);
    while (row && strcmp(sundog_job_row_get_id(SUNDOG_JOB_ROW(row)), id) != 0)
        row = gtk_widget_get_next_sibling(row);
    return row;
}

static void
drop_ended(SundogJobStrip *self, GPtrArray *jobs)
{
    for (GtkWidget *row = gtk_widget_get_first_child(self->box), *next; row; row = next) {
        next = gtk_widget_get_next_sibling(row);
        if (!find_job(jobs, sundog_job_row_get_id(SUNDOG_JOB_ROW(row))))
            gtk_box_remove(GTK_BOX(self->box), row);
    }
}

static void
update(SundogJobStrip *self)
{
    GPtrArray *jobs =
        sundog_server_feed_get_jobs(sundog_application_get_feed(sundog_application_get()));
    drop_ended(self, jobs);
    for (unsigned i = 0; i < jobs->len; i++) {
        JsonObject *job = jobs->pdata[i];
        if (!sundog_job_is_shown(job))
            continue;
        GtkWidget *row = find_row(self, sundog_json_get_string(job, "id", ""));
        if (!row) {
            row = sundog_job_row_new();
            gtk_box_append(GTK_BOX(self->box), row);
        }
        sundog_job_row_set_job(SUNDOG_JOB_ROW(row), job);
    }
    gtk_widget_set_visible(GTK_WIDGET(self), gtk_widget_get_first_child(self->box) != NULL);
}

static void
sundog_job_strip_dispose(GObject *object)
{
    g_clear_pointer(&SUNDOG_JOB_STRIP(object)->box, gtk_widget_unparent);
    G_OBJECT_CLASS(sundog_job_strip_parent_class)->dispose(object);
}

static void
sundog_job_strip_class_init(SundogJobStripClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_job_strip_dispose;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BIN_LAYOUT);
}

static void
sundog_job_strip_init(SundogJobStrip *self)
{
    self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_widget_set_parent(self->box, GTK_WIDGET(self));
    gtk_widget_add_css_class(GTK_WIDGET(self), "strip");
    g_signal_connect_object(sundog_application_get_feed(sundog_application_get()), "jobs",
                            G_CALLBACK(update), self, G_CONNECT_SWAPPED);
    update(self);
}
