#pragma once

/* Enter in a text view that sends: only once the input method has let the key go, so that choosing a
 * candidate never sends half a word. Shift+Enter breaks the line, or the other way round by the
 * setting "enter-sends". */

#include <gtk/gtk.h>

/* `send` is called as void (*)(gpointer user_data). */
void sundog_composer_keys_attach(GtkTextView *view, GCallback send, gpointer user_data);
