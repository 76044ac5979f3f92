/* Measuring and placing of one child within a bound. */

#include "app/conversation/column.h"

#define DEFAULT_MAXIMUM 760

struct _SundogColumn {
    GtkWidget parent_instance;
    GtkWidget *child;
    int maximum;
};

enum { PROP_0, PROP_CHILD, PROP_MAXIMUM, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];

static void sundog_column_buildable_init(GtkBuildableIface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE(SundogColumn, sundog_column, GTK_TYPE_WIDGET,
                              G_IMPLEMENT_INTERFACE(GTK_TYPE_BUILDABLE,
                                                    sundog_column_buildable_init))

static GtkSizeRequestMode
sundog_column_get_request_mode(GtkWidget *widget)
{
    return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
sundog_column_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                      int *natural, int *minimum_baseline, int *natural_baseline)
{
    SundogColumn *self = SUNDOG_COLUMN(widget);
    *minimum_baseline = *natural_baseline = -1;
    if (!self->child)
        return;
    if (orientation == GTK_ORIENTATION_VERTICAL && for_size > self->maximum) {
        int least = 0;
        gtk_widget_measure(self->child, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
        for_size = MAX(self->maximum, least);
    }
    gtk_widget_measure(self->child, orientation, for_size, minimum, natural, NULL, NULL);
    if (orientation == GTK_ORIENTATION_HORIZONTAL)
        *natural = MAX(*minimum, MIN(*natural, self->maximum));
}

static void
sundog_column_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    SundogColumn *self = SUNDOG_COLUMN(widget);
    if (!self->child)
        return;
    int least = 0;
    gtk_widget_measure(self->child, GTK_ORIENTATION_HORIZONTAL, -1, &least, NULL, NULL, NULL);
    int used = MIN(width, MAX(self->maximum, least));
    GtkAllocation place = {(width - used) / 2, 0, used, height};
    gtk_widget_size_allocate(self->child, &place, baseline);
}

void
sundog_column_set_child(SundogColumn *column, GtkWidget *child)
{
    g_clear_pointer(&column->child, gtk_widget_unparent);
    column->child = child;
    if (child)
        gtk_widget_set_parent(child, GTK_WIDGET(column));
}

static void
sundog_column_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    SundogColumn *self = SUNDOG_COLUMN(object);
    if (id == PROP_CHILD)
        sundog_column_set_child(self, g_value_get_object(value));
    else
        self->maximum = g_value_get_int(value);
    gtk_widget_queue_resize(GTK_WIDGET(self));
}

static void
sundog_column_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
    SundogColumn *self = SUNDOG_COLUMN(object);
    if (id == PROP_CHILD)
        g_value_set_object(value, self->child);
    else
        g_value_set_int(value, self->maximum);
}

static void
sundog_column_add_child(GtkBuildable *buildable, GtkBuilder *builder, GObject *child,
                        const char *type)
{
    sundog_column_set_child(SUNDOG_COLUMN(buildable), GTK_WIDGET(child));
}

static void
sundog_column_buildable_init(GtkBuildableIface *iface)
{
    iface->add_child = sundog_column_add_child;
}

static void
sundog_column_dispose(GObject *object)
{
    g_clear_pointer(&SUNDOG_COLUMN(object)->child, gtk_widget_unparent);
    G_OBJECT_CLASS(sundog_column_parent_class)->dispose(object);
}

static void
sundog_column_class_init(SundogColumnClass *class)
{
    GObjectClass *object_class = G_OBJECT_CLASS(class);
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    object_class->dispose = sundog_column_dispose;
    object_class->set_property = sundog_column_set_property;
    object_class->get_property = sundog_column_get_property;
    widget_class->get_request_mode = sundog_column_get_request_mode;
    widget_class->measure = sundog_column_measure;
    widget_class->size_allocate = sundog_column_size_allocate;
    properties[PROP_CHILD] = g_param_spec_object("child", NULL, NULL, GTK_TYPE_WIDGET,
                                                 G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
    properties[PROP_MAXIMUM] = g_param_spec_int("maximum", NULL, NULL, 1, G_MAXINT, DEFAULT_MAXIMUM,
                                                G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
    g_object_class_install_properties(object_class, N_PROPERTIES, properties);
    gtk_widget_class_set_css_name(widget_class, "column");
}

static void
sundog_column_init(SundogColumn *self)
{
    self->maximum = DEFAULT_MAXIMUM;
}
