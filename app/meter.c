/* Two rounded rectangles. */

#include "app/meter.h"
#include <stdbool.h>

#define HEIGHT 4
#define TRACK_ALPHA 0.2f

struct _SundogMeter {
    GtkWidget parent_instance;
    double fraction;
};

G_DEFINE_FINAL_TYPE(SundogMeter, sundog_meter, GTK_TYPE_WIDGET)

static void
append_bar(GtkSnapshot *snapshot, double x, double width, const GdkRGBA *colour)
{
    GskRoundedRect bar;
    gsk_rounded_rect_init_from_rect(&bar, &GRAPHENE_RECT_INIT(x, 0, width, HEIGHT), HEIGHT / 2.0f);
    gtk_snapshot_push_rounded_clip(snapshot, &bar);
    gtk_snapshot_append_color(snapshot, colour, &bar.bounds);
    gtk_snapshot_pop(snapshot);
}

static void
sundog_meter_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    SundogMeter *self = SUNDOG_METER(widget);
    double width = gtk_widget_get_width(widget);
    double filled = self->fraction > 0 ? MAX(width * self->fraction, HEIGHT) : 0;
    bool mirrored = gtk_widget_get_direction(widget) == GTK_TEXT_DIR_RTL;
    GdkRGBA colour;
    gtk_style_context_get_color(gtk_widget_get_style_context(widget), &colour);
    GdkRGBA track = colour;
    track.alpha *= TRACK_ALPHA;
    append_bar(snapshot, 0, width, &track);
    if (filled > 0)
        append_bar(snapshot, mirrored ? width - filled : 0, filled, &colour);
}

static void
sundog_meter_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                     int *natural, int *minimum_baseline, int *natural_baseline)
{
    *minimum = *natural = HEIGHT;
    *minimum_baseline = *natural_baseline = -1;
}

void
sundog_meter_set_fraction(SundogMeter *meter, double fraction)
{
    fraction = CLAMP(fraction, 0, 1);
    if (fraction == meter->fraction)
        return;
    meter->fraction = fraction;
    gtk_accessible_update_property(GTK_ACCESSIBLE(meter), GTK_ACCESSIBLE_PROPERTY_VALUE_NOW,
                                   fraction, -1);
    gtk_widget_queue_draw(GTK_WIDGET(meter));
}

static void
sundog_meter_class_init(SundogMeterClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    widget_class->snapshot = sundog_meter_snapshot;
    widget_class->measure = sundog_meter_measure;
    gtk_widget_class_set_css_name(widget_class, "meter");
    gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_METER);
}

static void
sundog_meter_init(SundogMeter *self)
{
    gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_VALUE_MIN, 0.0,
                                   GTK_ACCESSIBLE_PROPERTY_VALUE_MAX, 1.0,
                                   GTK_ACCESSIBLE_PROPERTY_VALUE_NOW, 0.0, -1);
}
