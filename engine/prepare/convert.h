#pragma once

/*
 * Rows of one of GGUF's encodings in another, for kernels that do not take the first. Pure functions; any
 * thread. Within this house.
 */

#include "engine/prepare/quantize.h"

/*
 * The type in which the CUDA kernels hold a matrix of `type`: its own where they have a layout for it, else
 *
 *   Q4_0                     Q4_1    the same values
 *   Q5_0, IQ4_NL, MXFP4      Q8_0    the same values
 *   Q4_K                     Q4_1    its integers; the products of two scales rounded to halves (2^-11)
 *   IQ4_XS                   Q8_0    likewise
 *   all others               BF16    values rounded (2^-9)
 *
 * The type itself where it has no layout at all.
 */
uint32_t sundog_cuda_type(uint32_t type);

/* One row, whose values are [n_columns], of type `from` to sundog_cuda_type(from), or of any type to BF16;
 * adds to `error`. False where a scale is beyond half precision. */
bool sundog_convert_row(uint32_t from, const uint8_t *row, const float *values, int64_t n_columns,
                        uint32_t to, uint8_t *converted, SundogQuantizationError *error);
