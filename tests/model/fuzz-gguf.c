/* GGUF and the model over it: every pointer that is handed out lies in the file. */

#include "engine/model/model.h"
#include "tests/model/model-fixture.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_autoptr(GBytes) model = gguf_builder_build(&builder);
    add(g_bytes_get_data(model, NULL), g_bytes_get_size(model));
    /* Without data, so that more of the changes fall on the directory. */
    g_ptr_array_set_size(builder.tensors, 2);
    g_autoptr(GBytes) small = gguf_builder_build(&builder);
    add(g_bytes_get_data(small, NULL), g_bytes_get_size(small));
    gguf_builder_clear(&builder);
}

static void
check_tensors(const SundogGguf *gguf, const uint8_t *data, size_t n_bytes)
{
    for (size_t i = 0; i < sundog_gguf_get_n_tensors(gguf); i++) {
        const SundogGgufTensor *tensor = sundog_gguf_get_tensor(gguf, i);
        g_assert_true(sundog_gguf_find_tensor(gguf, tensor->name) == tensor);
        g_assert_true((tensor->data == NULL) == (tensor->n_bytes == 0));
        if (tensor->data != NULL)
            g_assert_true(tensor->data >= data &&
                          tensor->n_bytes <= n_bytes - (size_t)(tensor->data - data));
    }
}

static void
check_model(GBytes *bytes)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogModel) model = sundog_model_new_from_bytes(bytes, "fuzz.gguf", &error);
    g_assert_true((model == NULL) == (error != NULL));
    if (model == NULL)
        return;
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    const SundogVocabulary *vocabulary = sundog_model_get_vocabulary(model);
    g_assert_cmpuint(dimensions->n_vocabulary, ==, vocabulary->n_tokens);
    g_assert_cmpuint(dimensions->n_heads % dimensions->n_kv_heads, ==, 0);
    for (uint32_t i = 0; i < vocabulary->n_ends; i++)
        g_assert_cmpuint(vocabulary->ends[i], <, vocabulary->n_tokens);
    for (uint32_t layer = 0; layer < dimensions->n_layers; layer++) {
        const SundogTensor *down = sundog_model_get_tensor(model, SUNDOG_TENSOR_MLP_DOWN, layer);
        if (down != NULL)
            g_assert_cmpuint(down->n_columns, ==, dimensions->mlp_size);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GBytes) bytes = g_bytes_new(data, n_bytes);
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogGguf) gguf = sundog_gguf_new_from_bytes(bytes, "fuzz.gguf", &error);
    g_assert_true((gguf == NULL) == (error != NULL));
    if (gguf == NULL)
        return 0;
    check_tensors(gguf, g_bytes_get_data(bytes, NULL), n_bytes);
    check_model(bytes);
    return 0;
}
