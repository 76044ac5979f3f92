#pragma once

/*
 * One message of a chat, and one chat, as the app's widgets see them: plain properties and a
 * "changed" signal. The store writes them; the main thread alone touches them.
 */

#include <glib-object.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    SUNDOG_ROLE_USER,
    SUNDOG_ROLE_ASSISTANT,
} SundogRole;

/* How an answer stands. What a crash cut off is read back as INTERRUPTED. */
typedef enum {
    SUNDOG_MESSAGE_DONE,
    SUNDOG_MESSAGE_STREAMING,
    SUNDOG_MESSAGE_STOPPED,     /* by the person */
    SUNDOG_MESSAGE_LENGTH,      /* at the limit of tokens */
    SUNDOG_MESSAGE_INTERRUPTED, /* by the end of the app or of the server */
    SUNDOG_MESSAGE_FAILED,      /* `problem` says why */
} SundogMessageState;

#define SUNDOG_TYPE_MESSAGE (sundog_message_get_type())
G_DECLARE_FINAL_TYPE(SundogMessage, sundog_message, SUNDOG, MESSAGE, GObject)

struct _SundogMessage {
    GObject parent_instance;
    int64_t id;
    int64_t chat_id;
    int64_t parent_id; /* the message before, 0 for the first */
    SundogRole role;
    SundogMessageState state;
    GString *content;
    GString *reasoning;
    char *problem;    /* in a person's words, or NULL */
    char *details;    /* the technical text, or NULL */
    char *model;      /* the core that answered, or NULL */
    char *statistics; /* the server's "sundog" object as JSON, or NULL */
    int64_t created_us;
    unsigned alternative;    /* which of its siblings this is, from 1 */
    unsigned n_alternatives; /* how many there are, itself included */
};

SundogMessage *sundog_message_new(SundogRole role, const char *content);
/* Emits "changed" after fields were written. */
void sundog_message_changed(SundogMessage *message);
