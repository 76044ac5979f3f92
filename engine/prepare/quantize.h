#pragma once

/* Rows of floats quantized to GGUF's encodings. Pure functions; any thread. Within this house. */

#include "engine/model/tensor.h"
#include <stdbool.h>

/* The type in which `wanted` weights keep a matrix of floats: Q8_0 or Q4_1; the tensor's own type where it
 * is quantized already, or its rows are no whole blocks of 32. */
uint32_t sundog_quantized_type(const SundogTensor *tensor, bool is_q4);

/* How far rows went from what they were, to be summed over rows. */
typedef struct {
    double difference; /* sum of squares */
    double norm;
} SundogQuantizationError;

/* One row of F32, F16 or BF16 as floats, [n_columns]. */
void sundog_widen_row(uint32_t type, const uint8_t *row, int64_t n_columns, float *values);
/* One row to Q8_0 or Q4_1; adds to `error`. False where a value is not finite, or so large that no scale
 * holds it. Q8_0: the scale that takes the greatest value to 127. Q4_1: of some ranges about the values'
 * own, the one whose least-squares line comes closest. */
bool sundog_quantize_row(uint32_t type, const float *values, int64_t n_columns, uint8_t *row,
                         SundogQuantizationError *error);
