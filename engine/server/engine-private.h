#pragma once

/* An engine's parts: engine.c has its life, engine-frames.c what the process tells, engine-state.c what
 * is told of it. */

#include "engine/server/engine.h"
#include "engine/wire/engine-process.h"

struct SundogEngine {
    SundogCoreText *core;
    const SundogEngineSettings *settings;
    const SundogEngineCalls *calls;
    SundogEngineCounters *counters;
    SundogRequestQueue *queue;
    SundogEngineState state;
    SundogEngineProcess *process;
    uint64_t needed_bytes;
    uint64_t granted_bytes;
    SundogReady ready;
    char *phase;
    double progress;
    char *message; /* of a failure */
    int64_t failed_at;
    int64_t used_us;
    int64_t wanted_us;       /* since when it is wanted without a request, or 0 */
    int64_t yield_us;        /* requests from then on wait for another start; or 0 */
    unsigned death_weight;   /* of those in a row, without a token in between */
    uint64_t n_memory_kills; /* of the machine, before the present process */
    bool was_ready;          /* the present process */
    bool has_vocabulary;     /* the present process was sent it */
    bool had_room_made;      /* since it was last ready */
    guint backoff_timer;
    GArray *unloads; /* Unload: whom to tell when the process is gone; not empty: it is unloading */
    bool is_kept;
    guint keep_timer; /* ends it when it is not used */
    int64_t keep_end; /* real time, microseconds, while there is the timer */
    SundogStatistics statistics;
    int64_t statistics_asked_at;
};

void sundog_engine_say(SundogEngine *engine, const char *level, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
void sundog_engine_set_state(SundogEngine *engine, SundogEngineState state);
/* Publishes a request's state. */
void sundog_engine_tell_request(SundogEngine *engine, SundogGeneration *generation);
/* Sinks a floating payload. */
void sundog_engine_send(SundogEngine *engine, uint32_t type, GVariant *payload);
void sundog_engine_cancel_in_process(SundogEngine *engine, const SundogGeneration *generation);
/* Ends it for its user, then takes it out, so that its last state is what is remembered. The error is
 * taken. */
void sundog_engine_end_request(SundogEngine *engine, SundogGeneration *generation,
                               SundogGenerationState state, SundogApiError *error);
/* One frame of a process that is not being ended. */
void sundog_engine_take_frame(SundogEngine *engine, uint32_t type, GVariant *payload);
