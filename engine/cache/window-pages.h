#pragma once

/*
 * Pages of windows: what layers with a window keep of a page of the pool, in memory of their own. A page
 * has one while a running sequence's window holds it. Behind every window it may keep it, for sequences that
 * begin with the same tokens, until another page needs it: least recently held first. All memory is taken in
 * new(). One thread.
 */

#include "kernels/contract/paged-cache.h"
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct SundogWindowPages SundogWindowPages;

/* Both counts with their null pages. */
SundogWindowPages *sundog_window_pages_new(int32_t n_pages, int32_t n_windows);
void sundog_window_pages_free(SundogWindowPages *windows);

/* From now on tells of each page whose window page goes to another, before it does. */
void sundog_window_pages_watch(SundogWindowPages *windows,
                               void (*evicting)(int32_t page, void *data), void *data);

/* The window page of a page, or SUNDOG_NULL_PAGE. */
int32_t sundog_window_pages_get(const SundogWindowPages *windows, int32_t page);

/* Holds a page's window page, which it gets where it has none: a free one, or the one that was let go of
 * first. The caller sees to it that not all are held. */
void sundog_window_pages_hold(SundogWindowPages *windows, int32_t page);
/* Ends one hold. */
void sundog_window_pages_let_go(SundogWindowPages *windows, int32_t page);

/* The page goes back to the pool: its window page, which nobody holds, is free. */
void sundog_window_pages_forget(SundogWindowPages *windows, int32_t page);
/* Another page has the same tokens: `into` takes over the holds, and the window page where it has none. */
void sundog_window_pages_merge(SundogWindowPages *windows, int32_t page, int32_t into);

/* Window pages that are held, each counted once. */
int32_t sundog_window_pages_get_n_held(const SundogWindowPages *windows);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogWindowPages, sundog_window_pages_free)
