#pragma once

/*
 * A place in the text of a conversation: a passage, a leaf of it and an offset in that, so that blocks may be
 * replaced around it and messages added. Places are borrowed from the passage's life. Main thread.
 */

#include <gtk/gtk.h>
#include <stdbool.h>

typedef struct {
    GtkWidget *passage; /* NULL: nowhere */
    unsigned leaf;      /* of the passage's leaves, from 0 */
    unsigned offset;    /* in characters */
} SundogPlace;

typedef enum {
    SUNDOG_MOVE_CHARACTER,
    SUNDOG_MOVE_WORD,
    SUNDOG_MOVE_LINE,
    SUNDOG_MOVE_LINE_END,
    SUNDOG_MOVE_PASSAGE,
} SundogMove;

bool sundog_place_equal(SundogPlace a, SundogPlace b);
/* The leaf that a place is in, borrowed; NULL where it is gone. */
GtkWidget *sundog_place_get_leaf(SundogPlace place);
/* Where a caret would stand, in the coordinates of `root`; false where the place is gone. */
bool sundog_place_locate(SundogPlace place, GtkWidget *root, GdkRectangle *caret);
/* The place nearest to a point of `root`; nowhere where there is no text. */
SundogPlace sundog_place_find(GtkWidget *root, double x, double y);
/* Both ends of a passage. */
SundogPlace sundog_place_get_start(GtkWidget *passage);
SundogPlace sundog_place_get_end(GtkWidget *passage);
/* One step forwards (by 1) or backwards (by -1), into the next passage below `root` where one ends; the same
 * place at the end of all text. Lines are those on the screen. */
SundogPlace sundog_place_move(SundogPlace place, GtkWidget *root, SundogMove move, int by);
