/* Blocks of GGUF's types out of integers with scales. */

#include "engine/model/affine.h"

#include "engine/format/error.h"
#include "engine/model/floats.h"

#include <math.h>
#include <string.h>

#define BLOCK 32

/* --- Parts -------------------------------------------------------------------------------------- */

unsigned
sundog_bits_get(const uint8_t *stream, uint64_t place, unsigned bits)
{
    const uint8_t *at = stream + place / 8;
    unsigned shift = place % 8;
    unsigned value = at[0] >> shift;
    if (shift + bits > 8)
        value |= (unsigned)at[1] << (8 - shift);
    return value & ((1u << bits) - 1);
}

static uint32_t
float_type(SundogSafetensorsDtype dtype)
{
    return dtype == SUNDOG_SAFETENSORS_F32    ? SUNDOG_GGUF_F32
           : dtype == SUNDOG_SAFETENSORS_BF16 ? SUNDOG_GGUF_BF16
                                              : SUNDOG_GGUF_F16;
}

float
sundog_part_get_float(const SundogSafetensor *part, uint64_t index)
{
    return sundog_float_get(float_type(part->dtype), part->data, (size_t)index);
}

uint32_t
sundog_part_get_word(const SundogSafetensor *part, uint64_t index)
{
    uint32_t word;
    memcpy(&word, part->data + index * sizeof(word), sizeof(word));
    return GUINT32_FROM_LE(word);
}

unsigned
sundog_words_get(const SundogSafetensor *part, uint64_t place, uint64_t n_columns, uint64_t column,
                 unsigned bits)
{
    unsigned shift = place % 32;
    uint64_t word = place / 32 * n_columns + column;
    uint32_t value = sundog_part_get_word(part, word) >> shift;
    if (shift + bits > 32)
        value |= sundog_part_get_word(part, word + n_columns) << (32 - shift);
    return value & ((1u << bits) - 1);
}

bool
sundog_part_is_float(const SundogSafetensor *part)
{
    return part != NULL &&
           (part->dtype == SUNDOG_SAFETENSORS_F32 || part->dtype == SUNDOG_SAFETENSORS_F16 ||
            part->dtype == SUNDOG_SAFETENSORS_BF16);
}

bool
sundog_part_is_word(const SundogSafetensor *part)
{
    return part != NULL &&
           (part->dtype == SUNDOG_SAFETENSORS_I32 || part->dtype == SUNDOG_SAFETENSORS_U32);
}

uint64_t
sundog_part_columns(const SundogSafetensor *part)
{
    return part->rank > 0 ? part->shape[part->rank - 1] : 1;
}

uint64_t
sundog_part_rows(const SundogSafetensor *part)
{
    uint64_t n_columns = sundog_part_columns(part);
    return n_columns > 0 ? part->n_values / n_columns : 0;
}

bool
sundog_quantized_refuse(const SundogQuantizedModule *module, const char *what, GError **error)
{
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "%s: the shapes and types of its parts do not fit each other as %s has them",
                module->name, what);
    return false;
}

/* --- Choosing a type ---------------------------------------------------------------------------- */

/* What all scales and zero points of a matrix have in common. */
typedef struct {
    int lowest; /* of q - zero */
    int highest;
    bool is_exact; /* every scale and minimum in F16 */
} Survey;

static void
look_at_group(const SundogAffine *affine, uint64_t row, uint64_t group, Survey *survey)
{
    const SundogPacking *packing = affine->packing;
    int zero = packing->get_zero != NULL ? packing->get_zero(affine, row, group) : 0;
    uint16_t half;
    survey->lowest = MIN(survey->lowest, -zero);
    survey->highest = MAX(survey->highest, (int)(1u << affine->bits) - 1 - zero);
    survey->is_exact = survey->is_exact &&
                       sundog_float_to_f16(packing->get_scale(affine, row, group), &half) &&
                       (packing->get_minimum == NULL ||
                        sundog_float_to_f16(packing->get_minimum(affine, row, group), &half));
}

static uint32_t
choose_type(const SundogAffine *affine)
{
    Survey survey = {.lowest = 0, .highest = 0, .is_exact = true};
    if (affine->group_columns % BLOCK != 0 || affine->n_columns % BLOCK != 0 ||
        affine->g_idx != NULL)
        return SUNDOG_GGUF_F32;
    for (uint64_t row = 0; row < affine->n_rows && survey.is_exact; row++)
        for (uint64_t group = 0; group < affine->n_groups; group++)
            look_at_group(affine, row, group, &survey);
    if (!survey.is_exact)
        return SUNDOG_GGUF_F32;
    if (affine->packing->get_minimum != NULL)
        return affine->bits <= 4   ? SUNDOG_GGUF_Q4_1
               : affine->bits == 5 ? SUNDOG_GGUF_Q5_1
                                   : SUNDOG_GGUF_F32;
    if (survey.lowest >= -8 && survey.highest <= 7)
        return SUNDOG_GGUF_Q4_0;
    if (survey.lowest >= -16 && survey.highest <= 15)
        return SUNDOG_GGUF_Q5_0;
    return survey.lowest >= -128 && survey.highest <= 127 ? SUNDOG_GGUF_Q8_0 : SUNDOG_GGUF_F32;
}

/* --- Rows --------------------------------------------------------------------------------------- */

static uint8_t *
put_half(uint8_t *bytes, float value)
{
    uint16_t half = 0;
    sundog_float_to_f16(value, &half);
    half = GUINT16_TO_LE(half);
    memcpy(bytes, &half, sizeof(half));
    return bytes + sizeof(half);
}

/* Four bits of columns j and j + 16 in one byte. */
static uint8_t *
put_nibbles(uint8_t *bytes, const int *numbers)
{
    for (int j = 0; j < BLOCK / 2; j++)
        bytes[j] = (uint8_t)((numbers[j] & 15) | (numbers[j + BLOCK / 2] & 15) << 4);
    return bytes + BLOCK / 2;
}

/* The fifth bits. */
static uint8_t *
put_high_bits(uint8_t *bytes, const int *numbers)
{
    uint32_t bits = 0;
    for (int j = 0; j < BLOCK; j++)
        bits |= (uint32_t)(numbers[j] >> 4 & 1) << j;
    bits = GUINT32_TO_LE(bits);
    memcpy(bytes, &bits, sizeof(bits));
    return bytes + sizeof(bits);
}

static uint8_t *
put_block(uint32_t type, uint8_t *bytes, float scale, float minimum, const int *numbers)
{
    bytes = put_half(bytes, scale);
    if (type == SUNDOG_GGUF_Q4_1 || type == SUNDOG_GGUF_Q5_1)
        bytes = put_half(bytes, minimum);
    if (type == SUNDOG_GGUF_Q5_0 || type == SUNDOG_GGUF_Q5_1)
        bytes = put_high_bits(bytes, numbers);
    if (type != SUNDOG_GGUF_Q8_0)
        return put_nibbles(bytes, numbers);
    for (int j = 0; j < BLOCK; j++)
        bytes[j] = (uint8_t)numbers[j];
    return bytes + BLOCK;
}

/* What is added to q - zero so that a type's stored numbers come out. */
static int
get_shift(uint32_t type)
{
    return type == SUNDOG_GGUF_Q4_0 ? 8 : type == SUNDOG_GGUF_Q5_0 ? 16 : 0;
}

static void
put_blocks(const SundogAffine *affine, uint64_t row, const uint8_t *stored, uint8_t *bytes)
{
    const SundogPacking *packing = affine->packing;
    int shift = get_shift(affine->type);
    for (uint64_t column = 0; column < affine->n_columns; column += BLOCK) {
        uint64_t group = column / affine->group_columns;
        float scale = packing->get_scale(affine, row, group);
        float minimum = packing->get_minimum != NULL ? packing->get_minimum(affine, row, group) : 0;
        int zero = packing->get_zero != NULL ? packing->get_zero(affine, row, group) : 0;
        int numbers[BLOCK];
        for (int j = 0; j < BLOCK; j++)
            numbers[j] = stored[column + j] - zero + shift;
        bytes = put_block(affine->type, bytes, scale, minimum, numbers);
    }
}

static uint64_t
get_group(const SundogAffine *affine, uint64_t column)
{
    int32_t group;
    if (affine->g_idx == NULL)
        return column / affine->group_columns;
    memcpy(&group, affine->g_idx + column * sizeof(group), sizeof(group));
    return (uint64_t)GINT32_FROM_LE(group);
}

static void
put_floats(const SundogAffine *affine, uint64_t row, const uint8_t *stored, uint8_t *bytes)
{
    const SundogPacking *packing = affine->packing;
    for (uint64_t column = 0; column < affine->n_columns; column++) {
        uint64_t group = get_group(affine, column);
        float scale = packing->get_scale(affine, row, group);
        float value;
        if (packing->get_minimum != NULL)
            value = fmaf(scale, stored[column], packing->get_minimum(affine, row, group));
        else
            value = scale * (float)(stored[column] - packing->get_zero(affine, row, group));
        memcpy(bytes + column * sizeof(value), &value, sizeof(value));
    }
}

static size_t
get_row_bytes(const SundogAffine *affine)
{
    switch (affine->type) {
#define X(name, number, values, bytes) \
    case number:                       \
        return (size_t)(affine->n_columns / (values) * (bytes));
        SUNDOG_GGUF_TYPES(X)
#undef X
    }
    g_assert_not_reached();
}

static void
read_rows(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const SundogAffine *affine = (const SundogAffine *)reader;
    size_t row_bytes = get_row_bytes(affine);
    g_autofree uint8_t *stored = g_malloc(n_rows * affine->n_columns);
    affine->packing->unpack(affine, first_row, n_rows, stored);
    for (uint64_t i = 0; i < n_rows; i++) {
        const uint8_t *row = stored + i * affine->n_columns;
        if (affine->type == SUNDOG_GGUF_F32)
            put_floats(affine, first_row + i, row, rows + i * row_bytes);
        else
            put_blocks(affine, first_row + i, row, rows + i * row_bytes);
    }
}

static bool
check_groups(const SundogAffine *affine, GError **error)
{
    for (uint64_t column = 0; affine->g_idx != NULL && column < affine->n_columns; column++) {
        uint64_t group = get_group(affine, column);
        if (group < affine->n_groups)
            continue;
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s: column %" G_GUINT64_FORMAT " is of group %" G_GINT64_FORMAT
                    ", expected one below %" G_GUINT64_FORMAT,
                    affine->module.name, column, (gint64)group, affine->n_groups);
        return false;
    }
    return true;
}

/* A list of groups that says what no list would have said is dropped. */
static void
drop_plain_groups(SundogAffine *affine)
{
    const uint8_t *g_idx = affine->g_idx;
    for (uint64_t column = 0; g_idx != NULL && column < affine->n_columns; column++)
        if (get_group(affine, column) != column / affine->group_columns)
            return;
    affine->g_idx = NULL;
}

bool
sundog_affine_finish(SundogSource *source, const SundogAffine *affine, SundogSourceTensor *tensor,
                     GError **error)
{
    if (!check_groups(affine, error))
        return false;
    SundogAffine *reader = sundog_source_own(source, g_memdup2(affine, sizeof(*affine)), g_free);
    drop_plain_groups(reader);
    reader->reader.read = read_rows;
    reader->type = choose_type(reader);
    *tensor = (SundogSourceTensor){.type = reader->type,
                                   .n_bytes = get_row_bytes(reader) * reader->n_rows,
                                   .reader = &reader->reader};
    memcpy(tensor->shape, affine->shape, sizeof tensor->shape);
    return true;
}
