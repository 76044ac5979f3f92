#pragma once

/* An answer: its reasoning folded, its blocks, what went wrong where something did, and its actions.
 * Signals: "regenerate", "switch" (step). */

#include "app/conversation/message.h"
#include <gtk/gtk.h>

#define SUNDOG_TYPE_ANSWER_VIEW (sundog_answer_view_get_type())
G_DECLARE_FINAL_TYPE(SundogAnswerView, sundog_answer_view, SUNDOG, ANSWER_VIEW, GtkWidget)

GtkWidget *sundog_answer_view_new(SundogMessage *message);
SundogMessage *sundog_answer_view_get_message(SundogAnswerView *view);
/* What is being done before the first token ("Loading the model, 62 %"), or NULL. */
void sundog_answer_view_set_activity(SundogAnswerView *view, const char *activity);
void sundog_answer_view_copy(SundogAnswerView *view);
