#pragma once

/*
 * The engine child of the server: starts it for the core that is asked for, gives it requests and their
 * tokens back, starts it again when it dies, and ends it in bounded time. One engine at a time; a
 * request for another core waits until the running ones have ended, then the core is changed.
 *
 * All on the thread that made it, which must live as long as the engine is wanted.
 */

#include "engine/server/request-queue.h"

typedef enum {
    SUNDOG_ENGINE_NONE,
    SUNDOG_ENGINE_STARTING,
    SUNDOG_ENGINE_LOADING,
    SUNDOG_ENGINE_READY,
    SUNDOG_ENGINE_RESTARTING,
    SUNDOG_ENGINE_FAILED,
    SUNDOG_ENGINE_STOPPING,
} SundogEngineState;

typedef struct {
    const char *program; /* of the engine */
    const char *keys;    /* folder of keys that the engine trusts */
    unsigned stop_ms;    /* 0: 3,000; from asking to SIGTERM, and to SIGKILL */
    unsigned n_threads;  /* 0: the engine's own choice, as below */
    uint64_t context_length;
    uint64_t cache_bytes;
    const char *records; /* folder of prefix records, interned */
    uint64_t record_bytes;
    uint64_t gap_ms;             /* between tokens while prompts are read beside */
    void (*changed)(void *data); /* the engine's state */
    void (*request_changed)(SundogGeneration *generation, void *data);
    void (*log)(const char *level, const char *text, void *data);
    void *data;
} SundogSupervisorOptions;

/* Sums since the server's start, over all engines. */
typedef struct {
    uint64_t n_requests;
    uint64_t n_finished;
    uint64_t n_cancelled;
    uint64_t n_failed;
    uint64_t n_prompt_tokens;
    uint64_t n_cached_tokens;
    uint64_t n_produced_tokens;
    uint64_t n_restarts;
    uint64_t n_drafted_tokens;
    uint64_t n_accepted_tokens;
    uint64_t n_steps;
    uint64_t step_us;
    uint64_t prefill_us;
    uint64_t decode_us;
} SundogSupervisorCounters;

typedef struct SundogSupervisor SundogSupervisor;

SundogSupervisor *sundog_supervisor_new(const SundogSupervisorOptions *options);
/* An engine that still runs is killed; requests that are not over are dropped without a call. */
void sundog_supervisor_free(SundogSupervisor *supervisor);

/* NULL, or why no request for this core is taken now. */
SundogApiError *sundog_supervisor_check(SundogSupervisor *supervisor, const SundogCoreText *core);
/* Takes a reference until the request is over, which it may be at once. */
void sundog_supervisor_submit(SundogSupervisor *supervisor, SundogGeneration *generation);
/* Its client has gone: the engine drops it within one step, and nothing is called back. */
void sundog_supervisor_abandon(SundogSupervisor *supervisor, SundogGeneration *generation);
/* Ends it as cancelled, for its client to see. False where there is none of that name. */
bool sundog_supervisor_cancel(SundogSupervisor *supervisor, const char *name);

/* Makes this core the loaded one, once the running requests have ended. */
void sundog_supervisor_load(SundogSupervisor *supervisor, SundogCoreText *core);
/* Ends the engine; requests that wait or run are failed with the reason. done is called when the
 * process is gone, maybe at once. */
void sundog_supervisor_unload(SundogSupervisor *supervisor, SundogApiError *reason,
                              void (*done)(void *data), void *data);

SundogEngineState sundog_supervisor_get_state(const SundogSupervisor *supervisor);
const char *sundog_supervisor_get_message(const SundogSupervisor *supervisor); /* or NULL */
double sundog_supervisor_get_progress(const SundogSupervisor *supervisor, const char **phase);
/* Of the core that is loaded or being so; borrowed, or NULL. */
SundogCoreText *sundog_supervisor_get_core(const SundogSupervisor *supervisor);
/* Of the engine, while READY; NULL otherwise. */
const SundogReady *sundog_supervisor_get_ready(const SundogSupervisor *supervisor);
const SundogSupervisorCounters *sundog_supervisor_get_counters(const SundogSupervisor *supervisor);
/* Last known; asks the engine for newer ones. */
const SundogStatistics *sundog_supervisor_get_statistics(SundogSupervisor *supervisor);
SundogRequestQueue *sundog_supervisor_get_queue(SundogSupervisor *supervisor);
/* As "engine" in GET /sundog/v1/state; owned by the caller. */
JsonObject *sundog_supervisor_describe(const SundogSupervisor *supervisor);
const char *sundog_engine_state_text(SundogEngineState state);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSupervisor, sundog_supervisor_free)
