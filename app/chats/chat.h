#pragma once

/* One chat as the sidebar and the conversation see it: fields, a "changed" signal, and the section it
 * stands under. Main thread only. */

#include <glib-object.h>
#include <stdbool.h>
#include <stdint.h>

#define SUNDOG_TYPE_CHAT (sundog_chat_get_type())
G_DECLARE_FINAL_TYPE(SundogChat, sundog_chat, SUNDOG, CHAT, GObject)

struct _SundogChat {
    GObject parent_instance;
    int64_t id;         /* 0 while it was never stored */
    char *title;        /* "" until the first message names it */
    char *core;         /* the core chosen for it, or NULL for the loaded one */
    char *instructions; /* the system message, or NULL */
    char *parameters;   /* sampling as a JSON object, or NULL for the core's own */
    char *draft;        /* what stands unsent in the composer */
    char *queued;       /* what is to be sent when the running answer ends, or NULL */
    int64_t head;       /* the last message of the branch shown, 0 while empty */
    int64_t updated_us;
    bool pinned;
    bool running; /* an answer is being written */
};

SundogChat *sundog_chat_new(void);
void sundog_chat_changed(SundogChat *chat);
/* The title, or the words for a chat that has none yet; borrowed. */
const char *sundog_chat_get_display_title(SundogChat *chat);
/* A title made of a first message: its first line, cut at a word; owned by the caller. */
char *sundog_chat_dup_title_from(const char *message);
/* The heading for this chat's time as seen at `now`: "Pinned", "Today", … or a month; owned by the
 * caller. Chats sorted by pin and time have their headings in order. */
char *sundog_chat_dup_section(SundogChat *chat, GDateTime *now);
