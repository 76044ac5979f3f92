#pragma once

/*
 * Quantized checkpoints of the safetensors world, read value for value. A matrix lies there as several
 * tensors beside each other (packed integers, scales, zero points); a reader turns its rows into the
 * narrowest of GGUF's types that holds every value exactly, else into F32:
 *
 *   integers with a scale a group, scale (q - zero): Q4_0, Q5_0 or Q8_0, whichever is the narrowest that
 *     holds all q - zero, where groups are whole blocks of 32 columns and every scale is exact in F16
 *   integers with a scale and a minimum a group, scale q + minimum: Q4_1 up to 4 bits, Q5_1 at 5, under the
 *     same conditions for both
 *   columns in groups by a list (GPTQ's desc_act): F32, since neighbours do not share a scale
 *   floats of 8 bits with a scale a block, row or tensor: F8 where they are e4m3 and each scale is that of
 *     whole blocks of 64 columns, else BF16 where all scales are powers of two
 *   mxfp4: MXFP4; mxfp8: BF16; nvfp4: F32
 *   bitsandbytes' nf4 and fp4: BF16 where their state says that values are that, as its own code rounds
 *     them, else F32
 *
 * F32 holds the product of scale and stored number as float32 rounds it, which is what the reference
 * computes; 8-bit integers with a minimum and asymmetric 8-bit integers have no narrower home.
 * What a matrix is shows in which parts it has; shapes give bits and groups, except MLX's, which stand
 * in config.json. Sources: the dequantizing code of transformers' integrations (fp8, mxfp4), AutoGPTQ,
 * AutoAWQ, compressed-tensors, MLX (affine quantization), NVIDIA ModelOpt (nvfp4), bitsandbytes.
 *
 * Within this house.
 */

#include "engine/format/safetensors.h"
#include "engine/model/source.h"

/* Parts of a matrix. X(PART, what follows its module's name) */
#define SUNDOG_QUANTIZED_PARTS(X)                         \
    X(WEIGHT, ".weight")                                  \
    X(QWEIGHT, ".qweight")                                \
    X(QZEROS, ".qzeros")                                  \
    X(SCALES, ".scales")                                  \
    X(BIASES, ".biases")                                  \
    X(G_IDX, ".g_idx")                                    \
    X(PACKED, ".weight_packed")                           \
    X(SCALE, ".weight_scale")                             \
    X(SCALE_INV, ".weight_scale_inv")                     \
    X(SCALE_2, ".weight_scale_2")                         \
    X(GLOBAL_SCALE, ".weight_global_scale")               \
    X(ZERO_POINT, ".weight_zero_point")                   \
    X(PACKED_G_IDX, ".weight_g_idx")                      \
    X(PACKED_SHAPE, ".weight_shape")                      \
    X(ABSMAX, ".weight.absmax")                           \
    X(NESTED_ABSMAX, ".weight.nested_absmax")             \
    X(MAP, ".weight.quant_map")                           \
    X(NESTED_MAP, ".weight.nested_quant_map")             \
    X(NF4_STATE, ".weight.quant_state.bitsandbytes__nf4") \
    X(FP4_STATE, ".weight.quant_state.bitsandbytes__fp4") \
    X(BLOCKS, "_blocks")                                  \
    X(BLOCK_SCALES, "_scales")

typedef enum {
#define X(part, suffix) SUNDOG_PART_##part,
    SUNDOG_QUANTIZED_PARTS(X)
#undef X
        SUNDOG_N_PARTS
} SundogQuantizedPart;

/* A matrix, or a stack of them: the parts that stand beside each other. */
typedef struct {
    const char *name; /* "model.layers.0.mlp.up_proj" */
    const SundogSafetensor *parts[SUNDOG_N_PARTS];
} SundogQuantizedModule;

/* Which part a tensor's name ends in, and how long the module's name before it is; SUNDOG_N_PARTS for a
 * name that ends in none. */
SundogQuantizedPart sundog_quantized_parse(const char *name, size_t *n_module_bytes);
/* Whether the name is that of something beside a matrix that its values do not depend on: scales of
 * activations and caches. */
bool sundog_quantized_is_beside(const char *name);

/* The module's matrix, still without names. `quantization` is what config.json says of it, or NULL. */
bool sundog_quantized_read(SundogSource *source, const SundogQuantizedModule *module,
                           JsonObject *quantization, SundogSourceTensor *tensor, GError **error);
