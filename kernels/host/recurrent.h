#pragma once

/* What operations with recurrent state share: a sequence's rows and its slot. */

#include "kernels/contract/recurrent.h"
#include "kernels/host/kernel.h"

#include <string.h>

typedef struct {
    int64_t first_row;
    int64_t n_rows;
    float *state;  /* its slot; NULL for the null one */
    bool is_empty; /* nothing came before: the state counts as zero */
} SundogRecurrentSequence;

/* The sequence of index s, given the arguments first_row, start_position, state_slot and state, which
 * follow one another. A slot outside the state counts as the null one. */
static inline SundogRecurrentSequence
sundog_recurrent_sequence(const SundogArgument *arguments, int64_t s)
{
    const int32_t *first_row = arguments[0].data;
    const SundogArgument *state = &arguments[3];
    int64_t slot = ((const int32_t *)arguments[2].data)[s];
    int64_t size = state->shape[1] * state->shape[2] * state->shape[3];
    bool has_slot = slot > SUNDOG_NULL_STATE_SLOT && slot < state->shape[0];
    return (SundogRecurrentSequence){
        .first_row = first_row[s],
        .n_rows = first_row[s + 1] - first_row[s],
        .state = has_slot ? (float *)state->data + slot * size : NULL,
        .is_empty = !has_slot || ((const int32_t *)arguments[1].data)[s] == 0,
    };
}

/* The state of one head, of `size` numbers, which is zero where nothing came before; NULL in the null slot,
 * which has no room for one. */
static inline float *
sundog_recurrent_begin_head(const SundogRecurrentSequence *sequence, int64_t head, int64_t size)
{
    if (sequence->state == NULL)
        return NULL;
    float *state = sequence->state + head * size;
    if (sequence->is_empty)
        memset(state, 0, (size_t)size * sizeof(float));
    return state;
}
