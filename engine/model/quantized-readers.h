#pragma once

/* One reader a kind of quantization, as sundog_quantized_read() chooses among them. Within this house. */

#include "engine/model/affine.h"

#define SUNDOG_QUANTIZED_READER(name)                                                            \
    bool sundog_quantized_read_##name(SundogSource *source, const SundogQuantizedModule *module, \
                                      JsonObject *quantization, SundogSourceTensor *tensor,      \
                                      GError **error)

/* Packed in 32-bit words across a matrix: GPTQ, AWQ. */
SUNDOG_QUANTIZED_READER(gptq);
/* compressed-tensors: integers of 2, 4 or 8 bits, packed or not. */
SUNDOG_QUANTIZED_READER(compressed);
/* MLX: integers of 2 to 8 bits with scale and bias. */
SUNDOG_QUANTIZED_READER(mlx);
/* Floats of 8 bits with scales a block, row or tensor. */
SUNDOG_QUANTIZED_READER(fp8);
/* Blocks of 32 floats of 4 bits with a power of two. */
SUNDOG_QUANTIZED_READER(mxfp4);
/* bitsandbytes: 4 bits that are looked up, with a scale a block. */
SUNDOG_QUANTIZED_READER(bnb);
/* Blocks of 16 floats of 4 bits with a float of 8 bits, and a scale of the tensor. */
SUNDOG_QUANTIZED_READER(nvfp4);
