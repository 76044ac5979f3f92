#pragma once

/*
 * What models with several residual streams need (Baykal et al. 2023), and the sparsity of their MLPs.
 * Streams of D values lie side by side in a row.
 *
 * mix         Stream q of Q is, of P streams x, with a row's own coefficients [Q P],
 *               y[q][i] = fma over p in rising order of coefficients[q P + p], x[p][i], from
 *               residual[q][i], or 0 where there is no residual
 *             Streams may be split over threads.
 * match_norm  Each stream of x as large as a reference: y = x * factor with
 *               factor = sqrt(sum of reference / D) / sqrt(max(sum of x / D, floor))
 *             where the sums are those of squares, in rms-norm.h's order. Streams may be split.
 * sparsify    The part of each element that is above a cut of its row (You et al. 2024), else 0:
 *               mean and deviation = sqrt(sum of (x - mean)^2 / N), sums as layer-norm.h has them
 *               cut = fma(deviation, multiplier, mean); y = x - cut where x is above it
 *             Rows may be split.
 *
 * Each step is rounded once; floor and multiplier are rounded to float32.
 */

#include "kernels/contract/layer-norm.h"
