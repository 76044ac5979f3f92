#include "tests/format/gguf-builder.h"

#include <string.h>

enum { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9, U64 = 10 };

static void
free_key(gpointer data)
{
    GgufBuilderKey *key = data;
    g_free(key->name);
    g_bytes_unref(key->value);
    g_free(key);
}

static void
free_tensor(gpointer data)
{
    GgufBuilderTensor *tensor = data;
    g_free(tensor->name);
    g_free(tensor);
}

void
gguf_builder_init(GgufBuilder *builder)
{
    *builder = (GgufBuilder){
        .version = 3,
        .n_keys = UINT64_MAX,
        .n_tensors = UINT64_MAX,
        .alignment = 32,
        .keys = g_ptr_array_new_with_free_func(free_key),
        .tensors = g_ptr_array_new_with_free_func(free_tensor),
    };
}

void
gguf_builder_clear(GgufBuilder *builder)
{
    g_ptr_array_unref(builder->keys);
    g_ptr_array_unref(builder->tensors);
}

void
gguf_builder_write_string(SundogWriter *writer, const char *text)
{
    sundog_writer_u64(writer, strlen(text));
    sundog_writer_bytes(writer, text, strlen(text));
}

static void
write_key(SundogWriter *writer, const GgufBuilderKey *key)
{
    gguf_builder_write_string(writer, key->name);
    sundog_writer_u32(writer, key->type);
    sundog_writer_bytes(writer, g_bytes_get_data(key->value, NULL), g_bytes_get_size(key->value));
}

static void
write_tensor(SundogWriter *writer, const GgufBuilderTensor *tensor, uint64_t offset)
{
    gguf_builder_write_string(writer, tensor->name);
    sundog_writer_u32(writer, tensor->rank);
    for (uint32_t i = 0; i < MIN(tensor->rank, 4); i++)
        sundog_writer_u64(writer, tensor->shape[i]);
    sundog_writer_u32(writer, tensor->type);
    sundog_writer_u64(writer, tensor->offset == UINT64_MAX ? offset : tensor->offset);
}

GBytes *
gguf_builder_build(const GgufBuilder *builder)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_bytes(&writer, "GGUF", 4);
    sundog_writer_u32(&writer, builder->version);
    sundog_writer_u64(&writer, builder->n_tensors == UINT64_MAX ? builder->tensors->len
                                                                : builder->n_tensors);
    sundog_writer_u64(&writer,
                      builder->n_keys == UINT64_MAX ? builder->keys->len : builder->n_keys);
    for (guint i = 0; i < builder->keys->len; i++)
        write_key(&writer, builder->keys->pdata[i]);
    uint64_t offset = 0;
    for (guint i = 0; i < builder->tensors->len; i++) {
        const GgufBuilderTensor *tensor = builder->tensors->pdata[i];
        write_tensor(&writer, tensor, offset);
        offset += (tensor->n_bytes + builder->alignment - 1) & -(uint64_t)builder->alignment;
    }
    if (builder->tensors->len > 0)
        sundog_writer_align(&writer, builder->alignment);
    g_autofree uint8_t *zeros = g_malloc0(offset);
    sundog_writer_bytes(&writer, zeros, offset);
    return sundog_writer_steal(&writer);
}

static GgufBuilderKey *
find_key(GgufBuilder *builder, const char *name)
{
    for (guint i = 0; i < builder->keys->len; i++) {
        GgufBuilderKey *key = builder->keys->pdata[i];
        if (strcmp(key->name, name) == 0)
            return key;
    }
    return NULL;
}

void
gguf_builder_set(GgufBuilder *builder, const char *name, uint32_t type, SundogWriter *value)
{
    GgufBuilderKey *key = find_key(builder, name);
    if (key == NULL) {
        key = g_new0(GgufBuilderKey, 1);
        key->name = g_strdup(name);
        g_ptr_array_add(builder->keys, key);
    }
    g_clear_pointer(&key->value, g_bytes_unref);
    key->type = type;
    key->value = sundog_writer_steal(value);
}

void
gguf_builder_remove(GgufBuilder *builder, const char *name)
{
    GgufBuilderKey *key = find_key(builder, name);
    if (key != NULL)
        g_ptr_array_remove(builder->keys, key);
}

void
gguf_builder_set_u32(GgufBuilder *builder, const char *name, uint32_t value)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u32(&writer, value);
    gguf_builder_set(builder, name, U32, &writer);
}

void
gguf_builder_set_u64(GgufBuilder *builder, const char *name, uint64_t value)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u64(&writer, value);
    gguf_builder_set(builder, name, U64, &writer);
}

void
gguf_builder_set_f32(GgufBuilder *builder, const char *name, float value)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_f32(&writer, value);
    gguf_builder_set(builder, name, F32, &writer);
}

void
gguf_builder_set_bool(GgufBuilder *builder, const char *name, uint8_t value)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u8(&writer, value);
    gguf_builder_set(builder, name, BOOL, &writer);
}

void
gguf_builder_set_string(GgufBuilder *builder, const char *name, const char *value)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    gguf_builder_write_string(&writer, value);
    gguf_builder_set(builder, name, STRING, &writer);
}

void
gguf_builder_set_strings(GgufBuilder *builder, const char *name, const char *const *values,
                         uint64_t n_values)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u32(&writer, STRING);
    sundog_writer_u64(&writer, n_values);
    for (uint64_t i = 0; i < n_values; i++)
        gguf_builder_write_string(&writer, values[i]);
    gguf_builder_set(builder, name, ARRAY, &writer);
}

void
gguf_builder_set_i32s(GgufBuilder *builder, const char *name, const int32_t *values,
                      uint64_t n_values)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_writer_u32(&writer, I32);
    sundog_writer_u64(&writer, n_values);
    for (uint64_t i = 0; i < n_values; i++)
        sundog_writer_u32(&writer, (uint32_t)values[i]);
    gguf_builder_set(builder, name, ARRAY, &writer);
}

GgufBuilderTensor *
gguf_builder_get_tensor(GgufBuilder *builder, const char *name)
{
    for (guint i = 0; i < builder->tensors->len; i++) {
        GgufBuilderTensor *tensor = builder->tensors->pdata[i];
        if (strcmp(tensor->name, name) == 0)
            return tensor;
    }
    g_error("no tensor %s", name);
}

GgufBuilderTensor *
gguf_builder_add_tensor(GgufBuilder *builder, const char *name, uint32_t type, uint64_t n_columns,
                        uint64_t n_rows, uint64_t n_bytes)
{
    GgufBuilderTensor *tensor = g_new0(GgufBuilderTensor, 1);
    *tensor = (GgufBuilderTensor){
        .name = g_strdup(name),
        .type = type,
        .rank = n_rows > 1 ? 2 : 1,
        .shape = {n_columns, n_rows, 1, 1},
        .n_bytes = n_bytes,
        .offset = UINT64_MAX,
    };
    g_ptr_array_add(builder->tensors, tensor);
    return tensor;
}

void
gguf_builder_remove_tensor(GgufBuilder *builder, const char *name)
{
    g_ptr_array_remove(builder->tensors, gguf_builder_get_tensor(builder, name));
}
