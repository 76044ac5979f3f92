#pragma once

/* Where a text stands in a conversation. Main thread. */

#include "app/selection/place.h"

/* The first occurrence of `text` below `root`, whatever its case; false where none lies within one leaf, as
 * where it goes over the end of a block or is in what only the source has. */
bool sundog_text_search_find(GtkWidget *root, const char *text, SundogPlace *start,
                             SundogPlace *end);
