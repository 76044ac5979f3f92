/* An entry, a count, and two directions. */

#include "app/conversation/find-bar.h"
#include "app/conversation/message.h"
#include <glib/gi18n.h>
#include <string.h>

struct _SundogFindBar {
    GtkWidget parent_instance;
    GtkSearchBar *bar;
    GtkSearchEntry *entry;
    GtkLabel *count;
    GPtrArray *messages;
    GArray *matches; /* of unsigned, indices of messages */
    char *searched;  /* what they hold */
    unsigned at;
};

enum { FOUND, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogFindBar, sundog_find_bar, GTK_TYPE_WIDGET)

static void
show_match(SundogFindBar *self)
{
    if (self->matches->len == 0) {
        const char *text = gtk_editable_get_text(GTK_EDITABLE(self->entry));
        gtk_label_set_text(self->count, *text ? _("Not found") : "");
        return;
    }
    g_autofree char *text =
        /* Translators: which of the messages that hold the text is shown, such as "2 / 5". */
        g_strdup_printf(_("%u / %u"), self->at + 1, self->matches->len);
    gtk_label_set_text(self->count, text);
    g_signal_emit(self, signals[FOUND], 0, g_array_index(self->matches, unsigned, self->at),
                  self->searched);
    gtk_widget_grab_focus(GTK_WIDGET(self->entry));
}

static void
on_search(GtkSearchEntry *entry, SundogFindBar *self)
{
    g_autofree char *wanted = g_utf8_casefold(gtk_editable_get_text(GTK_EDITABLE(entry)), -1);
    g_array_set_size(self->matches, 0);
    g_free(self->searched);
    self->searched = g_strdup(gtk_editable_get_text(GTK_EDITABLE(entry)));
    for (unsigned i = 0; *wanted && self->messages && i < self->messages->len; i++) {
        SundogMessage *message = self->messages->pdata[i];
        g_autofree char *text = g_utf8_casefold(message->content->str, -1);
        if (strstr(text, wanted))
            g_array_append_val(self->matches, i);
    }
    self->at = self->matches->len ? self->matches->len - 1 : 0;
    show_match(self);
}

static void
step(SundogFindBar *self, int by)
{
    unsigned n = self->matches->len;
    if (n > 0)
        self->at = (self->at + n + by) % n;
    show_match(self);
}

static void
on_before(SundogFindBar *self)
{
    step(self, -1);
}

/* Enter goes on, or searches where the entry has not told of the last keys yet. */
static void
on_activate(SundogFindBar *self)
{
    if (g_strcmp0(self->searched, gtk_editable_get_text(GTK_EDITABLE(self->entry))) == 0)
        step(self, -1);
    else
        on_search(self->entry, self);
}

static void
on_after(SundogFindBar *self)
{
    step(self, 1);
}

static void
on_close(SundogFindBar *self)
{
    sundog_find_bar_close(self);
    gtk_widget_activate_action(GTK_WIDGET(self), "win.focus-composer", NULL);
}

void
sundog_find_bar_open(SundogFindBar *bar, GPtrArray *messages)
{
    g_clear_pointer(&bar->messages, g_ptr_array_unref);
    bar->messages = g_ptr_array_ref(messages);
    gtk_search_bar_set_search_mode(bar->bar, TRUE);
    gtk_widget_grab_focus(GTK_WIDGET(bar->entry));
}

void
sundog_find_bar_close(SundogFindBar *bar)
{
    gtk_search_bar_set_search_mode(bar->bar, FALSE);
    g_clear_pointer(&bar->messages, g_ptr_array_unref);
    g_array_set_size(bar->matches, 0);
    g_clear_pointer(&bar->searched, g_free);
}

static void
sundog_find_bar_dispose(GObject *object)
{
    SundogFindBar *self = SUNDOG_FIND_BAR(object);
    gtk_widget_dispose_template(GTK_WIDGET(self), SUNDOG_TYPE_FIND_BAR);
    g_clear_pointer(&self->messages, g_ptr_array_unref);
    g_clear_pointer(&self->searched, g_free);
    g_clear_pointer(&self->matches, g_array_unref);
    G_OBJECT_CLASS(sundog_find_bar_parent_class)->dispose(object);
}

static void
sundog_find_bar_class_init(SundogFindBarClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);
    G_OBJECT_CLASS(class)->dispose = sundog_find_bar_dispose;
    signals[FOUND] = g_signal_new("found", SUNDOG_TYPE_FIND_BAR, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 2, G_TYPE_UINT, G_TYPE_STRING);
    gtk_widget_class_set_layout_manager_type(widget_class, GTK_TYPE_BIN_LAYOUT);
    gtk_widget_class_set_template_from_resource(widget_class, "/org/sundog/Sundog/find-bar.ui");
    gtk_widget_class_bind_template_child(widget_class, SundogFindBar, bar);
    gtk_widget_class_bind_template_child(widget_class, SundogFindBar, entry);
    gtk_widget_class_bind_template_child(widget_class, SundogFindBar, count);
    gtk_widget_class_bind_template_callback(widget_class, on_search);
    gtk_widget_class_bind_template_callback(widget_class, on_activate);
    gtk_widget_class_bind_template_callback(widget_class, on_before);
    gtk_widget_class_bind_template_callback(widget_class, on_after);
    gtk_widget_class_bind_template_callback(widget_class, on_close);
}

static void
sundog_find_bar_init(SundogFindBar *self)
{
    self->matches = g_array_new(FALSE, FALSE, sizeof(unsigned));
    gtk_widget_init_template(GTK_WIDGET(self));
}
