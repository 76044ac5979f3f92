#pragma once

/*
 * From operations of linear.h to launches. Which of three kernels carries a product out follows from the
 * variant's tokens and the target: linear.cuh for few, warpgroup.cuh for more where the target has it,
 * else wide.cuh. Within this house.
 */

#include "engine/prepare/lower-draft.h"

/* True for linear, linear_qkv and linear_gated. */
bool sundog_lower_is_product(SundogOperationKind kind);
/* A product; with `norm`, the operation before it, in the same launch; else NULL. `index` is of the first. */
void sundog_lower_product(SundogLowering *lowering, uint32_t index, const SundogOperation *norm,
                          const SundogOperation *operation);
