#pragma once

/* Tells screen readers what an answer says, a sentence at a time, not a token at a time. Where the GTK
 * at hand can announce (4.14 and later) it does; before, the sentence becomes the name of a hidden
 * status widget, which assistive programs read when it changes. */

#include "app/conversation/message.h"
#include <gtk/gtk.h>
#include <stdbool.h>

#define SUNDOG_TYPE_ANNOUNCER (sundog_announcer_get_type())
G_DECLARE_FINAL_TYPE(SundogAnnouncer, sundog_announcer, SUNDOG, ANNOUNCER, GtkWidget)

/* Follows this answer from where it is now, or none where it is NULL. */
void sundog_announcer_follow(SundogAnnouncer *announcer, SundogMessage *answer);
/* Length in bytes of the whole sentences at the start of `text`; all of it where `ended`. */
size_t sundog_announcer_count_sentences(const char *text, bool ended);
