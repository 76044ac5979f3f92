/* One child that a drag moves, and a label behind it that is drawn only while it is moved. */

#include "app/chats/swipe.h"
#include <math.h>
#include <stdbool.h>

/* A drag that went so many pixels sideways is a swipe, one that went so far up or down belongs to the list. */
#define BEGIN 14
/* The part of the width beyond which letting go counts. */
#define FAR_ENOUGH 0.4
#define RETURN_MS 160

struct _SundogSwipe {
    GtkWidget parent_instance;
    GtkWidget *child;
    GtkWidget *label;
    double offset;
    double returning_from;
    int64_t returning_since_us;
    unsigned tick;
};

enum { PROP_CHILD = 1, PROP_LABEL, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];
enum { SWIPED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogSwipe, sundog_swipe, GTK_TYPE_WIDGET)

static void
set_offset(SundogSwipe *self, double offset)
{
    self->offset = offset;
    gtk_widget_set_child_visible(self->label, offset != 0);
    gtk_widget_queue_allocate(GTK_WIDGET(self));
}

static gboolean
on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
    SundogSwipe *self = SUNDOG_SWIPE(widget);
    int64_t since_us = gdk_frame_clock_get_frame_time(clock) - self->returning_since_us;
    double left = 1 - (double)since_us / (RETURN_MS * 1000);
    set_offset(self, left > 0 ? self->returning_from * left * left : 0);
    if (left > 0)
        return G_SOURCE_CONTINUE;
    self->tick = 0;
    return G_SOURCE_REMOVE;
}

static void
stop_returning(SundogSwipe *self)
{
    if (self->tick)
        gtk_widget_remove_tick_callback(GTK_WIDGET(self), self->tick);
    self->tick = 0;
}

static void
go_back(SundogSwipe *self)
{
    GtkWidget *widget = GTK_WIDGET(self);
    gboolean animated = FALSE;
    stop_returning(self);
    g_object_get(gtk_widget_get_settings(widget), "gtk-enable-animations", &animated, NULL);
    if (!animated || !gtk_widget_get_mapped(widget) || self->offset == 0) {
        set_offset(self, 0);
        return;
    }
    self->returning_from = self->offset;
    self->returning_since_us = gdk_frame_clock_get_frame_time(gtk_widget_get_frame_clock(widget));
    self->tick = gtk_widget_add_tick_callback(widget, on_tick, NULL, NULL);
}

static void
on_drag_update(GtkGestureDrag *drag, double dx, double dy, SundogSwipe *self)
{
    if (self->offset == 0 || self->tick) {
        if (fabs(dy) > BEGIN)
            gtk_gesture_set_state(GTK_GESTURE(drag), GTK_EVENT_SEQUENCE_DENIED);
        if (fabs(dy) > BEGIN || fabs(dx) < BEGIN)
            return;
        stop_returning(self);
        gtk_gesture_set_state(GTK_GESTURE(drag), GTK_EVENT_SEQUENCE_CLAIMED);
    }
    set_offset(self, dx);
}

static void
on_drag_end(GtkGestureDrag *drag, double dx, double dy, SundogSwipe *self)
{
    bool done = self->offset != 0 && !self->tick &&
                fabs(dx) > FAR_ENOUGH * gtk_widget_get_width(GTK_WIDGET(self));
    go_back(self);
    if (done)
        g_signal_emit(self, signals[SWIPED], 0);
}

static void
on_cancel(GtkGesture *drag, GdkEventSequence *sequence, SundogSwipe *self)
{
    go_back(self);
}

static GtkSizeRequestMode
sundog_swipe_get_request_mode(GtkWidget *widget)
{
    return gtk_widget_get_request_mode(SUNDOG_SWIPE(widget)->child);
}

static void
sundog_swipe_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                     int *natural, int *minimum_baseline, int *natural_baseline)
{
    SundogSwipe *self = SUNDOG_SWIPE(widget);
    gtk_widget_measure(self->child, orientation, for_size, minimum, natural, minimum_baseline,
                       natural_baseline);
}

/* The word stands at the side that the row leaves. */
static void
sundog_swipe_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    SundogSwipe *self = SUNDOG_SWIPE(widget);
    int label_width, offset = (int)self->offset;
    gtk_widget_measure(self->label, GTK_ORIENTATION_HORIZONTAL, -1, NULL, &label_width, NULL, NULL);
    gtk_widget_size_allocate(self->child, &(GtkAllocation){offset, 0, width, height}, baseline);
    if (offset != 0) {
        int uncovered = MAX(ABS(offset), label_width);
        gtk_widget_size_allocate(self->label,
                                 &(GtkAllocation){offset > 0 ? offset - uncovered : width + offset,
                                                  0, uncovered, height},
                                 baseline);
    }
}

static void
set_child(SundogSwipe *self, GtkWidget *child)
{
    g_clear_pointer(&self->child, gtk_widget_unparent);
    self->child = child;
    if (child)
        gtk_widget_set_parent(child, GTK_WIDGET(self));
}

static void
sundog_swipe_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
    SundogSwipe *self = SUNDOG_SWIPE(object);
    if (id == PROP_CHILD)
        set_child(self, g_value_get_object(value));
    else
        gtk_label_set_text(GTK_LABEL(self->label), g_value_get_string(value));
}

static void
sundog_swipe_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    SundogSwipe *self = SUNDOG_SWIPE(object);
    if (id == PROP_CHILD)
        g_value_set_object(value, self->child);
    else
        g_value_set_string(value, gtk_label_get_text(GTK_LABEL(self->label)));
}

static void
sundog_swipe_dispose(GObject *object)
{
    SundogSwipe *self = SUNDOG_SWIPE(object);
    stop_returning(self);
    set_child(self, NULL);
    g_clear_pointer(&self->label, gtk_widget_unparent);
    G_OBJECT_CLASS(sundog_swipe_parent_class)->dispose(object);
}

static void
sundog_swipe_class_init(SundogSwipeClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_swipe_dispose;
    G_OBJECT_CLASS(class)->set_property = sundog_swipe_set_property;
    G_OBJECT_CLASS(class)->get_property = sundog_swipe_get_property;
    widget_class->get_request_mode = sundog_swipe_get_request_mode;
    widget_class->measure = sundog_swipe_measure;
    widget_class->size_allocate = sundog_swipe_size_allocate;
    properties[PROP_CHILD] = g_param_spec_object("child", NULL, NULL, GTK_TYPE_WIDGET,
                                                 G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
    properties[PROP_LABEL] =
        g_param_spec_string("label", NULL, NULL, "", G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
    g_object_class_install_properties(G_OBJECT_CLASS(class), N_PROPERTIES, properties);
    signals[SWIPED] = g_signal_new("swiped", SUNDOG_TYPE_SWIPE, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                   NULL, G_TYPE_NONE, 0);
    gtk_widget_class_set_css_name(widget_class, "swipe");
}

static void
sundog_swipe_init(SundogSwipe *self)
{
    self->label = g_object_new(GTK_TYPE_LABEL, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION,
                               "ellipsize", PANGO_ELLIPSIZE_END, NULL);
    gtk_widget_set_parent(self->label, GTK_WIDGET(self));
    gtk_widget_set_child_visible(self->label, FALSE);
    gtk_widget_set_overflow(GTK_WIDGET(self), GTK_OVERFLOW_HIDDEN);
    GtkGesture *drag = gtk_gesture_drag_new();
    g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
    g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), self);
    g_signal_connect(drag, "cancel", G_CALLBACK(on_cancel), self);
    gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(drag));
}
