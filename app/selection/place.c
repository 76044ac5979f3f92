/* Places by pointer and by step. The tree of widgets is walked each time: it may have changed, and is small. */

#include "app/selection/place.h"
#include "app/selection/passage.h"
#include "app/selection/text-leaf.h"
#include <math.h>

static GPtrArray *
dup_leaves(GtkWidget *passage)
{
    GPtrArray *leaves = g_ptr_array_new();
    if (passage)
        sundog_text_leaf_collect(passage, leaves);
    return leaves;
}

bool
sundog_place_equal(SundogPlace a, SundogPlace b)
{
    return a.passage == b.passage && a.leaf == b.leaf && a.offset == b.offset;
}

GtkWidget *
sundog_place_get_leaf(SundogPlace place)
{
    g_autoptr(GPtrArray) leaves = dup_leaves(place.passage);
    return place.leaf < leaves->len ? leaves->pdata[place.leaf] : NULL;
}

bool
sundog_place_locate(SundogPlace place, GtkWidget *root, GdkRectangle *caret)
{
    double x, y;
    GtkWidget *leaf = sundog_place_get_leaf(place);
    if (!leaf || !gtk_widget_translate_coordinates(leaf, root, 0, 0, &x, &y))
        return false;
    sundog_text_leaf_locate(leaf, place.offset, caret);
    caret->x += (int)x;
    caret->y += (int)y;
    return true;
}

SundogPlace
sundog_place_get_start(GtkWidget *passage)
{
    return (SundogPlace){.passage = passage};
}

SundogPlace
sundog_place_get_end(GtkWidget *passage)
{
    g_autoptr(GPtrArray) leaves = dup_leaves(passage);
    SundogPlace place = {.passage = passage};
    if (leaves->len > 0) {
        place.leaf = leaves->len - 1;
        place.offset = sundog_text_leaf_count(leaves->pdata[place.leaf]);
    }
    return place;
}

/* How far a point is from an area: above all in height, so that what is beside a line belongs to it. */
static double
get_distance(const graphene_rect_t *bounds, double x, double y)
{
    double left = bounds->origin.x, top = bounds->origin.y;
    double dx = MAX(MAX(left - x, x - left - bounds->size.width), 0);
    double dy = MAX(MAX(top - y, y - top - bounds->size.height), 0);
    return dy * 10000 + dx;
}

/* The index of the nearest of some widgets, -1 where there is none. */
static int
find_nearest(const GPtrArray *widgets, GtkWidget *root, double x, double y)
{
    int nearest = -1;
    double least = G_MAXDOUBLE;
    for (unsigned i = 0; i < widgets->len; i++) {
        graphene_rect_t bounds;
        if (!gtk_widget_compute_bounds(widgets->pdata[i], root, &bounds))
            continue;
        double distance = get_distance(&bounds, x, y);
        if (distance < least) {
            least = distance;
            nearest = (int)i;
        }
    }
    return nearest;
}

/* Above a leaf is its begin, below it its end. */
static unsigned
find_offset(GtkWidget *leaf, GtkWidget *root, double x, double y)
{
    double leaf_x, leaf_y;
    if (!gtk_widget_translate_coordinates(root, leaf, x, y, &leaf_x, &leaf_y) || leaf_y < 0)
        return 0;
    if (leaf_y > gtk_widget_get_height(leaf))
        return sundog_text_leaf_count(leaf);
    return sundog_text_leaf_find_at(leaf, leaf_x, leaf_y);
}

SundogPlace
sundog_place_find(GtkWidget *root, double x, double y)
{
    g_autoptr(GPtrArray) passages = g_ptr_array_new();
    sundog_passage_collect(root, passages);
    int passage = find_nearest(passages, root, x, y);
    if (passage < 0)
        return (SundogPlace){NULL, 0, 0};
    SundogPlace place = sundog_place_get_start(passages->pdata[passage]);
    g_autoptr(GPtrArray) leaves = dup_leaves(place.passage);
    int leaf = find_nearest(leaves, root, x, y);
    if (leaf >= 0) {
        place.leaf = (unsigned)leaf;
        place.offset = find_offset(leaves->pdata[leaf], root, x, y);
    }
    return place;
}

/* The passage before or after one, NULL at the end. */
static GtkWidget *
get_neighbour(GtkWidget *passage, GtkWidget *root, int by)
{
    g_autoptr(GPtrArray) passages = g_ptr_array_new();
    unsigned index;
    sundog_passage_collect(root, passages);
    if (!g_ptr_array_find(passages, passage, &index) || (by < 0 && index == 0) ||
        (by > 0 && index + 1 == passages->len))
        return NULL;
    return passages->pdata[index + by];
}

/* Into the leaf before or after. */
static SundogPlace
step_leaf(SundogPlace place, GtkWidget *root, int by)
{
    g_autoptr(GPtrArray) leaves = dup_leaves(place.passage);
    if (by > 0 && place.leaf + 1 < leaves->len)
        return (SundogPlace){place.passage, place.leaf + 1, 0};
    if (by < 0 && place.leaf > 0) {
        unsigned n = sundog_text_leaf_count(leaves->pdata[place.leaf - 1]);
        return (SundogPlace){place.passage, place.leaf - 1, n};
    }
    GtkWidget *next = get_neighbour(place.passage, root, by);
    if (!next)
        return place;
    return by > 0 ? sundog_place_get_start(next) : sundog_place_get_end(next);
}

static SundogPlace
step_in_leaf(SundogPlace place, GtkWidget *root, GtkWidget *leaf, SundogMove move, int by)
{
    unsigned n = sundog_text_leaf_count(leaf), offset = MIN(place.offset, n);
    if (by < 0 ? offset == 0 : offset == n)
        return step_leaf(place, root, by);
    place.offset = move == SUNDOG_MOVE_WORD ? sundog_text_leaf_step_word(leaf, offset, by)
                                            : offset + (unsigned)by;
    return place;
}

/* One line down or up from the caret, or else into the next leaf, whose first line may be far away. */
static SundogPlace
step_line(SundogPlace place, GtkWidget *root, int by)
{
    GdkRectangle caret, moved;
    if (!sundog_place_locate(place, root, &caret))
        return place;
    double y = by > 0 ? caret.y + caret.height * 1.5 : caret.y - caret.height * 0.5;
    SundogPlace next = sundog_place_find(root, caret.x, y);
    bool onwards =
        sundog_place_locate(next, root, &moved) && (by > 0 ? moved.y > caret.y : moved.y < caret.y);
    if (onwards)
        return next;
    SundogPlace other = step_leaf(place, root, by);
    if (sundog_place_equal(other, place) || !sundog_place_locate(other, root, &moved))
        return by > 0 ? sundog_place_get_end(place.passage) : sundog_place_get_start(place.passage);
    return sundog_place_find(root, caret.x, moved.y + moved.height / 2.0);
}

static SundogPlace
step_line_end(SundogPlace place, GtkWidget *root, int by)
{
    GdkRectangle caret;
    GtkWidget *leaf = sundog_place_get_leaf(place);
    if (!leaf || !sundog_place_locate(place, root, &caret))
        return place;
    graphene_rect_t bounds;
    if (!gtk_widget_compute_bounds(leaf, root, &bounds))
        return place;
    double x = by > 0 ? bounds.origin.x + bounds.size.width : bounds.origin.x;
    place.offset = find_offset(leaf, root, x, caret.y + caret.height / 2.0);
    return place;
}

SundogPlace
sundog_place_move(SundogPlace place, GtkWidget *root, SundogMove move, int by)
{
    GtkWidget *leaf = sundog_place_get_leaf(place);
    if (!leaf)
        return place;
    switch (move) {
    case SUNDOG_MOVE_LINE:
        return step_line(place, root, by);
    case SUNDOG_MOVE_LINE_END:
        return step_line_end(place, root, by);
    case SUNDOG_MOVE_PASSAGE:
        return by > 0 ? sundog_place_get_end(place.passage) : sundog_place_get_start(place.passage);
    default:
        return step_in_leaf(place, root, leaf, move, by);
    }
}
