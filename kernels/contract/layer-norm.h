#pragma once

/*
 * layer_norm: y = (x - mean x) / deviation x * weight + bias, a row at a time (Ba et al. 2016).
 *
 *   mean   = sum / D, the sum in 32 parts as in rms-norm.h, each x added in place of its square
 *   d[k]   = x[k] - mean
 *   factor = rms-norm.h's of d
 *   y[k]   = fma(d[k] * factor, weight[k], bias[k], or 0 where there is no bias)
 * each step rounded once. epsilon is rounded to float32. Rows may be split over threads; a row's sums
 * may not.
 */

#include "kernels/contract/rms-norm.h"
