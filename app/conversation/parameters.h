#pragma once

/* What a chat is asked with: instructions and sampling. An empty field means the core's own value.
 * Writes into the chat and signals "changed". */

#include "app/chats/chat.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_PARAMETERS (sundog_parameters_get_type())
G_DECLARE_FINAL_TYPE(SundogParameters, sundog_parameters, SUNDOG, PARAMETERS, GtkWidget)

void sundog_parameters_set_chat(SundogParameters *parameters, SundogChat *chat);
