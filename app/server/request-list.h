#pragma once

/* The server's requests, live: who asks which model for what, how far it is, and a stop for each that
 * runs. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_REQUEST_LIST (sundog_request_list_get_type())
G_DECLARE_FINAL_TYPE(SundogRequestList, sundog_request_list, SUNDOG, REQUEST_LIST, GtkWidget)
