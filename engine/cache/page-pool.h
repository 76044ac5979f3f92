#pragma once

/*
 * Which pages of the paged scheme are free. Page 0 is the null page and never leased. Layers with a window
 * may have pages of their own: then the pool knows which belong to a page, and frees them with it. All
 * memory is taken in new(). One thread.
 */

#include "engine/cache/window-pages.h"

typedef struct SundogPagePool SundogPagePool;

/* Both count the null page. At least 2 pages; up to 1 page of windows: there are none. */
SundogPagePool *sundog_page_pool_new(int32_t n_pages, int32_t n_windows);
void sundog_page_pool_free(SundogPagePool *pool);

/* A free page, the one released last; SUNDOG_NULL_PAGE where none is left. */
int32_t sundog_page_pool_lease(SundogPagePool *pool);
void sundog_page_pool_release(SundogPagePool *pool, int32_t page);
/* Releases a page in favour of another leased one with the same tokens, which takes over its window. */
void sundog_page_pool_merge(SundogPagePool *pool, int32_t page, int32_t into);

/* Borrowed; NULL where there are no pages of windows. */
SundogWindowPages *sundog_page_pool_get_windows(const SundogPagePool *pool);

/* Pages that can ever be leased, and those free now. */
int32_t sundog_page_pool_get_n_pages(const SundogPagePool *pool);
int32_t sundog_page_pool_get_n_free(const SundogPagePool *pool);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPagePool, sundog_page_pool_free)
