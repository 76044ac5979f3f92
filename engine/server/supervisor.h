#pragma once

/*
 * The engines of the server, one a core in use, beside each other under one budget of memory. A request
 * goes to its core's engine, which is started when there is room. Where there is none, the engines that
 * have nothing to do are ended, least recently used first and those with a keep_alive of their own
 * before those that are to stay; then busy ones finish what was asked of them before and make way. So
 * a request for a core that is loaded waits for another's load only where the two do not fit together.
 *
 * The budget counts what cores for this processor take, as planned before they are loaded and as the
 * engines say after. What lies on a GPU the engine alone can count, and it is not of this budget: where it does
 * not fit, idle engines on that target are ended and it is tried once more.
 *
 * Each engine has a thread for each processor core, since mostly one works at a time; those of an idle
 * one sleep. Two that work share the processors as the system sees fit.
 *
 * All on the thread that made it, which must live as long as engines are wanted.
 */

#include "engine/server/engine.h"

typedef struct {
    SundogEngineSettings engine; /* its texts are copied */
    uint64_t memory_budget;      /* in bytes; 0: without a bound */
    void (*changed)(void *data); /* an engine's state */
    void (*request_changed)(SundogGeneration *generation, void *data);
    void (*request_ended)(SundogGeneration *generation, void *data);
    void (*log)(const char *level, const char *text, void *data);
    void *data;
} SundogSupervisorOptions;

typedef struct SundogSupervisor SundogSupervisor;

SundogSupervisor *sundog_supervisor_new(const SundogSupervisorOptions *options);
/* Engines that still run are killed; requests that are not over are dropped without a call. */
void sundog_supervisor_free(SundogSupervisor *supervisor);

/* NULL, or why this core can never be loaded here. */
SundogApiError *sundog_supervisor_check_memory(const SundogSupervisor *supervisor,
                                               const SundogCoreText *core);
/* NULL, or why no request for this core is taken now. */
SundogApiError *sundog_supervisor_check(SundogSupervisor *supervisor, SundogCoreText *core);
/* Takes a reference until the request is over, which it may be at once. */
void sundog_supervisor_submit(SundogSupervisor *supervisor, SundogGeneration *generation);
/* Its client has gone: the engine drops it within one step, and nothing is called back. */
void sundog_supervisor_abandon(SundogSupervisor *supervisor, SundogGeneration *generation);
/* Ends it as cancelled, for its client to see. False where there is none of that name. */
bool sundog_supervisor_cancel(SundogSupervisor *supervisor, const char *name);

/* Loads this core too, and makes it the one that answers for no name. */
void sundog_supervisor_load(SundogSupervisor *supervisor, SundogCoreText *core);
/* Ends the engine of the core in this folder, or all where it is NULL; requests that wait or run are
 * failed with the reason (taken). done is called when the processes are gone and reaped, maybe at once;
 * may be NULL. */
void sundog_supervisor_unload(SundogSupervisor *supervisor, const char *path,
                              SundogApiError *reason, void (*done)(void *data), void *data);

/* Of the core in this folder; borrowed until the next turn of the main loop. NULL: it is not in use. */
SundogEngine *sundog_supervisor_find(SundogSupervisor *supervisor, const char *path);
/* The one that was loaded or asked last; borrowed as find's. NULL: there is none. */
SundogEngine *sundog_supervisor_get_current(SundogSupervisor *supervisor);
/* Of SundogEngine, the current one first; borrowed. */
const GPtrArray *sundog_supervisor_get_engines(const SundogSupervisor *supervisor);
/* Running and waiting, of all engines. */
guint sundog_supervisor_get_n_open(const SundogSupervisor *supervisor);

/* Of a core by its name, also one that is not loaded any more; by name NULL, the sums over all. */
SundogEngineCounters sundog_supervisor_get_counters(const SundogSupervisor *supervisor,
                                                    const char *name);
/* Names of the cores that have counters (borrowed texts), sorted; the list is the caller's. */
GList *sundog_supervisor_list_counted(const SundogSupervisor *supervisor);
/* Sums over all engines, last known; asks them for newer ones. */
SundogStatistics sundog_supervisor_get_statistics(SundogSupervisor *supervisor);

uint64_t sundog_supervisor_get_memory_budget(const SundogSupervisor *supervisor);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogSupervisor, sundog_supervisor_free)
