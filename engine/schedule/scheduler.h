#pragma once

/*
 * The token engine: requests in, steps run, frames out. Between steps it ends what was cancelled and
 * admits the oldest that fit; a step packs one row of each decoding request, then chunks of prompts
 * under a budget; after it, tokens are taken, sent, and their state becomes valid.
 *
 * Drafts: a decoding request may take along guesses of its next tokens. Each of their rows is sampled
 * as if it ran alone, with the random numbers of its own position, and counts only while every guess
 * before it was the token sampled: so that what comes out is the same, bit for bit, with drafts and
 * without. Recurrent state that has taken a wrong guess in is given up for a copy from before the step, and
 * what was right runs again in the next one. Who guesses: drafting.h.
 *
 * Followers: a request that names an older one with the same prompt waits until that prompt is computed,
 * and then shares its pages; the last one, which is not full, as a copy. So choices of one answer branch.
 *
 * Pages: a request is admitted with pages for its tokens and one page to grow. When the pool runs out,
 * prefixes that nobody uses go first, then the youngest request gives its pages up and is readmitted
 * later with all its tokens; the oldest always goes on. A token depends on its own request alone.
 *
 * One thread. Everything it has to say is appended to the outbox as frames, which the caller writes
 * after each call.
 */

#include "engine/cache/page-recorder.h"
#include "engine/schedule/step-runner.h"
#include "engine/wire/messages.h"

/* Twenty tokens a second still read as a stream. */
#define SUNDOG_SCHEDULER_GAP_US 50000

typedef struct {
    uint32_t context_length; /* tokens a sequence may have; bounded by pool and page table too */
    int32_t max_kept_pages;  /* kept for reuse; -1: all that are free */
    uint32_t max_queued;     /* requests that wait; 0 is 16,384 */
    uint32_t
        gap_us; /* between tokens, while prompts are read beside; 0 is SUNDOG_SCHEDULER_GAP_US */
    SundogPageRecorder *recorder;         /* borrowed; NULL: prefixes end with this process */
    const SundogStepRunner *draft_runner; /* borrowed; of a small core that drafts, or NULL */
    SundogPageRecorder *draft_recorder;   /* borrowed; of the small core's prefixes, or NULL */
    int64_t (*clock)(void *data);         /* in microseconds; NULL is g_get_monotonic_time() */
    void *clock_data;
} SundogSchedulerOptions;

typedef struct SundogScheduler SundogScheduler;

/* Borrows runner and outbox. */
SundogScheduler *sundog_scheduler_new(const SundogSchedulerOptions *options,
                                      const SundogStepRunner *runner, GByteArray *outbox);
void sundog_scheduler_free(SundogScheduler *scheduler);

/* The longest a sequence may be in fact, prompt and answer. */
uint32_t sundog_scheduler_get_context_length(const SundogScheduler *scheduler);

/* What constraints know of tokens; before the first request that has one. */
void sundog_scheduler_set_vocabulary(SundogScheduler *scheduler,
                                     const SundogWireVocabulary *vocabulary);

/* Queues a request that arrived at a time of the clock. One that cannot be answered gets
 * its FAULT at once; an id that is in use is ignored, since the request it names must go on. */
void sundog_scheduler_submit(SundogScheduler *scheduler, const SundogSubmit *submit,
                             int64_t arrived_us);
/* Ends a request before the next step; an id not known is ignored. */
void sundog_scheduler_cancel(SundogScheduler *scheduler, uint64_t id);

bool sundog_scheduler_has_work(const SundogScheduler *scheduler);
/* What can wait until there is no work: whether there is any of it, and does a piece that takes some
 * milliseconds. */
bool sundog_scheduler_has_chores(const SundogScheduler *scheduler);
void sundog_scheduler_do_chore(SundogScheduler *scheduler);
/* Runs one step; does nothing without work. */
void sundog_scheduler_step(SundogScheduler *scheduler);

void sundog_scheduler_get_statistics(const SundogScheduler *scheduler,
                                     SundogStatistics *statistics);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogScheduler, sundog_scheduler_free)
