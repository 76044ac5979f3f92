/* A widget with one child that draws the selection over it; what moves the selection is in files of its own. */

#include "app/selection/selection-area.h"
#include "app/selection/passage.h"
#include "app/selection/selection-keys.h"
#include "app/selection/selection-pointer.h"
#include "app/selection/selection.h"
#include "app/selection/text-leaf.h"
#include <glib/gi18n.h>

/* How much of what is selected the colour of the selection covers: its text still reads well. */
#define COVER 0.26f

struct _SundogSelectionArea {
    GtkWidget parent_instance;
    GtkWidget *child;
    GtkWidget *menu;    /* made when it is first asked for */
    GtkWidget *focused; /* the passage that had the focus as the menu opened; weak */
    SundogSelection selection;
    GPtrArray *selected; /* the leaves of which something is, as sizes were given out last */
};

enum { PROP_CHILD = 1, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];
enum { BEGUN, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogSelectionArea, sundog_selection_area, GTK_TYPE_WIDGET)

void
sundog_selection_area_select(SundogSelectionArea *area, SundogPlace anchor, SundogPlace cursor)
{
    sundog_selection_set(&area->selection, anchor, cursor);
    gtk_widget_action_set_enabled(GTK_WIDGET(area), "selection.copy",
                                  !sundog_selection_is_empty(&area->selection));
    gtk_widget_queue_allocate(GTK_WIDGET(area));
}

void
sundog_selection_area_show_cursor(SundogSelectionArea *area)
{
    GdkRectangle caret;
    double x, y;
    GtkWidget *widget = GTK_WIDGET(area);
    GtkWidget *scroller = gtk_widget_get_ancestor(widget, GTK_TYPE_SCROLLED_WINDOW);
    if (!scroller || !sundog_place_locate(area->selection.cursor, widget, &caret) ||
        !gtk_widget_translate_coordinates(widget, scroller, caret.x, caret.y, &x, &y))
        return;
    GtkAdjustment *adjustment = gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(scroller));
    double top = gtk_adjustment_get_value(adjustment) + y;
    gtk_adjustment_clamp_page(adjustment, top - caret.height, top + 2 * caret.height);
}

SundogPlace
sundog_selection_area_get_anchor(SundogSelectionArea *area)
{
    return area->selection.anchor;
}

SundogPlace
sundog_selection_area_get_cursor(SundogSelectionArea *area)
{
    return area->selection.cursor;
}

char *
sundog_selection_area_dup_text(SundogSelectionArea *area)
{
    return sundog_selection_dup_text(&area->selection, GTK_WIDGET(area));
}

/* Who points needs no ring around what has the focus. */
void
sundog_selection_area_focus(SundogSelectionArea *area, GtkWidget *passage)
{
    gtk_widget_grab_focus(passage);
    gtk_window_set_focus_visible(GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(area))), FALSE);
}

GtkWidget *
sundog_selection_area_get_passage(SundogSelectionArea *area)
{
    GtkWidget *widget = gtk_root_get_focus(gtk_widget_get_root(GTK_WIDGET(area)));
    while (widget && widget != GTK_WIDGET(area) && !sundog_passage_is(widget))
        widget = gtk_widget_get_parent(widget);
    return widget && widget != GTK_WIDGET(area) ? widget : area->selection.cursor.passage;
}

void
sundog_selection_area_begin(SundogSelectionArea *area)
{
    g_signal_emit(area, signals[BEGUN], 0);
}

static void
copy(GtkWidget *widget, const char *action, GVariant *parameter)
{
    g_autofree char *text = sundog_selection_area_dup_text(SUNDOG_SELECTION_AREA(widget));
    if (text)
        gdk_clipboard_set_text(gtk_widget_get_clipboard(widget), text);
}

static void
select_all(GtkWidget *widget, const char *action, GVariant *parameter)
{
    SundogSelectionArea *self = SUNDOG_SELECTION_AREA(widget);
    GtkWidget *passage = sundog_selection_area_get_passage(self);
    if (passage)
        sundog_selection_area_select(self, sundog_place_get_start(passage),
                                     sundog_place_get_end(passage));
}

/* The menu */

static GtkWidget *
make_menu(void)
{
    g_autoptr(GMenu) model = g_menu_new();
    g_menu_append(model, _("Copy"), "selection.copy");
    g_menu_append(model, _("Select Message"), "selection.select-all");
    GtkWidget *menu = gtk_popover_menu_new_from_model(G_MENU_MODEL(model));
    gtk_popover_set_has_arrow(GTK_POPOVER(menu), FALSE);
    gtk_widget_set_halign(menu, GTK_ALIGN_START);
    return menu;
}

/* GTK would give the focus to the first widget around the menu that takes it, which is not in the area. */
static void
on_menu_closed(SundogSelectionArea *self)
{
    if (self->focused)
        gtk_widget_grab_focus(self->focused);
}

static void
pop_up(SundogSelectionArea *self, double x, double y)
{
    if (!self->menu) {
        self->menu = make_menu();
        gtk_widget_set_parent(self->menu, GTK_WIDGET(self));
        g_signal_connect_swapped(self->menu, "closed", G_CALLBACK(on_menu_closed), self);
    }
    g_set_weak_pointer(&self->focused, sundog_selection_area_get_passage(self));
    bool any = !sundog_selection_is_empty(&self->selection);
    gtk_widget_action_set_enabled(GTK_WIDGET(self), "selection.copy", any);
    gtk_popover_set_pointing_to(GTK_POPOVER(self->menu), &(GdkRectangle){(int)x, (int)y, 1, 1});
    gtk_popover_popup(GTK_POPOVER(self->menu));
}

/* At the cursor, or at the passage that has the focus. */
static void
show_menu(GtkWidget *widget, const char *action, GVariant *parameter)
{
    SundogSelectionArea *self = SUNDOG_SELECTION_AREA(widget);
    GdkRectangle caret = {0};
    SundogPlace place = self->selection.cursor;
    if (sundog_selection_is_empty(&self->selection))
        place = sundog_place_get_start(sundog_selection_area_get_passage(self));
    sundog_place_locate(place, widget, &caret);
    pop_up(self, caret.x, caret.y + caret.height);
}

/* A link has a menu of its own. On release, which a menu that opens before it would take, to GTK's confusion. */
static void
on_menu_released(GtkGestureClick *click, int n_press, double x, double y, SundogSelectionArea *self)
{
    GtkWidget *picked = gtk_widget_pick(GTK_WIDGET(self), x, y, GTK_PICK_DEFAULT);
    if (picked && GTK_IS_LABEL(picked) && gtk_label_get_current_uri(GTK_LABEL(picked)))
        return;
    gtk_gesture_set_state(GTK_GESTURE(click), GTK_EVENT_SEQUENCE_CLAIMED);
    SundogPlace place = sundog_place_find(GTK_WIDGET(self), x, y);
    if (place.passage)
        sundog_selection_area_focus(self, place.passage);
    pop_up(self, x, y);
}

/* Drawing */

/* What a scrolled leaf does not show is cut off. */
static bool
get_clip(GtkWidget *leaf, graphene_rect_t *clip)
{
    GtkWidget *scroller = gtk_widget_get_ancestor(leaf, GTK_TYPE_SCROLLED_WINDOW);
    bool inside = scroller && gtk_widget_get_ancestor(scroller, SUNDOG_TYPE_SELECTION_AREA);
    return gtk_widget_compute_bounds(inside ? scroller : leaf, leaf, clip);
}

/* Thinly over the text, since code and what the person wrote stand on grounds of their own. */
static void
draw_leaf(GtkWidget *leaf, GtkWidget *area, GtkSnapshot *snapshot, const GdkRGBA *colour)
{
    double x, y;
    graphene_rect_t clip;
    if (!gtk_widget_translate_coordinates(leaf, area, 0, 0, &x, &y) || !get_clip(leaf, &clip))
        return;
    gtk_snapshot_save(snapshot);
    gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT((float)x, (float)y));
    gtk_snapshot_push_clip(snapshot, &clip);
    sundog_text_leaf_snapshot(leaf, snapshot, colour);
    gtk_snapshot_pop(snapshot);
    gtk_snapshot_restore(snapshot);
}

static void
sundog_selection_area_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
    SundogSelectionArea *self = SUNDOG_SELECTION_AREA(widget);
    GdkRGBA colour = {0.5f, 0.5f, 0.5f, 1};
    GTK_WIDGET_CLASS(sundog_selection_area_parent_class)->snapshot(widget, snapshot);
    gtk_style_context_lookup_color(gtk_widget_get_style_context(widget), "sundog_accent", &colour);
    colour.alpha *= COVER;
    for (unsigned i = 0; i < self->selected->len; i++)
        draw_leaf(self->selected->pdata[i], widget, snapshot, &colour);
}

static void
measure_selected(SundogSelectionArea *self)
{
    g_autoptr(GPtrArray) leaves = g_ptr_array_new();
    sundog_selection_apply(&self->selection, GTK_WIDGET(self), leaves);
    g_ptr_array_set_size(self->selected, 0);
    for (unsigned i = 0; i < leaves->len; i++) {
        sundog_text_leaf_measure(leaves->pdata[i]);
        g_ptr_array_add(self->selected, g_object_ref(leaves->pdata[i]));
    }
}

/* The parts */

static GtkSizeRequestMode
sundog_selection_area_get_request_mode(GtkWidget *widget)
{
    SundogSelectionArea *self = SUNDOG_SELECTION_AREA(widget);
    return self->child ? gtk_widget_get_request_mode(self->child) : GTK_SIZE_REQUEST_CONSTANT_SIZE;
}

static void
sundog_selection_area_measure(GtkWidget *widget, GtkOrientation orientation, int for_size,
                              int *minimum, int *natural, int *minimum_baseline,
                              int *natural_baseline)
{
    SundogSelectionArea *self = SUNDOG_SELECTION_AREA(widget);
    if (self->child)
        gtk_widget_measure(self->child, orientation, for_size, minimum, natural, minimum_baseline,
                           natural_baseline);
}

/* No layout manager would place the menu. */
static void
sundog_selection_area_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
    SundogSelectionArea *self = SUNDOG_SELECTION_AREA(widget);
    if (self->child)
        gtk_widget_allocate(self->child, width, height, baseline, NULL);
    measure_selected(self);
    if (self->menu)
        gtk_popover_present(GTK_POPOVER(self->menu));
}

static void
set_child(SundogSelectionArea *self, GtkWidget *child)
{
    g_clear_pointer(&self->child, gtk_widget_unparent);
    self->child = child;
    if (child)
        gtk_widget_set_parent(child, GTK_WIDGET(self));
}

static void
sundog_selection_area_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
    set_child(SUNDOG_SELECTION_AREA(object), g_value_get_object(value));
}

static void
sundog_selection_area_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    g_value_set_object(value, SUNDOG_SELECTION_AREA(object)->child);
}

static void
sundog_selection_area_dispose(GObject *object)
{
    SundogSelectionArea *self = SUNDOG_SELECTION_AREA(object);
    sundog_selection_clear(&self->selection);
    g_clear_weak_pointer(&self->focused);
    g_clear_pointer(&self->menu, gtk_widget_unparent);
    set_child(self, NULL);
    g_clear_pointer(&self->selected, g_ptr_array_unref);
    G_OBJECT_CLASS(sundog_selection_area_parent_class)->dispose(object);
}

static void
install_actions(GtkWidgetClass *class)
{
    static const struct {
        unsigned key;
        GdkModifierType modifiers;
        const char *action;
    } keys[] = {
        {GDK_KEY_Insert, GDK_CONTROL_MASK, "selection.copy"},
        /* The menu names the last one of an action. */
        {GDK_KEY_c, GDK_CONTROL_MASK, "selection.copy"},
        {GDK_KEY_a, GDK_CONTROL_MASK, "selection.select-all"},
        {GDK_KEY_Menu, 0, "selection.menu"},
        {GDK_KEY_F10, GDK_SHIFT_MASK, "selection.menu"},
    };
    gtk_widget_class_install_action(class, "selection.copy", NULL, copy);
    gtk_widget_class_install_action(class, "selection.select-all", NULL, select_all);
    gtk_widget_class_install_action(class, "selection.menu", NULL, show_menu);
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        gtk_widget_class_add_binding_action(class, keys[i].key, keys[i].modifiers, keys[i].action,
                                            NULL);
}

static void
sundog_selection_area_class_init(SundogSelectionAreaClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_selection_area_dispose;
    G_OBJECT_CLASS(class)->set_property = sundog_selection_area_set_property;
    G_OBJECT_CLASS(class)->get_property = sundog_selection_area_get_property;
    widget_class->snapshot = sundog_selection_area_snapshot;
    widget_class->get_request_mode = sundog_selection_area_get_request_mode;
    widget_class->measure = sundog_selection_area_measure;
    widget_class->size_allocate = sundog_selection_area_size_allocate;
    properties[PROP_CHILD] = g_param_spec_object("child", NULL, NULL, GTK_TYPE_WIDGET,
                                                 G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);
    g_object_class_install_properties(G_OBJECT_CLASS(class), N_PROPERTIES, properties);
    signals[BEGUN] = g_signal_new("begun", SUNDOG_TYPE_SELECTION_AREA, G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 0);
    install_actions(widget_class);
    sundog_selection_keys_install(widget_class);
}

static void
sundog_selection_area_init(SundogSelectionArea *self)
{
    GtkGesture *click = gtk_gesture_click_new();
    self->selected = g_ptr_array_new_with_free_func(g_object_unref);
    gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(click), GDK_BUTTON_SECONDARY);
    g_signal_connect(click, "released", G_CALLBACK(on_menu_released), self);
    gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(click));
    sundog_selection_pointer_attach(self);
}
