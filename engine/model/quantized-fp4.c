/*
 * Floats of 4 bits (E2M1), two a byte, the earlier column in the low bits:
 *   mxfp4  NAME_blocks [..., columns / 32, 16] with NAME_scales [..., columns / 32], as gpt-oss has it, or
 *          weight [..., columns / 8] uint32 with scales [..., columns / 32], as MLX has it, or
 *          weight_packed [rows, columns / 2] with weight_scale [rows, columns / 32], as compressed-tensors
 *          has it: a power of two for each 32 columns, exponent + 127
 *   nvfp4  weight or weight_packed [rows, columns / 2], weight_scale [rows, columns / 16] F8_E4M3, and a
 *          scale of the tensor: weight_scale_2 to multiply by, or weight_global_scale to divide by
 */

#include "engine/model/quantized-readers.h"

#include "engine/model/floats.h"

#include <string.h>

#define MX_COLUMNS 32
#define MX_BYTES 17 /* of GGUF's block: the exponent, then column j and j + 16 in each byte */
#define NV_COLUMNS 16

/* --- mxfp4 -------------------------------------------------------------------------------------- */

typedef struct {
    SundogRowReader reader;
    const uint8_t *blocks; /* [n_rows, n_blocks, 16] */
    const uint8_t *scales; /* [n_rows, n_blocks] */
    uint64_t n_blocks;     /* of a row */
} Mxfp4;

static void
put_mx_block(const uint8_t *pairs, uint8_t scale, uint8_t *bytes)
{
    uint8_t codes[MX_COLUMNS];
    for (int i = 0; i < MX_COLUMNS / 2; i++) {
        codes[2 * i] = pairs[i] & 15;
        codes[2 * i + 1] = pairs[i] >> 4;
    }
    bytes[0] = scale;
    for (int j = 0; j < MX_COLUMNS / 2; j++)
        bytes[1 + j] = (uint8_t)(codes[j] | codes[j + MX_COLUMNS / 2] << 4);
}

static void
read_mx_rows(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Mxfp4 *mxfp4 = (const Mxfp4 *)reader;
    uint64_t first = first_row * mxfp4->n_blocks;
    for (uint64_t i = 0; i < n_rows * mxfp4->n_blocks; i++)
        put_mx_block(mxfp4->blocks + (first + i) * (MX_COLUMNS / 2), mxfp4->scales[first + i],
                     rows + i * MX_BYTES);
}

/* Whether the scales are one byte for each 32 values of the weight. */
static bool
check_mx_scales(const SundogSafetensor *scales, uint64_t n_values)
{
    return scales != NULL &&
           (scales->dtype == SUNDOG_SAFETENSORS_U8 ||
            scales->dtype == SUNDOG_SAFETENSORS_F8_E8M0) &&
           scales->rank >= 2 && scales->rank <= 4 && n_values % MX_COLUMNS == 0 &&
           scales->n_values == n_values / MX_COLUMNS && n_values > 0;
}

bool
sundog_quantized_read_mxfp4(SundogSource *source, const SundogQuantizedModule *module,
                            JsonObject *quantization, SundogSourceTensor *tensor, GError **error)
{
    static const SundogQuantizedPart names[][2] = {{SUNDOG_PART_BLOCKS, SUNDOG_PART_BLOCK_SCALES},
                                                   {SUNDOG_PART_WEIGHT, SUNDOG_PART_SCALES},
                                                   {SUNDOG_PART_PACKED, SUNDOG_PART_SCALE}};
    const SundogSafetensor *blocks = NULL, *scales = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(names) && blocks == NULL; i++) {
        blocks = module->parts[names[i][0]];
        scales = module->parts[names[i][1]];
    }
    if (blocks == NULL || !check_mx_scales(scales, blocks->n_bytes * 2) ||
        (blocks->dtype != SUNDOG_SAFETENSORS_U8 && blocks->dtype != SUNDOG_SAFETENSORS_U32))
        return sundog_quantized_refuse(module, "mxfp4", error);
    Mxfp4 *reader = sundog_source_own(source, g_new0(Mxfp4, 1), g_free);
    *reader = (Mxfp4){.reader = {read_mx_rows},
                      .blocks = blocks->data,
                      .scales = scales->data,
                      .n_blocks = sundog_part_columns(scales)};
    *tensor = (SundogSourceTensor){.type = SUNDOG_GGUF_MXFP4,
                                   .n_bytes = scales->n_values * MX_BYTES,
                                   .reader = &reader->reader};
    tensor->shape[0] = reader->n_blocks * MX_COLUMNS;
    for (uint32_t i = 1; i < 4; i++)
        tensor->shape[i] = i < scales->rank ? scales->shape[scales->rank - 1 - i] : 1;
    return true;
}

/* --- nvfp4 -------------------------------------------------------------------------------------- */

typedef struct {
    SundogRowReader reader;
    const uint8_t *pairs;  /* [n_rows, n_columns / 2] */
    const uint8_t *scales; /* [n_rows, n_columns / 16] E4M3 */
    uint64_t n_columns;
    float scale;
    bool divides;
} Nvfp4;

static float
get_fp4(unsigned code)
{
    static const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
}

static float
get_block_scale(const Nvfp4 *nvfp4, uint64_t index)
{
    float scale = sundog_float_from_e4m3(nvfp4->scales[index]);
    return nvfp4->divides ? scale / nvfp4->scale : scale * nvfp4->scale;
}

static void
read_nv_rows(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Nvfp4 *nvfp4 = (const Nvfp4 *)reader;
    uint64_t first = first_row * nvfp4->n_columns;
    float scale = 0;
    for (uint64_t i = 0; i < n_rows * nvfp4->n_columns; i++) {
        uint64_t place = first + i;
        if (place % NV_COLUMNS == 0)
            scale = get_block_scale(nvfp4, place / NV_COLUMNS);
        float value = get_fp4(nvfp4->pairs[place / 2] >> (place % 2 * 4) & 15) * scale;
        memcpy(rows + i * sizeof(value), &value, sizeof(value));
    }
}

bool
sundog_quantized_read_nvfp4(SundogSource *source, const SundogQuantizedModule *module,
                            JsonObject *quantization, SundogSourceTensor *tensor, GError **error)
{
    const SundogSafetensor *packed = module->parts[SUNDOG_PART_PACKED];
    const SundogSafetensor *pairs = packed != NULL ? packed : module->parts[SUNDOG_PART_WEIGHT];
    const SundogSafetensor *scales = module->parts[SUNDOG_PART_SCALE];
    const SundogSafetensor *divisor = module->parts[SUNDOG_PART_GLOBAL_SCALE];
    const SundogSafetensor *whole = divisor != NULL ? divisor : module->parts[SUNDOG_PART_SCALE_2];
    if (pairs == NULL || pairs->dtype != SUNDOG_SAFETENSORS_U8 || pairs->rank != 2 ||
        scales == NULL || scales->dtype != SUNDOG_SAFETENSORS_F8_E4M3 || scales->rank != 2 ||
        !sundog_part_is_float(whole) || whole->n_values != 1 ||
        scales->shape[0] != pairs->shape[0] || scales->n_values == 0 ||
        scales->shape[1] * (NV_COLUMNS / 2) != pairs->shape[1])
        return sundog_quantized_refuse(module, "nvfp4", error);
    Nvfp4 *reader = sundog_source_own(source, g_new0(Nvfp4, 1), g_free);
    *reader = (Nvfp4){.reader = {read_nv_rows},
                      .pairs = pairs->data,
                      .scales = scales->data,
                      .n_columns = pairs->shape[1] * 2,
                      .scale = sundog_part_get_float(whole, 0),
                      .divides = divisor != NULL};
    *tensor = (SundogSourceTensor){.type = SUNDOG_GGUF_F32,
                                   .shape = {reader->n_columns, pairs->shape[0], 1, 1},
                                   .n_bytes = pairs->n_values * 2 * sizeof(float),
                                   .reader = &reader->reader};
    return true;
}
