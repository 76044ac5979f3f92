#pragma once

/*
 * The token engine's own struct, and the steps of a step in their order. Within this house.
 */

#include "engine/schedule/constraints.h"
#include "engine/schedule/drafting.h"
#include "engine/schedule/outbox.h"
#include "engine/schedule/scheduler.h"
#include "engine/schedule/step-batch.h"
#include "engine/schedule/step-budget.h"

struct SundogScheduler {
    SundogSchedulerOptions options;
    const SundogStepRunner *runner;
    SundogOutbox *outbox;
    SundogCache *cache;
    SundogStepBatch *batch; /* the step that is packed, or runs */
    SundogStepBatch *next;  /* the one after it; empty where it has not begun */
    bool next_failed;       /* it has, and could not */
    SundogConstraints *constraints;
    SundogStepBudget budget;
    SundogDrafting *drafting;
    SundogDrafter *core_drafter; /* one of drafting's, or NULL */
    int64_t making_us;           /* drafts, in this step */
    GHashTable *requests;        /* id -> SundogRequest, owned: all that are queued or run */
    GQueue waiting;              /* of SundogRequest, in order of arrival */
    SundogRequest **running;     /* [max.n_sequences] in order of arrival */
    uint32_t n_running;
    uint64_t n_arrived;
    uint32_t context_length;
    SundogStatistics statistics;
};

int64_t sundog_scheduler_now_us(const SundogScheduler *scheduler);
void sundog_scheduler_send_finish(SundogScheduler *scheduler, const SundogRequest *request,
                                  SundogFinishReason reason);
/* Takes a request out of wherever it is, and frees it. */
void sundog_scheduler_end_request(SundogScheduler *scheduler, SundogRequest *request,
                                  SundogClose how);

/* running-set.c. Oldest first, and none overtakes one that does not fit yet: so that each gets its turn. */
void sundog_scheduler_admit_waiting(SundogScheduler *scheduler);
/* Brings back what records have of prompts, a page at a time, and no longer than a step may last. */
void sundog_scheduler_restore_prompts(SundogScheduler *scheduler, int64_t start_us);
/* A page for the next token of each decoding request, oldest first. Prompts have theirs already. */
void sundog_scheduler_make_room(SundogScheduler *scheduler);

/* step-packing.c. */
uint32_t sundog_scheduler_count_decoding(const SundogScheduler *scheduler);
/* Returns how many rows there are beside one a request: drafts, and what runs again. */
uint32_t sundog_scheduler_pack_decoding(SundogScheduler *scheduler, uint32_t n_decoding);
/* Returns how many prompt tokens there are. */
uint32_t sundog_scheduler_pack_prefill(SundogScheduler *scheduler);

/* step-ahead.c. While the tokens of the batch are being sampled: begins the next step with them, where it is
 * certain which requests it is for. */
void sundog_scheduler_begin_next(SundogScheduler *scheduler);
/* Makes the batch of the step that was begun so, its requests' tokens being known by now. False where there is
 * none, or nobody is left in it. */
bool sundog_scheduler_join_next(SundogScheduler *scheduler);

/* step-results.c. The tokens of the step become the requests', and those that have ended go. */
void sundog_scheduler_take_results(SundogScheduler *scheduler);
/* The step has not run: the state it was to write is lost, and with it its requests. */
void sundog_scheduler_fail_step(SundogScheduler *scheduler, const char *text);
