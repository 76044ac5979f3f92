#include "tests/gpu/gpu-core.h"

#include "engine/core/step.h"
#include "engine/format/gguf.h"
#include "tests/format/gguf-builder.h"
#include "tests/temporary-folder.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define ALIGNMENT 32

static uint64_t
row_bytes(uint32_t type, uint64_t n_columns)
{
    switch (type) {
    case SUNDOG_GGUF_Q4_1:
        return n_columns / 32 * 20;
    case SUNDOG_GGUF_Q8_0:
        return n_columns / 32 * 34;
    case SUNDOG_GGUF_F32:
        return n_columns * 4;
    default:
        return n_columns * 2;
    }
}

/* A tensor whose data lies behind the header, which is all that is written. */
static void
add_tensor(GgufBuilder *builder, uint64_t *end, const char *name, uint32_t type, uint64_t n_columns,
           uint64_t n_rows)
{
    GgufBuilderTensor *tensor = gguf_builder_add_tensor(builder, name, type, n_columns, n_rows, 0);
    tensor->offset = *end;
    *end += (row_bytes(type, n_columns) * n_rows + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void
add_layer(GgufBuilder *builder, uint64_t *end, const GpuShape *shape, uint32_t layer)
{
    uint64_t q = (uint64_t)shape->n_heads * shape->head_dim;
    uint64_t kv = (uint64_t)shape->n_kv_heads * shape->head_dim;
    const struct {
        const char *name;
        uint64_t n_columns, n_rows;
    } tensors[] = {
        {"attn_norm", shape->hidden, 1},         {"attn_q", shape->hidden, q},
        {"attn_k", shape->hidden, kv},           {"attn_v", shape->hidden, kv},
        {"attn_output", q, shape->hidden},       {"ffn_norm", shape->hidden, 1},
        {"ffn_gate", shape->hidden, shape->mlp}, {"ffn_up", shape->hidden, shape->mlp},
        {"ffn_down", shape->mlp, shape->hidden},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(tensors); i++) {
        g_autofree char *name = g_strdup_printf("blk.%u.%s.weight", layer, tensors[i].name);
        add_tensor(builder, end, name, tensors[i].n_rows == 1 ? SUNDOG_GGUF_F32 : shape->type,
                   tensors[i].n_columns, tensors[i].n_rows);
    }
}

static void
add_keys(GgufBuilder *builder, const GpuShape *shape)
{
    const char *merges[] = {"a b"};
    g_auto(GStrv) tokens = g_new0(char *, shape->n_vocabulary + 1);
    g_autofree int32_t *kinds = g_new(int32_t, shape->n_vocabulary);
    for (uint32_t i = 0; i < shape->n_vocabulary; i++) {
        tokens[i] = i == 0   ? g_strdup("a")
                    : i == 1 ? g_strdup("b")
                    : i == 2 ? g_strdup("ab")
                             : g_strdup_printf("<|%u|>", i);
        kinds[i] = i < 3 ? 1 : 3;
    }
    gguf_builder_set_string(builder, "general.architecture", "llama");
    gguf_builder_set_string(builder, "general.name", "Shape");
    gguf_builder_set_u32(builder, "llama.block_count", shape->n_layers);
    gguf_builder_set_u32(builder, "llama.context_length", 8192);
    gguf_builder_set_u32(builder, "llama.embedding_length", shape->hidden);
    gguf_builder_set_u32(builder, "llama.feed_forward_length", shape->mlp);
    gguf_builder_set_u32(builder, "llama.attention.head_count", shape->n_heads);
    gguf_builder_set_u32(builder, "llama.attention.head_count_kv", shape->n_kv_heads);
    gguf_builder_set_u32(builder, "llama.rope.dimension_count", shape->head_dim);
    gguf_builder_set_u32(builder, "llama.vocab_size", shape->n_vocabulary);
    gguf_builder_set_f32(builder, "llama.rope.freq_base", 500000);
    gguf_builder_set_f32(builder, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_builder_set_string(builder, "tokenizer.ggml.model", "gpt2");
    gguf_builder_set_string(builder, "tokenizer.ggml.pre", "llama-bpe");
    gguf_builder_set_strings(builder, "tokenizer.ggml.tokens", (const char *const *)tokens,
                             shape->n_vocabulary);
    gguf_builder_set_i32s(builder, "tokenizer.ggml.token_type", kinds, shape->n_vocabulary);
    gguf_builder_set_strings(builder, "tokenizer.ggml.merges", merges, 1);
    gguf_builder_set_u32(builder, "tokenizer.ggml.bos_token_id", 3);
    gguf_builder_set_u32(builder, "tokenizer.ggml.eos_token_id", 4);
}

static char *
write_shape(const GpuShape *shape, const char *folder, GgufBuilder *builder)
{
    uint64_t end = 0;
    g_autoptr(GError) error = NULL;
    gguf_builder_init(builder);
    add_keys(builder, shape);
    add_tensor(builder, &end, "token_embd.weight", shape->type, shape->hidden, shape->n_vocabulary);
    for (uint32_t i = 0; i < shape->n_layers; i++)
        add_layer(builder, &end, shape, i);
    add_tensor(builder, &end, "output_norm.weight", SUNDOG_GGUF_F32, shape->hidden, 1);
    add_tensor(builder, &end, "output.weight", shape->type, shape->hidden, shape->n_vocabulary);
    g_autoptr(GBytes) header = gguf_builder_build(builder);
    char *path = g_build_filename(folder, "shape.gguf", NULL);
    g_file_set_contents(path, g_bytes_get_data(header, NULL), (gssize)g_bytes_get_size(header),
                        &error);
    g_assert_no_error(error);
    uint64_t begin = (g_bytes_get_size(header) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    g_assert_cmpint(truncate(path, (off_t)(begin + end)), ==, 0);
    return path;
}

char *
gpu_shape_write(const GpuShape *shape, const char *folder)
{
    GgufBuilder builder;
    char *path = write_shape(shape, folder, &builder);
    gguf_builder_clear(&builder);
    return path;
}

static uint16_t
to_half(double value)
{
    _Float16 half = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
}

/* 32 values between -scale and scale as GGUF has them; returns how many bytes they take. */
static size_t
write_block(GRand *random, uint32_t type, double scale, uint8_t *to)
{
    uint16_t d = to_half(scale / (type == SUNDOG_GGUF_Q4_1 ? 7.5 : 127)), m = to_half(-scale);
    size_t head = type == SUNDOG_GGUF_Q4_1 ? 4 : 2;
    for (int i = 0; i < 32; i++) {
        float value = (float)g_rand_double_range(random, -scale, scale);
        if (type == SUNDOG_GGUF_F32) {
            value += 1;
            memcpy(to + i * 4, &value, 4);
        } else if (type == SUNDOG_GGUF_BF16) {
            memcpy(to + i * 2, (uint8_t *)&value + 2, 2);
        } else {
            to[head + (type == SUNDOG_GGUF_Q4_1 ? i / 2 : i)] = (uint8_t)g_rand_int(random);
        }
    }
    if (type == SUNDOG_GGUF_F32 || type == SUNDOG_GGUF_BF16)
        return type == SUNDOG_GGUF_F32 ? 128 : 64;
    memcpy(to, &d, 2);
    if (type == SUNDOG_GGUF_Q4_1)
        memcpy(to + 2, &m, 2);
    return type == SUNDOG_GGUF_Q4_1 ? 20 : 34;
}

char *
gpu_shape_write_random(const GpuShape *shape, const char *folder)
{
    GgufBuilder builder;
    g_autoptr(GError) error = NULL;
    g_autofree uint8_t *data = NULL;
    gsize n_bytes;
    GRand *random = g_rand_new_with_seed(1);
    char *path = write_shape(shape, folder, &builder);
    g_file_get_contents(path, (char **)&data, &n_bytes, &error);
    g_assert_no_error(error);
    const GgufBuilderTensor *last = g_ptr_array_index(builder.tensors, builder.tensors->len - 1);
    uint64_t end = last->offset + row_bytes(last->type, last->shape[0]) * last->shape[1];
    uint64_t begin = (n_bytes - end) / ALIGNMENT * ALIGNMENT;
    for (guint i = 0; i < builder.tensors->len; i++) {
        const GgufBuilderTensor *tensor = g_ptr_array_index(builder.tensors, i);
        bool is_norm = tensor->type == SUNDOG_GGUF_F32;
        uint64_t n_rows = is_norm ? 1 : tensor->shape[1];
        double scale = is_norm ? 0.2 : i == 0 ? 1 : sqrt(3.0 / (double)tensor->shape[0]);
        uint8_t *to = data + begin + tensor->offset;
        for (uint64_t block = 0; block < n_rows * tensor->shape[0] / 32; block++)
            to += write_block(random, tensor->type, scale, to);
    }
    g_file_set_contents(path, (char *)data, (gssize)n_bytes, &error);
    g_assert_no_error(error);
    g_rand_free(random);
    gguf_builder_clear(&builder);
    return path;
}

void
gpu_core_open(GpuCore *gpu, const char *path, const char *target, SundogActivations activations,
              const SundogReplayOptions *options)
{
    g_autoptr(GError) error = NULL;
    *gpu = (GpuCore){.folder = g_dir_make_tmp("sundog-gpu.XXXXXX", &error)};
    g_assert_no_error(error);
    g_autofree char *keys = g_build_filename(gpu->folder, "keys", NULL);
    g_autofree char *folder = g_build_filename(gpu->folder, "core", NULL);
    g_autoptr(SundogModel) model = sundog_model_open(path, &error);
    g_assert_no_error(error);
    gpu->keyring = sundog_keyring_open(keys, &error);
    g_assert_no_error(error);
    sundog_prepare(model, folder, gpu->keyring,
                   &(SundogPrepareOptions){.name = "test",
                                           .target = target,
                                           .activations = activations,
                                           .hollow = options->weights_seed != 0},
                   &error);
    g_assert_no_error(error);
    gpu->core = sundog_core_open(folder, gpu->keyring, &error);
    g_assert_no_error(error);
    gpu->n_vocabulary = sundog_core_get_info(gpu->core)->n_vocabulary;
    gint64 start = g_get_monotonic_time();
    gpu->replay = sundog_replay_open(gpu->core, options, &error);
    g_assert_no_error(error);
    g_print("# opened for %s in %.3f s: %s\n", target,
            (double)(g_get_monotonic_time() - start) / 1e6,
            sundog_replay_get_set_name(gpu->replay));
}

void
gpu_core_close(GpuCore *gpu)
{
    sundog_replay_close(gpu->replay);
    sundog_core_free(gpu->core);
    sundog_keyring_free(gpu->keyring);
    temporary_folder_remove(gpu->folder);
    g_free(gpu->folder);
}

static int32_t *
input(GpuCore *gpu, const char *name)
{
    return sundog_replay_get_buffer(gpu->replay, name);
}

SundogShape
gpu_core_fill(GpuCore *gpu, const GpuPart *parts, int n_parts, const int32_t *rows, int n_rows)
{
    SundogShape shape = *sundog_replay_get_bounds(gpu->replay);
    int32_t row = 0, n_pages = 1;
    for (int p = 0; p < n_parts; p++)
        n_pages = MAX(n_pages, (parts[p].start + parts[p].n_tokens + 63) / 64);
    for (int p = 0; p < n_parts; p++) {
        input(gpu, "first_row")[p] = row;
        input(gpu, "first_row")[p + 1] = row + parts[p].n_tokens;
        input(gpu, "start_position")[p] = parts[p].start;
        for (int32_t i = 0; i < n_pages; i++)
            input(gpu, "page_table")[p * n_pages + i] =
                i * 64 < parts[p].start + parts[p].n_tokens ? parts[p].first_page + i : 0;
        for (int32_t i = 0; i < parts[p].n_tokens; i++, row++) {
            input(gpu, "tokens")[row] = parts[p].tokens[i];
            input(gpu, "positions")[row] = parts[p].start + i;
            input(gpu, "token_sequence")[row] = p;
        }
    }
    memcpy(input(gpu, "logit_rows"), rows, (size_t)n_rows * sizeof(int32_t));
    shape.values[SUNDOG_VARIABLE_TOKENS] = row;
    shape.values[SUNDOG_VARIABLE_SEQUENCES] = n_parts;
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = n_rows;
    shape.values[SUNDOG_VARIABLE_SEQUENCE_PAGES] = n_pages;
    shape.values[SUNDOG_VARIABLE_HISTORY] = 1;
    shape.values[SUNDOG_VARIABLE_MASK] = shape.values[SUNDOG_VARIABLE_BIAS] = 1;
    return shape;
}

float *
gpu_core_step(GpuCore *gpu, const GpuPart *parts, int n_parts, const int32_t *rows, int n_rows)
{
    g_autoptr(GError) error = NULL;
    SundogShape shape = gpu_core_fill(gpu, parts, n_parts, rows, n_rows);
    float *logits = g_new(float, (size_t)n_rows * gpu->n_vocabulary);
    sundog_replay_run(gpu->replay, SUNDOG_PROGRAM_FORWARD, &shape, &error);
    g_assert_no_error(error);
    sundog_replay_read(gpu->replay, "logits", logits,
                       (size_t)n_rows * gpu->n_vocabulary * sizeof(float), &error);
    g_assert_no_error(error);
    return logits;
}
