/* Llama 4's names, and what its config.json switches off. Source: transformers' modelling files. */

#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

/* clang-format off */
const SundogHfTensor sundog_hf_llama4_tensors[] = {
    {"model.layers.%u.feed_forward.gate_proj.weight",       "blk.%u.ffn_gate.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.up_proj.weight",         "blk.%u.ffn_up.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.down_proj.weight",       "blk.%u.ffn_down.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.router.weight",          "blk.%u.ffn_gate_inp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.experts.gate_up_proj",   "blk.%u.ffn_gate_exps.weight", SUNDOG_HF_FIRST_OUTPUTS},
    {"model.layers.%u.feed_forward.experts.gate_up_proj",   "blk.%u.ffn_up_exps.weight", SUNDOG_HF_LAST_OUTPUTS},
    {"model.layers.%u.feed_forward.experts.down_proj",      "blk.%u.ffn_down_exps.weight", SUNDOG_HF_OUTPUTS},
    {"model.layers.%u.feed_forward.shared_expert.gate_proj.weight", "blk.%u.ffn_gate_shexp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.shared_expert.up_proj.weight",   "blk.%u.ffn_up_shexp.weight", SUNDOG_HF_WHOLE},
    {"model.layers.%u.feed_forward.shared_expert.down_proj.weight", "blk.%u.ffn_down_shexp.weight", SUNDOG_HF_WHOLE},
    {NULL, NULL, SUNDOG_HF_WHOLE},
};

const SundogHfKey sundog_hf_llama4_keys[] = {
    {"intermediate_size_mlp",     "feed_forward_length"},
    {"intermediate_size",         "expert_feed_forward_length"},
    {"interleave_moe_layer_step", "interleave_moe_layer_step"},
    {"attention_chunk_size",      "attention.chunk_size"},
    {"use_qk_norm",               "attention.norms_heads"},
    {"attn_scale",                "attention.temperature_scale"},
    {"floor_scale",               "attention.temperature_length"},
    {NULL, NULL},
};
/* clang-format on */

void
sundog_hf_llama4_read(SundogSource *source, JsonObject *config)
{
    /* A size that is null, rather than left out, is no limit. */
    if (json_object_has_member(config, "attention_chunk_size") &&
        json_object_get_null_member(config, "attention_chunk_size"))
        sundog_source_set_uint(source, "attention.chunk_size", "config.json: attention_chunk_size",
                               0);
    if (!sundog_json_get_bool(config, "attn_temperature_tuning", true))
        sundog_source_set_float(source, "attention.temperature_scale",
                                "config.json: attn_temperature_tuning", 0);
}
