/* One set of functions for both kinds of widget, so that a selection need not tell them apart. */

#include "app/selection/text-leaf.h"

#define STRETCH "sundog-text-leaf"
/* The least width of a selected line, so that a selected empty line is seen. */
#define LEAST_WIDTH 4

typedef struct {
    bool selected;
    unsigned start, end;
    cairo_region_t *region; /* what it covers, in the coordinates of the text; NULL: nothing */
} Stretch;

static void
stretch_free(gpointer data)
{
    Stretch *stretch = data;
    g_clear_pointer(&stretch->region, cairo_region_destroy);
    g_free(stretch);
}

static Stretch *
get_stretch(GtkWidget *leaf)
{
    return g_object_get_data(G_OBJECT(leaf), STRETCH);
}

void
sundog_text_leaf_mark(GtkWidget *leaf)
{
    g_object_set_data_full(G_OBJECT(leaf), STRETCH, g_new0(Stretch, 1), stretch_free);
    if (GTK_IS_LABEL(leaf))
        gtk_widget_set_cursor_from_name(leaf, "text");
}

void
sundog_text_leaf_collect(GtkWidget *root, GPtrArray *leaves)
{
    if (!gtk_widget_get_visible(root) || !gtk_widget_get_child_visible(root))
        return;
    if (get_stretch(root)) {
        g_ptr_array_add(leaves, root);
        return;
    }
    GtkWidget *child = gtk_widget_get_first_child(root);
    for (; child; child = gtk_widget_get_next_sibling(child))
        sundog_text_leaf_collect(child, leaves);
}

unsigned
sundog_text_leaf_count(GtkWidget *leaf)
{
    if (GTK_IS_TEXT_VIEW(leaf))
        return gtk_text_buffer_get_char_count(gtk_text_view_get_buffer(GTK_TEXT_VIEW(leaf)));
    return g_utf8_strlen(gtk_label_get_text(GTK_LABEL(leaf)), -1);
}

static unsigned
find_in_text_view(GtkTextView *view, double x, double y)
{
    GtkTextIter at;
    int buffer_x, buffer_y, trailing;
    gtk_text_view_window_to_buffer_coords(view, GTK_TEXT_WINDOW_WIDGET, (int)x, (int)y, &buffer_x,
                                          &buffer_y);
    gtk_text_view_get_iter_at_position(view, &at, &trailing, buffer_x, buffer_y);
    return gtk_text_iter_get_offset(&at) + trailing;
}

static unsigned
find_in_label(GtkLabel *label, double x, double y)
{
    int layout_x, layout_y, index, trailing;
    gtk_label_get_layout_offsets(label, &layout_x, &layout_y);
    pango_layout_xy_to_index(gtk_label_get_layout(label), (int)((x - layout_x) * PANGO_SCALE),
                             (int)((y - layout_y) * PANGO_SCALE), &index, &trailing);
    const char *text = gtk_label_get_text(label);
    return g_utf8_pointer_to_offset(text, text + index) + trailing;
}

unsigned
sundog_text_leaf_find_at(GtkWidget *leaf, double x, double y)
{
    unsigned at = GTK_IS_TEXT_VIEW(leaf) ? find_in_text_view(GTK_TEXT_VIEW(leaf), x, y)
                                         : find_in_label(GTK_LABEL(leaf), x, y);
    return MIN(at, sundog_text_leaf_count(leaf));
}

static void
get_iter(GtkWidget *leaf, unsigned offset, GtkTextIter *at)
{
    gtk_text_buffer_get_iter_at_offset(gtk_text_view_get_buffer(GTK_TEXT_VIEW(leaf)), at,
                                       (int)offset);
}

static char *
dup_stretch(GtkWidget *leaf, unsigned start, unsigned end)
{
    if (!GTK_IS_TEXT_VIEW(leaf))
        return g_utf8_substring(gtk_label_get_text(GTK_LABEL(leaf)), start, end);
    GtkTextIter a, b;
    get_iter(leaf, start, &a);
    get_iter(leaf, end, &b);
    return gtk_text_iter_get_text(&a, &b);
}

char *
sundog_text_leaf_dup_text(GtkWidget *leaf)
{
    return dup_stretch(leaf, 0, sundog_text_leaf_count(leaf));
}

/* n + 1 of them for n characters. */
static PangoLogAttr *
dup_attributes(GtkWidget *leaf, unsigned n)
{
    g_autofree char *text = sundog_text_leaf_dup_text(leaf);
    PangoLogAttr *attributes = g_new0(PangoLogAttr, n + 1);
    pango_get_log_attrs(text, -1, -1, pango_language_get_default(), attributes, (int)n + 1);
    return attributes;
}

void
sundog_text_leaf_find_word(GtkWidget *leaf, unsigned offset, unsigned *start, unsigned *end)
{
    unsigned n = sundog_text_leaf_count(leaf);
    g_autofree PangoLogAttr *attributes = dup_attributes(leaf, n);
    unsigned first = MIN(offset, n);
    *start = first;
    *end = MIN(first + 1, n);
    while (first > 0 && !attributes[first].is_word_start)
        first--;
    if (!attributes[first].is_word_start)
        return;
    unsigned last = first + 1;
    while (last < n && !attributes[last].is_word_end)
        last++;
    if (last < offset)
        return;
    *start = first;
    *end = MIN(last, n);
}

unsigned
sundog_text_leaf_step_word(GtkWidget *leaf, unsigned offset, int by)
{
    unsigned n = sundog_text_leaf_count(leaf);
    g_autofree PangoLogAttr *attributes = dup_attributes(leaf, n);
    unsigned at = MIN(offset, n);
    if (by < 0)
        do
            at -= at > 0;
        while (at > 0 && !attributes[at].is_word_start);
    else
        do
            at += at < n;
        while (at < n && !attributes[at].is_word_end);
    return at;
}

static void
locate_in_text_view(GtkTextView *view, unsigned offset, GdkRectangle *caret)
{
    GtkTextIter at;
    get_iter(GTK_WIDGET(view), offset, &at);
    gtk_text_view_get_iter_location(view, &at, caret);
    gtk_text_view_buffer_to_window_coords(view, GTK_TEXT_WINDOW_WIDGET, caret->x, caret->y,
                                          &caret->x, &caret->y);
}

static int
get_index(GtkLabel *label, unsigned offset)
{
    const char *text = gtk_label_get_text(label);
    return (int)(g_utf8_offset_to_pointer(text, offset) - text);
}

static void
locate_in_label(GtkLabel *label, unsigned offset, GdkRectangle *caret)
{
    PangoRectangle strong;
    int x, y;
    gtk_label_get_layout_offsets(label, &x, &y);
    pango_layout_get_cursor_pos(gtk_label_get_layout(label), get_index(label, offset), &strong,
                                NULL);
    *caret = (GdkRectangle){x + PANGO_PIXELS(strong.x), y + PANGO_PIXELS(strong.y), 1,
                            PANGO_PIXELS(strong.height)};
}

void
sundog_text_leaf_locate(GtkWidget *leaf, unsigned offset, GdkRectangle *caret)
{
    unsigned at = MIN(offset, sundog_text_leaf_count(leaf));
    if (GTK_IS_TEXT_VIEW(leaf))
        locate_in_text_view(GTK_TEXT_VIEW(leaf), at, caret);
    else
        locate_in_label(GTK_LABEL(leaf), at, caret);
}

void
sundog_text_leaf_select(GtkWidget *leaf, bool selected, unsigned start, unsigned end)
{
    Stretch *stretch = get_stretch(leaf);
    g_clear_pointer(&stretch->region, cairo_region_destroy);
    *stretch = (Stretch){.selected = selected, .start = start, .end = end};
}

/* The text may have changed since it was selected. */
bool
sundog_text_leaf_get_selected(GtkWidget *leaf, unsigned *start, unsigned *end)
{
    const Stretch *stretch = get_stretch(leaf);
    unsigned n = stretch->selected ? sundog_text_leaf_count(leaf) : 0;
    unsigned first = MIN(stretch->start, n), last = CLAMP(stretch->end, first, n);
    if (start)
        *start = first;
    if (end)
        *end = last;
    return stretch->selected;
}

bool
sundog_text_leaf_is_whole(GtkWidget *leaf)
{
    unsigned start, end;
    return sundog_text_leaf_get_selected(leaf, &start, &end) && start == 0 &&
           end == sundog_text_leaf_count(leaf);
}

char *
sundog_text_leaf_dup_selected(GtkWidget *leaf)
{
    unsigned start, end;
    sundog_text_leaf_get_selected(leaf, &start, &end);
    return dup_stretch(leaf, start, end);
}

/* From the first to the last selected character of one line on the screen. */
static void
add_line(cairo_region_t *region, GtkTextView *view, const GtkTextIter *first, GtkTextIter end)
{
    GdkRectangle left, right;
    gtk_text_view_get_iter_location(view, first, &left);
    gtk_text_iter_backward_char(&end);
    gtk_text_view_get_iter_location(view, &end, &right);
    left.width = MAX(right.x + right.width - left.x, LEAST_WIDTH);
    cairo_region_union_rectangle(region, &left);
}

static cairo_region_t *
dup_text_view_region(GtkTextView *view, unsigned start, unsigned end)
{
    cairo_region_t *region = cairo_region_create();
    GtkTextIter at, last;
    get_iter(GTK_WIDGET(view), start, &at);
    get_iter(GTK_WIDGET(view), end, &last);
    while (gtk_text_iter_compare(&at, &last) < 0) {
        GtkTextIter next = at;
        gtk_text_view_forward_display_line(view, &next);
        if (gtk_text_iter_compare(&next, &at) <= 0 || gtk_text_iter_compare(&next, &last) > 0)
            next = last;
        add_line(region, view, &at, next);
        at = next;
    }
    return region;
}

static cairo_region_t *
dup_label_region(GtkLabel *label, unsigned start, unsigned end)
{
    int x, y, range[] = {get_index(label, start), get_index(label, end)};
    gtk_label_get_layout_offsets(label, &x, &y);
    return gdk_pango_layout_get_clip_region(gtk_label_get_layout(label), x, y, range, 1);
}

void
sundog_text_leaf_measure(GtkWidget *leaf)
{
    unsigned start, end;
    Stretch *stretch = get_stretch(leaf);
    sundog_text_leaf_get_selected(leaf, &start, &end);
    g_clear_pointer(&stretch->region, cairo_region_destroy);
    if (start < end)
        stretch->region = GTK_IS_TEXT_VIEW(leaf)
                              ? dup_text_view_region(GTK_TEXT_VIEW(leaf), start, end)
                              : dup_label_region(GTK_LABEL(leaf), start, end);
}

void
sundog_text_leaf_snapshot(GtkWidget *leaf, GtkSnapshot *snapshot, const GdkRGBA *colour)
{
    const Stretch *stretch = get_stretch(leaf);
    int x = 0, y = 0;
    if (GTK_IS_TEXT_VIEW(leaf))
        gtk_text_view_buffer_to_window_coords(GTK_TEXT_VIEW(leaf), GTK_TEXT_WINDOW_WIDGET, 0, 0, &x,
                                              &y);
    for (int i = 0; stretch->region && i < cairo_region_num_rectangles(stretch->region); i++) {
        cairo_rectangle_int_t r;
        cairo_region_get_rectangle(stretch->region, i, &r);
        gtk_snapshot_append_color(snapshot, colour,
                                  &GRAPHENE_RECT_INIT(x + r.x, y + r.y, r.width, r.height));
    }
}
