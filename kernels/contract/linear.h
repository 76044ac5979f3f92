#pragma once

/*
 * Products with a weight matrix: linear, linear_qkv, linear_gated and linear_heads.
 *
 * Numeric class "sequential blocks": for each output element one float32 accumulator, blocks of k in
 * rising order. With a8 activations and a quantized weight, for each block of columns that share a
 * scale, 32 or 16 (layout.h):
 *     i   = exact integer dot of the stored values (zero points and codebooks taken out exactly)
 *     acc = fma((float)i, D * scale, acc)            D * scale rounded once
 *     acc = fma(M, sum, acc)                          where the layout has minima; sum is activation.h's
 *                                                     for 32, scale * its integer sum of 16, rounded once
 * With f32 activations, or a weight of floats: acc = fma(w, x, acc) for k in rising order, where w is
 * the dequantized weight (layout.h) in float32; a weight of floats with a8 activations is refused by
 * the checker. Then + bias, then + residual, each rounded once. The result does not depend on the
 * number of tokens in the call, their order, the number of threads or the processor: equal bits.
 *
 * linear_gated: gate and up lie in one layout, since their panels share a tile. y = f(g) * u with
 * f as gate.h has it, rounded once. Its y may be f32 [T, N] or, where N is a multiple of 32, a8
 * [ceil_div(T, 6), N]: equal to linear_gated, then quantize. Where both its a and its y are a8, T comes
 * from the number of tokens that a's last tile names.
 *
 * linear_heads: rows [h N, (h + 1) N) of w, N a multiple of 16, are head h's and meet its part of a
 * token, columns h S + offset to h S + offset + K of a [T, H S]: y[t][h N + n] is a linear's. a is f32; on CUDA it may
 * be bf16 too, and f32 is rounded to bf16 as it is read.
 *
 * On CUDA, and for its programs on the host, a and the y of linear_gated may be bf16 [T, K]: float32
 * rounded once. Weights in tiles go with bf16 alone. Numeric class "tensor cores": products of bf16
 * values are exact and summed in float32 in an order that the kernel's split of k fixes; quantized
 * weights enter as exact integers, and a group's sum is scaled in float32. For few tokens x times a norm's
 * weights is rounded, and the norm's divisor goes on the sums. Class "warpgroups", for more
 * tokens where the GPU has them: quantized weights are dequantized in float32 and rounded once to bf16.
 * Class "bytes", for few tokens and quantized weights where activations are int8: x is scale * q with q in
 * -127 to 127, the scale that of the largest of 32 columns / 127; in a chain of products in one launch, of 16
 * columns and rounded up to bf16, and there x times the norm's weights is rounded, whose divisor goes on the
 * sums. Integer dots of a group are exact, all else is summed in float32.
 *
 * bias is dense-f32 [1, N]. Threads split the rows of the weight.
 */

#include "kernels/contract/types.h"

/* Bytes of workspace a unit needs for a matrix of n_columns: 64 rows of unpacked weights. */
size_t sundog_linear_workspace_bytes(int64_t n_columns);
