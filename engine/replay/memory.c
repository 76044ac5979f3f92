/* Anonymous memory for arenas, weights and pools. */

#include "engine/replay/memory.h"

#include "engine/replay/replay.h"

#include <errno.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Maps more than asked and gives the ends back, so that huge pages can begin at once. */
static uint8_t *
map_aligned(size_t n_bytes)
{
    size_t n_mapped = n_bytes + HUGE_PAGE;
    uint8_t *mapped = mmap(NULL, n_mapped, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(mapped, before);
    munmap(mapped + before + n_bytes, n_mapped - before - n_bytes);
    return mapped + before;
}

bool
sundog_memory_map(SundogMemory *memory, size_t n_bytes, SundogMemoryPages pages, const char *what,
                  GError **error)
{
    bool is_huge = pages == SUNDOG_MEMORY_HUGE_PAGES;
    size_t unit = is_huge ? HUGE_PAGE : 4096;
    *memory = (SundogMemory){.n_bytes = (MAX(n_bytes, 1) + unit - 1) / unit * unit};
    memory->data = map_aligned(memory->n_bytes);
    if (memory->data == NULL) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_MEMORY,
                    "the system refused %zu bytes for %s: %s", memory->n_bytes, what,
                    g_strerror(errno));
        return false;
    }
    /* A wish: where the system knows no huge pages, small ones do. */
    madvise(memory->data, memory->n_bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return true;
}

void
sundog_memory_clear(SundogMemory *memory)
{
    if (memory->data != NULL)
        munmap(memory->data, memory->n_bytes);
    *memory = (SundogMemory){0};
}
