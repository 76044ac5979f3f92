#pragma once

/*
 * The requests of one core that are not over: waiting ones in their order, and those that its engine
 * has. Decides which may go to the engine next. A request that was in the steps of two engines' deaths and
 * got no token in between is a suspect: it runs alone, and when the engine dies a third time with it, it is failed by name.
 * An engine that was killed from outside says next to nothing of its requests: it takes so many more of such deaths.
 */

#include "engine/server/generation.h"

/* Requests that may wait beyond those that fit a step. */
#define SUNDOG_REQUEST_QUEUE_LENGTH 256

/* What a death weighs, with a core and with the requests that were in its steps. */
typedef enum {
    SUNDOG_DEATH_BY_KILL = 1, /* from outside, and not for want of memory */
    SUNDOG_DEATH_BY_FAULT = 64,
} SundogDeathWeight;

typedef struct SundogRequestQueue SundogRequestQueue;

SundogRequestQueue *sundog_request_queue_new(void);
void sundog_request_queue_free(SundogRequestQueue *queue);

guint sundog_request_queue_get_n_waiting(const SundogRequestQueue *queue);
guint sundog_request_queue_get_n_running(const SundogRequestQueue *queue);
/* When the first of the waiting ones was submitted, monotonic; INT64_MAX: none waits. */
int64_t sundog_request_queue_get_oldest_us(const SundogRequestQueue *queue);
/* Takes a reference. */
void sundog_request_queue_push(SundogRequestQueue *queue, SundogGeneration *generation);
/* The request that may go next, still waiting; NULL where none may now. Borrowed. */
SundogGeneration *sundog_request_queue_peek(SundogRequestQueue *queue);
/* Moves it to the running ones under a new id. */
uint64_t sundog_request_queue_start(SundogRequestQueue *queue, SundogGeneration *generation);
/* Takes it out, running or waiting. */
void sundog_request_queue_remove(SundogRequestQueue *queue, SundogGeneration *generation);
/* Running by id, or any by name; borrowed, or NULL. */
SundogGeneration *sundog_request_queue_find(SundogRequestQueue *queue, uint64_t id);
SundogGeneration *sundog_request_queue_find_name(SundogRequestQueue *queue, const char *name);
/* The engine died: those it had wait again, before all others. Returns the ones that are given up
 * (GPtrArray of owned references, already taken out). */
GPtrArray *sundog_request_queue_put_back(SundogRequestQueue *queue, SundogDeathWeight weight);
/* All that are not over (GPtrArray of owned references). */
GPtrArray *sundog_request_queue_dup_all(SundogRequestQueue *queue);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogRequestQueue, sundog_request_queue_free)
