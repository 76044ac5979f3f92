/* A revealer at the foot of an overlay. */

#include "app/toaster.h"
#include <glib/gi18n.h>

#define SHOWN_S 6

struct _SundogToaster {
    GtkWidget parent_instance;
    GtkWidget *revealer;
    GtkWidget *label;
    GtkWidget *button;
    void (*undo)(gpointer);
    void (*gone)(gpointer);
    gpointer user_data;
    GDestroyNotify free_data;
    unsigned timer;
};

G_DEFINE_FINAL_TYPE(SundogToaster, sundog_toaster, GTK_TYPE_WIDGET)

static void
dismiss(SundogToaster *self, void (*how)(gpointer))
{
    g_clear_handle_id(&self->timer, g_source_remove);
    gtk_revealer_set_reveal_child(GTK_REVEALER(self->revealer), FALSE);
    gtk_widget_set_can_target(GTK_WIDGET(self), FALSE);
    self->undo = self->gone = NULL;
    gpointer data = g_steal_pointer(&self->user_data);
    if (how)
        how(data);
    if (self->free_data)
        self->free_data(data);
    self->free_data = NULL;
}

static gboolean
on_timeout(gpointer user_data)
{
    SundogToaster *self = user_data;
    self->timer = 0;
    dismiss(self, self->gone);
    return G_SOURCE_REMOVE;
}

static void
on_button(GtkButton *button, SundogToaster *self)
{
    dismiss(self, self->undo);
}

static void
on_close(GtkButton *button, SundogToaster *self)
{
    dismiss(self, self->gone);
}

void
sundog_toaster_show(SundogToaster *toaster, const char *text, const char *button,
                    void (*undo)(gpointer), void (*gone)(gpointer), gpointer user_data,
                    GDestroyNotify free_data)
{
    dismiss(toaster, toaster->gone);
    toaster->undo = undo;
    toaster->gone = gone;
    toaster->user_data = user_data;
    toaster->free_data = free_data;
    gtk_label_set_text(GTK_LABEL(toaster->label), text);
    gtk_widget_set_visible(toaster->button, button != NULL);
    gtk_button_set_label(GTK_BUTTON(toaster->button), button ? button : "");
    gtk_widget_set_can_target(GTK_WIDGET(toaster), TRUE);
    gtk_revealer_set_reveal_child(GTK_REVEALER(toaster->revealer), TRUE);
    toaster->timer = g_timeout_add_seconds(SHOWN_S, on_timeout, toaster);
}

static void
sundog_toaster_dispose(GObject *object)
{
    SundogToaster *self = SUNDOG_TOASTER(object);
    if (self->revealer)
        dismiss(self, self->gone);
    gtk_widget_dispose_template(GTK_WIDGET(object), SUNDOG_TYPE_TOASTER);
    G_OBJECT_CLASS(sundog_toaster_parent_class)->dispose(object);
}

static void
sundog_toaster_class_init(SundogToasterClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_toaster_dispose;
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/toaster.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogToaster, revealer);
    gtk_widget_class_bind_template_child(widget_class, SundogToaster, label);
    gtk_widget_class_bind_template_child(widget_class, SundogToaster, button);
    gtk_widget_class_bind_template_callback(widget_class, on_button);
    gtk_widget_class_bind_template_callback(widget_class, on_close);
}

static void
sundog_toaster_init(SundogToaster *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
    gtk_widget_set_can_target(GTK_WIDGET(self), FALSE);
}
