/*
 * Matrices of every kind of quantization, value for value: what the readers give, decoded by the
 * kernels' own layouts, against the formats' formulas (make-quantized.py), and the type chosen for each.
 */

#include "engine/format/error.h"
#include "engine/format/json.h"
#include "engine/model/quantized.h"
#include "kernels/contract/layout.h"

#include <string.h>

typedef struct {
    const char *name;
    uint32_t type;
} Case;

static const Case cases[] = {
    {"gptq-4-symmetric", SUNDOG_GGUF_Q4_0},
    {"gptq-4-asymmetric", SUNDOG_GGUF_Q5_0},
    {"gptq-4-v2", SUNDOG_GGUF_Q5_0},
    {"gptq-4-plain-list", SUNDOG_GGUF_Q4_0},
    {"gptq-4-list", SUNDOG_GGUF_F32},
    {"gptq-3-symmetric", SUNDOG_GGUF_Q4_0},
    {"gptq-8-symmetric", SUNDOG_GGUF_Q8_0},
    {"gptq-8-asymmetric", SUNDOG_GGUF_F32},
    {"awq-4", SUNDOG_GGUF_Q5_0},
    {"compressed-4-symmetric", SUNDOG_GGUF_Q4_0},
    {"compressed-4-asymmetric", SUNDOG_GGUF_Q5_0},
    {"compressed-4-f32-scales", SUNDOG_GGUF_F32},
    {"compressed-4-small-groups", SUNDOG_GGUF_F32},
    {"compressed-4-list", SUNDOG_GGUF_F32},
    {"compressed-3-symmetric", SUNDOG_GGUF_Q4_0},
    {"compressed-8-symmetric", SUNDOG_GGUF_Q8_0},
    {"compressed-int8", SUNDOG_GGUF_Q8_0},
    {"mlx-2", SUNDOG_GGUF_Q4_1},
    {"mlx-3", SUNDOG_GGUF_Q4_1},
    {"mlx-4", SUNDOG_GGUF_Q4_1},
    {"mlx-5", SUNDOG_GGUF_Q5_1},
    {"mlx-6", SUNDOG_GGUF_F32},
    {"mlx-8", SUNDOG_GGUF_F32},
    {"fp8-block", SUNDOG_GGUF_F32},
    {"fp8-row", SUNDOG_GGUF_F8},
    {"fp8-tensor", SUNDOG_GGUF_F8},
    {"fp8-e5m2", SUNDOG_GGUF_F32},
    {"mxfp8", SUNDOG_GGUF_BF16},
    {"mxfp4-gpt-oss", SUNDOG_GGUF_MXFP4},
    {"mxfp4-compressed", SUNDOG_GGUF_MXFP4},
    {"mxfp4-mlx", SUNDOG_GGUF_MXFP4},
    {"nvfp4-compressed", SUNDOG_GGUF_F32},
    {"nvfp4-modelopt", SUNDOG_GGUF_F32},
    {"bnb-nf4", SUNDOG_GGUF_BF16},
    {"bnb-nf4-nested", SUNDOG_GGUF_BF16},
    {"bnb-fp4-f16", SUNDOG_GGUF_F32},
};

static SundogSafetensors *
open_fixture(void)
{
    g_autofree char *path = g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "model",
                                             "quantized.safetensors", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GMappedFile) mapped = g_mapped_file_new(path, FALSE, &error);
    g_assert_no_error(error);
    g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(mapped);
    SundogSafetensors *tensors = sundog_safetensors_new_from_bytes(bytes, path, &error);
    g_assert_no_error(error);
    return tensors;
}

static const SundogSafetensor *
find(const SundogSafetensors *tensors, const char *name, const char *what)
{
    g_autofree char *full = g_strconcat(name, what, NULL);
    return sundog_safetensors_find(tensors, full);
}

static JsonNode *
dup_config(const SundogSafetensors *tensors, const char *name)
{
    const SundogSafetensor *text = find(tensors, name, ".config");
    return sundog_json_parse((const char *)text->data, text->n_bytes, NULL);
}

static void
fill_module(SundogQuantizedModule *module, const SundogSafetensors *tensors, const char *name)
{
    memset(module->parts, 0, sizeof module->parts);
    module->name = name;
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        const SundogSafetensor *tensor = sundog_safetensors_get_tensor(tensors, i);
        size_t n_bytes;
        SundogQuantizedPart part = sundog_quantized_parse(tensor->name, &n_bytes);
        if (part != SUNDOG_N_PARTS && n_bytes == strlen(name) &&
            strncmp(tensor->name, name, n_bytes) == 0)
            module->parts[part] = tensor;
    }
}

/* Rows [first_row, first_row + n_rows) as float32, at most one panel of them. */
static void
decode(const SundogSourceTensor *tensor, uint64_t first_row, int64_t n_rows, float *values)
{
    int64_t n_columns = (int64_t)tensor->shape[0];
    uint64_t n_all = tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
    SundogLayout layout = sundog_layout_for_gguf_type(tensor->type);
    g_autofree uint8_t *rows = g_malloc(tensor->n_bytes / n_all * (uint64_t)n_rows);
    g_autofree uint8_t *panel = g_malloc(sundog_layout_panel_bytes(layout, n_columns));
    tensor->reader->read(tensor->reader, first_row, (uint64_t)n_rows, rows);
    sundog_layout_pack_panel(layout, rows, n_rows, n_columns, panel);
    for (int64_t i = 0; i < n_rows; i++)
        sundog_layout_dequantize_row(layout, panel, i, n_columns, values + i * n_columns);
}

static void
check_values(const SundogSourceTensor *tensor, const SundogSafetensor *expected)
{
    uint64_t n_rows = expected->shape[0];
    uint64_t n_columns = expected->shape[1];
    g_autofree float *values = g_new(float, n_columns *SUNDOG_PANEL_ROWS);
    for (uint64_t row = 0; row < n_rows;) {
        /* Stretches of odd length, across the matrices of a stack. */
        int64_t n = (int64_t)MIN(1 + row % 5, n_rows - row);
        decode(tensor, row, n, values);
        for (uint64_t i = 0; i < (uint64_t)n * n_columns; i++) {
            float wanted;
            memcpy(&wanted, expected->data + (row * n_columns + i) * sizeof(wanted),
                   sizeof(wanted));
            if (wanted != values[i])
                g_error("row %" G_GUINT64_FORMAT ", value %" G_GUINT64_FORMAT ": %.9g, not %.9g",
                        row, i, values[i], wanted);
        }
        row += (uint64_t)n;
    }
}

static void
test_values(gconstpointer data)
{
    const Case *of = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogSafetensors) tensors = open_fixture();
    g_autoptr(SundogSource) source = sundog_source_new("llama");
    g_autoptr(JsonNode) config = dup_config(tensors, of->name);
    g_autofree char *name = g_strconcat(of->name, ".m", NULL);
    SundogQuantizedModule module;
    SundogSourceTensor tensor;
    fill_module(&module, tensors, name);
    sundog_quantized_read(source, &module, json_node_get_object(config), &tensor, &error);
    g_assert_no_error(error);
    const SundogSafetensor *expected = find(tensors, of->name, ".expected");
    g_assert_cmpstr(sundog_gguf_type_name(tensor.type), ==, sundog_gguf_type_name(of->type));
    g_assert_cmpuint(tensor.shape[0], ==, expected->shape[1]);
    g_assert_cmpuint(tensor.shape[1] * tensor.shape[2], ==, expected->shape[0]);
    check_values(&tensor, expected);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strconcat("/quantized/values/", cases[i].name, NULL);
        g_test_add_data_func(path, &cases[i], test_values);
    }
    return g_test_run();
}
