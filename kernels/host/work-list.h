#pragma once

/* Walking the work list of experts.h, an expert at a time. */

#include "kernels/contract/experts.h"
#include "kernels/contract/types.h"

/* One expert's tiles: entries [first, first + n_tiles) of the list. */
typedef struct {
    const int32_t *entries; /* [n_tiles, SUNDOG_WORK_FIELDS] */
    int64_t expert;
    int64_t first;
    int64_t n_tiles;
    int64_t n_rows;
} SundogExpertWork;

/* The expert whose tiles begin at entry `first`; n_tiles is 0 at the list's end. */
static inline SundogExpertWork
sundog_work_at(const SundogArgument *work, int64_t first)
{
    SundogExpertWork found = {.entries = (const int32_t *)work->data + first * SUNDOG_WORK_FIELDS,
                              .first = first};
    for (int64_t i = first; i < work->shape[0]; i++) {
        const int32_t *entry = (const int32_t *)work->data + i * SUNDOG_WORK_FIELDS;
        if (entry[SUNDOG_WORK_ROWS] == 0 ||
            (i > first && entry[SUNDOG_WORK_EXPERT] != found.expert))
            break;
        found.expert = entry[SUNDOG_WORK_EXPERT];
        found.n_rows += entry[SUNDOG_WORK_ROWS];
        found.n_tiles++;
    }
    return found;
}

static inline int64_t
sundog_work_count_tiles(const SundogArgument *work)
{
    int64_t n = 0;
    while (n < work->shape[0] &&
           ((const int32_t *)work->data)[n * SUNDOG_WORK_FIELDS + SUNDOG_WORK_ROWS] > 0)
        n++;
    return n;
}
