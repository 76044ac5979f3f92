#pragma once

/* The models that the server has loaded, or is loading, live: what each takes of memory, and a button to
 * unload it. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_ENGINE_LIST (sundog_engine_list_get_type())
G_DECLARE_FINAL_TYPE(SundogEngineList, sundog_engine_list, SUNDOG, ENGINE_LIST, GtkWidget)
