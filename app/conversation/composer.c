/* The card at the foot of a conversation. */

#include "app/conversation/composer.h"
#include "app/conversation/composer-keys.h"
#include "app/conversation/parameters.h"
#include "app/figures.h"
#include "app/meter.h"
#include <glib/gi18n.h>

struct _SundogComposer {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkWidget *queued_box;
    GtkLabel *queued;
    GtkTextView *text;
    GtkTextBuffer *buffer;
    GtkWidget *placeholder;
    GtkWidget *context;
    SundogMeter *context_bar;
    GtkLabel *context_label;
    GtkLabel *activity;
    GtkWidget *stop;
    GtkWidget *send;
    GtkMenuButton *parameters_button;
    SundogParameters *parameters;
    bool running;
};

enum { SEND, STOP, EDIT_LAST, CHANGED, UNQUEUE, PARAMETERS, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogComposer, sundog_composer, GTK_TYPE_WIDGET)

char *
sundog_composer_dup_text(SundogComposer *composer)
{
    GtkTextIter start, end;
    gtk_text_buffer_get_bounds(composer->buffer, &start, &end);
    return gtk_text_buffer_get_text(composer->buffer, &start, &end, FALSE);
}

/* While an answer runs there is Stop in the place of Send; with text, what is sent next stands beside it. */
static void
update_buttons(SundogComposer *self)
{
    bool empty = gtk_text_buffer_get_char_count(self->buffer) == 0;
    const char *name = self->running ? _("Send next") : _("Send");
    gtk_widget_set_visible(self->stop, self->running);
    gtk_widget_set_visible(self->send, !self->running || !empty);
    gtk_widget_set_sensitive(self->send, !empty);
    gtk_widget_set_tooltip_text(self->send, name);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->send), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
                                   -1);
}

static void
send_text(SundogComposer *self)
{
    g_autofree char *text = g_strstrip(sundog_composer_dup_text(self));
    if (*text)
        g_signal_emit(self, signals[SEND], 0, text);
}

static void
on_send_key(gpointer user_data)
{
    send_text(user_data);
}

static void
on_send_clicked(GtkButton *button, SundogComposer *self)
{
    send_text(self);
}

static void
on_stop_clicked(GtkButton *button, SundogComposer *self)
{
    g_signal_emit(self, signals[STOP], 0);
}

static void
on_buffer_changed(GtkTextBuffer *buffer, SundogComposer *self)
{
    gtk_widget_set_visible(self->placeholder, gtk_text_buffer_get_char_count(buffer) == 0);
    update_buttons(self);
    g_signal_emit(self, signals[CHANGED], 0);
}

/* Composing with an input method shows text that is not in the buffer yet. */
static void
on_preedit(GtkTextView *view, const char *preedit, SundogComposer *self)
{
    gtk_widget_set_visible(self->placeholder,
                           !*preedit && gtk_text_buffer_get_char_count(self->buffer) == 0);
}

static gboolean
on_key(GtkEventControllerKey *keys, guint keyval, guint code, GdkModifierType modifiers,
       SundogComposer *self)
{
    GdkEvent *event = gtk_event_controller_get_current_event(GTK_EVENT_CONTROLLER(keys));
    if (keyval != GDK_KEY_Up || (modifiers & gtk_accelerator_get_default_mod_mask()) ||
        gtk_text_buffer_get_char_count(self->buffer) > 0)
        return FALSE;
    /* An input method goes through its candidates with it, while nothing is in the buffer yet. */
    if (gtk_text_view_im_context_filter_keypress(self->text, event))
        return TRUE;
    g_signal_emit(self, signals[EDIT_LAST], 0);
    return TRUE;
}

static void
on_unqueue(GtkButton *button, SundogComposer *self)
{
    g_signal_emit(self, signals[UNQUEUE], 0);
}

static void
on_parameters_changed(SundogComposer *self)
{
    g_signal_emit(self, signals[PARAMETERS], 0);
}

void
sundog_composer_set_chat(SundogComposer *composer, SundogChat *chat)
{
    sundog_composer_set_text(composer, chat->draft);
    sundog_composer_set_queued(composer, chat->queued);
    sundog_parameters_set_chat(composer->parameters, chat);
}

void
sundog_composer_set_text(SundogComposer *composer, const char *text)
{
    gtk_text_buffer_set_text(composer->buffer, text, -1);
    GtkTextIter end;
    gtk_text_buffer_get_end_iter(composer->buffer, &end);
    gtk_text_buffer_place_cursor(composer->buffer, &end);
}

void
sundog_composer_set_running(SundogComposer *composer, bool running, const char *activity)
{
    composer->running = running;
    gtk_label_set_text(composer->activity, running && activity ? activity : "");
    update_buttons(composer);
}

void
sundog_composer_set_queued(SundogComposer *composer, const char *text)
{
    gtk_widget_set_visible(composer->queued_box, text != NULL);
    gtk_label_set_text(composer->queued, text ? text : "");
}

void
sundog_composer_set_context(SundogComposer *composer, int n_used, int n_total)
{
    gtk_widget_set_visible(composer->context, n_total > 0 && n_used > 0);
    if (n_total <= 0)
        return;
    double share = (double)n_used / n_total;
    g_autofree char *used = sundog_figures_dup_number(n_used);
    g_autofree char *total = sundog_figures_dup_number(n_total);
    g_autofree char *text = g_strdup_printf(_("%s of %s tokens of context"), used, total);
    sundog_meter_set_fraction(composer->context_bar, share);
    gtk_label_set_text(composer->context_label, used);
    gtk_widget_set_tooltip_text(composer->context, text);
    gtk_accessible_update_property(GTK_ACCESSIBLE(composer->context_bar),
                                   GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
    if (share > 0.9)
        gtk_widget_add_css_class(GTK_WIDGET(composer->context_bar), "high");
    else
        gtk_widget_remove_css_class(GTK_WIDGET(composer->context_bar), "high");
}

void
sundog_composer_focus(SundogComposer *composer)
{
    gtk_widget_grab_focus(GTK_WIDGET(composer->text));
}

static void
sundog_composer_dispose(GObject *object)
{
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_COMPOSER);
    G_OBJECT_CLASS(sundog_composer_parent_class)->dispose(object);
}

static void
sundog_composer_class_init(SundogComposerClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_composer_dispose;
    static const char *const names[N_SIGNALS] = {"send",    "stop",    "edit-last",
                                                 "changed", "unqueue", "parameters"};
    for (int i = 0; i < N_SIGNALS; i++)
        signals[i] = g_signal_new(names[i], SUNDOG_TYPE_COMPOSER, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, i == SEND ? 1 : 0, G_TYPE_STRING);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    g_type_ensure(SUNDOG_TYPE_METER);
    g_type_ensure(SUNDOG_TYPE_PARAMETERS);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/composer.ui");
#define BIND(name) gtk_widget_class_bind_template_child(widget_class, SundogComposer, name)
    BIND(box);
    BIND(queued_box);
    BIND(queued);
    BIND(text);
    BIND(buffer);
    BIND(placeholder);
    BIND(context);
    BIND(context_bar);
    BIND(context_label);
    BIND(activity);
    BIND(stop);
    BIND(send);
    BIND(parameters_button);
    BIND(parameters);
#undef BIND
    gtk_widget_class_bind_template_callback(widget_class, on_send_clicked);
    gtk_widget_class_bind_template_callback(widget_class, on_stop_clicked);
    gtk_widget_class_bind_template_callback(widget_class, on_buffer_changed);
    gtk_widget_class_bind_template_callback(widget_class, on_preedit);
    gtk_widget_class_bind_template_callback(widget_class, on_unqueue);
}

static void
sundog_composer_init(SundogComposer *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    sundog_composer_keys_attach(self->text, G_CALLBACK(on_send_key), self);
    GtkEventController *keys = gtk_event_controller_key_new();
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE);
    g_signal_connect(keys, "key-pressed", G_CALLBACK(on_key), self);
    gtk_widget_add_controller(GTK_WIDGET(self->text), keys);
    g_signal_connect_swapped(self->parameters, "changed", G_CALLBACK(on_parameters_changed), self);
    sundog_composer_set_running(self, false, NULL);
}
