/* Parts of a safetensors folder's tensors. */

#include "engine/model/hf-picks.h"

#include "engine/format/error.h"
#include "engine/model/floats.h"
#include "engine/model/row-readers.h"

#include <math.h>

/* Outputs as rows, whichever way they lie. */
static void
pick_outputs(SundogSource *source, const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    if (sundog_float_bytes(found->type) > 0)
        sundog_rows_transpose(source, found, picked);
    else
        *picked = *found;
}

static void
pick_every_second(SundogSource *source, const SundogSourceTensor *found, uint64_t first,
                  SundogSourceTensor *picked)
{
    SundogSourceTensor outputs;
    pick_outputs(source, found, &outputs);
    sundog_rows_every_second(source, &outputs, first, picked);
}

static float
add_one(float value)
{
    return value + 1.0f;
}

static float
minus_exp(float value)
{
    return -expf(value);
}

static void
pick_channels(const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    *picked = *found;
    picked->shape[1] = found->shape[2];
    picked->shape[2] = 1;
}

static void
pick_half_of_outputs(SundogSource *source, const SundogSourceTensor *found, bool first,
                     SundogSourceTensor *picked)
{
    SundogSourceTensor outputs;
    pick_outputs(source, found, &outputs);
    uint64_t half = outputs.shape[1] / 2;
    sundog_rows_slice(source, &outputs, first ? 0 : half, half, picked);
}

/* --- Of groups ---------------------------------------------------------------------------------- */

static uint64_t
count_group_rows(const SundogHfGroups *groups)
{
    uint64_t n_rows = 0;
    for (size_t i = 0; i < SUNDOG_HF_MAX_PARTS; i++)
        n_rows += groups->parts[i];
    return n_rows;
}

/* One part of every group, as a stack of matrices. */
static void
pick_stack(SundogSource *source, const SundogHfGroups *groups, uint32_t part,
           const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    uint64_t first_row = 0;
    SundogSourceTensor stack = *found;
    stack.shape[1] = count_group_rows(groups);
    stack.shape[2] = groups->n_groups;
    for (uint32_t i = 0; i < part; i++)
        first_row += groups->parts[i];
    sundog_rows_slice(source, &stack, first_row, groups->parts[part], picked);
}

/* The same of a vector, whose values are its rows: few enough to be gathered at once. */
static void
gather_part(SundogSource *source, const SundogHfGroups *groups, uint32_t part,
            const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    SundogSourceTensor rows = *found;
    rows.shape[1] = rows.shape[0];
    rows.shape[0] = 1;
    pick_stack(source, groups, part, &rows, picked);
    uint64_t n_values = picked->shape[1] * picked->shape[2];
    uint8_t *values = sundog_source_own(source, g_malloc(picked->n_bytes), g_free);
    sundog_rows_copy(picked, 0, n_values, values);
    picked->shape[0] = n_values;
    picked->shape[1] = picked->shape[2] = 1;
    picked->data = values;
    picked->reader = NULL;
}

/* The same as one matrix, or of a vector as a vector. */
static void
pick_part(SundogSource *source, const SundogHfGroups *groups, uint32_t part,
          const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    if (found->shape[1] == 1) {
        gather_part(source, groups, part, found, picked);
        return;
    }
    pick_stack(source, groups, part, found, picked);
    picked->shape[1] *= picked->shape[2];
    picked->shape[2] = 1;
}

/* All first parts, then all second ones, then all third ones. */
static void
pick_three_parts(SundogSource *source, const SundogHfGroups *groups,
                 const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    SundogSourceTensor parts[3];
    for (uint32_t i = 0; i < G_N_ELEMENTS(parts); i++)
        pick_part(source, groups, i, found, &parts[i]);
    sundog_rows_append(source, parts, G_N_ELEMENTS(parts), picked);
}

/* Rows of a table that is shorter than others, whose further tokens count as the first. */
static void
pick_padded(SundogSource *source, const SundogHfGroups *groups, const SundogSourceTensor *found,
            SundogSourceTensor *picked)
{
    uint64_t n_further = groups->parts[1];
    g_autofree SundogSourceTensor *parts = g_new(SundogSourceTensor, 1 + n_further);
    parts[0] = *found;
    for (uint64_t i = 1; i <= n_further; i++)
        sundog_rows_slice(source, found, 0, 1, &parts[i]);
    sundog_rows_append(source, parts, 1 + n_further, picked);
}

/* Each channel times the factor of its part. */
static void
pick_scaled_channels(SundogSource *source, const SundogHfGroups *groups,
                     const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    SundogSourceTensor channels;
    uint64_t n_channels = count_group_rows(groups);
    float *factors = sundog_source_own(source, g_new(float, n_channels), g_free);
    float *next = factors;
    for (size_t part = 0; part < SUNDOG_HF_MAX_PARTS; part++)
        for (uint64_t i = 0; i < groups->parts[part]; i++)
            *next++ = (float)groups->factors[part];
    pick_channels(found, &channels);
    sundog_rows_scale(source, &channels, factors, picked);
}

/* The keys' part of each head, with a column for each of a key's. */
static void
pick_transposed(SundogSource *source, const SundogHfGroups *groups, const SundogSourceTensor *found,
                SundogSourceTensor *picked)
{
    SundogSourceTensor part;
    pick_stack(source, groups, 0, found, &part);
    sundog_rows_transpose(source, &part, picked);
}

/* --- By what a row of the tables says ----------------------------------------------------------- */

static bool
check_groups(const SundogHfGroups *groups, SundogHfPick pick, const SundogSourceTensor *found)
{
    bool is_float = sundog_float_bytes(found->type) > 0;
    bool is_vector = found->shape[1] == 1 && is_float && found->data != NULL;
    uint64_t n_rows = groups->n_groups * count_group_rows(groups);
    if (n_rows == 0 || found->shape[3] != 1)
        return false;
    if (pick == SUNDOG_HF_SCALED_CHANNELS)
        return is_float && groups->n_groups == 1 && found->shape[1] == 1 &&
               found->shape[2] == n_rows;
    if (pick == SUNDOG_HF_PADDED_ROWS)
        return found->shape[1] == groups->parts[0] && found->shape[2] == 1;
    if (pick == SUNDOG_HF_KEYS_OF_HEADS && !is_float)
        return false;
    return found->shape[2] == 1 &&
           (found->shape[1] == n_rows || (is_vector && found->shape[0] == n_rows));
}

/* Whether a part can be had of rows in blocks: all but what goes into a row's values. */
static bool
takes_whole_rows(SundogHfPick pick)
{
    switch (pick) {
    case SUNDOG_HF_WHOLE:
    case SUNDOG_HF_FIRST_HALF:
    case SUNDOG_HF_SECOND_HALF:
    case SUNDOG_HF_FROM_THIRD:
    case SUNDOG_HF_FIRST_PARTS:
    case SUNDOG_HF_SECOND_PARTS:
    case SUNDOG_HF_THIRD_PARTS:
    case SUNDOG_HF_FOURTH_PARTS:
    case SUNDOG_HF_THREE_PARTS:
    case SUNDOG_HF_VALUES_OF_HEADS:
        return true;
    default:
        return false;
    }
}

/* Whether a tensor can have the part that is wanted of it. */
static bool
check_pick(const SundogHfGroups *groups, SundogHfPick pick, const SundogSourceTensor *found)
{
    bool is_float = sundog_float_bytes(found->type) > 0;
    switch (pick) {
    case SUNDOG_HF_WHOLE:
    case SUNDOG_HF_OUTPUTS:
        return true;
    case SUNDOG_HF_PLUS_ONE:
    case SUNDOG_HF_MINUS_EXP:
        return is_float;
    case SUNDOG_HF_CHANNELS:
        return found->shape[1] == 1 && found->shape[3] == 1;
    case SUNDOG_HF_FIRST_HALF:
    case SUNDOG_HF_SECOND_HALF:
        return found->shape[1] % 2 == 0;
    case SUNDOG_HF_FROM_THIRD:
        return found->shape[1] > 2;
    case SUNDOG_HF_EVEN_VALUES:
    case SUNDOG_HF_ODD_VALUES:
        return is_float && found->shape[0] % 2 == 0;
    case SUNDOG_HF_EVEN_OUTPUTS:
    case SUNDOG_HF_ODD_OUTPUTS:
    case SUNDOG_HF_FIRST_OUTPUTS:
    case SUNDOG_HF_LAST_OUTPUTS:
        return found->shape[is_float ? 0 : 1] % 2 == 0;
    case SUNDOG_HF_FIRST_PARTS:
    case SUNDOG_HF_SECOND_PARTS:
    case SUNDOG_HF_THIRD_PARTS:
    case SUNDOG_HF_FOURTH_PARTS:
    case SUNDOG_HF_THREE_PARTS:
    case SUNDOG_HF_PADDED_ROWS:
    case SUNDOG_HF_SCALED_CHANNELS:
    case SUNDOG_HF_KEYS_OF_HEADS:
    case SUNDOG_HF_VALUES_OF_HEADS:
        return check_groups(groups, pick, found);
    }
    return false;
}

/* Of a tensor that has what is wanted of it. */
static void
pick(SundogSource *source, const SundogHfGroups *groups, SundogHfPick kind,
     const SundogSourceTensor *found, SundogSourceTensor *picked)
{
    uint64_t half = found->shape[1] / 2;
    switch (kind) {
    case SUNDOG_HF_WHOLE:
        *picked = *found;
        break;
    case SUNDOG_HF_FIRST_HALF:
    case SUNDOG_HF_SECOND_HALF:
        sundog_rows_slice(source, found, kind == SUNDOG_HF_FIRST_HALF ? 0 : half, half, picked);
        break;
    case SUNDOG_HF_PLUS_ONE:
        sundog_rows_map(source, found, add_one, picked);
        break;
    case SUNDOG_HF_EVEN_VALUES:
    case SUNDOG_HF_ODD_VALUES:
        sundog_rows_every_second_value(source, found, kind == SUNDOG_HF_ODD_VALUES, picked);
        break;
    case SUNDOG_HF_OUTPUTS:
        pick_outputs(source, found, picked);
        break;
    case SUNDOG_HF_EVEN_OUTPUTS:
    case SUNDOG_HF_ODD_OUTPUTS:
        pick_every_second(source, found, kind == SUNDOG_HF_ODD_OUTPUTS, picked);
        break;
    case SUNDOG_HF_FIRST_OUTPUTS:
    case SUNDOG_HF_LAST_OUTPUTS:
        pick_half_of_outputs(source, found, kind == SUNDOG_HF_FIRST_OUTPUTS, picked);
        break;
    case SUNDOG_HF_CHANNELS:
        pick_channels(found, picked);
        break;
    case SUNDOG_HF_SCALED_CHANNELS:
        pick_scaled_channels(source, groups, found, picked);
        break;
    case SUNDOG_HF_MINUS_EXP:
        sundog_rows_map(source, found, minus_exp, picked);
        break;
    case SUNDOG_HF_KEYS_OF_HEADS:
        pick_transposed(source, groups, found, picked);
        break;
    case SUNDOG_HF_VALUES_OF_HEADS:
        pick_stack(source, groups, 1, found, picked);
        break;
    case SUNDOG_HF_FIRST_PARTS:
    case SUNDOG_HF_SECOND_PARTS:
    case SUNDOG_HF_THIRD_PARTS:
    case SUNDOG_HF_FOURTH_PARTS:
        pick_part(source, groups, kind - SUNDOG_HF_FIRST_PARTS, found, picked);
        break;
    case SUNDOG_HF_THREE_PARTS:
        pick_three_parts(source, groups, found, picked);
        break;
    case SUNDOG_HF_PADDED_ROWS:
        pick_padded(source, groups, found, picked);
        break;
    case SUNDOG_HF_FROM_THIRD:
        sundog_rows_slice(source, found, 2, found->shape[1] - 2, picked);
        break;
    }
}

bool
sundog_hf_pick(SundogSource *source, const SundogHfGroups *groups, const SundogHfTensor *row,
               const SundogSourceTensor *found, SundogSourceTensor *picked, GError **error)
{
    SundogSourceTensor wide;
    if (found->type == SUNDOG_GGUF_F8 && !takes_whole_rows(row->pick)) {
        sundog_rows_widen_f8(source, found, &wide);
        found = &wide;
    }
    if (!check_pick(groups, row->pick, found))
        return sundog_error_set(
            error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
            "tensor %s is of %s with rows of %" G_GUINT64_FORMAT " values, which cannot hold %s",
            found->own_name, sundog_gguf_type_name(found->type), found->shape[0], row->name);
    pick(source, groups, row->pick, found, picked);
    return true;
}
