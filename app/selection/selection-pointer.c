/* A click and a drag that know where the pointer is in the window that scrolls around the area. */

#include "app/selection/selection-pointer.h"
#include "app/selection/text-leaf.h"

/* A pointer that moved less than this many pixels was not dragged. */
#define DRAG_THRESHOLD 4
/* A drag this many pixels beyond the edge scrolls so many times that distance in a second. */
#define SPEED 12.0

typedef struct {
    SundogSelectionArea *area;
    bool dragging;
    double x, y; /* of the pointer, in the scrolled window */
    unsigned tick;
    int64_t last_us;
} Pointer;

static GtkWidget *
get_scroller(Pointer *pointer)
{
    return gtk_widget_get_ancestor(GTK_WIDGET(pointer->area), GTK_TYPE_SCROLLED_WINDOW);
}

static SundogPlace
find(Pointer *pointer, double x, double y)
{
    return sundog_place_find(GTK_WIDGET(pointer->area), x, y);
}

/* The cursor goes to the text under the pointer, which may have moved without it. */
static void
follow_pointer(Pointer *pointer)
{
    double x, y;
    GtkWidget *scroller = get_scroller(pointer);
    if (scroller && gtk_widget_translate_coordinates(scroller, GTK_WIDGET(pointer->area),
                                                     pointer->x, pointer->y, &x, &y))
        sundog_selection_area_select(pointer->area, sundog_selection_area_get_anchor(pointer->area),
                                     find(pointer, x, y));
}

/* How far the pointer is below (or, negative, above) what the scrolled window shows. */
static double
get_beyond(Pointer *pointer)
{
    int height = gtk_widget_get_height(get_scroller(pointer));
    return pointer->y < 0 ? pointer->y : MAX(pointer->y - height, 0);
}

static gboolean
on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
    Pointer *pointer = user_data;
    int64_t now = gdk_frame_clock_get_frame_time(clock);
    double seconds = (double)MIN(now - pointer->last_us, G_USEC_PER_SEC / 10) / G_USEC_PER_SEC;
    pointer->last_us = now;
    double beyond = pointer->dragging ? get_beyond(pointer) : 0;
    if (beyond == 0) {
        pointer->tick = 0;
        return G_SOURCE_REMOVE;
    }
    GtkAdjustment *adjustment =
        gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(get_scroller(pointer)));
    gtk_adjustment_set_value(adjustment,
                             gtk_adjustment_get_value(adjustment) + beyond * SPEED * seconds);
    follow_pointer(pointer);
    return G_SOURCE_CONTINUE;
}

static void
scroll_beyond(Pointer *pointer)
{
    GtkWidget *scroller = get_scroller(pointer);
    if (!scroller || pointer->tick || get_beyond(pointer) == 0)
        return;
    pointer->last_us = gdk_frame_clock_get_frame_time(gtk_widget_get_frame_clock(scroller));
    pointer->tick = gtk_widget_add_tick_callback(GTK_WIDGET(pointer->area), on_tick, pointer, NULL);
}

static void
select_word(Pointer *pointer, SundogPlace at)
{
    SundogPlace end = at;
    GtkWidget *leaf = sundog_place_get_leaf(at);
    if (!leaf)
        return;
    sundog_text_leaf_find_word(leaf, at.offset, &at.offset, &end.offset);
    sundog_selection_area_select(pointer->area, at, end);
}

static void
select_block(Pointer *pointer, SundogPlace at)
{
    SundogPlace end = at;
    GtkWidget *leaf = sundog_place_get_leaf(at);
    if (!leaf)
        return;
    at.offset = 0;
    end.offset = sundog_text_leaf_count(leaf);
    sundog_selection_area_select(pointer->area, at, end);
}

/* A finger drags the view. */
static bool
is_touch(GtkEventController *controller)
{
    GdkDevice *device = gtk_event_controller_get_current_event_device(controller);
    return device && gdk_device_get_source(device) == GDK_SOURCE_TOUCHSCREEN;
}

static void
on_pressed(GtkGestureClick *click, int n_press, double x, double y, Pointer *pointer)
{
    GtkEventController *controller = GTK_EVENT_CONTROLLER(click);
    SundogPlace place = find(pointer, x, y);
    SundogPlace anchor = sundog_selection_area_get_anchor(pointer->area);
    bool extend = gtk_event_controller_get_current_event_state(controller) & GDK_SHIFT_MASK;
    if (!place.passage)
        return;
    sundog_selection_area_focus(pointer->area, place.passage);
    if (n_press == 2)
        select_word(pointer, place);
    else if (n_press == 3)
        select_block(pointer, place);
    else if (!is_touch(controller))
        sundog_selection_area_select(pointer->area, extend && anchor.passage ? anchor : place,
                                     place);
}

static void
on_drag_update(GtkGestureDrag *drag, double dx, double dy, Pointer *pointer)
{
    double x, y;
    if (is_touch(GTK_EVENT_CONTROLLER(drag))) {
        gtk_gesture_set_state(GTK_GESTURE(drag), GTK_EVENT_SEQUENCE_DENIED);
        return;
    }
    if (!pointer->dragging && ABS(dx) < DRAG_THRESHOLD && ABS(dy) < DRAG_THRESHOLD)
        return;
    if (!pointer->dragging)
        sundog_selection_area_begin(pointer->area);
    pointer->dragging = true;
    gtk_gesture_set_state(GTK_GESTURE(drag), GTK_EVENT_SEQUENCE_CLAIMED);
    gtk_gesture_drag_get_start_point(drag, &x, &y);
    gtk_widget_translate_coordinates(GTK_WIDGET(pointer->area), get_scroller(pointer), x + dx,
                                     y + dy, &pointer->x, &pointer->y);
    follow_pointer(pointer);
    scroll_beyond(pointer);
}

/* The middle button pastes what was dragged over, where the display has that. */
static void
on_drag_end(GtkGestureDrag *drag, double dx, double dy, Pointer *pointer)
{
    if (!pointer->dragging)
        return;
    pointer->dragging = false;
    GtkWidget *area = GTK_WIDGET(pointer->area);
    g_autofree char *text = sundog_selection_area_dup_text(pointer->area);
    if (text)
        gdk_clipboard_set_text(gtk_widget_get_primary_clipboard(area), text);
}

static void
add_gesture(Pointer *pointer, GtkGesture *gesture)
{
    gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(gesture), GDK_BUTTON_PRIMARY);
    gtk_widget_add_controller(GTK_WIDGET(pointer->area), GTK_EVENT_CONTROLLER(gesture));
}

void
sundog_selection_pointer_attach(SundogSelectionArea *area)
{
    GtkGesture *click = gtk_gesture_click_new(), *drag = gtk_gesture_drag_new();
    Pointer *pointer = g_new0(Pointer, 1);
    pointer->area = area;
    g_object_set_data_full(G_OBJECT(area), "sundog-selection-pointer", pointer, g_free);
    g_signal_connect(click, "pressed", G_CALLBACK(on_pressed), pointer);
    g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), pointer);
    g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), pointer);
    add_gesture(pointer, click);
    add_gesture(pointer, drag);
    gtk_gesture_group(drag, click);
}
