#pragma once

/* The library: what is on this computer, ready or to be prepared, and what can be fetched. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_LIBRARY_PAGE (sundog_library_page_get_type())
G_DECLARE_FINAL_TYPE(SundogLibraryPage, sundog_library_page, SUNDOG, LIBRARY_PAGE, GtkWidget)
