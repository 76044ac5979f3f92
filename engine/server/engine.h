#pragma once

/*
 * One core in use: the engine process that runs it and the requests for it. It is started when its
 * supervisor grants it memory, given its requests and asked for their tokens, started again when it
 * dies, and ended in bounded time. Requests wait here from their submission on, also while there is no
 * process, and go to it in their order.
 *
 * All on the thread that made it, which must live as long as the process is wanted. Nothing here frees
 * the engine: its supervisor does, and not within its calls.
 */

#include "engine/server/request-queue.h"

typedef enum {
    SUNDOG_ENGINE_NONE, /* no process: it waits for memory, or is not wanted any more */
    SUNDOG_ENGINE_STARTING,
    SUNDOG_ENGINE_LOADING,
    SUNDOG_ENGINE_READY,
    SUNDOG_ENGINE_RESTARTING,
    SUNDOG_ENGINE_FAILED,
    SUNDOG_ENGINE_STOPPING,
} SundogEngineState;

/* How processes are started; the same for all engines of a supervisor. */
typedef struct {
    const char *program; /* of the engine */
    const char *keys;    /* folder of keys that it trusts */
    unsigned stop_ms;    /* 0: 3,000; from asking to SIGTERM, and to SIGKILL */
    unsigned n_threads;  /* 0: the engine's own choice, as below */
    uint64_t context_length;
    uint64_t cache_bytes;
    const char *records; /* folder of prefix records */
    uint64_t record_bytes;
    uint64_t gap_ms; /* between tokens while prompts are read beside */
} SundogEngineSettings;

/* Sums since the server's start, over all processes of a core. */
#define SUNDOG_ENGINE_COUNTERS(X) \
    X(n_requests)                 \
    X(n_finished)                 \
    X(n_cancelled)                \
    X(n_failed)                   \
    X(n_prompt_tokens)            \
    X(n_cached_tokens)            \
    X(n_produced_tokens)          \
    X(n_restarts)                 \
    X(n_drafted_tokens)           \
    X(n_accepted_tokens)          \
    X(n_steps)                    \
    X(step_us)                    \
    X(prefill_us)                 \
    X(decode_us)

typedef struct {
#define X(name) uint64_t name;
    SUNDOG_ENGINE_COUNTERS(X)
#undef X
} SundogEngineCounters;

typedef struct SundogEngine SundogEngine;

typedef struct {
    void (*state_changed)(SundogEngine *engine, void *data);
    /* It has done what it can for now: somebody may be given memory, or it may be let go. */
    void (*settled)(SundogEngine *engine, void *data);
    /* It does not load for a reason that more memory may change: true where there will be some, so
     * that it is to wait for its grant again. */
    bool (*make_room)(SundogEngine *engine, void *data);
    void (*request_changed)(SundogGeneration *generation, void *data);
    void (*request_ended)(SundogGeneration *generation, void *data);
    void (*log)(const char *level, const char *text, void *data);
    void *data;
} SundogEngineCalls;

/* Settings, calls and counters are borrowed and must stay; takes a reference to the core. */
SundogEngine *sundog_engine_new(SundogCoreText *core, const SundogEngineSettings *settings,
                                const SundogEngineCalls *calls, SundogEngineCounters *counters);
/* A process that still runs is killed; requests that are not over are dropped without a call. */
void sundog_engine_free(SundogEngine *engine);

/* Starts the process, which needs so many bytes and may take so many; granted 0: without a bound. It
 * must have none. */
void sundog_engine_start(SundogEngine *engine, uint64_t needed_bytes, uint64_t granted_bytes);
/* As if it had ended while it was loaded, with this as the reason (taken); its requests are failed. */
void sundog_engine_refuse(SundogEngine *engine, SundogApiError *reason);
/* Ends the process and keeps the requests that wait, for another start. It must have none running. */
void sundog_engine_evict(SundogEngine *engine);
/* From now only requests submitted before this moment (monotonic) go to the process; 0: all again. */
void sundog_engine_yield(SundogEngine *engine, int64_t before_us);
/* Ends the process; requests that wait or run are failed with the reason (taken). done is called when
 * the process is gone and reaped, maybe at once; may be NULL. */
void sundog_engine_unload(SundogEngine *engine, SundogApiError *reason, void (*done)(void *data),
                          void *data);

/* Wanted without a request: until it is loaded, failed or unloaded. */
void sundog_engine_want(SundogEngine *engine);
/* From now it may be unloaded when nothing has been asked of it for so long; -1: it stays. */
void sundog_engine_keep(SundogEngine *engine, int64_t ms);
/* When that will be, RFC 3339; NULL: never. Owned by the caller. */
char *sundog_engine_dup_keep_end(const SundogEngine *engine);

/* Takes a reference until the request is over, which it may be at once. */
void sundog_engine_submit(SundogEngine *engine, SundogGeneration *generation);
/* Its client has gone: the process drops it within one step, and nothing is called back. */
void sundog_engine_abandon(SundogEngine *engine, SundogGeneration *generation);
/* Ends it as cancelled, for its client to see. */
void sundog_engine_cancel(SundogEngine *engine, SundogGeneration *generation);

SundogEngineState sundog_engine_get_state(const SundogEngine *engine);
SundogCoreText *sundog_engine_get_core(const SundogEngine *engine); /* borrowed */
const char *sundog_engine_get_message(const SundogEngine *engine);  /* or NULL */
double sundog_engine_get_progress(const SundogEngine *engine, const char **phase);
/* While READY; NULL otherwise. */
const SundogReady *sundog_engine_get_ready(const SundogEngine *engine);
/* Last known; asks the process for newer ones. */
const SundogStatistics *sundog_engine_get_statistics(SundogEngine *engine);
SundogRequestQueue *sundog_engine_get_queue(SundogEngine *engine);
/* Neither waiting nor running requests. */
bool sundog_engine_is_idle(const SundogEngine *engine);
/* No process, and somebody wants one. */
bool sundog_engine_is_wanting(const SundogEngine *engine);
/* Monotonic: since when it wants; the oldest waiting request's submission. */
int64_t sundog_engine_get_wanted_us(const SundogEngine *engine);
/* Nothing is left to do for it: no process, no request, no failure to tell of. */
bool sundog_engine_is_unused(const SundogEngine *engine);
/* It could not be loaded, so lately that it is not tried again for a request. */
bool sundog_engine_has_failed_lately(const SundogEngine *engine);
/* It was granted memory once more after a failure, and waits until others have let go of theirs. */
bool sundog_engine_waits_for_others(const SundogEngine *engine);
/* Of what was granted to the process, at least and at most: as it said when it was ready, before that what
 * it needs and what it was granted; 0 without a process or a bound. */
uint64_t sundog_engine_get_least_bytes(const SundogEngine *engine);
uint64_t sundog_engine_get_most_bytes(const SundogEngine *engine);
int64_t sundog_engine_get_used_us(const SundogEngine *engine); /* last, monotonic */
/* keep was never bounded: it is to stay as long as memory allows. */
bool sundog_engine_is_kept(const SundogEngine *engine);
/* As in "engines" of GET /sundog/v1/state; owned by the caller. NULL: as if no core were loaded. */
JsonObject *sundog_engine_describe(const SundogEngine *engine);
const char *sundog_engine_state_text(SundogEngineState state);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogEngine, sundog_engine_free)
