#pragma once

/*
 * Anonymous memory straight from the system: zero until written, and resident only where touched, so
 * what is sized for the worst case costs what is used. Any thread.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *data;
    size_t n_bytes;
} SundogMemory;

typedef enum {
    SUNDOG_MEMORY_HUGE_PAGES,  /* streamed through or used whole: fewer misses of the TLB */
    SUNDOG_MEMORY_SMALL_PAGES, /* touched here and there: nothing more than that is resident */
} SundogMemoryPages;

/* data is aligned to 2 MiB for huge pages, to 4 KiB for small ones. */
bool sundog_memory_map(SundogMemory *memory, size_t n_bytes, SundogMemoryPages pages,
                       const char *what, GError **error);
void sundog_memory_clear(SundogMemory *memory);
