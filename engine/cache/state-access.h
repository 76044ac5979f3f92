#pragma once

/*
 * How the cache reaches the bytes of its sequences' state, by kind. A piece is one page, one page of windows or one
 * slot, of all layers that have such. Called on the cache's thread, between steps.
 */

#include "kernels/contract/paged-cache.h"
#include <stddef.h>

typedef struct {
    /* Of a piece that is read or written; 0: there are none of that kind, or they do not leave the device. */
    size_t n_bytes[SUNDOG_N_STATE_KINDS];
    void (*copy)(SundogStateKind kind, int32_t from, int32_t to, void *data);
    /* Between a piece and bytes [n_bytes[kind]]; not called where that is 0. False where the device failed: then
     * what was to be filled means nothing. */
    bool (*read)(SundogStateKind kind, int32_t piece, void *bytes, void *data);
    bool (*write)(SundogStateKind kind, int32_t piece, const void *bytes, void *data);
    void *data;
} SundogStateAccess;
