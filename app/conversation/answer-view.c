/* The widget of an assistant's message, kept in step with it. */

#include "app/conversation/answer-view.h"
#include "app/application.h"
#include "app/chats/branch-switcher.h"
#include "app/figures.h"
#include "app/markdown/markdown-view.h"
#include "app/selection/passage.h"
#include <glib/gi18n.h>
#include <stdbool.h>

struct _SundogAnswerView {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkWidget *reasoning_box;
    GtkButton *reasoning_button;
    GtkRevealer *reasoning_revealer;
    SundogMarkdownView *reasoning;
    SundogMarkdownView *content;
    GtkWidget *activity_box;
    GtkLabel *activity;
    GtkSpinner *spinner;
    GtkWidget *notice;
    GtkLabel *notice_text;
    GtkExpander *notice_details;
    GtkLabel *notice_details_text;
    GtkWidget *actions;
    SundogBranchSwitcher *branches;
    GtkMenuButton *details;
    GtkLabel *details_text;
    SundogMessage *message;
    int64_t thinking_since_us;
    int64_t thought_us;
};

enum { REGENERATE, SWITCH, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogAnswerView, sundog_answer_view, GTK_TYPE_WIDGET)

static const char *
get_notice(SundogMessage *message)
{
    switch (message->state) {
    case SUNDOG_MESSAGE_STOPPED:
        return message->content->len ? NULL : _("Stopped before it began.");
    case SUNDOG_MESSAGE_LENGTH:
        return _("The answer reached the limit on its length.");
    case SUNDOG_MESSAGE_INTERRUPTED:
        return _("This answer was interrupted.");
    case SUNDOG_MESSAGE_FAILED:
        return message->problem ? message->problem : _("The answer could not be finished.");
    case SUNDOG_MESSAGE_DONE:
        return message->content->len + message->reasoning->len ? NULL : _("The answer is empty.");
    default:
        return NULL;
    }
}

static void
update_notice(SundogAnswerView *self)
{
    const char *text = get_notice(self->message);
    gtk_widget_set_visible(self->notice, text != NULL);
    gtk_label_set_text(self->notice_text, text ? text : "");
    gtk_widget_set_visible(GTK_WIDGET(self->notice_details), self->message->details != NULL);
    gtk_label_set_text(self->notice_details_text,
                       self->message->details ? self->message->details : "");
    if (self->message->state == SUNDOG_MESSAGE_FAILED)
        gtk_widget_add_css_class(self->notice, "bad");
    else
        gtk_widget_remove_css_class(self->notice, "bad");
}

/* Thinking lasts from its first text to the answer's first. */
static void
update_reasoning(SundogAnswerView *self)
{
    SundogMessage *message = self->message;
    bool streaming = message->state == SUNDOG_MESSAGE_STREAMING;
    if (message->reasoning->len == 0)
        return;
    if (streaming && !self->thinking_since_us) {
        self->thinking_since_us = g_get_monotonic_time();
        GSettings *settings = sundog_application_get_settings(sundog_application_get());
        gtk_revealer_set_reveal_child(self->reasoning_revealer,
                                      g_settings_get_boolean(settings, "show-reasoning"));
    }
    bool thinking = streaming && message->content->len == 0;
    if (!thinking && self->thinking_since_us && !self->thought_us)
        self->thought_us = g_get_monotonic_time() - self->thinking_since_us;
    int seconds = (int)(self->thought_us / G_USEC_PER_SEC);
    g_autofree char *label =
        thinking ? g_strdup(_("Thinking"))
        : self->thought_us > 0
            ? g_strdup_printf(
                  ngettext("Thought for %d second", "Thought for %d seconds", MAX(seconds, 1)),
                  MAX(seconds, 1))
            : g_strdup(_("Thoughts"));
    gtk_button_set_label(self->reasoning_button, label);
    gtk_widget_set_visible(self->reasoning_box, TRUE);
    sundog_markdown_view_set_text(self->reasoning, message->reasoning->str,
                                  message->reasoning->len);
}

static void
update_details(SundogAnswerView *self)
{
    g_autofree char *summary = sundog_figures_dup_summary(self->message->statistics);
    g_autofree char *text = sundog_figures_dup_details(self->message);
    gtk_widget_set_visible(GTK_WIDGET(self->details), summary != NULL);
    gtk_menu_button_set_label(self->details, summary ? summary : "");
    gtk_label_set_text(self->details_text, text ? text : "");
    g_autofree char *name = summary ? g_strdup_printf(_("Details, %s"), summary) : NULL;
    if (name)
        gtk_accessible_update_property(GTK_ACCESSIBLE(self->details), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                       name, -1);
}

static void
on_message_changed(SundogAnswerView *self)
{
    SundogMessage *message = self->message;
    bool streaming = message->state == SUNDOG_MESSAGE_STREAMING;
    update_reasoning(self);
    sundog_markdown_view_set_text(self->content, message->content->str, message->content->len);
    if (message->content->len + message->reasoning->len > 0 || !streaming)
        sundog_answer_view_set_activity(self, NULL);
    if (streaming)
        return;
    update_notice(self);
    update_details(self);
    gtk_widget_set_sensitive(self->actions, TRUE);
}

void
sundog_answer_view_set_activity(SundogAnswerView *view, const char *activity)
{
    gtk_widget_set_visible(view->activity_box, activity != NULL);
    gtk_spinner_set_spinning(view->spinner, activity != NULL);
    if (activity)
        gtk_label_set_text(view->activity, activity);
}

void
sundog_answer_view_copy(SundogAnswerView *view)
{
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(view)), view->message->content->str);
}

static void
on_copy(GtkButton *button, SundogAnswerView *self)
{
    sundog_answer_view_copy(self);
}

static void
on_regenerate(GtkButton *button, SundogAnswerView *self)
{
    g_signal_emit(self, signals[REGENERATE], 0);
}

static void
on_switch(SundogAnswerView *self, int step)
{
    g_signal_emit(self, signals[SWITCH], 0, step);
}

static void
on_reasoning_clicked(GtkButton *button, SundogAnswerView *self)
{
    bool open = !gtk_revealer_get_reveal_child(self->reasoning_revealer);
    gtk_revealer_set_reveal_child(self->reasoning_revealer, open);
    gtk_accessible_update_state(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_STATE_EXPANDED, open, -1);
}

SundogMessage *
sundog_answer_view_get_message(SundogAnswerView *view)
{
    return view->message;
}

static void
sundog_answer_view_dispose(GObject *object)
{
    SundogAnswerView *self = SUNDOG_ANSWER_VIEW(object);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_ANSWER_VIEW);
    g_clear_object(&self->message);
    G_OBJECT_CLASS(sundog_answer_view_parent_class)->dispose(object);
}

static void
sundog_answer_view_class_init(SundogAnswerViewClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_answer_view_dispose;
    signals[REGENERATE] = g_signal_new("regenerate", SUNDOG_TYPE_ANSWER_VIEW, G_SIGNAL_RUN_LAST, 0,
                                       NULL, NULL, NULL, G_TYPE_NONE, 0);
    signals[SWITCH] = g_signal_new("switch", SUNDOG_TYPE_ANSWER_VIEW, G_SIGNAL_RUN_LAST, 0, NULL,
                                   NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    g_type_ensure(SUNDOG_TYPE_BRANCH_SWITCHER);
    g_type_ensure(SUNDOG_TYPE_MARKDOWN_VIEW);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/answer-view.ui");
#define BIND(name) gtk_widget_class_bind_template_child(widget_class, SundogAnswerView, name)
    BIND(box);
    BIND(reasoning_box);
    BIND(reasoning_button);
    BIND(reasoning_revealer);
    BIND(reasoning);
    BIND(content);
    BIND(activity_box);
    BIND(activity);
    BIND(spinner);
    BIND(notice);
    BIND(notice_text);
    BIND(notice_details);
    BIND(notice_details_text);
    BIND(actions);
    BIND(branches);
    BIND(details);
    BIND(details_text);
#undef BIND
    gtk_widget_class_bind_template_callback(widget_class, on_copy);
    gtk_widget_class_bind_template_callback(widget_class, on_regenerate);
    gtk_widget_class_bind_template_callback(widget_class, on_reasoning_clicked);
}

static void
sundog_answer_view_init(SundogAnswerView *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    gtk_widget_add_css_class(GTK_WIDGET(self), "message");
    g_signal_connect_swapped(self->branches, "switch", G_CALLBACK(on_switch), self);
}

GtkWidget *
sundog_answer_view_new(SundogMessage *message)
{
    SundogAnswerView *self = g_object_new(SUNDOG_TYPE_ANSWER_VIEW, NULL);
    self->message = g_object_ref(message);
    sundog_branch_switcher_set_message(self->branches, message);
    sundog_passage_mark(GTK_WIDGET(self->reasoning), message->reasoning);
    sundog_passage_mark(GTK_WIDGET(self->content), message->content);
    gtk_widget_set_sensitive(self->actions, message->state != SUNDOG_MESSAGE_STREAMING);
    g_signal_connect_object(message, "changed", G_CALLBACK(on_message_changed), self,
                            G_CONNECT_SWAPPED);
    on_message_changed(self);
    return GTK_WIDGET(self);
}
