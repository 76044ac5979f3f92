/* Text, or an editor in its place. A long text is shown in several labels, as answers are. */

#include "app/conversation/user-card.h"
#include "app/chats/branch-switcher.h"
#include "app/conversation/composer-keys.h"
#include "app/markdown/markdown.h"
#include "app/selection/passage.h"
#include "app/selection/text-leaf.h"
#include <glib/gi18n.h>
#include <string.h>

struct _SundogUserCard {
    GtkWidget parent_instance;
    GtkWidget *box;
    GtkWidget *text;
    GtkWidget *editor_box;
    GtkTextView *editor;
    SundogBranchSwitcher *branches;
    SundogMessage *message;
};

enum { EDIT, SWITCH, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogUserCard, sundog_user_card, GTK_TYPE_WIDGET)

/* The end of a piece of at most `n_max` bytes: at a line end where there is one, never in a character. */
static const char *
find_piece_end(const char *text, size_t n_max)
{
    size_t n = strlen(text);
    if (n <= n_max)
        return text + n;
    const char *newline = g_strrstr_len(text, n_max, "\n");
    if (newline && newline > text)
        return newline + 1;
    const char *end = text + n_max;
    while (end > text && ((unsigned char)*end & 0xC0) == 0x80)
        end--;
    return end;
}

static void
append_label(SundogUserCard *self, const char *text, size_t n_bytes)
{
    g_autofree char *piece = g_strndup(text, n_bytes);
    GtkWidget *label = g_object_new(GTK_TYPE_LABEL, "label", piece, "xalign", 0.0f, "wrap", TRUE,
                                    "wrap-mode", PANGO_WRAP_WORD_CHAR, NULL);
    sundog_text_leaf_mark(label);
    gtk_widget_add_css_class(label, "text");
    gtk_box_append(GTK_BOX(self->text), label);
}

static void
fill_text(SundogUserCard *self)
{
    const char *text = self->message->content->str;
    do {
        const char *end = find_piece_end(text, SUNDOG_BLOCK_MAX_TEXT_BYTES);
        size_t n = end - text;
        append_label(self, text, *end && n > 1 && end[-1] == '\n' ? n - 1 : n);
        text = end;
    } while (*text);
}

static void
set_editing(SundogUserCard *self, bool editing)
{
    gtk_widget_set_visible(self->text, !editing);
    gtk_widget_set_visible(self->editor_box, editing);
    gtk_widget_set_halign(self->box, editing ? GTK_ALIGN_FILL : GTK_ALIGN_END);
}

void
sundog_user_card_edit(SundogUserCard *card)
{
    GtkTextBuffer *buffer = gtk_text_view_get_buffer(card->editor);
    gtk_text_buffer_set_text(buffer, card->message->content->str, -1);
    set_editing(card, true);
    gtk_widget_grab_focus(GTK_WIDGET(card->editor));
}

static void
on_edit(GtkButton *button, SundogUserCard *self)
{
    sundog_user_card_edit(self);
}

static void
on_cancel(GtkButton *button, SundogUserCard *self)
{
    set_editing(self, false);
}

static void
on_send(GtkButton *button, SundogUserCard *self)
{
    GtkTextIter start, end;
    GtkTextBuffer *buffer = gtk_text_view_get_buffer(self->editor);
    gtk_text_buffer_get_bounds(buffer, &start, &end);
    g_autofree char *text = g_strstrip(gtk_text_buffer_get_text(buffer, &start, &end, FALSE));
    if (!*text)
        return;
    set_editing(self, false);
    g_signal_emit(self, signals[EDIT], 0, text);
}

static void
on_editor_send(SundogUserCard *self)
{
    on_send(NULL, self);
}

static gboolean
on_editor_key(GtkEventControllerKey *keys, guint keyval, guint code, GdkModifierType modifiers,
              SundogUserCard *self)
{
    GdkEvent *event = gtk_event_controller_get_current_event(GTK_EVENT_CONTROLLER(keys));
    if (keyval != GDK_KEY_Escape)
        return FALSE;
    /* What an input method composes is given up first. */
    if (!gtk_text_view_im_context_filter_keypress(self->editor, event))
        set_editing(self, false);
    return TRUE;
}

static void
on_copy(GtkButton *button, SundogUserCard *self)
{
    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), self->message->content->str);
}

static void
on_switch(SundogUserCard *self, int step)
{
    g_signal_emit(self, signals[SWITCH], 0, step);
}

SundogMessage *
sundog_user_card_get_message(SundogUserCard *card)
{
    return card->message;
}

static void
sundog_user_card_dispose(GObject *object)
{
    SundogUserCard *self = SUNDOG_USER_CARD(object);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_USER_CARD);
    g_clear_object(&self->message);
    G_OBJECT_CLASS(sundog_user_card_parent_class)->dispose(object);
}

static void
sundog_user_card_class_init(SundogUserCardClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_user_card_dispose;
    signals[EDIT] = g_signal_new("edit", SUNDOG_TYPE_USER_CARD, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                 NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
    signals[SWITCH] = g_signal_new("switch", SUNDOG_TYPE_USER_CARD, G_SIGNAL_RUN_LAST, 0, NULL,
                                   NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    g_type_ensure(SUNDOG_TYPE_BRANCH_SWITCHER);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/user-card.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogUserCard, box);
    gtk_widget_class_bind_template_child(widget_class, SundogUserCard, text);
    gtk_widget_class_bind_template_child(widget_class, SundogUserCard, editor_box);
    gtk_widget_class_bind_template_child(widget_class, SundogUserCard, editor);
    gtk_widget_class_bind_template_child(widget_class, SundogUserCard, branches);
    gtk_widget_class_bind_template_callback(widget_class, on_edit);
    gtk_widget_class_bind_template_callback(widget_class, on_cancel);
    gtk_widget_class_bind_template_callback(widget_class, on_send);
    gtk_widget_class_bind_template_callback(widget_class, on_copy);
}

static void
sundog_user_card_init(SundogUserCard *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    gtk_widget_add_css_class(GTK_WIDGET(self), "message");
    gtk_widget_add_css_class(GTK_WIDGET(self), "user");
    sundog_composer_keys_attach(self->editor, G_CALLBACK(on_editor_send), self);
    GtkEventController *keys = gtk_event_controller_key_new();
    g_signal_connect(keys, "key-pressed", G_CALLBACK(on_editor_key), self);
    gtk_widget_add_controller(GTK_WIDGET(self->editor), keys);
    g_signal_connect_swapped(self->branches, "switch", G_CALLBACK(on_switch), self);
}

GtkWidget *
sundog_user_card_new(SundogMessage *message)
{
    SundogUserCard *self = g_object_new(SUNDOG_TYPE_USER_CARD, NULL);
    self->message = g_object_ref(message);
    sundog_branch_switcher_set_message(self->branches, message);
    fill_text(self);
    sundog_passage_mark(self->text, message->content);
    set_editing(self, false);
    return GTK_WIDGET(self);
}
