#pragma once

/*
 * rms_norm, norm_quantize, head_norm, gated_norm and group_norm: y = x / rms(x) * weight, a row at a
 * time; for head_norm and gated_norm a row is one head, and G may be 0; for group_norm it is one of
 * n_groups equal parts, each with its own part of the weight.
 *
 * Order: 32 partial sums, x[k] going to partial sum k mod 32 by fma in rising k; then partial sum i
 * takes i + 16, then i + 8, + 4, + 2, + 1 (each halving adds the upper half to the lower).
 *   factor = 1 / sqrt(sum / D + epsilon)     each of the four steps rounded once
 *   y[k]   = (x[k] * factor) * weight[k]     rounded twice
 * y may be bf16 [T, D]: the float32 value rounded once more.
 * epsilon is rounded to float32. Rows may be split over threads; a row's sum may not.
 * gated_norm is head_norm, then times gate.h's silu of its gate, rounded once more.
 * norm_quantize goes on with activation.h and is equal to rms_norm, then quantize.
 */

#include "kernels/contract/types.h"

#define SUNDOG_NORM_LANES 32
