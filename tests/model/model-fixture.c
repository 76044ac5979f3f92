#include "tests/model/model-fixture.h"

#include "engine/format/gguf.h"

enum { N_LAYERS = 2, HIDDEN = 64, MLP = 128, QUERY = 64, KEY = 32, N_TOKENS = 32 };

static void
add_dimensions(GgufBuilder *builder)
{
    gguf_builder_set_string(builder, "general.architecture", "llama");
    gguf_builder_set_string(builder, "general.name", "Tiny");
    gguf_builder_set_u32(builder, "llama.block_count", N_LAYERS);
    gguf_builder_set_u32(builder, "llama.context_length", 256);
    gguf_builder_set_u32(builder, "llama.embedding_length", HIDDEN);
    gguf_builder_set_u32(builder, "llama.feed_forward_length", MLP);
    gguf_builder_set_u32(builder, "llama.attention.head_count", 4);
    gguf_builder_set_u32(builder, "llama.attention.head_count_kv", 2);
    gguf_builder_set_u32(builder, "llama.rope.dimension_count", 16);
    gguf_builder_set_u32(builder, "llama.vocab_size", N_TOKENS);
    gguf_builder_set_f32(builder, "llama.rope.freq_base", 10000);
    gguf_builder_set_f32(builder, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
}

static void
add_vocabulary(GgufBuilder *builder)
{
    static const char *const merges[] = {"a b", "ab c"};
    char *tokens[N_TOKENS];
    int32_t kinds[N_TOKENS];
    for (int i = 0; i < N_TOKENS; i++) {
        tokens[i] = i < 3 ? g_strdup_printf("<|%d|>", i) : g_strdup_printf("%c", 'a' + i - 3);
        kinds[i] = i < 3 ? 3 : 1;
    }
    gguf_builder_set_string(builder, "tokenizer.ggml.model", "gpt2");
    gguf_builder_set_string(builder, "tokenizer.ggml.pre", "smollm");
    gguf_builder_set_strings(builder, "tokenizer.ggml.tokens", (const char *const *)tokens,
                             N_TOKENS);
    gguf_builder_set_i32s(builder, "tokenizer.ggml.token_type", kinds, N_TOKENS);
    gguf_builder_set_strings(builder, "tokenizer.ggml.merges", merges, 2);
    gguf_builder_set_u32(builder, "tokenizer.ggml.bos_token_id", 1);
    gguf_builder_set_u32(builder, "tokenizer.ggml.eos_token_id", 2);
    gguf_builder_set_string(builder, "tokenizer.chat_template", "{{ messages }}");
    for (int i = 0; i < N_TOKENS; i++)
        g_free(tokens[i]);
}

static void
add_vector(GgufBuilder *builder, const char *name, uint64_t n_columns)
{
    gguf_builder_add_tensor(builder, name, SUNDOG_GGUF_F32, n_columns, 1, n_columns * 4);
}

static void
add_matrix(GgufBuilder *builder, const char *name, uint64_t n_columns, uint64_t n_rows)
{
    gguf_builder_add_tensor(builder, name, SUNDOG_GGUF_Q4_1, n_columns, n_rows,
                            n_columns / 32 * 20 * n_rows);
}

static void
add_layer(GgufBuilder *builder, int layer)
{
    static const struct {
        const char *name;
        uint64_t n_columns, n_rows;
    } tensors[] = {
        {"attn_norm", HIDDEN, 1},  {"attn_q", HIDDEN, QUERY},      {"attn_k", HIDDEN, KEY},
        {"attn_v", HIDDEN, KEY},   {"attn_output", QUERY, HIDDEN}, {"ffn_norm", HIDDEN, 1},
        {"ffn_gate", HIDDEN, MLP}, {"ffn_up", HIDDEN, MLP},        {"ffn_down", MLP, HIDDEN},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(tensors); i++) {
        g_autofree char *name = g_strdup_printf("blk.%d.%s.weight", layer, tensors[i].name);
        if (tensors[i].n_rows == 1)
            add_vector(builder, name, tensors[i].n_columns);
        else
            add_matrix(builder, name, tensors[i].n_columns, tensors[i].n_rows);
    }
}

void
model_fixture_build(GgufBuilder *builder)
{
    gguf_builder_init(builder);
    add_dimensions(builder);
    add_vocabulary(builder);
    add_matrix(builder, "token_embd.weight", HIDDEN, N_TOKENS);
    for (int layer = 0; layer < N_LAYERS; layer++)
        add_layer(builder, layer);
    add_vector(builder, "output_norm.weight", HIDDEN);
}
