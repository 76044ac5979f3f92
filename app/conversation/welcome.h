#pragma once

/* What an empty chat shows: the model's name and three things to try; without a model, the one step
 * to the first. Signal: "suggestion" (text). */

#include "app/chats/chat.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_WELCOME (sundog_welcome_get_type())
G_DECLARE_FINAL_TYPE(SundogWelcome, sundog_welcome, SUNDOG, WELCOME, GtkWidget)

void sundog_welcome_set_chat(SundogWelcome *welcome, SundogChat *chat);
