#pragma once

/*
 * Threads that work through a list of calls together, the calling thread being number 0. Between runs
 * workers spin for a moment, because the next step of a decoding sequence comes within microseconds and
 * waking a sleeper costs 23; then they sleep until the next run, which wakes them all once.
 *
 * new, run as often as wanted from one thread, free from it. barrier is for work that is running.
 */

#include <glib.h>

typedef struct SundogThreadPool SundogThreadPool;

typedef void (*SundogThreadWork)(void *data, unsigned thread, unsigned n_threads);

SundogThreadPool *sundog_thread_pool_new(unsigned n_threads, GError **error);
void sundog_thread_pool_free(SundogThreadPool *pool);

unsigned sundog_thread_pool_get_n_threads(const SundogThreadPool *pool);

/* Runs work on every thread; returns when all are done, and what they wrote is seen. */
void sundog_thread_pool_run(SundogThreadPool *pool, SundogThreadWork work, void *data);

/* Inside work: returns when every thread has come as far, and what they wrote is seen. */
void sundog_thread_pool_barrier(SundogThreadPool *pool, unsigned thread);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogThreadPool, sundog_thread_pool_free)
