#pragma once

/* A container that centres its one child and lets it grow to a width that reads well, no further.
 * Properties: "child", "maximum" (pixels). */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_COLUMN (sundog_column_get_type())
G_DECLARE_FINAL_TYPE(SundogColumn, sundog_column, SUNDOG, COLUMN, GtkWidget)

void sundog_column_set_child(SundogColumn *column, GtkWidget *child);
