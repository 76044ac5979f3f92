/* A message is a bag of fields with one signal; what they mean stands in the header. */

#include "app/conversation/message.h"

enum { CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(SundogMessage, sundog_message, G_TYPE_OBJECT)

static void
sundog_message_finalize(GObject *object)
{
    SundogMessage *self = SUNDOG_MESSAGE(object);
    g_string_free(self->content, TRUE);
    g_string_free(self->reasoning, TRUE);
    g_free(self->problem);
    g_free(self->details);
    g_free(self->model);
    g_free(self->statistics);
    G_OBJECT_CLASS(sundog_message_parent_class)->finalize(object);
}

static void
sundog_message_class_init(SundogMessageClass *class)
{
    G_OBJECT_CLASS(class)->finalize = sundog_message_finalize;
    signals[CHANGED] = g_signal_new("changed", SUNDOG_TYPE_MESSAGE, G_SIGNAL_RUN_LAST, 0, NULL,
                                    NULL, NULL, G_TYPE_NONE, 0);
}

static void
sundog_message_init(SundogMessage *self)
{
    self->content = g_string_new(NULL);
    self->reasoning = g_string_new(NULL);
    self->alternative = self->n_alternatives = 1;
}

SundogMessage *
sundog_message_new(SundogRole role, const char *content)
{
    SundogMessage *self = g_object_new(SUNDOG_TYPE_MESSAGE, NULL);
    self->role = role;
    self->created_us = g_get_real_time();
    g_string_append(self->content, content ? content : "");
    return self;
}

void
sundog_message_changed(SundogMessage *message)
{
    g_signal_emit(message, signals[CHANGED], 0);
}
