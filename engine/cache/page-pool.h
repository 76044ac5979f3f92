#pragma once

/*
 * Which pages of the paged scheme are free. Page 0 is the null page and never leased. All memory is
 * taken in new(). One thread.
 */

#include "kernels/contract/paged-cache.h"
#include <glib.h>

typedef struct SundogPagePool SundogPagePool;

/* n_pages counts the null page, at least 2. */
SundogPagePool *sundog_page_pool_new(int32_t n_pages);
void sundog_page_pool_free(SundogPagePool *pool);

/* A free page, the one released last; SUNDOG_NULL_PAGE where none is left. */
int32_t sundog_page_pool_lease(SundogPagePool *pool);
void sundog_page_pool_release(SundogPagePool *pool, int32_t page);

/* Pages that can ever be leased, and those free now. */
int32_t sundog_page_pool_get_n_pages(const SundogPagePool *pool);
int32_t sundog_page_pool_get_n_free(const SundogPagePool *pool);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogPagePool, sundog_page_pool_free)
