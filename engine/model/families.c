/* The table of families, by name. */

#include "engine/model/families.h"

#include <glib.h>

static const SundogFamily families[] = {
    {.name = "bert", .is_encoder = true, .learns_positions = true},
    {.name = "deepseek2", .pairs = SUNDOG_PAIRS_NEIGHBOURS, .has_experts = true},
    {.name = "falcon-h1", .has_state_spaces = true, .attends_beside = true},
    {.name = "gemma", .scales_embedding = true},
    {.name = "gemma2", .window_period = 2, .scales_embedding = true, .layers_of_wide_scale = 46},
    {.name = "gemma-embedding",
     .window_period = 6,
     .window_rope_base = 10000,
     .is_encoder = true,
     .halves_window = true,
     .scales_embedding = true},
    {.name = "gemma3",
     .window_period = 6,
     .window_rope_base = 10000,
     .scales_embedding = true,
     .layers_of_wide_scale = 62},
    {.name = "gemma4",
     .window_period = 6,
     .window_rope_base = 10000,
     .scales_embedding = true,
     .layers_differ = true,
     .unscaled_queries = true},
    {.name = "glm4", .pairs = SUNDOG_PAIRS_NEIGHBOURS},
    {.name = "glm4moe", .has_experts = true, .experts_by_sigmoid = true},
    {.name = "gpt-oss",
     .window_period = 2,
     .scales_window_rope = true,
     .yarn_is_exact = true,
     .has_experts = true,
     .renormalizes_experts = true},
    {.name = "granite",
     .pairs = SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF,
     .finetuned_is_rope = true,
     .divides_logits = true},
    {.name = "granitehybrid",
     .pairs = SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF,
     .finetuned_is_rope = true,
     .divides_logits = true,
     .has_state_spaces = true,
     .has_experts = true,
     .renormalizes_experts = true},
    {.name = "granitemoe",
     .pairs = SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF,
     .finetuned_is_rope = true,
     .divides_logits = true,
     .has_experts = true,
     .renormalizes_experts = true},
    {.name = "lfm2", .has_conv_layers = true},
    {.name = "llama",
     .pairs = SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF,
     .has_experts = true,
     .renormalizes_experts = true},
    {.name = "llama4",
     .pairs = SUNDOG_PAIRS_NEIGHBOURS,
     .window_period = 4,
     .chunk = 8192,
     .scales_window_rope = true,
     .query_scale_beta = 0.1,
     .query_scale_period = 8192,
     .rope_period = 4,
     .has_experts = true,
     .experts_by_sigmoid = true,
     .weighs_inputs = true,
     .n_shared = 1},
    {.name = "minimax-m2",
     .norms_whole_rows = true,
     .has_experts = true,
     .experts_by_sigmoid = true,
     .renormalizes_experts = true},
    {.name = "mistral3", .pairs = SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF, .divides_magnitude = true},
    {.name = "modern-bert",
     .window_period = 3,
     .window_rope_base = 10000,
     .is_encoder = true,
     .sees_all_first = true,
     .halves_window = true},
    {.name = "nemotron_h", .rope_period = 1, .has_state_spaces = true},
    {.name = "nemotron_h_moe",
     .rope_period = 1,
     .has_state_spaces = true,
     .has_experts = true,
     .experts_by_sigmoid = true},
    {.name = "nomic-bert", .is_encoder = true},
    {.name = "olmo2", .window_period = 4, .norms_whole_rows = true},
    {.name = "olmoe", .norms_whole_rows = true, .has_experts = true},
    {.name = "phi3"},
    {.name = "qwen2"},
    {.name = "qwen2moe", .has_experts = true},
    {.name = "qwen3"},
    {.name = "qwen35", .has_delta_layers = true, .tiles_key_heads = true, .gates_attention = true},
    {.name = "qwen35moe",
     .has_delta_layers = true,
     .tiles_key_heads = true,
     .gates_attention = true,
     .has_experts = true,
     .renormalizes_experts = true},
    {.name = "qwen3moe", .has_experts = true, .renormalizes_experts = true},
    {.name = "qwen3next",
     .has_delta_layers = true,
     .gates_attention = true,
     .has_experts = true,
     .renormalizes_experts = true},
    {.name = "smollm3", .pairs = SUNDOG_PAIRS_NEIGHBOURS_IN_GGUF, .rope_period = 4},
};

const SundogFamily *
sundog_family_find(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++)
        if (g_strcmp0(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}

char *
sundog_family_dup_names(void)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(families); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", families[i].name);
    return g_string_free(g_steal_pointer(&names), FALSE);
}
