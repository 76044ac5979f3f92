/* A window of widgets over the end of an array, and a scroll position that follows or stays. */

#include "app/conversation/message-list.h"
#include "app/conversation/answer-view.h"
#include "app/conversation/column.h"
#include "app/conversation/user-card.h"
#include "app/selection/selection-area.h"
#include "app/selection/text-search.h"
#include <glib/gi18n.h>

/* How many messages get widgets at once, and how near to the top more are made. */
#define PAGE 16
#define NEAR_TOP 600
/* Within this many pixels of the end the view counts as being there. */
#define AT_END 24
/* What is brought into view keeps this distance from the edge. */
#define MARGIN 12
#define N_LOOKS 3

struct _SundogMessageList {
    GtkWidget parent_instance;
    GtkWidget *overlay;
    GtkScrolledWindow *scroller;
    SundogSelectionArea *area;
    GtkBox *box;
    GtkRevealer *newest;
    GtkLabel *newest_label;
    GtkAdjustment *adjustment;
    GPtrArray *messages;
    GPtrArray *views; /* of the messages from `first` on; borrowed */
    unsigned first;
    double value; /* the scroll position before the present one */
    bool following;
    bool moving;          /* the scroll position is being set by us */
    double keep_from_end; /* while older messages are added above: distance to hold, else < 0 */
    unsigned n_unseen;
    GtkWidget *wanted; /* to be brought into view once it has its place; weak */
    char *sought;      /* a text to be selected in it, or NULL */
    unsigned n_looks;  /* frames for which it still is: it may change its size */
    unsigned tick;
};

enum { EDIT, REGENERATE, SWITCH, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogMessageList, sundog_message_list, GTK_TYPE_WIDGET)

static SundogMessage *
get_message(GtkWidget *view)
{
    return SUNDOG_IS_USER_CARD(view) ? sundog_user_card_get_message(SUNDOG_USER_CARD(view))
                                     : sundog_answer_view_get_message(SUNDOG_ANSWER_VIEW(view));
}

static void
on_edit(GtkWidget *view, const char *text, SundogMessageList *self)
{
    g_signal_emit(self, signals[EDIT], 0, get_message(view), text);
}

static void
on_regenerate(GtkWidget *view, SundogMessageList *self)
{
    g_signal_emit(self, signals[REGENERATE], 0, get_message(view));
}

static void
on_switch(GtkWidget *view, int step, SundogMessageList *self)
{
    g_signal_emit(self, signals[SWITCH], 0, get_message(view), step);
}

static GtkWidget *
make_view(SundogMessageList *self, SundogMessage *message)
{
    bool user = message->role == SUNDOG_ROLE_USER;
    GtkWidget *view = user ? sundog_user_card_new(message) : sundog_answer_view_new(message);
    if (user)
        g_signal_connect_object(view, "edit", G_CALLBACK(on_edit), self, 0);
    else
        g_signal_connect_object(view, "regenerate", G_CALLBACK(on_regenerate), self, 0);
    g_signal_connect_object(view, "switch", G_CALLBACK(on_switch), self, 0);
    return view;
}

/* The last answer shows its actions without being pointed at. */
static void
mark_last(SundogMessageList *self)
{
    for (unsigned i = 0; i < self->views->len; i++)
        if (i + 1 == self->views->len && SUNDOG_IS_ANSWER_VIEW(self->views->pdata[i]))
            gtk_widget_add_css_class(self->views->pdata[i], "last");
        else
            gtk_widget_remove_css_class(self->views->pdata[i], "last");
}

static double
get_end(SundogMessageList *self)
{
    return MAX(gtk_adjustment_get_upper(self->adjustment) -
                   gtk_adjustment_get_page_size(self->adjustment),
               0);
}

static void
set_position(SundogMessageList *self, double value)
{
    self->moving = true;
    gtk_adjustment_set_value(self->adjustment, value);
    self->moving = false;
}

static void
update_newest(SundogMessageList *self)
{
    bool away = !self->following && get_end(self) > AT_END;
    if (!away)
        self->n_unseen = 0;
    g_autofree char *count = g_strdup_printf("%u", self->n_unseen);
    g_autofree char *text =
        self->n_unseen > 0 ? g_strdup_printf(_("Newest (%s)"), count) : g_strdup(_("Newest"));
    gtk_label_set_text(self->newest_label, text);
    gtk_revealer_set_reveal_child(self->newest, away);
    gtk_widget_set_can_target(GTK_WIDGET(self->newest), away);
}

static void
prepend_page(SundogMessageList *self)
{
    unsigned first = self->first > PAGE ? self->first - PAGE : 0;
    if (self->first == 0)
        return;
    self->keep_from_end =
        gtk_adjustment_get_upper(self->adjustment) - gtk_adjustment_get_value(self->adjustment);
    for (unsigned i = self->first; i > first; i--) {
        GtkWidget *view = make_view(self, self->messages->pdata[i - 1]);
        gtk_box_prepend(self->box, view);
        g_ptr_array_insert(self->views, 0, view);
    }
    self->first = first;
}

static void schedule_tick(SundogMessageList *self);

static void
show_now(SundogMessageList *self, GtkWidget *widget)
{
    graphene_rect_t bounds;
    if (!gtk_widget_compute_bounds(widget, GTK_WIDGET(self->scroller), &bounds))
        return;
    double page = gtk_adjustment_get_page_size(self->adjustment);
    double top = bounds.origin.y - MARGIN;
    double bottom = bounds.origin.y + bounds.size.height + MARGIN;
    double by = top < 0 || bottom - top > page ? top : MAX(bottom - page, 0);
    if (by != 0)
        gtk_adjustment_set_value(self->adjustment, gtk_adjustment_get_value(self->adjustment) + by);
}

static void
look_for_wanted(SundogMessageList *self)
{
    if (!self->wanted || gtk_widget_get_height(self->wanted) == 0)
        return;
    SundogPlace start, end;
    show_now(self, self->wanted);
    if (self->sought && sundog_text_search_find(self->wanted, self->sought, &start, &end)) {
        sundog_selection_area_select(self->area, start, end);
        sundog_selection_area_show_cursor(self->area);
    }
    if (--self->n_looks == 0)
        g_clear_weak_pointer(&self->wanted);
}

/* Sizes are being given out when the adjustment changes, so the position is set before the next frame. */
static gboolean
on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
    SundogMessageList *self = SUNDOG_MESSAGE_LIST(widget);
    self->tick = 0;
    if (self->keep_from_end >= 0) {
        set_position(self, gtk_adjustment_get_upper(self->adjustment) - self->keep_from_end);
        self->keep_from_end = -1;
    } else if (self->following)
        set_position(self, get_end(self));
    look_for_wanted(self);
    if (gtk_adjustment_get_value(self->adjustment) < NEAR_TOP)
        prepend_page(self);
    update_newest(self);
    if (self->wanted)
        schedule_tick(self);
    return G_SOURCE_REMOVE;
}

static void
schedule_tick(SundogMessageList *self)
{
    if (!self->tick)
        self->tick = gtk_widget_add_tick_callback(GTK_WIDGET(self), on_tick, NULL, NULL);
}

/* Who goes away from the end by less than what counts as being there would be drawn back to it. */
static void
on_value_changed(SundogMessageList *self)
{
    double value = gtk_adjustment_get_value(self->adjustment), before = self->value;
    self->value = value;
    if (self->moving)
        return;
    self->following = value >= get_end(self) - (value < before ? 1 : AT_END);
    schedule_tick(self);
}

static void
on_newest(GtkButton *button, SundogMessageList *self)
{
    sundog_message_list_scroll_to_end(self);
}

/* Text that is being selected stands still. */
static void
on_selecting(SundogMessageList *self)
{
    self->following = false;
    update_newest(self);
}

/* A scroll that still glides would take the position back with its next frame. */
static void
stop_gliding(SundogMessageList *self)
{
    gtk_scrolled_window_set_kinetic_scrolling(self->scroller, FALSE);
    gtk_scrolled_window_set_kinetic_scrolling(self->scroller, TRUE);
}

void
sundog_message_list_scroll_to_end(SundogMessageList *list)
{
    stop_gliding(list);
    list->following = true;
    list->n_unseen = 0;
    schedule_tick(list);
}

static void
show_soon(SundogMessageList *self, GtkWidget *widget, const char *sought)
{
    self->following = false;
    g_free(self->sought);
    self->sought = g_strdup(sought);
    g_set_weak_pointer(&self->wanted, widget);
    self->n_looks = N_LOOKS;
    schedule_tick(self);
}

/* The view goes with the focus where a person moves it with keys, and only there: a menu that closes gives
 * it back as well. */
static gboolean
sundog_message_list_focus(GtkWidget *widget, GtkDirectionType direction)
{
    SundogMessageList *self = SUNDOG_MESSAGE_LIST(widget);
    if (!GTK_WIDGET_CLASS(sundog_message_list_parent_class)->focus(widget, direction))
        return FALSE;
    GtkWidget *focus = gtk_root_get_focus(gtk_widget_get_root(widget));
    if (focus && gtk_widget_is_ancestor(focus, GTK_WIDGET(self->box)))
        show_now(self, focus);
    return TRUE;
}

static void
drop_views_from(SundogMessageList *self, unsigned n)
{
    while (self->views->len > n) {
        gtk_box_remove(self->box, self->views->pdata[self->views->len - 1]);
        g_ptr_array_set_size(self->views, self->views->len - 1);
    }
}

/* How many of the widgets show what the new array has at the same places. */
static unsigned
count_kept(SundogMessageList *self, GPtrArray *messages)
{
    unsigned n = 0;
    while (n < self->views->len && self->first + n < messages->len) {
        SundogMessage *shown = get_message(self->views->pdata[n]);
        SundogMessage *wanted = messages->pdata[self->first + n];
        if (shown->id != wanted->id || shown->n_alternatives != wanted->n_alternatives)
            break;
        n++;
    }
    return n;
}

void
sundog_message_list_set_messages(SundogMessageList *list, GPtrArray *messages)
{
    unsigned n_kept = count_kept(list, messages);
    drop_views_from(list, n_kept);
    if (n_kept == 0) {
        list->first = messages->len > PAGE ? messages->len - PAGE : 0;
        list->following = true;
    }
    for (unsigned i = list->first + n_kept; i < messages->len; i++) {
        GtkWidget *view = make_view(list, messages->pdata[i]);
        gtk_box_append(list->box, view);
        g_ptr_array_add(list->views, view);
        list->n_unseen += n_kept > 0;
    }
    g_ptr_array_unref(list->messages);
    list->messages = messages;
    mark_last(list);
    schedule_tick(list);
}

GPtrArray *
sundog_message_list_get_messages(SundogMessageList *list)
{
    return list->messages;
}

void
sundog_message_list_set_activity(SundogMessageList *list, const char *activity)
{
    GtkWidget *last = list->views->len ? list->views->pdata[list->views->len - 1] : NULL;
    if (!last || !SUNDOG_IS_ANSWER_VIEW(last))
        return;
    SundogMessage *answer = get_message(last);
    bool empty = answer->content->len + answer->reasoning->len == 0;
    sundog_answer_view_set_activity(SUNDOG_ANSWER_VIEW(last), empty ? activity : NULL);
}

void
sundog_message_list_edit_last(SundogMessageList *list)
{
    for (unsigned i = list->views->len; i > 0; i--)
        if (SUNDOG_IS_USER_CARD(list->views->pdata[i - 1])) {
            sundog_user_card_edit(list->views->pdata[i - 1]);
            show_soon(list, list->views->pdata[i - 1], NULL);
            return;
        }
}

void
sundog_message_list_reveal(SundogMessageList *list, unsigned index, const char *text)
{
    while (index < list->first)
        prepend_page(list);
    if (index - list->first >= list->views->len)
        return;
    show_soon(list, list->views->pdata[index - list->first], text);
}

static void
sundog_message_list_dispose(GObject *object)
{
    SundogMessageList *self = SUNDOG_MESSAGE_LIST(object);
    g_clear_weak_pointer(&self->wanted);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_MESSAGE_LIST);
    G_OBJECT_CLASS(sundog_message_list_parent_class)->dispose(object);
}

static void
sundog_message_list_finalize(GObject *object)
{
    SundogMessageList *self = SUNDOG_MESSAGE_LIST(object);
    g_ptr_array_unref(self->messages);
    g_ptr_array_unref(self->views);
    g_free(self->sought);
    G_OBJECT_CLASS(sundog_message_list_parent_class)->finalize(object);
}

static void
sundog_message_list_class_init(SundogMessageListClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_message_list_dispose;
    G_OBJECT_CLASS(class)->finalize = sundog_message_list_finalize;
    signals[EDIT] = g_signal_new("edit", SUNDOG_TYPE_MESSAGE_LIST, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                 NULL, G_TYPE_NONE, 2, SUNDOG_TYPE_MESSAGE, G_TYPE_STRING);
    signals[REGENERATE] = g_signal_new("regenerate", SUNDOG_TYPE_MESSAGE_LIST, G_SIGNAL_RUN_LAST, 0,
                                       NULL, NULL, NULL, G_TYPE_NONE, 1, SUNDOG_TYPE_MESSAGE);
    signals[SWITCH] = g_signal_new("switch", SUNDOG_TYPE_MESSAGE_LIST, G_SIGNAL_RUN_LAST, 0, NULL,
                                   NULL, NULL, G_TYPE_NONE, 2, SUNDOG_TYPE_MESSAGE, G_TYPE_INT);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    widget_class->focus = sundog_message_list_focus;
    g_type_ensure(SUNDOG_TYPE_COLUMN);
    g_type_ensure(SUNDOG_TYPE_SELECTION_AREA);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/message-list.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogMessageList, overlay);
    gtk_widget_class_bind_template_child(widget_class, SundogMessageList, scroller);
    gtk_widget_class_bind_template_child(widget_class, SundogMessageList, area);
    gtk_widget_class_bind_template_child(widget_class, SundogMessageList, box);
    gtk_widget_class_bind_template_child(widget_class, SundogMessageList, newest);
    gtk_widget_class_bind_template_child(widget_class, SundogMessageList, newest_label);
    gtk_widget_class_bind_template_callback(widget_class, on_newest);
    gtk_widget_class_bind_template_callback(widget_class, on_selecting);
}

static void
sundog_message_list_init(SundogMessageList *self)
{
    self->messages = g_ptr_array_new_with_free_func(g_object_unref);
    self->views = g_ptr_array_new();
    self->following = true;
    self->keep_from_end = -1;
    gtk_widget_init_template(GTK_WIDGET(self));
    self->adjustment = gtk_scrolled_window_get_vadjustment(self->scroller);
    g_signal_connect_object(self->adjustment, "value-changed", G_CALLBACK(on_value_changed), self,
                            G_CONNECT_SWAPPED);
    g_signal_connect_object(self->adjustment, "changed", G_CALLBACK(schedule_tick), self,
                            G_CONNECT_SWAPPED);
    gtk_widget_set_can_target(GTK_WIDGET(self->newest), FALSE);
}
