/* One table of keys. */

#include "app/selection/selection-keys.h"
#include "app/selection/selection-area.h"

static const struct {
    unsigned key;
    GdkModifierType modifiers;
    SundogMove move;
    int by;
} keys[] = {
    {GDK_KEY_Left, GDK_SHIFT_MASK, SUNDOG_MOVE_CHARACTER, -1},
    {GDK_KEY_Right, GDK_SHIFT_MASK, SUNDOG_MOVE_CHARACTER, 1},
    {GDK_KEY_Left, GDK_SHIFT_MASK | GDK_CONTROL_MASK, SUNDOG_MOVE_WORD, -1},
    {GDK_KEY_Right, GDK_SHIFT_MASK | GDK_CONTROL_MASK, SUNDOG_MOVE_WORD, 1},
    {GDK_KEY_Up, GDK_SHIFT_MASK, SUNDOG_MOVE_LINE, -1},
    {GDK_KEY_Down, GDK_SHIFT_MASK, SUNDOG_MOVE_LINE, 1},
    {GDK_KEY_Home, GDK_SHIFT_MASK, SUNDOG_MOVE_LINE_END, -1},
    {GDK_KEY_End, GDK_SHIFT_MASK, SUNDOG_MOVE_LINE_END, 1},
    {GDK_KEY_Home, GDK_SHIFT_MASK | GDK_CONTROL_MASK, SUNDOG_MOVE_PASSAGE, -1},
    {GDK_KEY_End, GDK_SHIFT_MASK | GDK_CONTROL_MASK, SUNDOG_MOVE_PASSAGE, 1},
};

/* A passage that has got the focus since is where the next selection begins. */
static gboolean
move_cursor(GtkWidget *widget, GVariant *arguments, gpointer user_data)
{
    SundogSelectionArea *area = SUNDOG_SELECTION_AREA(widget);
    SundogPlace anchor = sundog_selection_area_get_anchor(area);
    SundogPlace cursor = sundog_selection_area_get_cursor(area);
    GtkWidget *passage = sundog_selection_area_get_passage(area);
    int move, by;
    if (!passage)
        return FALSE;
    if (anchor.passage != passage && cursor.passage != passage)
        anchor = cursor = sundog_place_get_start(passage);
    g_variant_get(arguments, "(ii)", &move, &by);
    cursor = sundog_place_move(cursor, widget, (SundogMove)move, by);
    sundog_selection_area_begin(area);
    sundog_selection_area_select(area, anchor, cursor);
    sundog_selection_area_show_cursor(area);
    return TRUE;
}

void
sundog_selection_keys_install(GtkWidgetClass *class)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        gtk_widget_class_add_binding(class, keys[i].key, keys[i].modifiers, move_cursor, "(ii)",
                                     (int)keys[i].move, keys[i].by);
}
