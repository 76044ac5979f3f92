#pragma once

/* A row of the library: a core, a model, or an entry of the catalogue, with what can be done with it.
 * Signals: "use", "prepare", "get", "remove". */

#include <gtk/gtk.h>
#include <json-glib/json-glib.h>

typedef enum {
    SUNDOG_LIBRARY_CORE,
    SUNDOG_LIBRARY_MODEL,
    SUNDOG_LIBRARY_AVAILABLE,
} SundogLibraryKind;

#define SUNDOG_TYPE_LIBRARY_ROW (sundog_library_row_get_type())
G_DECLARE_FINAL_TYPE(SundogLibraryRow, sundog_library_row, SUNDOG, LIBRARY_ROW, GtkListBoxRow)

GtkWidget *sundog_library_row_new(SundogLibraryKind kind, JsonObject *entry);
SundogLibraryKind sundog_library_row_get_kind(SundogLibraryRow *row);
JsonObject *sundog_library_row_get_entry(SundogLibraryRow *row);
