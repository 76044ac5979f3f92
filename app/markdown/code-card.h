#pragma once

/* A block of code: its language, copy, wrap, and the code itself, highlighted, always left to right.
 * A long block is several cards that look like one; the later ones have no head. */

#include "app/markdown/markdown.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_CODE_CARD (sundog_code_card_get_type())
G_DECLARE_FINAL_TYPE(SundogCodeCard, sundog_code_card, SUNDOG, CODE_CARD, GtkWidget)

GtkWidget *sundog_code_card_new(const SundogBlock *block);
/* Shows this block now; text that only grew is appended. */
void sundog_code_card_update(SundogCodeCard *card, const SundogBlock *block);
/* The widget whose text is selected (text-leaf.h). */
GtkWidget *sundog_code_card_get_leaf(SundogCodeCard *card);
