#pragma once

/* The life of an engine after READY: take what came, run a step, write what it said, until the end. */

#include "engine/schedule/embedder.h"
#include "engine/schedule/inbox.h"
#include "engine/schedule/scheduler.h"

/* Runs until the inbox ends, or drains it and all requests have ended. Frames go from the outbox (the
 * scheduler's, or the embedder's where the core is not for text: the other is NULL) to fd, those of a step
 * in one write. False where the peer is gone or broken. */
bool sundog_engine_loop(SundogScheduler *scheduler, SundogEmbedder *embedder, SundogInbox *inbox,
                        GByteArray *outbox, int fd, GError **error);
