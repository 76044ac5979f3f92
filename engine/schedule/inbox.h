#pragma once

/*
 * Frames on their way from the pipe to the step loop: one thread reads, another takes all that came
 * since the last step. The lock is held for a few pointers; a step never waits for a read.
 */

#include "engine/wire/messages.h"

/* What may lie in it; the reader waits where more comes, and so, through the pipe, does the server. */
#define SUNDOG_INBOX_MAX_BYTES (64u << 20)

typedef struct {
    uint32_t type;
    GVariant *payload;
    int64_t arrived_us; /* of g_get_monotonic_time() */
} SundogInboxItem;

typedef enum {
    SUNDOG_INBOX_OPEN,
    SUNDOG_INBOX_DRAINING, /* asked to end once the work is done */
    SUNDOG_INBOX_ENDED,    /* nobody is there any more, or the peer is broken: end now */
} SundogInboxState;

typedef struct SundogInbox SundogInbox;

SundogInbox *sundog_inbox_new(void);
void sundog_inbox_free(SundogInbox *inbox);

/* Reads frames from fd until the end of input or a malformed frame, which ends the inbox; becomes
 * DRAINING when stop_fd (a signalfd, or -1) can be read. The reader's thread. */
void sundog_inbox_read(SundogInbox *inbox, int fd, int stop_fd);

/* Moves all items to the array (of SundogInboxItem, which owns them); where there is none and the
 * inbox is open, waits for one at most so long, or, where wait_us is negative, for good. Returns the
 * state. The loop's thread. */
SundogInboxState sundog_inbox_take(SundogInbox *inbox, GArray *items, int64_t wait_us);

/* An empty array for take(), which frees its items' payloads. */
GArray *sundog_inbox_items_new(void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogInbox, sundog_inbox_free)
