#pragma once

/* One job of the server, kept in step with its JSON. */

#include <gtk/gtk.h>
#include <json-glib/json-glib.h>
#include <stdbool.h>

#define SUNDOG_TYPE_JOB_ROW (sundog_job_row_get_type())
G_DECLARE_FINAL_TYPE(SundogJobRow, sundog_job_row, SUNDOG, JOB_ROW, GtkWidget)

GtkWidget *sundog_job_row_new(void);
void sundog_job_row_set_job(SundogJobRow *row, JsonObject *job);
const char *sundog_job_row_get_id(SundogJobRow *row);
/* Jobs that ended well or were cancelled need no row. */
bool sundog_job_is_shown(JsonObject *job);
