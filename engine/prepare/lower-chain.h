#pragma once

/*
 * From the products between two attentions to one launch of chain.cu: output projection, norm, gated products,
 * down projection, and the next layer's norm and queries, keys and values. For few tokens and quantized
 * weights whose x may be rounded to bytes, on targets whose kernels wait by themselves. Within this house.
 */

#include "engine/prepare/lower-draft.h"

/* Lowers the chain that begins at an operation; returns how many operations that was, 0 where none begins. */
uint32_t sundog_lower_chain(SundogLowering *lowering, uint32_t index);
