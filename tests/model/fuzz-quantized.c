/* Quantized matrices from outside: what the readers take, they read to its end without leaving the file. */

#include "engine/format/json.h"
#include "engine/model/quantized.h"

#include <string.h>

#define MAX_BYTES (1u << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));

/* One case of the fixture as a file of its own, its names without the case's. */
static void
add_seed(const SundogSafetensors *tensors, const char *of, void (*add)(const void *, size_t))
{
    g_autoptr(GString) header = g_string_new("{");
    g_autoptr(GByteArray) file = g_byte_array_new();
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        const SundogSafetensor *tensor = sundog_safetensors_get_tensor(tensors, i);
        const char *name = tensor->name + strlen(of) + 1;
        if (strncmp(tensor->name, of, strlen(of)) != 0 || tensor->name[strlen(of)] != '.' ||
            strcmp(name, "expected") == 0)
            continue;
        g_string_append_printf(header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
                               header->len > 1 ? "," : "", name,
                               sundog_safetensors_dtype_name(tensor->dtype));
        for (uint32_t k = 0; k < tensor->rank; k++)
            g_string_append_printf(header, "%s%" G_GUINT64_FORMAT, k > 0 ? "," : "",
                                   tensor->shape[k]);
        g_string_append_printf(header, "],\"data_offsets\":[%u,%u]}", file->len,
                               file->len + (guint)tensor->n_bytes);
        g_byte_array_append(file, tensor->data, (guint)tensor->n_bytes);
    }
    g_string_append_c(header, '}');
    uint64_t n_header_bytes = GUINT64_TO_LE((uint64_t)header->len);
    g_byte_array_prepend(file, (const guint8 *)header->str, (guint)header->len);
    g_byte_array_prepend(file, (const guint8 *)&n_header_bytes, sizeof n_header_bytes);
    add(file->data, file->len);
}

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    g_autofree char *path = g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "model",
                                             "quantized.safetensors", NULL);
    g_autoptr(GMappedFile) mapped = g_mapped_file_new(path, FALSE, NULL);
    g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(mapped);
    g_autoptr(SundogSafetensors) tensors = sundog_safetensors_new_from_bytes(bytes, path, NULL);
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        const char *name = sundog_safetensors_get_tensor(tensors, i)->name;
        if (!g_str_has_suffix(name, ".expected"))
            continue;
        g_autofree char *of = g_strndup(name, strlen(name) - strlen(".expected"));
        add_seed(tensors, of, add);
    }
}

static void
read_all(const SundogSourceTensor *tensor)
{
    uint64_t n_rows = tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
    if (tensor->n_bytes > MAX_BYTES)
        return;
    g_assert_cmpuint(n_rows, >, 0);
    g_assert_cmpuint(tensor->n_bytes % n_rows, ==, 0);
    g_autofree uint8_t *rows = g_malloc(tensor->n_bytes);
    tensor->reader->read(tensor->reader, 0, n_rows, rows);
    tensor->reader->read(tensor->reader, n_rows - 1, 1, rows);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GBytes) bytes = g_bytes_new(data, n_bytes);
    g_autoptr(SundogSafetensors) tensors = sundog_safetensors_new_from_bytes(bytes, "fuzz", NULL);
    if (tensors == NULL)
        return 0;
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogSource) source = sundog_source_new("llama");
    const SundogSafetensor *text = sundog_safetensors_find(tensors, "config");
    g_autoptr(JsonNode) config =
        text != NULL ? sundog_json_parse((const char *)text->data, text->n_bytes, NULL) : NULL;
    SundogQuantizedModule module = {.name = "m"};
    SundogSourceTensor tensor;
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        const SundogSafetensor *found = sundog_safetensors_get_tensor(tensors, i);
        size_t n_name_bytes;
        SundogQuantizedPart part = sundog_quantized_parse(found->name, &n_name_bytes);
        if (part != SUNDOG_N_PARTS)
            module.parts[part] = found;
    }
    bool is_object = config != NULL && JSON_NODE_HOLDS_OBJECT(config);
    if (sundog_quantized_read(source, &module, is_object ? json_node_get_object(config) : NULL,
                              &tensor, &error))
        read_all(&tensor);
    else
        g_assert_nonnull(error);
    return 0;
}
