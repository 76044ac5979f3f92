#pragma once

/* What the person wrote: a soft card at the right, with copy, edit and, where it was edited before, the
 * other versions. Signals: "edit" (new text), "switch" (step). */

#include "app/conversation/message.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_USER_CARD (sundog_user_card_get_type())
G_DECLARE_FINAL_TYPE(SundogUserCard, sundog_user_card, SUNDOG, USER_CARD, GtkWidget)

GtkWidget *sundog_user_card_new(SundogMessage *message);
SundogMessage *sundog_user_card_get_message(SundogUserCard *card);
/* Opens the editor in place. */
void sundog_user_card_edit(SundogUserCard *card);
