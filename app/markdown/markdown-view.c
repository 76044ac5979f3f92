/* Keeps a column of block widgets in step with a growing text. */

#include "app/markdown/markdown-view.h"
#include "app/markdown/block-view.h"
#include "app/markdown/markdown.h"
#include <string.h>

/* After an update that took t, the next one comes no earlier than this many t later. */
#define REST_FACTOR 4

struct _SundogMarkdownView {
    GtkWidget parent_instance;
    SundogMarkdown *markdown;
    size_t n_bytes;
    GPtrArray *views; /* the block widgets, borrowed */
    unsigned n_final; /* of them need no look any more */
    unsigned tick;
    int64_t not_before_us;
};

G_DEFINE_FINAL_TYPE(SundogMarkdownView, sundog_markdown_view, GTK_TYPE_WIDGET)

static void
drop_views_from(SundogMarkdownView *self, unsigned n)
{
    while (self->views->len > n) {
        gtk_widget_unparent(self->views->pdata[self->views->len - 1]);
        g_ptr_array_set_size(self->views, self->views->len - 1);
    }
}

static void
append_view(SundogMarkdownView *self, const SundogBlock *block)
{
    GtkWidget *view = sundog_block_view_new(block);
    if (self->views->len == 0)
        gtk_widget_set_margin_top(view, 0);
    gtk_widget_set_parent(view, GTK_WIDGET(self));
    g_ptr_array_add(self->views, view);
}

static void
update(SundogMarkdownView *self)
{
    unsigned n_final;
    GPtrArray *blocks = sundog_markdown_get_blocks(self->markdown, &n_final);
    for (unsigned i = self->n_final; i < blocks->len; i++) {
        if (i < self->views->len &&
            sundog_block_view_update(self->views->pdata[i], blocks->pdata[i]))
            continue;
        drop_views_from(self, i);
        append_view(self, blocks->pdata[i]);
    }
    drop_views_from(self, blocks->len);
    self->n_final = n_final;
}

static gboolean
on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer user_data)
{
    SundogMarkdownView *self = SUNDOG_MARKDOWN_VIEW(widget);
    int64_t start = g_get_monotonic_time();
    if (start < self->not_before_us)
        return G_SOURCE_CONTINUE;
    update(self);
    int64_t end = g_get_monotonic_time();
    self->not_before_us = end + (end - start) * REST_FACTOR;
    self->tick = 0;
    return G_SOURCE_REMOVE;
}

static void
start_anew(SundogMarkdownView *self)
{
    drop_views_from(self, 0);
    g_clear_pointer(&self->markdown, sundog_markdown_free);
    self->markdown = sundog_markdown_new();
    self->n_bytes = 0;
    self->n_final = 0;
}

void
sundog_markdown_view_set_text(SundogMarkdownView *view, const char *text, size_t n_bytes)
{
    if (n_bytes < view->n_bytes ||
        memcmp(sundog_markdown_get_text(view->markdown), text, view->n_bytes) != 0)
        start_anew(view);
    if (n_bytes == view->n_bytes)
        return;
    bool first = view->n_bytes == 0;
    sundog_markdown_append(view->markdown, text + view->n_bytes, n_bytes - view->n_bytes);
    view->n_bytes = n_bytes;
    if (first)
        update(view);
    else if (!view->tick)
        view->tick = gtk_widget_add_tick_callback(GTK_WIDGET(view), on_tick, NULL, NULL);
}

static void
sundog_markdown_view_dispose(GObject *object)
{
    SundogMarkdownView *self = SUNDOG_MARKDOWN_VIEW(object);
    if (self->views)
        drop_views_from(self, 0);
    g_clear_pointer(&self->views, g_ptr_array_unref);
    g_clear_pointer(&self->markdown, sundog_markdown_free);
    G_OBJECT_CLASS(sundog_markdown_view_parent_class)->dispose(object);
}

static void
sundog_markdown_view_class_init(SundogMarkdownViewClass *class)
{
    G_OBJECT_CLASS(class)->dispose = sundog_markdown_view_dispose;
    gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(class), GTK_TYPE_BOX_LAYOUT);
    gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(class), GTK_ACCESSIBLE_ROLE_GROUP);
}

static void
sundog_markdown_view_init(SundogMarkdownView *self)
{
    self->markdown = sundog_markdown_new();
    self->views = g_ptr_array_new();
    gtk_orientable_set_orientation(GTK_ORIENTABLE(gtk_widget_get_layout_manager(GTK_WIDGET(self))),
                                   GTK_ORIENTATION_VERTICAL);
}

GtkWidget *
sundog_markdown_view_new(void)
{
    return g_object_new(SUNDOG_TYPE_MARKDOWN_VIEW, NULL);
}
