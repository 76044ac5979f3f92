#pragma once

/*
 * A program resolved for the host: kernels for its operations' names, pointers for its buffers. Sizes
 * are filled in for a shape, which a step of the same shape as the one before does not repeat; nothing
 * is allocated after new.
 */

#include "engine/core/program.h"
#include "engine/replay/thread-pool.h"
#include "kernels/host/kernels.h"

typedef struct SundogCallList SundogCallList;

/* data: one pointer for each of the program's buffers, copied. The program must outlive the list. */
SundogCallList *sundog_call_list_new(const SundogProgram *program, SundogHostSet set,
                                     void *const *data);
void sundog_call_list_free(SundogCallList *list);

void sundog_call_list_set_shape(SundogCallList *list, const SundogShape *shape);
/* Runs all calls in order, a barrier after each. */
void sundog_call_list_run(SundogCallList *list, SundogThreadPool *pool);

/* From now on adds the time of each call, its barrier included, to its operation's of `times_ns`
 * [SUNDOG_N_OPERATIONS]; NULL stops it. */
void sundog_call_list_set_times(SundogCallList *list, int64_t *times_ns);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogCallList, sundog_call_list_free)
