#pragma once

/* A thin bar that shows a share, drawn in its own colour on a paler track. GtkProgressBar is three
 * nested widgets for this, and warns on the console where they change within a frame. */

#include <gtk/gtk.h>

#define SUNDOG_TYPE_METER (sundog_meter_get_type())
G_DECLARE_FINAL_TYPE(SundogMeter, sundog_meter, SUNDOG, METER, GtkWidget)

/* From 0 to 1; anything beyond is shown as the nearer of both. */
void sundog_meter_set_fraction(SundogMeter *meter, double fraction);
