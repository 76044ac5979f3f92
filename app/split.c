/* One widget with three children: content, shade and sidebar. The slide is a tick callback on
 * `position` (0 hidden, 1 shown), skipped where animations are off. */

#include "app/split.h"

#define NARROW_BELOW 720
#define SIDEBAR_WIDTH 268
#define SLIDE_US 180000.0

struct _SundogSplit {
    GtkWidget parent_instance;
    GtkWidget *sidebar;
    GtkWidget *content;
    GtkWidget *scrim;
    bool narrow;
    bool docked;
    bool over; /* shown while narrow */
    double position;
    double from;
    int64_t slide_start_us;
    unsigned tick;
};

enum { PROP_0, PROP_SHOWN, PROP_DOCKED, PROP_NARROW, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];

static void sundog_split_buildable_init(GtkBuildableIface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE(SundogSplit, sundog_split, GTK_TYPE_WIDGET,
                              G_IMPLEMENT_INTERFACE(GTK_TYPE_BUILDABLE,
                                                    sundog_split_buildable_init))

static bool
is_shown(SundogSplit *self)
{
    return self->narrow ? self->over : self->docked;
}

static void
apply_position(SundogSplit *self, double position)
{
    self->position = position;
    gtk_widget_set_child_visible(self->sidebar, position > 0);
    gtk_widget_set_child_visible(self->scrim, self->narrow && position > 0);
    gtk_widget_set_opacity(self->scrim, position);
    gtk_widget_queue_resize(GTK_WIDGET(self));
}

static gboolean
on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
    SundogSplit *self = SUNDOG_SPLIT(widget);
    int64_t now = gdk_frame_clock_get_frame_time(clock);
    double target = is_shown(self) ? 1 : 0;
    double t = CLAMP((now - self->slide_start_us) / SLIDE_US, 0, 1);
    double eased = 1 - (1 - t) * (1 - t) * (1 - t);
    apply_position(self, self->from + (target - self->from) * eased);
    if (t < 1)
        return G_SOURCE_CONTINUE;
    self->tick = 0;
    return G_SOURCE_REMOVE;
}

static void
move_sidebar(SundogSplit *self, bool animate)
{
    gboolean animations = TRUE;
    g_object_get(gtk_widget_get_settings(GTK_WIDGET(self)), "gtk-enable-animations", &animations,
                 NULL);
    if (self->tick)
        gtk_widget_remove_tick_callback(GTK_WIDGET(self), self->tick);
    self->tick = 0;
    if (animate && animations && gtk_widget_get_mapped(GTK_WIDGET(self))) {
        self->from = self->position;
        self->slide_start_us =
            gdk_frame_clock_get_frame_time(gtk_widget_get_frame_clock(GTK_WIDGET(self)));
        self->tick = gtk_widget_add_tick_callback(GTK_WIDGET(self), on_tick, NULL, NULL);
    } else
        apply_position(self, is_shown(self) ? 1 : 0);
    g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_SHOWN]);
}

static gboolean
apply_narrow(gpointer user_data)
{
    SundogSplit *self = user_data;
    if (!self->sidebar || !self->scrim)
        return G_SOURCE_REMOVE;
    self->over = false;
    if (self->narrow)
        gtk_widget_add_css_class(self->sidebar, "over");
    else
        gtk_widget_remove_css_class(self->sidebar, "over");
    move_sidebar(self, false);
    g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_NARROW]);
    return G_SOURCE_REMOVE;
}

/* Widgets must not change while sizes are being given out, so the rest follows right after. */
static void
update_narrow(SundogSplit *self, int width)
{
    bool narrow = width < NARROW_BELOW;
    if (narrow == self->narrow)
        return;
    self->narrow = narrow;
    self->position = is_shown(self) && !narrow ? 1 : 0;
    g_idle_add_full(G_PRIORITY_HIGH, apply_narrow, g_object_ref(self), g_object_unref);
}

static void
sundog_split_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                     int *natural, int *minimum_baseline, int *natural_baseline)
{
    SundogSplit *self = SUNDOG_SPLIT(widget);
    int side_minimum = 0, side_natural = 0;
    *minimum_baseline = *natural_baseline = -1;
    gtk_widget_measure(self->content, orientation, -1, minimum, natural, NULL, NULL);
    gtk_widget_measure(self->sidebar, orientation, -1, &side_minimum, &side_natural, NULL, NULL);
    if (orientation == GTK_ORIENTATION_VERTICAL)
        *minimum = MAX(*minimum, side_minimum);
    else
        *natural += SIDEBAR_WIDTH;
    *natural = MAX(*natural, *minimum);
}

static void
place(GtkWidget *child, bool mirrored, int total, int x, int width, int height)
{
    GtkAllocation allocation = {mirrored ? total - x - width : x, 0, width, height};
    if (child && gtk_widget_get_child_visible(child))
        gtk_widget_size_allocate(child, &allocation, -1);
}

static void
sundog_split_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    SundogSplit *self = SUNDOG_SPLIT(widget);
    update_narrow(self, width);
    bool mirrored = gtk_widget_get_direction(widget) == GTK_TEXT_DIR_RTL;
    int side = MIN(SIDEBAR_WIDTH, width - 40);
    int least = 0;
    gtk_widget_measure(self->sidebar, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
    side = MAX(side, least);
    int offset = (int)((1 - self->position) * side + 0.5);
    int used = self->narrow ? 0 : side - offset;
    place(self->content, mirrored, width, used, width - used, height);
    place(self->scrim, mirrored, width, 0, width, height);
    place(self->sidebar, mirrored, width, -offset, side, height);
}

static void
sundog_split_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    SundogSplit *self = SUNDOG_SPLIT(widget);
    int width = gtk_widget_get_width(widget), height = gtk_widget_get_height(widget);
    gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, width, height));
    gtk_widget_snapshot_child(widget, self->content, snapshot);
    gtk_widget_snapshot_child(widget, self->scrim, snapshot);
    gtk_widget_snapshot_child(widget, self->sidebar, snapshot);
    gtk_snapshot_pop(snapshot);
}

static void
set_shown(SundogSplit *self, bool shown)
{
    if (shown == is_shown(self))
        return;
    if (self->narrow)
        self->over = shown;
    else {
        self->docked = shown;
        g_object_notify_by_pspec(G_OBJECT(self), properties[PROP_DOCKED]);
    }
    move_sidebar(self, true);
}

void
sundog_split_toggle(SundogSplit *split)
{
    set_shown(split, !is_shown(split));
}

void
sundog_split_fold(SundogSplit *split)
{
    if (split->narrow)
        set_shown(split, false);
}

bool
sundog_split_is_narrow(SundogSplit *split)
{
    return split->narrow;
}

static void
sundog_split_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    SundogSplit *self = SUNDOG_SPLIT(object);
    if (id == PROP_SHOWN)
        set_shown(self, g_value_get_boolean(value));
    else if (self->docked != g_value_get_boolean(value)) {
        self->docked = g_value_get_boolean(value);
        if (!self->narrow && self->sidebar)
            move_sidebar(self, false);
    }
}

static void
sundog_split_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    SundogSplit *self = SUNDOG_SPLIT(object);
    g_value_set_boolean(value, id == PROP_SHOWN    ? is_shown(self)
                               : id == PROP_DOCKED ? self->docked
                                                   : self->narrow);
}

static void
on_scrim_pressed(GtkGestureClick *gesture, int n_press, double x, double y, SundogSplit *self)
{
    sundog_split_fold(self);
}

static void
sundog_split_add_child(GtkBuildable *buildable, GtkBuilder *builder, GObject *child,
                       const char *type)
{
    SundogSplit *self = SUNDOG_SPLIT(buildable);
    GtkWidget **slot = g_strcmp0(type, "sidebar") == 0 ? &self->sidebar : &self->content;
    *slot = GTK_WIDGET(child);
    if (slot == &self->sidebar)
        gtk_widget_set_parent(*slot, GTK_WIDGET(self));
    else
        gtk_widget_insert_before(*slot, GTK_WIDGET(self), self->scrim);
}

static void
sundog_split_buildable_init(GtkBuildableIface *iface)
{
    iface->add_child = sundog_split_add_child;
}

static void
sundog_split_dispose(GObject *object)
{
    SundogSplit *self = SUNDOG_SPLIT(object);
    g_clear_pointer(&self->sidebar, gtk_widget_unparent);
    g_clear_pointer(&self->scrim, gtk_widget_unparent);
    g_clear_pointer(&self->content, gtk_widget_unparent);
    G_OBJECT_CLASS(sundog_split_parent_class)->dispose(object);
}

static void
sundog_split_class_init(SundogSplitClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    object_class->dispose = sundog_split_dispose;
    object_class->set_property = sundog_split_set_property;
    object_class->get_property = sundog_split_get_property;
    widget_class->measure = sundog_split_measure;
    widget_class->size_allocate = sundog_split_size_allocate;
    widget_class->snapshot = sundog_split_snapshot;
    static const char *const names[] = {NULL, "shown", "docked", "narrow"};
    for (int i = PROP_SHOWN; i < N_PROPERTIES; i++)
        properties[i] =
            g_param_spec_boolean(names[i], NULL, NULL, i == PROP_DOCKED,
                                 (i == PROP_NARROW ? G_PARAM_READABLE : G_PARAM_READWRITE) |
                                     G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);
    g_object_class_install_properties(object_class, N_PROPERTIES, properties);
}

static void
sundog_split_init(SundogSplit *self)
{
    self->docked = true;
    self->position = 1;
    self->scrim =
        g_object_new(GTK_TYPE_BOX, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, NULL);
    gtk_widget_set_child_visible(self->scrim, FALSE);
    gtk_widget_add_css_class(self->scrim, "scrim");
    gtk_widget_set_parent(self->scrim, GTK_WIDGET(self));
    GtkGesture *click = gtk_gesture_click_new();
    g_signal_connect(click, "pressed", G_CALLBACK(on_scrim_pressed), self);
    gtk_widget_add_controller(self->scrim, GTK_EVENT_CONTROLLER(click));
}
