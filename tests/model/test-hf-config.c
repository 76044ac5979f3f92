/* config.json of published models, as far as their settings go. */

#include "engine/format/json.h"
#include "engine/model/dimensions.h"
#include "engine/model/hf-config.h"

#include <string.h>

static SundogSource *
read_source(const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = sundog_json_parse(text, strlen(text), &error);
    JsonObject *config = json_node_get_object(node);
    const SundogHfFamily *family = sundog_hf_config_find_family(config, &error);
    g_assert_no_error(error);
    SundogSource *source = sundog_source_new(family->architecture);
    sundog_hf_config_read(source, family, config, &error);
    g_assert_no_error(error);
    return source;
}

static void
read_dimensions(SundogModelDimensions *dimensions, const SundogSource *source)
{
    g_autoptr(GError) error = NULL;
    sundog_dimensions_read(dimensions, source, "test", &error);
    g_assert_no_error(error);
}

/* Models that see, too, keep the text model's settings apart and leave out what is usual. */
static void
test_gemma3(void)
{
    SundogModelDimensions dimensions = {0};
    g_autoptr(SundogSource) source =
        read_source("{\"architectures\":[\"Gemma3ForConditionalGeneration\"],"
                    "\"text_config\":{\"hidden_size\":2560,\"intermediate_size\":10240,"
                    "\"model_type\":\"gemma3_text\",\"num_hidden_layers\":34,"
                    "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"},"
                    "\"sliding_window\":1024},\"vision_config\":{\"hidden_size\":1152}}");
    read_dimensions(&dimensions, source);
    g_assert_cmpuint(dimensions.n_layers, ==, 34);
    g_assert_cmpuint(dimensions.hidden_size, ==, 2560);
    g_assert_cmpuint(dimensions.n_heads, ==, 8);
    g_assert_cmpuint(dimensions.n_kv_heads, ==, 4);
    g_assert_cmpuint(dimensions.head_dim, ==, 256);
    g_assert_cmpuint(dimensions.context_length, ==, 131072);
    g_assert_cmpuint(dimensions.layers[0].window, ==, 1024);
    g_assert_cmpuint(dimensions.layers[5].window, ==, 0);
    g_assert_cmpfloat(dimensions.rope.base, ==, 1e6);
    g_assert_cmpfloat(dimensions.rope.factor, ==, 8);
    g_assert_cmpfloat(dimensions.window_rope.base, ==, 10000);
    g_assert_cmpfloat(dimensions.window_rope.factor, ==, 1);
    g_assert_cmpfloat(dimensions.attention_scale, ==, 1.0 / 16);
    sundog_dimensions_clear(&dimensions);
}

/* Files from before rope_parameters; a window that begins at a layer. */
static void
test_qwen2(void)
{
    SundogModelDimensions dimensions = {0};
    g_autoptr(SundogSource) source =
        read_source("{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_act\":\"silu\","
                    "\"hidden_size\":3584,\"intermediate_size\":18944,\"max_position_embeddings\":"
                    "131072,\"max_window_layers\":2,\"num_attention_heads\":28,"
                    "\"num_hidden_layers\":4,\"num_key_value_heads\":4,\"rms_norm_eps\":1e-06,"
                    "\"rope_theta\":1000000.0,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,"
                    "\"original_max_position_embeddings\":32768},\"sliding_window\":4096,"
                    "\"use_sliding_window\":true,\"vocab_size\":152064}");
    read_dimensions(&dimensions, source);
    g_assert_cmpuint(dimensions.head_dim, ==, 128);
    g_assert_cmpint(dimensions.rope.scaling, ==, SUNDOG_ROPE_SCALING_YARN);
    g_assert_cmpfloat(dimensions.rope.base, ==, 1e6);
    g_assert_cmpuint(dimensions.rope.original_context, ==, 32768);
    g_assert_cmpuint(dimensions.layers[1].window, ==, 0);
    g_assert_cmpuint(dimensions.layers[2].window, ==, 4096);
    sundog_dimensions_clear(&dimensions);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hf-config/gemma3", test_gemma3);
    g_test_add_func("/hf-config/qwen2", test_qwen2);
    return g_test_run();
}
