#pragma once

/* The server's log: searchable, from a level on, following its end. Filled only while visible. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_LOG_VIEW (sundog_log_view_get_type())
G_DECLARE_FINAL_TYPE(SundogLogView, sundog_log_view, SUNDOG, LOG_VIEW, GtkWidget)
