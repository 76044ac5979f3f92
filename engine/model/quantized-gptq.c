/*
 * GPTQ and AWQ. Both have scales [groups, rows] and packed zero points [groups, rows]:
 *   GPTQ  qweight [columns × bits / 32, rows] int32: down the columns, a little-endian stream of numbers
 *         for each row; zero points one less than they are, but in files of checkpoint_format "gptq_v2";
 *         g_idx [columns] may say which group a column is of
 *   AWQ   qweight [columns, rows × 4 / 32] int32: across the rows, of eight rows in the order 0 2 4 6 1 3
 *         5 7
 */

#include "engine/model/quantized-readers.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#include <string.h>

#define AWQ_BITS 4

static const uint8_t awq_places[] = {0, 4, 1, 5, 2, 6, 3, 7}; /* nibble of row r in a word */

static float
get_scale(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    return sundog_part_get_float(affine->module.parts[SUNDOG_PART_SCALES],
                                 group * affine->n_rows + row);
}

/* --- GPTQ --------------------------------------------------------------------------------------- */

static void
unpack_gptq(const SundogAffine *affine, uint64_t first_row, uint64_t n_rows, uint8_t *numbers)
{
    const SundogSafetensor *words = affine->module.parts[SUNDOG_PART_QWEIGHT];
    for (uint64_t column = 0; column < affine->n_columns; column++) {
        for (uint64_t i = 0; i < n_rows; i++)
            numbers[i * affine->n_columns + column] = (uint8_t)sundog_words_get(
                words, column * affine->bits, affine->n_rows, first_row + i, affine->bits);
    }
}

static int
get_zero_gptq(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    const SundogSafetensor *zeros = affine->module.parts[SUNDOG_PART_QZEROS];
    const uint8_t *stream = zeros->data + group * sundog_part_columns(zeros) * sizeof(uint32_t);
    return (int)(sundog_bits_get(stream, row * affine->bits, affine->bits) + affine->zero_shift);
}

static const SundogPacking gptq = {
    .unpack = unpack_gptq, .get_scale = get_scale, .get_zero = get_zero_gptq};

/* The number of columns is the list's of groups, or follows from the number of bits. */
static bool
measure_gptq(SundogAffine *affine, JsonObject *quantization)
{
    const SundogSafetensor *qweight = affine->module.parts[SUNDOG_PART_QWEIGHT];
    const SundogSafetensor *scales = affine->module.parts[SUNDOG_PART_SCALES];
    const SundogSafetensor *zeros = affine->module.parts[SUNDOG_PART_QZEROS];
    const SundogSafetensor *g_idx = affine->module.parts[SUNDOG_PART_G_IDX];
    uint64_t words = qweight->shape[0];
    double bits = 0;
    sundog_json_get_double(quantization, "bits", &bits);
    affine->n_rows = qweight->shape[1];
    affine->n_groups = scales->shape[0];
    affine->n_columns = g_idx != NULL ? g_idx->n_values
                        : bits > 0    ? words * 32 / (uint64_t)bits
                                      : 0;
    if (affine->n_columns == 0 || words > affine->n_columns / 4 + 1 ||
        (words * 32) % affine->n_columns != 0)
        return false;
    affine->bits = (uint32_t)(words * 32 / affine->n_columns);
    if (affine->bits < 2 || affine->bits > 8 || affine->n_groups == 0 ||
        scales->shape[1] != affine->n_rows || zeros->shape[0] != affine->n_groups ||
        zeros->shape[1] * 32 != affine->n_rows * affine->bits)
        return false;
    double size = 0;
    bool is_said = sundog_json_get_double(quantization, "group_size", &size) && size >= 1 &&
                   size <= (double)affine->n_columns;
    affine->group_columns = is_said ? (uint64_t)size : affine->n_columns / affine->n_groups;
    if (affine->group_columns == 0 ||
        (affine->n_columns + affine->group_columns - 1) / affine->group_columns != affine->n_groups)
        return false;
    affine->g_idx = g_idx != NULL ? g_idx->data : NULL;
    return true;
}

/* --- AWQ ---------------------------------------------------------------------------------------- */

static unsigned
get_awq(const SundogSafetensor *words, uint64_t line, uint64_t row)
{
    uint32_t word = sundog_part_get_word(words, line * sundog_part_columns(words) + row / 8);
    return word >> (AWQ_BITS * awq_places[row % 8]) & 15;
}

static void
unpack_awq(const SundogAffine *affine, uint64_t first_row, uint64_t n_rows, uint8_t *numbers)
{
    const SundogSafetensor *words = affine->module.parts[SUNDOG_PART_QWEIGHT];
    for (uint64_t column = 0; column < affine->n_columns; column++) {
        for (uint64_t i = 0; i < n_rows; i++)
            numbers[i * affine->n_columns + column] =
                (uint8_t)get_awq(words, column, first_row + i);
    }
}

static int
get_zero_awq(const SundogAffine *affine, uint64_t row, uint64_t group)
{
    return (int)get_awq(affine->module.parts[SUNDOG_PART_QZEROS], group, row);
}

static const SundogPacking awq = {
    .unpack = unpack_awq, .get_scale = get_scale, .get_zero = get_zero_awq};

static bool
measure_awq(SundogAffine *affine)
{
    const SundogSafetensor *qweight = affine->module.parts[SUNDOG_PART_QWEIGHT];
    const SundogSafetensor *scales = affine->module.parts[SUNDOG_PART_SCALES];
    const SundogSafetensor *zeros = affine->module.parts[SUNDOG_PART_QZEROS];
    affine->bits = AWQ_BITS;
    affine->n_columns = qweight->shape[0];
    affine->n_rows = qweight->shape[1] * 8;
    affine->n_groups = scales->shape[0];
    if (affine->n_groups == 0 || affine->n_columns % affine->n_groups != 0 ||
        scales->shape[1] != affine->n_rows || zeros->shape[0] != affine->n_groups ||
        zeros->shape[1] != qweight->shape[1])
        return false;
    affine->group_columns = affine->n_columns / affine->n_groups;
    return true;
}

/* --- Both --------------------------------------------------------------------------------------- */

static bool
check_parts(const SundogQuantizedModule *module)
{
    const SundogSafetensor *qweight = module->parts[SUNDOG_PART_QWEIGHT];
    const SundogSafetensor *scales = module->parts[SUNDOG_PART_SCALES];
    const SundogSafetensor *zeros = module->parts[SUNDOG_PART_QZEROS];
    const SundogSafetensor *g_idx = module->parts[SUNDOG_PART_G_IDX];
    return sundog_part_is_word(qweight) && qweight->rank == 2 && sundog_part_is_float(scales) &&
           scales->rank == 2 && sundog_part_is_word(zeros) && zeros->rank == 2 &&
           (g_idx == NULL || sundog_part_is_word(g_idx));
}

/* AWQ's other layouts are for kernels of their own. */
static bool
check_awq_version(const SundogQuantizedModule *module, JsonObject *quantization, GError **error)
{
    const char *version = sundog_json_get_string(quantization, "version", "gemm");
    if (g_ascii_strcasecmp(version, "gemm") == 0)
        return true;
    g_autofree char *shown = sundog_format_quote(version, NULL);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "%s: AWQ of version %s is not known here, only \"gemm\"", module->name, shown);
    return false;
}

bool
sundog_quantized_read_gptq(SundogSource *source, const SundogQuantizedModule *module,
                           JsonObject *quantization, SundogSourceTensor *tensor, GError **error)
{
    SundogAffine affine = {.module = *module};
    bool is_awq = strcmp(sundog_json_get_string(quantization, "quant_method", "gptq"), "awq") == 0;
    const char *format = sundog_json_get_string(quantization, "checkpoint_format", "gptq");
    if (is_awq && !check_awq_version(module, quantization, error))
        return false;
    affine.packing = is_awq ? &awq : &gptq;
    affine.zero_shift = strcmp(format, "gptq_v2") == 0 ? 0 : 1;
    if (!check_parts(module) ||
        !(is_awq ? measure_awq(&affine) : measure_gptq(&affine, quantization)))
        return sundog_quantized_refuse(module, is_awq ? "AWQ" : "GPTQ", error);
    affine.shape[0] = affine.n_columns;
    affine.shape[1] = affine.n_rows;
    affine.shape[2] = affine.shape[3] = 1;
    return sundog_affine_finish(source, &affine, tensor, error);
}
