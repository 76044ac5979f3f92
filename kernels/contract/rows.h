#pragma once

/*
 * Operations that move or add whole rows. Any split.
 *
 * embed        x[t] = row token[t] of the table, dequantized as layout.h says, * scale where scale is
 *              not 1, rounded once. A token outside the table gives a row of NaN.
 * gather_rows  y[r] = x[rows[r]]; an index outside x gives a row of NaN.
 * take         y[t][g size + i] = x[t][g stride + offset + i].
 * mul          y = a * b, or a row of a times its one b, rounded once; y may be either of them.
 * scale_columns  y = x * weight, a factor a column, rounded once; y may be x.
 * subtract     y = a - b; y may be either of them.
 * add          y = a + b; y may be either of them.
 * scale        y = x * factor, rounded once; y may be x.
 * softcap      y = limit * tanh(x / limit), math.h's, each step rounded once; y may be x.
 * scale_queries  the first H C of each row times scales[min((position + offset) / period, N - 1)],
 *              rounded once.
 * join         y[t] = a[t], b[t], c[t] side by side.
 */

#include "kernels/contract/types.h"
