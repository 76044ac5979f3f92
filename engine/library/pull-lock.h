#pragma once

/*
 * One writer a model: a lock on models/.NAME.lock, taken by the one who fetches or removes it. The
 * kernel gives it back when the process ends, however it ends, so there is no stale lock.
 */

#include <glib.h>

typedef struct SundogPullLock SundogPullLock;

/* SUNDOG_LIBRARY_ERROR_BUSY where another holds it, also in this process. */
SundogPullLock *sundog_pull_lock_take(const char *name, GError **error);
void sundog_pull_lock_release(SundogPullLock *lock);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPullLock, sundog_pull_lock_release)
