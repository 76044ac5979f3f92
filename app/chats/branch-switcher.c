/* Two buttons and a label. */

#include "app/chats/branch-switcher.h"
#include <glib/gi18n.h>

struct _SundogBranchSwitcher {
    GtkWidget parent_instance;
    GtkWidget *before;
    GtkWidget *label;
    GtkWidget *after;
};

enum { SWITCH, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogBranchSwitcher, sundog_branch_switcher, GTK_TYPE_WIDGET)

static void
on_before(SundogBranchSwitcher *self)
{
    g_signal_emit(self, signals[SWITCH], 0, -1);
}

static void
on_after(SundogBranchSwitcher *self)
{
    g_signal_emit(self, signals[SWITCH], 0, 1);
}

void
sundog_branch_switcher_set_message(SundogBranchSwitcher *switcher, SundogMessage *message)
{
    /* Translators: which of several versions of a message is shown, such as "2 / 3". */
    g_autofree char *text =
        g_strdup_printf(_("%u / %u"), message->alternative, message->n_alternatives);
    gtk_label_set_text(GTK_LABEL(switcher->label), text);
    gtk_widget_set_sensitive(switcher->before, message->alternative > 1);
    gtk_widget_set_sensitive(switcher->after, message->alternative < message->n_alternatives);
    gtk_widget_set_visible(GTK_WIDGET(switcher), message->n_alternatives > 1);
}

static GtkWidget *
make_button(SundogBranchSwitcher *self, const char *icon, const char *name, GCallback callback)
{
    GtkWidget *button = gtk_button_new_from_icon_name(icon);
    gtk_widget_set_tooltip_text(button, name);
    gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
    gtk_widget_add_css_class(button, "flat");
    g_signal_connect_swapped(button, "clicked", callback, self);
    return button;
}

static void
sundog_branch_switcher_dispose(GObject *object)
{
    SundogBranchSwitcher *self = SUNDOG_BRANCH_SWITCHER(object);
    g_clear_pointer(&self->before, gtk_widget_unparent);
    g_clear_pointer(&self->label, gtk_widget_unparent);
    g_clear_pointer(&self->after, gtk_widget_unparent);
    G_OBJECT_CLASS(sundog_branch_switcher_parent_class)->dispose(object);
}

static void
sundog_branch_switcher_class_init(SundogBranchSwitcherClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_branch_switcher_dispose;
    signals[SWITCH] = g_signal_new("switch", SUNDOG_TYPE_BRANCH_SWITCHER, G_SIGNAL_RUN_LAST, 0,
                                   NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BOX_LAYOUT);
}

static void
sundog_branch_switcher_init(SundogBranchSwitcher *self)
{
    self->before =
        make_button(self, "sundog-left-symbolic", _("Version before"), G_CALLBACK(on_before));
    self->label = gtk_label_new(NULL);
    self->after =
        make_button(self, "sundog-right-symbolic", _("Version after"), G_CALLBACK(on_after));
    gtk_widget_add_css_class(self->label, "small");
    gtk_widget_add_css_class(self->label, "dim");
    gtk_widget_set_parent(self->before, GTK_WIDGET(self));
    gtk_widget_set_parent(self->label, GTK_WIDGET(self));
    gtk_widget_set_parent(self->after, GTK_WIDGET(self));
    gtk_widget_set_visible(GTK_WIDGET(self), FALSE);
}
