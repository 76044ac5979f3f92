#pragma once

/* The server: on or off, where it is reached and how, what it is doing now, and its log. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_SERVER_PAGE (sundog_server_page_get_type())
G_DECLARE_FINAL_TYPE(SundogServerPage, sundog_server_page, SUNDOG, SERVER_PAGE, GtkWidget)
