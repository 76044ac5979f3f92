/* One row, its actions ("row.…") and its editor. */

#include "app/chats/chat-row.h"
#include "app/application.h"
#include "app/chats/swipe.h"
#include <glib/gi18n.h>

struct _SundogChatRow {
    GtkListBoxRow parent_instance;
    GtkStack *stack;
    GtkLabel *title;
    GtkEntry *entry;
    GtkSpinner *running;
    GtkMenuButton *menu;
    SundogChat *chat;
};

enum { DELETE, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogChatRow, sundog_chat_row, GTK_TYPE_LIST_BOX_ROW)

static SundogChats *
get_chats(void)
{
    return sundog_application_get_chats(sundog_application_get());
}

static void
on_chat_changed(SundogChatRow *self)
{
    const char *title = sundog_chat_get_display_title(self->chat);
    gtk_label_set_text(self->title, title);
    gtk_widget_set_tooltip_text(GTK_WIDGET(self->title), title);
    gtk_widget_set_visible(GTK_WIDGET(self->running), self->chat->running);
    gtk_spinner_set_spinning(self->running, self->chat->running);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
    g_autofree char *menu = g_strdup_printf(_("Menu of “%s”"), title);
    gtk_accessible_update_property(GTK_ACCESSIBLE(self->menu), GTK_ACCESSIBLE_PROPERTY_LABEL, menu,
                                   -1);
}

static void
end_rename(SundogChatRow *self, gboolean keep)
{
    if (g_strcmp0(gtk_stack_get_visible_child_name(self->stack), "entry") != 0)
        return;
    gtk_stack_set_visible_child_name(self->stack, "title");
    g_autofree char *title = g_strdup(gtk_editable_get_text(GTK_EDITABLE(self->entry)));
    if (keep && *g_strstrip(title))
        sundog_chats_rename(get_chats(), self->chat, title);
}

static void
rename_chat(GtkWidget *widget, const char *action, GVariant *parameter)
{
    SundogChatRow *self = SUNDOG_CHAT_ROW(widget);
    gtk_editable_set_text(GTK_EDITABLE(self->entry), sundog_chat_get_display_title(self->chat));
    gtk_stack_set_visible_child_name(self->stack, "entry");
    gtk_widget_grab_focus(GTK_WIDGET(self->entry));
}

static void
pin_chat(GtkWidget *widget, const char *action, GVariant *parameter)
{
    SundogChat *chat = SUNDOG_CHAT_ROW(widget)->chat;
    sundog_chats_set_pinned(get_chats(), chat, !chat->pinned);
}

static void
delete_chat(GtkWidget *widget, const char *action, GVariant *parameter)
{
    g_signal_emit(widget, signals[DELETE], 0);
}

static void
on_swiped(SundogChatRow *self)
{
    delete_chat(GTK_WIDGET(self), NULL, NULL);
}

static void
on_entry_activate(GtkEntry *entry, SundogChatRow *self)
{
    end_rename(self, TRUE);
    gtk_widget_grab_focus(GTK_WIDGET(self));
}

static void
on_entry_leave(GtkEventControllerFocus *focus, SundogChatRow *self)
{
    end_rename(self, TRUE);
}

static gboolean
on_entry_key(GtkEventControllerKey *keys, guint keyval, guint code, GdkModifierType modifiers,
             SundogChatRow *self)
{
    if (keyval != GDK_KEY_Escape)
        return FALSE;
    end_rename(self, FALSE);
    gtk_widget_grab_focus(GTK_WIDGET(self));
    return TRUE;
}

static void
on_secondary_click(GtkGestureClick *click, int n_press, double x, double y, SundogChatRow *self)
{
    gtk_menu_button_popup(self->menu);
}

SundogChat *
sundog_chat_row_get_chat(SundogChatRow *row)
{
    return row->chat;
}

static void
sundog_chat_row_dispose(GObject *object)
{
    SundogChatRow *self = SUNDOG_CHAT_ROW(object);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_CHAT_ROW);
    g_clear_object(&self->chat);
    G_OBJECT_CLASS(sundog_chat_row_parent_class)->dispose(object);
}

static void
sundog_chat_row_class_init(SundogChatRowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_chat_row_dispose;
    signals[DELETE] = g_signal_new("delete", SUNDOG_TYPE_CHAT_ROW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                   NULL, G_TYPE_NONE, 0);
    g_type_ensure(SUNDOG_TYPE_SWIPE);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/chat-row.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogChatRow, stack);
    gtk_widget_class_bind_template_child(widget_class, SundogChatRow, title);
    gtk_widget_class_bind_template_child(widget_class, SundogChatRow, entry);
    gtk_widget_class_bind_template_child(widget_class, SundogChatRow, running);
    gtk_widget_class_bind_template_child(widget_class, SundogChatRow, menu);
    gtk_widget_class_bind_template_callback(widget_class, on_entry_activate);
    gtk_widget_class_bind_template_callback(widget_class, on_swiped);
    gtk_widget_class_install_action(widget_class, "row.rename", NULL, rename_chat);
    gtk_widget_class_install_action(widget_class, "row.pin", NULL, pin_chat);
    gtk_widget_class_install_action(widget_class, "row.delete", NULL, delete_chat);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_F2, 0, "row.rename", NULL);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_Delete, 0, "row.delete", NULL);
}

static void
sundog_chat_row_init(SundogChatRow *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    GtkEventController *focus = gtk_event_controller_focus_new();
    g_signal_connect(focus, "leave", G_CALLBACK(on_entry_leave), self);
    gtk_widget_add_controller(GTK_WIDGET(self->entry), focus);
    GtkEventController *keys = gtk_event_controller_key_new();
    g_signal_connect(keys, "key-pressed", G_CALLBACK(on_entry_key), self);
    gtk_widget_add_controller(GTK_WIDGET(self->entry), keys);
    GtkGesture *click = gtk_gesture_click_new();
    gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(click), GDK_BUTTON_SECONDARY);
    g_signal_connect(click, "pressed", G_CALLBACK(on_secondary_click), self);
    gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(click));
}

GtkWidget *
sundog_chat_row_new(SundogChat *chat)
{
    SundogChatRow *self = g_object_new(SUNDOG_TYPE_CHAT_ROW, NULL);
    self->chat = g_object_ref(chat);
    g_signal_connect_object(chat, "changed", G_CALLBACK(on_chat_changed), self, G_CONNECT_SWAPPED);
    on_chat_changed(self);
    return GTK_WIDGET(self);
}
