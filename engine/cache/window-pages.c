/* Window pages by the page that they belong to, and a list of those that nobody holds. */

#include "engine/cache/window-pages.h"

typedef struct {
    int32_t window; /* SUNDOG_NULL_PAGE: it has none */
    uint32_t n_holds;
    int32_t older; /* in the list of those with a window page that nobody holds */
    int32_t newer;
} Owner;

/* Entry 0 of the owners, the null page, is both ends of the list. */
struct SundogWindowPages {
    Owner *owners; /* [n_pages] */
    int32_t *free; /* [n_windows - 1] a stack */
    int32_t n_free;
    int32_t n_held;
    void (*evicting)(int32_t page, void *data); /* or NULL */
    void *data;
};

static void
list_append(SundogWindowPages *windows, int32_t page)
{
    Owner *owners = windows->owners;
    owners[page].older = owners[0].older;
    owners[page].newer = 0;
    owners[owners[0].older].newer = page;
    owners[0].older = page;
}

static void
list_remove(SundogWindowPages *windows, int32_t page)
{
    Owner *owners = windows->owners;
    owners[owners[page].older].newer = owners[page].newer;
    owners[owners[page].newer].older = owners[page].older;
}

SundogWindowPages *
sundog_window_pages_new(int32_t n_pages, int32_t n_windows)
{
    g_return_val_if_fail(n_pages >= 2 && n_windows >= 2, NULL);
    SundogWindowPages *windows = g_new0(SundogWindowPages, 1);
    windows->owners = g_new0(Owner, n_pages);
    windows->n_free = n_windows - 1;
    windows->free = g_new(int32_t, windows->n_free);
    for (int32_t i = 0; i < windows->n_free; i++)
        windows->free[i] = windows->n_free - i; /* page 1 on top */
    return windows;
}

void
sundog_window_pages_free(SundogWindowPages *windows)
{
    if (windows) {
        g_free(windows->owners);
        g_free(windows->free);
        g_free(windows);
    }
}

void
sundog_window_pages_watch(SundogWindowPages *windows, void (*evicting)(int32_t page, void *data),
                          void *data)
{
    windows->evicting = evicting;
    windows->data = data;
}

int32_t
sundog_window_pages_get(const SundogWindowPages *windows, int32_t page)
{
    return windows->owners[page].window;
}

/* Takes a page's window page away, which nobody holds. */
static void
drop(SundogWindowPages *windows, int32_t page)
{
    Owner *owner = &windows->owners[page];
    g_assert(owner->window != SUNDOG_NULL_PAGE && owner->n_holds == 0);
    list_remove(windows, page);
    windows->free[windows->n_free++] = owner->window;
    owner->window = SUNDOG_NULL_PAGE;
}

static void
evict_oldest(SundogWindowPages *windows)
{
    int32_t oldest = windows->owners[0].newer;
    if (windows->evicting)
        windows->evicting(oldest, windows->data);
    drop(windows, oldest);
}

void
sundog_window_pages_hold(SundogWindowPages *windows, int32_t page)
{
    Owner *owner = &windows->owners[page];
    g_assert(page != SUNDOG_NULL_PAGE);
    if (owner->n_holds++ > 0)
        return;
    windows->n_held++;
    if (owner->window != SUNDOG_NULL_PAGE) {
        list_remove(windows, page);
        return;
    }
    if (windows->n_free == 0)
        evict_oldest(windows);
    owner->window = windows->free[--windows->n_free];
}

void
sundog_window_pages_let_go(SundogWindowPages *windows, int32_t page)
{
    Owner *owner = &windows->owners[page];
    g_assert(owner->n_holds > 0);
    if (--owner->n_holds == 0) {
        windows->n_held--;
        list_append(windows, page);
    }
}

void
sundog_window_pages_forget(SundogWindowPages *windows, int32_t page)
{
    g_assert(windows->owners[page].n_holds == 0);
    if (windows->owners[page].window != SUNDOG_NULL_PAGE)
        drop(windows, page);
}

void
sundog_window_pages_merge(SundogWindowPages *windows, int32_t page, int32_t into)
{
    Owner *from = &windows->owners[page], *to = &windows->owners[into];
    if (to->window == SUNDOG_NULL_PAGE) { /* nobody holds it, then */
        if (from->window != SUNDOG_NULL_PAGE && from->n_holds == 0) {
            list_remove(windows, page);
            list_append(windows, into);
        }
        to->window = from->window;
        to->n_holds = from->n_holds;
        from->window = SUNDOG_NULL_PAGE;
        from->n_holds = 0;
        return;
    }
    for (; from->n_holds > 0; sundog_window_pages_let_go(windows, page))
        sundog_window_pages_hold(windows, into);
    sundog_window_pages_forget(windows, page);
}

int32_t
sundog_window_pages_get_n_held(const SundogWindowPages *windows)
{
    return windows->n_held;
}
