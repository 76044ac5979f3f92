#pragma once

/* The supervisor's parts: supervisor.c has its life, supervisor-frames.c what the engine tells it. */

#include "engine/server/supervisor.h"
#include "engine/wire/engine-process.h"

struct SundogSupervisor {
    SundogSupervisorOptions options;
    char *program;
    char *keys;
    SundogRequestQueue *queue;
    SundogEngineState state;
    SundogEngineProcess *process;
    SundogCoreText *core;      /* loaded, or being so */
    SundogCoreText *next_core; /* asked for by load, once nothing runs */
    SundogReady ready;
    char *phase;
    double progress;
    char *message; /* of a failure */
    int64_t failed_at;
    unsigned n_deaths_in_row; /* without a token in between */
    bool was_ready;           /* the present process */
    bool has_vocabulary;      /* the present process was sent it */
    guint backoff_timer;
    bool is_unloading;
    void (*unloaded)(void *data);
    void *unloaded_data;
    SundogSupervisorCounters counters;
    SundogStatistics statistics;
    int64_t statistics_asked_at;
};

void sundog_supervisor_say(SundogSupervisor *supervisor, const char *level, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
void sundog_supervisor_set_state(SundogSupervisor *supervisor, SundogEngineState state);
/* Publishes a request's state. */
void sundog_supervisor_tell_request(SundogSupervisor *supervisor, SundogGeneration *generation);
/* Sinks a floating payload. */
void sundog_supervisor_send(SundogSupervisor *supervisor, uint32_t type, GVariant *payload);
void sundog_supervisor_cancel_in_engine(SundogSupervisor *supervisor,
                                        const SundogGeneration *generation);
/* Ends it for its user, then takes it out, so that its last state is what is remembered. The error is
 * taken. */
void sundog_supervisor_end_request(SundogSupervisor *supervisor, SundogGeneration *generation,
                                   SundogGenerationState state, SundogApiError *error);
/* One frame of an engine that is not being ended. */
void sundog_supervisor_take_frame(SundogSupervisor *supervisor, uint32_t type, GVariant *payload);
