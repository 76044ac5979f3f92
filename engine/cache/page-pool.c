/* A stack of free pages. */

#include "engine/cache/page-pool.h"

struct SundogPagePool {
    int32_t n_pages; /* without the null page */
    int32_t n_free;
    int32_t *free; /* [n_pages] a stack: a page used lately is still in the processor's cache */
    bool *leased;  /* [n_pages + 1] */
    SundogWindowPages *windows; /* NULL where there are none */
};

SundogPagePool *
sundog_page_pool_new(int32_t n_pages, int32_t n_windows)
{
    g_return_val_if_fail(n_pages >= 2, NULL);
    SundogPagePool *pool = g_new0(SundogPagePool, 1);
    pool->n_pages = n_pages - 1;
    pool->n_free = pool->n_pages;
    pool->free = g_new(int32_t, pool->n_pages);
    pool->leased = g_new0(bool, n_pages);
    for (int32_t i = 0; i < pool->n_pages; i++)
        pool->free[i] = pool->n_pages - i; /* page 1 on top */
    if (n_windows > 1)
        pool->windows = sundog_window_pages_new(n_pages, n_windows);
    return pool;
}

void
sundog_page_pool_free(SundogPagePool *pool)
{
    if (pool) {
        sundog_window_pages_free(pool->windows);
        g_free(pool->free);
        g_free(pool->leased);
        g_free(pool);
    }
}

int32_t
sundog_page_pool_lease(SundogPagePool *pool)
{
    if (pool->n_free == 0)
        return SUNDOG_NULL_PAGE;
    int32_t page = pool->free[--pool->n_free];
    g_assert(!pool->leased[page]);
    pool->leased[page] = true;
    return page;
}

void
sundog_page_pool_release(SundogPagePool *pool, int32_t page)
{
    g_assert(page > SUNDOG_NULL_PAGE && page <= pool->n_pages && pool->leased[page]);
    if (pool->windows)
        sundog_window_pages_forget(pool->windows, page);
    pool->leased[page] = false;
    pool->free[pool->n_free++] = page;
}

void
sundog_page_pool_merge(SundogPagePool *pool, int32_t page, int32_t into)
{
    g_assert(page != into && pool->leased[into]);
    if (pool->windows)
        sundog_window_pages_merge(pool->windows, page, into);
    sundog_page_pool_release(pool, page);
}

SundogWindowPages *
sundog_page_pool_get_windows(const SundogPagePool *pool)
{
    return pool->windows;
}

int32_t
sundog_page_pool_get_n_pages(const SundogPagePool *pool)
{
    return pool->n_pages;
}

int32_t
sundog_page_pool_get_n_free(const SundogPagePool *pool)
{
    return pool->n_free;
}
