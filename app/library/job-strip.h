#pragma once

/* What the server is fetching or preparing, a row a job at the foot of the window: what, how much of how
 * much, speed, time left, pause and cancel. Hidden while there is nothing. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_JOB_STRIP (sundog_job_strip_get_type())
G_DECLARE_FINAL_TYPE(SundogJobStrip, sundog_job_strip, SUNDOG, JOB_STRIP, GtkWidget)
