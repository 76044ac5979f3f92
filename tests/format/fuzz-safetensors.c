/* Safetensors from outside: every tensor that is let through lies within the file, shares no byte and has
 * the size of its shape. */

#include "engine/format/safetensors.h"
#include "tests/format/safetensors-builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

static const char *const headers[] = {
    "{\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[16,22]}}",
    "{\"__metadata__\":{\"format\":\"pt\"},\"n\":{\"dtype\":\"F4\",\"shape\":[3,1,1],"
    "\"data_offsets\":[0,2]},\"none\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[2,2]}}",
    "{}",
};

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    static const size_t data_bytes[] = {22, 2, 0};
    for (size_t i = 0; i < G_N_ELEMENTS(headers); i++) {
        g_autoptr(GBytes) bytes = safetensors_build(headers[i], data_bytes[i]);
        add(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) bytes = g_bytes_new_static(data, n_bytes);
    g_autoptr(SundogSafetensors) tensors =
        sundog_safetensors_new_from_bytes(bytes, "fuzz.safetensors", &error);
    g_assert_true((tensors == NULL) == (error != NULL));
    if (tensors == NULL) {
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        return 0;
    }
    uint64_t n_taken = 0;
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        const SundogSafetensor *tensor = sundog_safetensors_get_tensor(tensors, i);
        g_assert_true(sundog_safetensors_find(tensors, tensor->name) == tensor);
        g_assert_true(tensor->data >= data && tensor->data + tensor->n_bytes <= data + n_bytes);
        n_taken += tensor->n_bytes;
    }
    g_assert_cmpuint(n_taken, <=, n_bytes);
    return 0;
}
