#pragma once

/*
 * What linear-experts.c asks of a set's products: the tiles of one expert. The work is in pieces: units
 * of 32 columns of the result, and of each unit the expert's tiles.
 */

#include "kernels/host/kernel.h"
#include "kernels/host/work-list.h"

typedef struct {
    const SundogArgument *a;      /* gathered, all experts' */
    const SundogArgument *y;      /* of linear_gated_experts gathered, else a row a choice */
    const SundogArgument *gate;   /* of linear_gated_experts, this expert's rows; else NULL */
    const SundogArgument *weight; /* this expert's rows */
    const float *gate_bias;       /* this expert's, or NULL */
    const float *bias;
    int64_t function; /* of linear_gated_experts, a SundogGate */
    const SundogExpertWork *work;
    const SundogArgument *workspace;
} SundogExpertProduct;

/* Pieces [begin, end) of n_units * n_tiles; piece i is tile i mod n_tiles of unit i / n_tiles. */
void SUNDOG_KERNEL(multiply_expert)(const SundogCall *call, const SundogExpertProduct *product,
                                    SundogRange pieces);
/* The plain kernels', which take whatever layout and type there is. */
void sundog_host_plain_multiply_expert(const SundogCall *call, const SundogExpertProduct *product,
                                       SundogRange pieces);
