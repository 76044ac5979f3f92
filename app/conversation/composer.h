#pragma once

/*
 * Where the person writes: a text that grows to eight lines, the chat's parameters, how much context it
 * will take, and Send, or Stop in its place from the first moment of an answer to its last token.
 *
 * Signals: "send" (text), "stop", "edit-last" (Up in an empty composer), "changed" (the text),
 * "unqueue" (what was queued is to be edited again), "parameters" (the chat's were changed).
 */

#include "app/chats/chat.h"
#include <gtk/gtk.h>
#include <stdbool.h>

#define SUNDOG_TYPE_COMPOSER (sundog_composer_get_type())
G_DECLARE_FINAL_TYPE(SundogComposer, sundog_composer, SUNDOG, COMPOSER, GtkWidget)

/* Shows the chat's draft, queue and parameters. */
void sundog_composer_set_chat(SundogComposer *composer, SundogChat *chat);
void sundog_composer_set_text(SundogComposer *composer, const char *text);
/* Owned by the caller. */
char *sundog_composer_dup_text(SundogComposer *composer);
/* Whether an answer is being written, and what it is doing ("Reading, 40 %"). */
void sundog_composer_set_running(SundogComposer *composer, bool running, const char *activity);
/* Shows what will be sent when the answer ends; NULL for nothing. */
void sundog_composer_set_queued(SundogComposer *composer, const char *text);
/* Tokens that the chat takes with what is typed, of how many; total 0 while not known. */
void sundog_composer_set_context(SundogComposer *composer, int n_used, int n_total);
void sundog_composer_focus(SundogComposer *composer);
