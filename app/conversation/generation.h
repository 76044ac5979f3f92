#pragma once

/*
 * One answer being written: the request, its stream, and what has come so far, in a SundogMessage. It
 * is independent of any widget, so that an answer goes on while another chat is shown. Waits for the
 * server where there is none yet; a stream that breaks leaves the answer "interrupted".
 *
 * "changed" is emitted when phase or progress change, "ended" once, last. The message's own
 * "changed" tells of text, at most once for each batch that was read.
 *
 * Order: new, start, (stop). Main thread.
 */

#include "app/chats/chat.h"
#include "app/conversation/message.h"
#include "app/server/client.h"

typedef enum {
    SUNDOG_PHASE_SERVER,  /* the server is not ready */
    SUNDOG_PHASE_LOADING, /* the core is being loaded */
    SUNDOG_PHASE_QUEUED,  /* others are before it */
    SUNDOG_PHASE_READING, /* the prompt is being read */
    SUNDOG_PHASE_WRITING, /* tokens come */
    SUNDOG_PHASE_ENDED,
} SundogPhase;

#define SUNDOG_TYPE_GENERATION (sundog_generation_get_type())
G_DECLARE_FINAL_TYPE(SundogGeneration, sundog_generation, SUNDOG, GENERATION, GObject)

/* `messages` are the SundogMessages from the first to the one to answer; `answer` receives the text.
 * `core` is the name of the core to ask, or NULL for whichever is loaded. */
SundogGeneration *sundog_generation_new(SundogClient *client, SundogChat *chat, GPtrArray *messages,
                                        SundogMessage *answer, const char *core);
void sundog_generation_start(SundogGeneration *generation);
/* The server came (back): tries again at once where it was waited for. */
void sundog_generation_retry(SundogGeneration *generation);
/* Ends it as "stopped"; what has come stays. Works in every phase. */
void sundog_generation_stop(SundogGeneration *generation);
/* Ends it as "failed" with words for a person, where no server will come. */
void sundog_generation_fail(SundogGeneration *generation, const char *problem, const char *details);

SundogPhase sundog_generation_get_phase(SundogGeneration *generation);
/* From 0 to 1, or below 0 where it is not known. */
double sundog_generation_get_progress(SundogGeneration *generation);
/* "Loading weights 62 %"; owned by the caller. */
char *sundog_generation_dup_activity(SundogGeneration *generation);
SundogMessage *sundog_generation_get_answer(SundogGeneration *generation);
SundogChat *sundog_generation_get_chat(SundogGeneration *generation);
