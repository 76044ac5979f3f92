#pragma once

/* Rows of floats quantized to GGUF's encodings. Pure functions; any thread. Within this house. */

#include "engine/model/tensor.h"
#include "engine/prepare/prepare.h"
#include <stdbool.h>

/* The type in which a matrix of floats is kept where such weights are wanted: Q8_0, Q4_1 or F8; the tensor's
 * own type where it is quantized already, or its rows are no whole blocks. */
uint32_t sundog_quantized_type(const SundogTensor *tensor, SundogWeights weights);

/* How far rows went from what they were, to be summed over rows. */
typedef struct {
    double difference; /* sum of squares */
    double norm;
} SundogQuantizationError;

void sundog_quantization_error_add(SundogQuantizationError *error, float value, float found);

/* One row of F32, F16, BF16 or F8 as floats, [n_columns]. */
void sundog_widen_row(uint32_t type, const uint8_t *row, int64_t n_columns, float *values);
/* One row to Q8_0, Q4_1 or F8; adds to `error`. False where a value is not finite, or so large that no scale
 * holds it. Q8_0 and F8: the scale that takes the greatest value to 127 or 448. Q4_1: of some ranges about the values'
 * own, the one whose least-squares line comes closest. */
bool sundog_quantize_row(uint32_t type, const float *values, int64_t n_columns, uint8_t *row,
                         SundogQuantizationError *error);
