/* config.json from outside: whatever it says, settings are refused by name or within the ranges of all
 * models. */

#include "engine/format/error.h"
#include "engine/format/json.h"
#include "engine/model/dimensions.h"
#include "engine/model/hf-config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

const char *const fuzz_seeds[] = {
    "{\"architectures\":[\"Gemma4ForCausalLM\"],\"hidden_activation\":\"gelu_pytorch_"
    "tanh\",\"hidden_size\":16,\"intermediate_size\":24,\"max_position_embeddings\":2"
    "56,\"num_attention_heads\":2,\"head_dim\":8,\"num_hidden_layers\":2,\"num_key_va"
    "lue_heads\":2,\"rms_norm_eps\":1e-05,\"num_kv_shared_layers\":1,\"use_double_wid"
    "e_mlp\":true,\"hidden_size_per_layer_input\":4,\"sliding_window\":20,\"layer_typ"
    "es\":[\"full_attention\",\"full_attention\"],\"per_layer_config\":{\"1\":{\"head"
    "_dim\":16,\"num_key_value_heads\":1}},\"rope_parameters\":{\"full_attention\":{"
    "\"partial_rotary_factor\":0.25,\"rope_theta\":1e6,\"rope_type\":\"proportional\""
    "}}}",
    "{\"architectures\":[\"Phi3ForCausalLM\"],\"hidden_act\":\"silu\",\"hidden_size\""
    ":16,\"intermediate_size\":24,\"max_position_embeddings\":256,\"num_attention_hea"
    "ds\":2,\"num_hidden_layers\":1,\"num_key_value_heads\":1,\"rms_norm_eps\":1e-05,"
    "\"sliding_window\":20,\"rope_parameters\":{\"rope_type\":\"longrope\",\"rope_the"
    "ta\":1e4,\"original_max_position_embeddings\":32,\"long_factor\":[1.0,1.5,3.0,8."
    "0],\"short_factor\":[1.0,1.1,1.2,1.4]}}",
    "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_act\":\"silu\",\"hidden_size\":24,"
    "\"intermediate_size\":40,\"max_position_embeddings\":256,\"num_attention_heads\":4,\"head_"
    "dim\":8,"
    "\"num_hidden_layers\":2,\"num_key_value_heads\":2,\"rms_norm_eps\":1e-05,\"rope_parameters\":{"
    "\"factor\":8.0,\"high_freq_factor\":4.0,\"low_freq_factor\":1.0,\"rope_theta\":500.0,"
    "\"original_max_position_embeddings\":32,\"rope_type\":\"llama3\"},\"vocab_size\":67}",
    "{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_act\":\"silu\",\"hidden_size\":24,"
    "\"intermediate_size\":40,\"max_position_embeddings\":256,\"num_attention_heads\":2,"
    "\"num_hidden_layers\":2,\"num_key_value_heads\":1,\"rms_norm_eps\":1e-05,\"rope_theta\":10000,"
    "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":64},"
    "\"partial_rotary_factor\":0.5,\"sliding_window\":128,\"use_sliding_window\":true}",
    "{\"architectures\":[\"LlamaForCausalLM\"],\"text_config\":{\"hidden_size\":24,"
    "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"linear\",\"factor\":2}}}}",
    NULL,
};

static void
check(const SundogModelDimensions *dimensions)
{
    g_assert_cmpuint(dimensions->n_layers, >=, 1);
    g_assert_cmpuint(dimensions->n_heads % dimensions->n_kv_heads, ==, 0);
    g_assert_cmpuint(dimensions->head_dim % 2, ==, 0);
    g_assert_cmpuint(dimensions->rope.n_dims, <=, dimensions->head_dim);
    g_assert_cmpfloat(dimensions->norm_epsilon, >, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = sundog_json_parse((const char *)data, n_bytes, NULL);
    if (node == NULL || !JSON_NODE_HOLDS_OBJECT(node))
        return 0;
    JsonObject *config = json_node_get_object(node);
    const SundogHfFamily *family = sundog_hf_config_find_family(config, &error);
    g_assert_true((family == NULL) == (error != NULL));
    if (family == NULL)
        return 0;
    SundogModelDimensions dimensions = {0};
    g_autoptr(SundogSource) source = sundog_source_new(family->architecture);
    if (sundog_hf_config_read(source, family, config, &error) &&
        sundog_dimensions_read(&dimensions, source, "fuzz", &error))
        check(&dimensions);
    else
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
    sundog_dimensions_clear(&dimensions);
    return 0;
}
