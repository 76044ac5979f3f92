#pragma once

/*
 * From operations of linear.h to launches. Which of four kernels carries a product out follows from its
 * columns, the variant's tokens and the target: rows.cu for a few odd columns, linear.cuh for few tokens, warpgroup.cuh
 * for more where the target has it, else wide.cuh. Within this house.
 */

#include "engine/prepare/lower-draft.h"

/* True for linear, linear_qkv and linear_gated. */
bool sundog_lower_is_product(SundogOperationKind kind);
/* True for products whose columns are not a multiple of 8, which no norm is fused with. */
bool sundog_lower_is_narrow(const SundogLowering *lowering, const SundogOperation *operation);
/* A product; with `norm`, the operation before it, in the same launch; else NULL. `index` is of the first. */
void sundog_lower_product(SundogLowering *lowering, uint32_t index, const SundogOperation *norm,
                          const SundogOperation *operation);
