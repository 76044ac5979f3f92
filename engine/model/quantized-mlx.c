/*
 * MLX's affine quantization: weight [rows, columns × bits / 32] uint32, a little-endian stream of numbers
 * along each row; scales and biases [rows, groups]. Bits and columns of a group stand in config.json,
 * for all matrices or for one by its name.
 */

#include "engine/model/quantized-readers.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#include <string.h>

static void
unpack(const SundogAffine *affine, uint64_t first_row, uint64_t n_rows, uint8_t *numbers)
{
    const SundogSafetensor *weight = affine->module.parts[SUNDOG_PART_WEIGHT];
    uint64_t row_bytes = sundog_part_columns(weight) * sizeof(uint32_t);
    for (uint64_t i = 0; i < n_rows; i++) {
        const uint8_t *stream = weight->data + (first_row + i) * row_bytes;
        for (uint64_t column = 0; column < affine->n_columns; column++)
            *numbers++ = (uint8_t)sundog_bits_get(stream, column * affine->bits, affine->bits);
    }
}

static float
get_scale(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    return sundog_part_get_float(affine->module.parts[SUNDOG_PART_SCALES],
                                 row * affine->n_groups + group);
}

static float
get_minimum(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    return sundog_part_get_float(affine->module.parts[SUNDOG_PART_BIASES],
                                 row * affine->n_groups + group);
}

static const SundogPacking packing = {
    .unpack = unpack, .get_scale = get_scale, .get_minimum = get_minimum};

/* A number of the module's own settings, else of all modules'. */
static uint64_t
get_setting(const SundogQuantizedModule *module, JsonObject *quantization, const char *name)
{
    double number = 0;
    if (!sundog_json_get_double(sundog_json_get_object(quantization, module->name), name, &number))
        sundog_json_get_double(quantization, name, &number);
    return number >= 1 && number <= 4096 ? (uint64_t)number : 0;
}

static bool
measure(SundogAffine *affine)
{
    const SundogSafetensor *weight = affine->module.parts[SUNDOG_PART_WEIGHT];
    const SundogSafetensor *scales = affine->module.parts[SUNDOG_PART_SCALES];
    const SundogSafetensor *biases = affine->module.parts[SUNDOG_PART_BIASES];
    if (!sundog_part_is_word(weight) || !sundog_part_is_float(scales) ||
        !sundog_part_is_float(biases) || weight->rank < 2 || weight->rank > 4 || affine->bits < 2 ||
        affine->bits > 8 || affine->group_columns == 0)
        return false;
    affine->n_rows = sundog_part_rows(weight);
    affine->n_groups = sundog_part_columns(scales);
    affine->n_columns = affine->n_groups * affine->group_columns;
    return affine->n_rows > 0 && affine->n_groups > 0 && affine->n_groups < UINT32_MAX &&
           sundog_part_columns(weight) * 32 == affine->n_columns * affine->bits &&
           sundog_part_rows(scales) == affine->n_rows &&
           sundog_part_rows(biases) == affine->n_rows &&
           sundog_part_columns(biases) == affine->n_groups;
}

bool
sundog_quantized_read_mlx(SundogSource *source, const SundogQuantizedModule *module,
                          JsonObject *quantization, SundogSourceTensor *tensor, GError **error)
{
    const SundogSafetensor *weight = module->parts[SUNDOG_PART_WEIGHT];
    SundogAffine affine = {.module = *module,
                           .packing = &packing,
                           .bits = (uint32_t)get_setting(module, quantization, "bits"),
                           .group_columns = get_setting(module, quantization, "group_size")};
    if (!measure(&affine))
        return sundog_quantized_refuse(module, "MLX", error);
    affine.shape[0] = affine.n_columns;
    for (uint32_t i = 1; i < 4; i++)
        affine.shape[i] = i < weight->rank ? weight->shape[weight->rank - 1 - i] : 1;
    return sundog_affine_finish(source, &affine, tensor, error);
}
