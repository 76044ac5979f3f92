/*
 * compressed-tensors' integers: weight_packed [rows, columns × bits / 32] int32, a little-endian stream of
 * unsigned numbers along each row, or weight [rows, columns] int8; weight_scale [rows, groups];
 * weight_zero_point, such a stream down each column of [rows × bits / 32, groups], where the
 * quantization is not symmetric; weight_g_idx [columns] where columns were grouped by a list;
 * weight_shape says rows and columns.
 */

#include "engine/model/quantized-readers.h"

static float
get_scale(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    return sundog_part_get_float(affine->module.parts[SUNDOG_PART_SCALE],
                                 row * affine->n_groups + group);
}

static void
unpack_packed(const SundogAffine *affine, uint64_t first_row, uint64_t n_rows, uint8_t *numbers)
{
    const SundogSafetensor *packed = affine->module.parts[SUNDOG_PART_PACKED];
    uint64_t row_bytes = sundog_part_columns(packed) * sizeof(uint32_t);
    for (uint64_t i = 0; i < n_rows; i++) {
        const uint8_t *stream = packed->data + (first_row + i) * row_bytes;
        for (uint64_t column = 0; column < affine->n_columns; column++)
            *numbers++ = (uint8_t)sundog_bits_get(stream, column * affine->bits, affine->bits);
    }
}

/* Signed bytes, made unsigned. */
static void
unpack_bytes(const SundogAffine *affine, uint64_t first_row, uint64_t n_rows, uint8_t *numbers)
{
    const uint8_t *bytes =
        affine->module.parts[SUNDOG_PART_WEIGHT]->data + first_row * affine->n_columns;
    for (uint64_t i = 0; i < n_rows * affine->n_columns; i++)
        numbers[i] = bytes[i] ^ 0x80;
}

/* What stands for 0 where the quantization is symmetric. */
static int
get_middle(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    return 1 << (affine->bits - 1);
}

static int
get_zero(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    return (int)sundog_words_get(affine->module.parts[SUNDOG_PART_ZERO_POINT], row * affine->bits,
                                 affine->n_groups, group, affine->bits);
}

static const SundogPacking symmetric = {
    .unpack = unpack_packed, .get_scale = get_scale, .get_zero = get_middle};
static const SundogPacking asymmetric = {
    .unpack = unpack_packed, .get_scale = get_scale, .get_zero = get_zero};
static const SundogPacking bytes = {
    .unpack = unpack_bytes, .get_scale = get_scale, .get_zero = get_middle};

/* Element `index` of a vector of whole numbers, which may be of 32 or 64 bits. */
static uint64_t
get_whole(const SundogSafetensor *part, uint64_t index)
{
    if (sundog_part_is_word(part))
        return sundog_part_get_word(part, index);
    uint64_t low = sundog_part_get_word(part, 2 * index);
    return (uint64_t)sundog_part_get_word(part, 2 * index + 1) << 32 | low;
}

static bool
measure_packed(SundogAffine *affine)
{
    const SundogSafetensor *packed = affine->module.parts[SUNDOG_PART_PACKED];
    const SundogSafetensor *shape = affine->module.parts[SUNDOG_PART_PACKED_SHAPE];
    const SundogSafetensor *zeros = affine->module.parts[SUNDOG_PART_ZERO_POINT];
    const SundogSafetensor *g_idx = affine->module.parts[SUNDOG_PART_PACKED_G_IDX];
    if (!sundog_part_is_word(packed) || packed->rank != 2 || shape == NULL ||
        shape->n_values != 2 ||
        !(sundog_part_is_word(shape) || shape->dtype == SUNDOG_SAFETENSORS_I64))
        return false;
    affine->n_rows = get_whole(shape, 0);
    affine->n_columns = get_whole(shape, 1);
    if (affine->n_rows != packed->shape[0] || affine->n_columns == 0 ||
        packed->shape[1] > affine->n_columns || packed->shape[1] * 32 % affine->n_columns != 0)
        return false;
    affine->bits = (uint32_t)(packed->shape[1] * 32 / affine->n_columns);
    if (affine->bits < 2 || affine->bits > 8 ||
        (g_idx != NULL && (!sundog_part_is_word(g_idx) || g_idx->n_values != affine->n_columns)))
        return false;
    affine->g_idx = g_idx != NULL ? g_idx->data : NULL;
    affine->packing = zeros != NULL ? &asymmetric : &symmetric;
    return zeros == NULL || (sundog_part_is_word(zeros) && zeros->rank == 2 &&
                             zeros->shape[0] == (affine->n_rows * affine->bits + 31) / 32 &&
                             zeros->shape[1] == affine->n_groups);
}

/* Without a zero point: int8 is symmetric wherever it is published. */
static bool
measure_bytes(SundogAffine *affine)
{
    const SundogSafetensor *weight = affine->module.parts[SUNDOG_PART_WEIGHT];
    if (weight == NULL || weight->dtype != SUNDOG_SAFETENSORS_I8 || weight->rank != 2 ||
        affine->module.parts[SUNDOG_PART_ZERO_POINT] != NULL)
        return false;
    affine->n_rows = weight->shape[0];
    affine->n_columns = weight->shape[1];
    affine->bits = 8;
    affine->packing = &bytes;
    return true;
}

bool
sundog_quantized_read_compressed(SundogSource *source, const SundogQuantizedModule *module,
                                 JsonObject *quantization, SundogSourceTensor *tensor,
                                 GError **error)
{
    const SundogSafetensor *scale = module->parts[SUNDOG_PART_SCALE];
    SundogAffine affine = {.module = *module};
    if (!sundog_part_is_float(scale) || scale->rank != 2 || scale->shape[1] == 0)
        return sundog_quantized_refuse(module, "compressed-tensors", error);
    affine.n_groups = scale->shape[1];
    if (!(module->parts[SUNDOG_PART_PACKED] != NULL ? measure_packed(&affine)
                                                    : measure_bytes(&affine)) ||
        scale->shape[0] != affine.n_rows || affine.n_rows == 0 || affine.n_columns == 0 ||
        affine.n_columns % affine.n_groups != 0)
        return sundog_quantized_refuse(module, "compressed-tensors", error);
    affine.group_columns = affine.n_columns / affine.n_groups;
    affine.shape[0] = affine.n_columns;
    affine.shape[1] = affine.n_rows;
    affine.shape[2] = affine.shape[3] = 1;
    return sundog_affine_finish(source, &affine, tensor, error);
}
