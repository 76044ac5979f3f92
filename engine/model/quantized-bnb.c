/*
 * bitsandbytes' floats of 4 bits: weight [values / 2, 1] bytes, the earlier value in the high bits, row after row of the
 * matrix; a code is looked up in weight.quant_map [16] and multiplied by weight.absmax of its block, a block going on
 * from row to row. Where absmax is bytes it is quantized itself: looked up in weight.nested_quant_map [256],
 * multiplied by weight.nested_absmax of its own blocks, and moved by an offset. Sizes, offset and the type
 * of the values stand in weight.quant_state.bitsandbytes__nf4 (or fp4), a text of JSON. Source: QuantState in
 * bitsandbytes' functional.py.
 */

#include "engine/model/quantized-readers.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/model/floats.h"

#include <math.h>
#include <string.h>

#define N_CODES 16
#define N_NESTED_CODES 256
/* The state is a few hundred bytes. */
#define MAX_STATE_BYTES 4096
#define MAX_SIZE (1u << 30)

typedef struct {
    SundogRowReader reader;
    const uint8_t *pairs;
    const SundogSafetensor *absmax; /* [n_blocks] floats, or bytes */
    const SundogSafetensor *nested; /* [n_nested_blocks] floats, or NULL */
    float codes[N_CODES];
    float nested_codes[N_NESTED_CODES];
    float offset;
    uint64_t n_columns;
    uint64_t block;
    uint64_t nested_block;
    bool rounds; /* values to BF16 */
} Bnb;

static float
get_scale(const Bnb *bnb, uint64_t block)
{
    if (bnb->nested == NULL)
        return sundog_part_get_float(bnb->absmax, block);
    float scale = bnb->nested_codes[bnb->absmax->data[block]] *
                  sundog_part_get_float(bnb->nested, block / bnb->nested_block);
    return scale + bnb->offset;
}

/* The nearest, and of two the even one. Values are finite. */
static uint16_t
round_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void
read_rows(const SundogRowReader *reader, uint64_t first_row, uint64_t n_rows, uint8_t *rows)
{
    const Bnb *bnb = (const Bnb *)reader;
    uint64_t first = first_row * bnb->n_columns;
    float scale = get_scale(bnb, first / bnb->block);
    for (uint64_t i = 0; i < n_rows * bnb->n_columns; i++) {
        uint64_t place = first + i;
        if (place % bnb->block == 0)
            scale = get_scale(bnb, place / bnb->block);
        uint8_t pair = bnb->pairs[place / 2];
        float value = bnb->codes[place % 2 == 0 ? pair >> 4 : pair & 15] * scale;
        uint16_t rounded = round_to_bf16(value);
        if (bnb->rounds)
            memcpy(rows + i * sizeof(rounded), &rounded, sizeof(rounded));
        else
            memcpy(rows + i * sizeof(value), &value, sizeof(value));
    }
}

static bool
is_floats(const SundogSafetensor *part, uint64_t n_values)
{
    if (part == NULL || part->dtype != SUNDOG_SAFETENSORS_F32 || part->n_values != n_values)
        return false;
    for (uint64_t i = 0; i < n_values; i++)
        if (!isfinite(sundog_part_get_float(part, i)))
            return false;
    return true;
}

static uint64_t
count_blocks(uint64_t n_values, uint64_t block)
{
    return (n_values + block - 1) / block;
}

static uint64_t
get_size(JsonObject *state, const char *name)
{
    double size = sundog_json_get_number(state, name, 0);
    return size >= 1 && size <= MAX_SIZE && size == floor(size) ? (uint64_t)size : 0;
}

static uint64_t
get_extent(JsonObject *state, guint index)
{
    JsonArray *shape = sundog_json_get_array(state, "shape");
    JsonNode *node = shape != NULL && json_array_get_length(shape) == 2
                         ? json_array_get_element(shape, index)
                         : NULL;
    double size = node != NULL && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_double(node) : 0;
    return size >= 1 && size <= MAX_SIZE && size == floor(size) ? (uint64_t)size : 0;
}

static void
copy_codes(const SundogSafetensor *part, float *codes)
{
    for (uint64_t i = 0; i < part->n_values; i++)
        codes[i] = sundog_part_get_float(part, i);
}

/* Scales that are quantized themselves; also true where they are not. */
static bool
read_nested(const SundogQuantizedModule *module, JsonObject *state, uint64_t n_blocks, Bnb *bnb)
{
    const SundogSafetensor *nested = module->parts[SUNDOG_PART_NESTED_ABSMAX];
    const SundogSafetensor *codes = module->parts[SUNDOG_PART_NESTED_MAP];
    if (nested == NULL)
        return is_floats(bnb->absmax, n_blocks);
    bnb->nested_block = get_size(state, "nested_blocksize");
    bnb->offset = (float)sundog_json_get_number(state, "nested_offset", 0);
    if (bnb->nested_block == 0 || bnb->absmax->dtype != SUNDOG_SAFETENSORS_U8 ||
        bnb->absmax->n_values != n_blocks || !is_floats(codes, N_NESTED_CODES) ||
        !is_floats(nested, count_blocks(n_blocks, bnb->nested_block)) || !isfinite(bnb->offset))
        return false;
    bnb->nested = nested;
    copy_codes(codes, bnb->nested_codes);
    return true;
}

static bool
read_state(const SundogQuantizedModule *module, JsonObject *state, Bnb *bnb, uint64_t *n_rows)
{
    const SundogSafetensor *weight = module->parts[SUNDOG_PART_WEIGHT];
    const SundogSafetensor *codes = module->parts[SUNDOG_PART_MAP];
    *n_rows = get_extent(state, 0);
    bnb->n_columns = get_extent(state, 1);
    bnb->block = get_size(state, "blocksize");
    bnb->absmax = module->parts[SUNDOG_PART_ABSMAX];
    bnb->rounds = strcmp(sundog_json_get_string(state, "dtype", ""), "bfloat16") == 0;
    uint64_t n_values = *n_rows * bnb->n_columns;
    if (weight == NULL || weight->dtype != SUNDOG_SAFETENSORS_U8 || bnb->absmax == NULL ||
        bnb->block == 0 || n_values == 0 || n_values % 2 != 0 || weight->n_values != n_values / 2 ||
        !is_floats(codes, N_CODES))
        return false;
    bnb->pairs = weight->data;
    copy_codes(codes, bnb->codes);
    return read_nested(module, state, count_blocks(n_values, bnb->block), bnb);
}

static JsonNode *
parse_state(const SundogQuantizedModule *module)
{
    const SundogSafetensor *nf4 = module->parts[SUNDOG_PART_NF4_STATE];
    const SundogSafetensor *text = nf4 != NULL ? nf4 : module->parts[SUNDOG_PART_FP4_STATE];
    if (text == NULL || text->dtype != SUNDOG_SAFETENSORS_U8 || text->n_bytes > MAX_STATE_BYTES)
        return NULL;
    JsonNode *node = sundog_json_parse((const char *)text->data, text->n_bytes, NULL);
    if (node != NULL && JSON_NODE_HOLDS_OBJECT(node))
        return node;
    g_clear_pointer(&node, json_node_unref);
    return NULL;
}

bool
sundog_quantized_read_bnb(SundogSource *source, const SundogQuantizedModule *module,
                          JsonObject *quantization, SundogSourceTensor *tensor, GError **error)
{
    g_autoptr(JsonNode) state = parse_state(module);
    Bnb *bnb = sundog_source_own(source, g_new0(Bnb, 1), g_free);
    uint64_t n_rows = 0;
    (void)quantization;
    if (state == NULL || !read_state(module, json_node_get_object(state), bnb, &n_rows))
        return sundog_quantized_refuse(module, "bitsandbytes", error);
    bnb->reader.read = read_rows;
    *tensor = (SundogSourceTensor){.type = bnb->rounds ? SUNDOG_GGUF_BF16 : SUNDOG_GGUF_F32,
                                   .shape = {bnb->n_columns, n_rows, 1, 1},
                                   .n_bytes = n_rows * bnb->n_columns *
                                              (bnb->rounds ? sizeof(uint16_t) : sizeof(float)),
                                   .reader = &bnb->reader};
    return true;
}
