#pragma once

/* The button in the header bar that says which core answers in this chat, how it runs and whether it is
 * loaded; its popover lists the others. */

#include "app/chats/chat.h"
#include <gtk/gtk.h>
#include <stdbool.h>

#define SUNDOG_TYPE_MODEL_SWITCHER (sundog_model_switcher_get_type())
G_DECLARE_FINAL_TYPE(SundogModelSwitcher, sundog_model_switcher, SUNDOG, MODEL_SWITCHER, GtkWidget)

/* A narrow window leaves room for little but the name. */
void sundog_model_switcher_set_narrow(SundogModelSwitcher *switcher, bool narrow);
void sundog_model_switcher_set_chat(SundogModelSwitcher *switcher, SundogChat *chat);
