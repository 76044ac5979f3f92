/* The table of fused tensors. Source of the names: llama.cpp's converters. */

#include "engine/model/fused-tensors.h"

static const SundogFusedTensor fused[] = {
    {"blk.%u.attn_qkv.weight",
     {SUNDOG_TENSOR_ATTENTION_Q, SUNDOG_TENSOR_ATTENTION_K, SUNDOG_TENSOR_ATTENTION_V},
     3},
    {"blk.%u.attn_qkv.bias",
     {SUNDOG_TENSOR_ATTENTION_Q_BIAS, SUNDOG_TENSOR_ATTENTION_K_BIAS,
      SUNDOG_TENSOR_ATTENTION_V_BIAS},
     3},
    /* Files without a gate of its own hold both under the name of the other. */
    {"blk.%u.ffn_up.weight", {SUNDOG_TENSOR_MLP_GATE, SUNDOG_TENSOR_MLP_UP}, 2},
    {"blk.%u.ffn_gate_up_exps.weight", {SUNDOG_TENSOR_EXPERT_GATE, SUNDOG_TENSOR_EXPERT_UP}, 2},
};

const SundogFusedTensor *
sundog_fused_tensor_find(SundogTensorRole role)
{
    for (size_t i = 0; i < G_N_ELEMENTS(fused); i++) {
        for (uint32_t part = 0; part < fused[i].n_parts; part++)
            if (fused[i].parts[part] == role)
                return &fused[i];
    }
    return NULL;
}
