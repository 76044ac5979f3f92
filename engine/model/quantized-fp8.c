/*
 * Floats of 8 bits: weight [rows, columns] F8_E4M3 or F8_E5M2, multiplied by a scale of the tensor, of each
 * row, or of each block of a grid whose size follows from its shape and the configured one:
 * weight_scale_inv (DeepSeek's name of what it multiplies by) or weight_scale. mxfp8 has the exponent + 127
 * of a power of two for each 32 columns of a row. Codes stay as they are where a scale is that of whole
 * blocks of f8.
 */

#include "engine/model/quantized-readers.h"

#include "engine/format/json-members.h"
#include "engine/model/floats.h"

#include <math.h>
#include <string.h>

#define DEFAULT_BLOCK 128
#define MX_COLUMNS 32
#define N_CODES 256

typedef struct {
    SundogRowReader reader;
    const SundogSafetensor *weight;
    const SundogSafetensor *scale;
    uint64_t n_columns;
    uint64_t block_rows; /* that share a scale */
    uint64_t block_columns;
    uint64_t scale_columns;
    uint64_t matrix_rows;       /* of one matrix of a stack */
    uint64_t matrix_scale_rows; /* and its grid's */
    uint32_t type;
    float values[N_CODES]; /* of the codes */
} Fp8;

/* E5M2 is the upper half of an F16. */
static float
get_value(SundogSafetensorsDtype dtype, unsigned code)
{
    return dtype == SUNDOG_SAFETENSORS_F8_E5M2 ? sundog_float_from_f16((uint16_t)(code << 8))
                                               : sundog_float_from_e4m3((uint8_t)code);
}

static bool
is_exponent(const SundogSafetensor *scale)
{
    return scale->dtype == SUNDOG_SAFETENSORS_U8 || scale->dtype == SUNDOG_SAFETENSORS_F8_E8M0;
}

static float
get_scale_value(const SundogSafetensor *scale, uint64_t index)
{
    if (!is_exponent(scale))
        return sundog_part_get_float(scale, index);
    uint8_t exponent = scale->data[index];
    return exponent == 255 ? nanf("") : ldexpf(1, exponent - 127);
}

static float
get_scale(const Fp8 *fp8, uint64_t row, uint64_t column)
{
    uint64_t line =
        row / fp8->matrix_rows * fp8->matrix_scale_rows + row % fp8->matrix_rows / fp8->block_rows;
    return get_scale_value(fp8->scale, line * fp8->scale_columns + column / fp8->block_columns);
}

static void
put_value(const Fp8 *fp8, uint8_t *row, uint64_t column, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    if (fp8->type == SUNDOG_GGUF_F32) {
        memcpy(row + column * sizeof(value), &value, sizeof(value));
        return;
    }
    uint16_t high = (uint16_t)(bits >> 16);
    memcpy(row + column * sizeof(high), &high, sizeof(high));
}

static void
read_codes(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Fp8 *fp8 = (const Fp8 *)reader;
    for (uint64_t row = first_row; row < first_row + n_rows; row++) {
        const uint8_t *codes = fp8->weight->data + row * fp8->n_columns;
        for (uint64_t column = 0; column < fp8->n_columns; column += SUNDOG_F8_COLUMNS) {
            float scale = get_scale(fp8, row, column);
            memcpy(rows, &scale, sizeof(scale));
            memcpy(rows + sizeof(scale), codes + column, SUNDOG_F8_COLUMNS);
            rows += sizeof(scale) + SUNDOG_F8_COLUMNS;
        }
    }
}

static void
read_rows(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Fp8 *fp8 = (const Fp8 *)reader;
    size_t row_bytes = sundog_gguf_row_bytes(fp8->type, fp8->n_columns);
    for (uint64_t row = first_row; row < first_row + n_rows; row++, rows += row_bytes) {
        const uint8_t *codes = fp8->weight->data + row * fp8->n_columns;
        float scale = 0;
        for (uint64_t column = 0; column < fp8->n_columns; column++) {
            if (column % fp8->block_columns == 0)
                scale = get_scale(fp8, row, column);
            put_value(fp8, rows, column, fp8->values[codes[column]] * scale);
        }
    }
}

/* Whether products with the scale keep the few bits of a code, inside BF16's range with room. */
static bool
is_power_of_two(float scale)
{
    int exponent;
    return fabsf(frexpf(scale, &exponent)) == 0.5f && exponent > -90 && exponent < 90;
}

static uint32_t
choose_type(const Fp8 *fp8)
{
    if (fp8->weight->dtype == SUNDOG_SAFETENSORS_F8_E4M3 &&
        fp8->n_columns % SUNDOG_F8_COLUMNS == 0 && fp8->block_columns % SUNDOG_F8_COLUMNS == 0)
        return SUNDOG_GGUF_F8;
    for (uint64_t i = 0; i < fp8->scale->n_values; i++)
        if (!is_power_of_two(get_scale_value(fp8->scale, i)))
            return SUNDOG_GGUF_F32;
    return SUNDOG_GGUF_BF16;
}

static uint64_t
divide_up(uint64_t value, uint64_t divisor)
{
    return (value + divisor - 1) / divisor;
}

/* Rows and columns of a block where the scales are a grid. */
static void
get_block(JsonObject *quantization, uint64_t *rows, uint64_t *columns)
{
    JsonArray *size = sundog_json_get_array(quantization, "weight_block_size");
    *rows = *columns = DEFAULT_BLOCK;
    for (guint i = 0; size != NULL && i < 2 && json_array_get_length(size) == 2; i++) {
        JsonNode *node = json_array_get_element(size, i);
        bool is_number = JSON_NODE_HOLDS_VALUE(node) &&
                         json_node_get_value_type(node) == G_TYPE_INT64 &&
                         json_node_get_int(node) >= 1;
        if (is_number)
            *(i == 0 ? rows : columns) = (uint64_t)json_node_get_int(node);
    }
}

/* Which of the shapes the scale has: [] or [1], [rows] or [rows, 1], or a grid. */
static bool
measure(Fp8 *fp8, JsonObject *quantization)
{
    const SundogSafetensor *weight = fp8->weight;
    uint64_t n_rows = sundog_part_rows(weight);
    uint64_t block_rows, block_columns;
    fp8->n_columns = sundog_part_columns(weight);
    fp8->matrix_rows = weight->shape[weight->rank - 2];
    if (n_rows == 0 || fp8->n_columns == 0)
        return false;
    uint64_t n_matrices = n_rows / fp8->matrix_rows;
    fp8->block_rows = fp8->matrix_rows;
    fp8->block_columns = fp8->n_columns;
    fp8->scale_columns = fp8->matrix_scale_rows = 1;
    if (fp8->scale->n_values == n_matrices)
        return true;
    fp8->block_rows = 1;
    fp8->matrix_scale_rows = fp8->matrix_rows;
    if (fp8->scale->n_values == n_rows)
        return true;
    get_block(quantization, &block_rows, &block_columns);
    if (is_exponent(fp8->scale)) {
        block_rows = 1;
        block_columns = MX_COLUMNS;
    }
    fp8->block_rows = block_rows;
    fp8->block_columns = block_columns;
    fp8->matrix_scale_rows = divide_up(fp8->matrix_rows, block_rows);
    fp8->scale_columns = divide_up(fp8->n_columns, block_columns);
    return sundog_part_columns(fp8->scale) == fp8->scale_columns &&
           sundog_part_rows(fp8->scale) == fp8->matrix_scale_rows * n_matrices;
}

bool
sundog_quantized_read_fp8(SundogSource *source, const SundogQuantizedModule *module,
                          JsonObject *quantization, SundogSourceTensor *tensor, GError **error)
{
    const SundogSafetensor *weight = module->parts[SUNDOG_PART_WEIGHT];
    const SundogSafetensor *inverse = module->parts[SUNDOG_PART_SCALE_INV];
    Fp8 fp8 = {.weight = weight,
               .scale = inverse != NULL ? inverse : module->parts[SUNDOG_PART_SCALE]};
    if (weight->rank < 2 || weight->rank > 4 || fp8.scale == NULL ||
        !(sundog_part_is_float(fp8.scale) || is_exponent(fp8.scale)) ||
        !measure(&fp8, quantization))
        return sundog_quantized_refuse(module, "floats of 8 bits", error);
    fp8.type = choose_type(&fp8);
    fp8.reader.read = fp8.type == SUNDOG_GGUF_F8 ? read_codes : read_rows;
    for (unsigned code = 0; code < N_CODES; code++)
        fp8.values[code] = get_value(weight->dtype, code);
    Fp8 *reader = sundog_source_own(source, g_memdup2(&fp8, sizeof(fp8)), g_free);
    *tensor = (SundogSourceTensor){.type = fp8.type,
                                   .n_bytes = weight->n_values / fp8.n_columns *
                                              sundog_gguf_row_bytes(fp8.type, fp8.n_columns),
                                   .reader = &reader->reader};
    for (uint32_t i = 0; i < 4; i++)
        tensor->shape[i] = i < weight->rank ? weight->shape[weight->rank - 1 - i] : 1;
    return true;
}
