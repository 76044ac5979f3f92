#!/usr/bin/env python3
"""A tiny random model of each family, converted by llama.cpp, and its logits from transformers.

  make-converted.py LLAMA_CPP OUTPUT [NAME ...]     writes OUTPUT/NAME.gguf and OUTPUT/NAME.json, or for
                                                    names with "hf-" the folder OUTPUT/NAME

transformers makes the model and saves it; the converter of the llama.cpp source at LLAMA_CPP writes the
GGUF file, so that settings and order of rows are those that people's files have. Only the vocabulary is
this script's, since random models have no tokenizer. Prompts are longer than a page of the cache and
any window together. Needs torch, transformers, tokenizers and what the converter needs.
"""

import functools
import json
import logging
import os
import pathlib
import sys
import tempfile

import safetensors.torch
import tokenizers
import torch
import transformers

if len(sys.argv) > 1:  # the converter needs the gguf package that it comes with
    sys.path[1:1] = [sys.argv[1], os.path.join(sys.argv[1], 'gguf-py')]
import gguf_models  # noqa: E402

N_PROMPT = 100
N_GREEDY = 8
STRIDE = 11  # every so many positions of the prompt are kept, and the last
VOCABULARY = 59

# What all configurations share; a family's own entries come on top.
SIZES = {'vocab_size': VOCABULARY, 'hidden_size': 32, 'intermediate_size': 48, 'num_hidden_layers': 2,
         'num_attention_heads': 4, 'num_key_value_heads': 2, 'head_dim': 16,
         'max_position_embeddings': 256, 'rms_norm_eps': 1e-5, 'tie_word_embeddings': True,
         'initializer_range': 0.2, 'bos_token_id': 0, 'eos_token_id': 0, 'pad_token_id': 0}

MINISTRAL = {'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 4.0, 'mscale': 1.0, 'mscale_all_dim': 1.0,
             'beta_fast': 32.0, 'beta_slow': 1.0, 'llama_4_scaling_beta': 0.4, 'original_max_position_embeddings': 32}

# State spaces of two groups.
SPACE = {'mamba_n_heads': 4, 'mamba_d_head': 16, 'mamba_d_state': 8, 'mamba_n_groups': 2, 'mamba_d_conv': 4,
         'mamba_expand': 2, 'mamba_chunk_size': 16, 'head_dim': 8}
NEMOTRON = {'layers_block_type': ['linear_attention', 'mlp', 'full_attention', 'linear_attention'],
            'mamba_num_heads': 4, 'mamba_head_dim': 16, 'ssm_state_size': 8, 'n_groups': 2, 'conv_kernel': 4,
            'chunk_size': 16, 'head_dim': 8, 'layer_norm_epsilon': 1e-5, 'tie_word_embeddings': False,
            'num_hidden_layers': None, 'time_step_min': 1e-12}

# Chunks and steps of the temperature are in the code of llama.cpp, longer than any prompt here.
LLAMA4 = {'intermediate_size': 16, 'intermediate_size_mlp': 32, 'num_experts_per_tok': 1, 'head_dim': 8,
          'tie_word_embeddings': False,
          'rope_parameters': {'rope_type': 'llama3', 'rope_theta': 500.0, 'factor': 8.0, 'low_freq_factor': 1.0,
                              'high_freq_factor': 4.0, 'original_max_position_embeddings': 32}}

GEMMA4_MOE = {'hidden_size': 32, 'intermediate_size': 32, 'head_dim': 8, 'global_head_dim': 16,
              'num_global_key_value_heads': 1, 'num_hidden_layers': 2, 'num_kv_shared_layers': 0,
              'layer_types': ['sliding_attention', 'full_attention'], 'sliding_window': 20,
              'hidden_size_per_layer_input': 0, 'enable_moe_block': True, 'num_experts': 4, 'top_k_experts': 2,
              'moe_intermediate_size': 16}
# Norms that take the mean off.
MEAN = {'head_dim': 8, 'rms_norm_eps': None, 'layer_norm_eps': 1e-5}
VISION = {'depth': 1, 'embed_dim': 16, 'hidden_size': 16, 'out_hidden_size': 32, 'num_heads': 2, 'intermediate_size': 16,
          'patch_size': 4, 'deepstack_visual_indexes': []}
SECTIONS = {'rope_type': 'default', 'rope_theta': 10000.0, 'mrope_section': [4, 2, 2]}

# name: transformers' classes begin with, their ending, configuration
FAMILIES = {
    'deepseek2': ('DeepseekV2', 'DeepseekV2ForCausalLM',
                  {'q_lora_rank': None, 'kv_lora_rank': 16, 'qk_rope_head_dim': 8, 'qk_nope_head_dim': 12,
                   'v_head_dim': 16, 'n_routed_experts': 8, 'n_shared_experts': 2, 'num_experts_per_tok': 3,
                   'moe_intermediate_size': 16, 'first_k_dense_replace': 1, 'n_group': 4, 'topk_group': 2,
                   'topk_method': 'group_limited_greedy', 'routed_scaling_factor': 1.5,
                   'num_key_value_heads': 4, 'rms_norm_eps': 1e-6}),
    'deepseek3': ('DeepseekV3', 'DeepseekV3ForCausalLM',
                  {'q_lora_rank': 24, 'kv_lora_rank': 32, 'qk_rope_head_dim': 8, 'qk_nope_head_dim': 16,
                   'v_head_dim': 16, 'n_routed_experts': 8, 'n_shared_experts': 1, 'num_experts_per_tok': 3,
                   'moe_intermediate_size': 16, 'first_k_dense_replace': 1, 'n_group': 4, 'topk_group': 2,
                   'norm_topk_prob': True, 'routed_scaling_factor': 2.5, 'num_key_value_heads': 4,
                   'rms_norm_eps': 1e-6, 'tie_word_embeddings': False, 'head_dim': 8,
                   'scoring_func': 'sigmoid',
                   'rope_parameters': {
                       'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 4.0, 'beta_fast': 32.0,
                       'beta_slow': 1.0, 'mscale': 1.0, 'mscale_all_dim': 1.0,
                       'original_max_position_embeddings': 64}}),
    'gemma': ('Gemma', 'GemmaForCausalLM', {'head_dim': 24, 'hidden_act': 'gelu_pytorch_tanh'}),
    'gemma2': ('Gemma2', 'Gemma2ForCausalLM',
               {'num_hidden_layers': 3, 'sliding_window': 20, 'query_pre_attn_scalar': 16,
                'attn_logit_softcapping': 2.0, 'final_logit_softcapping': 3.0}),
    'gemma3': ('Gemma3Text', 'Gemma3ForCausalLM',
               {'num_hidden_layers': 7, 'hidden_size': 24, 'intermediate_size': 32, 'sliding_window': 20,
                'query_pre_attn_scalar': 16, 'num_attention_heads': 2, 'num_key_value_heads': 1}),
    'glm4moe': ('Glm4Moe', 'Glm4MoeForCausalLM',
                {'num_hidden_layers': 3, 'n_routed_experts': 4, 'n_shared_experts': 1,
                 'num_experts_per_tok': 2, 'moe_intermediate_size': 16, 'first_k_dense_replace': 1,
                 'use_qk_norm': True, 'attention_bias': True, 'routed_scaling_factor': 1.5,
                 'num_nextn_predict_layers': 0}),
    # The last layer guesses: Draft below.
    'glm4moe-draft': ('Glm4Moe', 'Glm4MoeForCausalLM',
                      {'num_hidden_layers': 3, 'n_routed_experts': 4, 'n_shared_experts': 1,
                       'num_experts_per_tok': 2, 'moe_intermediate_size': 16, 'first_k_dense_replace': 1,
                       'use_qk_norm': True, 'attention_bias': True, 'routed_scaling_factor': 1.5,
                       'num_nextn_predict_layers': 0, 'tie_word_embeddings': False}),
    'gemma4': ('Gemma4Text', 'Gemma4ForCausalLM',
               {'hidden_size': 24, 'intermediate_size': 32, 'num_attention_heads': 2, 'num_key_value_heads': 2,
                'head_dim': 8, 'global_head_dim': 16, 'num_global_key_value_heads': 1,
                'num_hidden_layers': 6, 'num_kv_shared_layers': 3, 'use_double_wide_mlp': True,
                'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention',
                                'sliding_attention', 'full_attention', 'full_attention'],
                'sliding_window': 20, 'final_logit_softcapping': 3.0, 'attention_k_eq_v': True,
                'hidden_size_per_layer_input': 4, 'vocab_size_per_layer_input': VOCABULARY}),
    'gemma3n': ('Gemma3nText', 'Gemma3nForCausalLM',
                {'hidden_size': 16, 'intermediate_size': 32, 'num_attention_heads': 2, 'num_key_value_heads': 1,
                 'head_dim': 8, 'num_hidden_layers': 4, 'num_kv_shared_layers': 2, 'laurel_rank': 64,
                 'layer_types': ['sliding_attention', 'full_attention'] * 2, 'sliding_window': 20,
                 'activation_sparsity_pattern': [0.8, 0.0, 0.6, 0.0], 'hidden_size_per_layer_input': 4,
                 'vocab_size_per_layer_input': VOCABULARY, 'final_logit_softcapping': 3.0}),
    'gemma4-moe': ('Gemma4Text', 'Gemma4ForCausalLM', {**GEMMA4_MOE, 'num_attention_heads': 2, 'num_key_value_heads': 2}),
    'glm4': ('Glm4', 'Glm4ForCausalLM', {'partial_rotary_factor': 0.5, 'attention_bias': True}),
    'gpt-oss': ('GptOss', 'GptOssForCausalLM',
                {'intermediate_size': 32, 'num_local_experts': 4, 'num_experts_per_tok': 2,
                 'sliding_window': 20, 'tie_word_embeddings': False,
                 'rope_parameters': {
                     'rope_type': 'yarn', 'rope_theta': 150000.0, 'factor': 8.0, 'beta_fast': 32.0,
                     'beta_slow': 1.0, 'truncate': False, 'original_max_position_embeddings': 32}}),
    'granite': ('Granite', 'GraniteForCausalLM',
                {'head_dim': 8, 'attention_multiplier': 0.3, 'embedding_multiplier': 12.0,
                 'residual_multiplier': 0.22, 'logits_scaling': 8.0}),
    'granitemoe': ('GraniteMoe', 'GraniteMoeForCausalLM',
                   {'head_dim': 8, 'attention_multiplier': 0.3, 'embedding_multiplier': 12.0,
                    'residual_multiplier': 0.22, 'logits_scaling': 8.0, 'intermediate_size': 16,
                    'num_local_experts': 5, 'num_experts_per_tok': 2}),
    'lfm2': ('Lfm2', 'Lfm2ForCausalLM',
             {'head_dim': 8, 'num_hidden_layers': 3, 'conv_L_cache': 3, 'norm_eps': 1e-5,
              'layer_types': ['conv', 'full_attention', 'conv'], 'block_auto_adjust_ff_dim': False,
              'block_ff_dim': 48, 'block_multiple_of': 16}),
    'minimax-m2': ('MiniMaxM2', 'MiniMaxM2ForCausalLM',
                   {'intermediate_size': 16, 'num_local_experts': 6, 'num_experts_per_tok': 2,
                    'rotary_dim': 8, 'tie_word_embeddings': False}),
    'mistral3': ('Ministral3', 'Ministral3ForCausalLM',
                 {'head_dim': 8, 'sliding_window': None, 'rope_parameters': MINISTRAL}),
    'mixtral': ('Mixtral', 'MixtralForCausalLM',
                {'intermediate_size': 16, 'num_local_experts': 4, 'num_experts_per_tok': 2}),
    'olmo2': ('Olmo2', 'Olmo2ForCausalLM', {'head_dim': 8, 'tie_word_embeddings': False}),
    'olmo3': ('Olmo3', 'Olmo3ForCausalLM',
              {'head_dim': 8, 'num_hidden_layers': 4, 'sliding_window': 20, 'tie_word_embeddings': False}),
    'olmoe': ('Olmoe', 'OlmoeForCausalLM',
              {'head_dim': 8, 'intermediate_size': 16, 'num_experts': 5, 'num_experts_per_tok': 3}),
    'phi3': ('Phi3', 'Phi3ForCausalLM',
             {'head_dim': 8, 'sliding_window': 20, 'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0}}),
    'phi3-long': ('Phi3', 'Phi3ForCausalLM',
                  {'hidden_size': 48, 'head_dim': 24, 'num_attention_heads': 2, 'num_key_value_heads': 1, 'sliding_window': None,
                   'partial_rotary_factor': 0.75, 'original_max_position_embeddings': 32,
                   'max_position_embeddings': 256,
                   'rope_parameters': {
                       'rope_type': 'longrope', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.75,
                       'original_max_position_embeddings': 32,
                       'long_factor': [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0],
                       'short_factor': [1.0, 1.1, 1.1, 1.2, 1.2, 1.3, 1.3, 1.4, 1.5]}}),
    'qwen2moe': ('Qwen2Moe', 'Qwen2MoeForCausalLM',
                 {'num_experts': 5, 'num_experts_per_tok': 3, 'moe_intermediate_size': 32,
                  'shared_expert_intermediate_size': 64}),
    'qwen3': ('Qwen3', 'Qwen3ForCausalLM', {'head_dim': 32}),
    'qwen3moe': ('Qwen3Moe', 'Qwen3MoeForCausalLM',
                 {'num_experts': 7, 'num_experts_per_tok': 3, 'moe_intermediate_size': 16, 'head_dim': 24,
                  'norm_topk_prob': True}),
    'qwen35': ('Qwen3_5Text', 'Qwen3_5ForCausalLM',
               {'num_hidden_layers': 3, 'layer_types': ['linear_attention', 'full_attention', 'linear_attention'],
                'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 16, 'linear_value_head_dim': 16,
                'linear_num_key_heads': 2, 'linear_num_value_heads': 4, 'tie_word_embeddings': False,
                'rms_norm_eps': 1e-6,
                'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0,
                                    'partial_rotary_factor': 0.5, 'mrope_section': [2, 1, 1]}}),
    'qwen3next': ('Qwen3Next', 'Qwen3NextForCausalLM',
                  {'num_hidden_layers': 3, 'layer_types': ['linear_attention', 'full_attention', 'linear_attention'],
                   'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 16, 'linear_value_head_dim': 16,
                   'linear_num_key_heads': 2, 'linear_num_value_heads': 4, 'num_experts': 4,
                   'num_experts_per_tok': 2, 'moe_intermediate_size': 16, 'norm_topk_prob': True,
                   'shared_expert_intermediate_size': 16, 'tie_word_embeddings': False,
                   'partial_rotary_factor': 0.5, 'rms_norm_eps': 1e-6}),
    'qwen3next-draft': ('Qwen3Next', 'Qwen3NextForCausalLM',
                        {'num_hidden_layers': 3, 'layer_types': ['linear_attention', 'full_attention', 'full_attention'],
                         'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 16, 'linear_value_head_dim': 16,
                         'linear_num_key_heads': 2, 'linear_num_value_heads': 4, 'num_experts': 4,
                         'num_experts_per_tok': 2, 'moe_intermediate_size': 16, 'norm_topk_prob': True,
                         'shared_expert_intermediate_size': 16, 'tie_word_embeddings': False,
                         'partial_rotary_factor': 0.5, 'rms_norm_eps': 1e-6}),
    'falcon-h1': ('FalconH1', 'FalconH1ForCausalLM',
                  {**SPACE, 'mamba_d_ssm': 48, 'mamba_n_heads': 3, 'mamba_n_groups': 1, 'mamba_rms_norm': False,
                   # Powers of two, since the converter multiplies them into weights.
                   'num_hidden_layers': 2, 'attention_in_multiplier': 2.0, 'attention_out_multiplier': 0.5,
                   'ssm_in_multiplier': 0.25, 'ssm_out_multiplier': 2.0, 'mlp_multipliers': [0.5, 2.0],
                   'ssm_multipliers': [0.5, 4.0, 2.0, 0.25, 1.0], 'key_multiplier': 0.5,
                   'lm_head_multiplier': 0.25, 'embedding_multiplier': 2.0, 'tie_word_embeddings': False,
                   'rope_theta': 10000.0}),
    'granitehybrid': ('GraniteMoeHybrid', 'GraniteMoeHybridForCausalLM',
                      {**SPACE, 'layer_types': ['mamba', 'attention', 'mamba'], 'num_hidden_layers': 3,
                       'attention_multiplier': 0.3, 'embedding_multiplier': 12.0, 'residual_multiplier': 0.22,
                       'logits_scaling': 8.0, 'num_local_experts': 4, 'num_experts_per_tok': 2,
                       'intermediate_size': 16, 'shared_intermediate_size': 32,
                       'position_embedding_type': 'nope', 'mamba_n_groups': 1}),
    'nemotron_h': ('NemotronH', 'NemotronHForCausalLM', NEMOTRON),
    'nemotron_h_moe': ('NemotronH', 'NemotronHForCausalLM',
                       {**NEMOTRON, 'layers_block_type': ['linear_attention', 'moe', 'full_attention', 'moe'],
                        'n_routed_experts': 4, 'num_experts_per_tok': 2, 'moe_intermediate_size': 16,
                        'moe_shared_expert_intermediate_size': 32, 'routed_scaling_factor': 2.5}),
    'qwen35moe': ('Qwen3_5MoeText', 'Qwen3_5MoeForCausalLM',
                  {'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'full_attention'],
                   'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 16, 'linear_value_head_dim': 16,
                   'linear_num_key_heads': 2, 'linear_num_value_heads': 4, 'tie_word_embeddings': False,
                   'num_experts': 4, 'num_experts_per_tok': 2, 'moe_intermediate_size': 16,
                   'shared_expert_intermediate_size': 32, 'rms_norm_eps': 1e-6,
                   'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0,
                                       'partial_rotary_factor': 0.5, 'mrope_section': [2, 1, 1]}}),
    'llama4': ('Llama4Text', 'Llama4ForCausalLM',
               {**LLAMA4, 'num_hidden_layers': 4, 'num_local_experts': 4, 'interleave_moe_layer_step': 2}),
    'cohere2': ('Cohere2', 'Cohere2ForCausalLM',
                {**MEAN, 'num_hidden_layers': 4, 'sliding_window': 20, 'logit_scale': 0.25, 'rotary_pct': 1.0}),
    'command-r': ('Cohere', 'CohereForCausalLM', {**MEAN, 'logit_scale': 0.25}),
    'phi2': ('Phi', 'PhiForCausalLM',
             {**MEAN, 'intermediate_size': 128, 'num_key_value_heads': 4, 'partial_rotary_factor': 0.5,
              'tie_word_embeddings': False,
              'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0,
                                  'partial_rotary_factor': 0.5}}),
    'stablelm': ('StableLm', 'StableLmForCausalLM',
                 {**MEAN, 'partial_rotary_factor': 0.5, 'use_qkv_bias': True,
                  'tie_word_embeddings': False,
                  'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5}}),
    'starcoder2': ('Starcoder2', 'Starcoder2ForCausalLM',
                   {**MEAN, 'norm_epsilon': 1e-5, 'sliding_window': None, 'use_bias': True}),
    'dots1': ('Dots1', 'Dots1ForCausalLM',
              {'n_routed_experts': 4, 'n_shared_experts': 2, 'num_experts_per_tok': 2, 'moe_intermediate_size': 16,
               'first_k_dense_replace': 1, 'norm_topk_prob': True, 'routed_scaling_factor': 2.5, 'n_group': 1,
               'topk_group': 1, 'tie_word_embeddings': False}),
    'ernie4_5': ('Ernie4_5', 'Ernie4_5ForCausalLM', {'head_dim': 8}),
    'ernie4_5-moe': ('Ernie4_5_Moe', 'Ernie4_5_MoeForCausalLM',
                     {'head_dim': 8, 'intermediate_size': 64, 'moe_num_experts': 4, 'moe_k': 2, 'moe_intermediate_size': 16,
                      'moe_num_shared_experts': 2, 'moe_layer_start_index': 1, 'moe_layer_interval': 1}),
    'exaone4': ('Exaone4', 'Exaone4ForCausalLM',
                {'head_dim': 8, 'num_hidden_layers': 4, 'sliding_window': 20, 'sliding_window_pattern': 4,
                 'layer_types': ['sliding_attention'] * 3 + ['full_attention']}),
    'glm4-flash': ('Glm4MoeLite', 'Glm4MoeLiteForCausalLM',
                   {'q_lora_rank': 24, 'kv_lora_rank': 32, 'qk_rope_head_dim': 8, 'qk_nope_head_dim': 16,
                    'v_head_dim': 16, 'n_routed_experts': 4, 'n_shared_experts': 1, 'num_experts_per_tok': 2,
                    'moe_intermediate_size': 16, 'n_group': 1, 'topk_group': 1, 'norm_topk_prob': True,
                    'mlp_layer_types': ['dense', 'sparse'], 'first_k_dense_replace': 1,
                    'routed_scaling_factor': 1.8, 'num_key_value_heads': 4, 'tie_word_embeddings': False}),
    'hunyuan-dense': ('HunYuanDenseV1', 'HunYuanDenseV1ForCausalLM', {'head_dim': 8}),
    'kimi-k2': ('DeepseekV3', 'DeepseekV3ForCausalLM',
                {'q_lora_rank': 24, 'kv_lora_rank': 32, 'qk_rope_head_dim': 8, 'qk_nope_head_dim': 16,
                 'v_head_dim': 16, 'n_routed_experts': 6, 'n_shared_experts': 1, 'num_experts_per_tok': 2,
                 'moe_intermediate_size': 16, 'first_k_dense_replace': 1, 'n_group': 1, 'topk_group': 1,
                 'norm_topk_prob': True, 'routed_scaling_factor': 2.827, 'num_key_value_heads': 4,
                 'tie_word_embeddings': False, 'head_dim': 8, 'scoring_func': 'sigmoid', 'rms_norm_eps': 1e-6,
                 'rope_parameters': {'rope_type': 'yarn', 'rope_theta': 50000.0, 'factor': 32.0, 'beta_fast': 1.0,
                                     'beta_slow': 1.0, 'mscale': 1.0, 'mscale_all_dim': 1.0,
                                     'original_max_position_embeddings': 64}}),
    'lfm2moe': ('Lfm2Moe', 'Lfm2MoeForCausalLM',
                {'head_dim': 8, 'num_hidden_layers': 3, 'conv_L_cache': 3, 'norm_eps': 1e-5,
                 'layer_types': ['conv', 'full_attention', 'conv'], 'num_dense_layers': 1, 'num_experts': 4,
                 'num_experts_per_tok': 2, 'moe_intermediate_size': 16, 'use_expert_bias': True,
                 'norm_topk_prob': True}),
    'qwen2vl': ('Qwen2VL', 'Qwen2VLForConditionalGeneration',
                {'text_config': {**SIZES, 'head_dim': 16, 'hidden_size': 64, 'rope_parameters': SECTIONS},
                 'vision_config': {**VISION, 'hidden_size': 64}}),
    'qwen3vl': ('Qwen3VL', 'Qwen3VLForConditionalGeneration',
                {'text_config': {**SIZES, 'rope_parameters': SECTIONS}, 'vision_config': VISION}),
    'qwen3vlmoe': ('Qwen3VLMoe', 'Qwen3VLMoeForConditionalGeneration',
                   {'text_config': {**SIZES, 'rope_parameters': SECTIONS, 'num_experts': 4, 'num_experts_per_tok': 2,
                                    'moe_intermediate_size': 16, 'norm_topk_prob': True}, 'vision_config': VISION}),
    'seed_oss': ('SeedOss', 'SeedOssForCausalLM', {'attention_bias': True, 'attention_out_bias': False}),
    'smollm3': ('SmolLM3', 'SmolLM3ForCausalLM', {'head_dim': 8, 'num_hidden_layers': 4}),
}

ABSENT = object()  # of a setting that the family has not
PLAIN = {'hidden_act': 'gelu', 'num_key_value_heads': ABSENT, 'head_dim': ABSENT, 'tie_word_embeddings': False}
FALCON = {'head_dim': ABSENT, 'num_key_value_heads': ABSENT, 'bias': False, 'parallel_attn': True, 'ffn_hidden_size': 128}
FAMILIES |= {
    'falcon': ('Falcon', 'FalconForCausalLM', {**FALCON, 'multi_query': True}),
    'falcon-40b': ('Falcon', 'FalconForCausalLM',
                   {**FALCON, 'new_decoder_architecture': True, 'num_kv_heads': 2}),
    'gptneox': ('GPTNeoX', 'GPTNeoXForCausalLM',
                {**PLAIN, 'intermediate_size': 64, 'layer_norm_eps': 1e-5,
                 'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5}}),
    'gptneox-in-turn': ('GPTNeoX', 'GPTNeoXForCausalLM',
                        {**PLAIN, 'intermediate_size': 64, 'use_parallel_residual': False}),
}

SMALL = {'hidden_size': 16, 'intermediate_size': 24, 'num_attention_heads': 2, 'num_key_value_heads': 1,
         'head_dim': 8}
SMALL_SPACE = {**SPACE, 'mamba_n_heads': 2, 'mamba_n_groups': 1}
YARN = {'rope_type': 'yarn', 'rope_theta': 500000.0, 'factor': 8.0, 'attention_factor': 1.2, 'beta_fast': 16.0,
        'beta_slow': 2.0, 'original_max_position_embeddings': 32}

# The same for folders that are read as transformers saves them, in names that begin with "hf-": those
# whose settings or tensors need more than other names.
SAVED = {
    'hf-gemma2': ('Gemma2', 'Gemma2ForCausalLM',
                  {**SMALL, 'num_hidden_layers': 2, 'sliding_window': 20, 'query_pre_attn_scalar': 12,
                   'attn_logit_softcapping': 2.0, 'final_logit_softcapping': 3.0}),
    'hf-gemma3': ('Gemma3Text', 'Gemma3ForCausalLM',
                  {**SMALL, 'layer_types': ['full_attention', 'sliding_attention'], 'sliding_window': 20,
                   'query_pre_attn_scalar': 8}),
    'hf-gemma4': ('Gemma4Text', 'Gemma4ForCausalLM',
                  {**SMALL, 'num_key_value_heads': 2, 'global_head_dim': 16, 'num_global_key_value_heads': 1,
                   'num_hidden_layers': 4, 'num_kv_shared_layers': 2, 'use_double_wide_mlp': True,
                   'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'],
                   'sliding_window': 20, 'final_logit_softcapping': 3.0, 'attention_k_eq_v': True,
                   'hidden_size_per_layer_input': 4, 'vocab_size_per_layer_input': VOCABULARY}),
    'hf-glm4moe-draft': FAMILIES['glm4moe-draft'],
    'hf-glm4': ('Glm4', 'Glm4ForCausalLM', {**SMALL, 'partial_rotary_factor': 0.5, 'attention_bias': True}),
    'hf-granite': ('Granite', 'GraniteForCausalLM',
                   {**SMALL, 'attention_multiplier': 0.3, 'embedding_multiplier': 12.0,
                    'residual_multiplier': 0.22, 'logits_scaling': 8.0}),
    'hf-ministral3': ('Ministral3', 'Ministral3ForCausalLM',
                      {**SMALL, 'sliding_window': None, 'rope_parameters': MINISTRAL}),
    'hf-mistral': ('Mistral', 'MistralForCausalLM', {**SMALL, 'sliding_window': 20}),
    'hf-olmo3': ('Olmo3', 'Olmo3ForCausalLM',
                 {**SMALL, 'layer_types': ['sliding_attention', 'full_attention'], 'sliding_window': 20,
                  'rope_parameters': {'full_attention': YARN,
                                      'sliding_attention': {'rope_type': 'default', 'rope_theta': 500000.0}}}),
    'hf-phi3': ('Phi3', 'Phi3ForCausalLM',
                {**SMALL, 'sliding_window': 20, 'original_max_position_embeddings': 32,
                 'partial_rotary_factor': 1.0,
                 'rope_parameters': {'rope_type': 'longrope', 'rope_theta': 10000.0, 'partial_rotary_factor': 1.0,
                                     'original_max_position_embeddings': 32,
                                     'long_factor': [1.0, 1.5, 3.0, 8.0],
                                     'short_factor': [1.0, 1.1, 1.2, 1.4]}}),
    'hf-smollm3': ('SmolLM3', 'SmolLM3ForCausalLM', {**SMALL, 'no_rope_layers': [1, 0]}),
}

SAVED |= {
    'hf-deepseek3': ('DeepseekV3', 'DeepseekV3ForCausalLM',
                     {'q_lora_rank': 16, 'kv_lora_rank': 16, 'qk_rope_head_dim': 8, 'qk_nope_head_dim': 16,
                      'v_head_dim': 16, 'n_routed_experts': 4, 'n_shared_experts': 1, 'num_experts_per_tok': 2,
                      'moe_intermediate_size': 16, 'first_k_dense_replace': 1, 'n_group': 2, 'topk_group': 1,
                      'norm_topk_prob': True, 'routed_scaling_factor': 2.5, 'num_attention_heads': 2,
                      'num_key_value_heads': 2, 'rms_norm_eps': 1e-6, 'tie_word_embeddings': False,
                      'head_dim': 8, 'intermediate_size': 24, 'scoring_func': 'sigmoid',
                      'rope_parameters': {
                          'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 4.0, 'beta_fast': 32.0,
                          'beta_slow': 1.0, 'mscale': 1.0, 'mscale_all_dim': 1.0,
                          'original_max_position_embeddings': 64}}),
    'hf-gpt-oss': ('GptOss', 'GptOssForCausalLM',
                   {**SMALL, 'hidden_size': 32, 'intermediate_size': 32, 'num_local_experts': 3,
                    'num_experts_per_tok': 2, 'sliding_window': 20, 'tie_word_embeddings': False,
                    'rope_parameters': {
                        'rope_type': 'yarn', 'rope_theta': 150000.0, 'factor': 8.0, 'beta_fast': 32.0,
                        'beta_slow': 1.0, 'truncate': False, 'original_max_position_embeddings': 32}}),
    # Codes stay as they are in blocks of 64 columns, alone and beside matrices of other widths.
    'hf-qwen3-fp8': ('Qwen3', 'Qwen3ForCausalLM', {'hidden_size': 64, 'intermediate_size': 192}),
    'hf-llama-gptq': ('Llama', 'LlamaForCausalLM',
                      {**SMALL, 'hidden_size': 64, 'intermediate_size': 96, 'head_dim': 32}),
    'hf-qwen3moe': ('Qwen3Moe', 'Qwen3MoeForCausalLM',
                    {**SMALL, 'num_experts': 3, 'num_experts_per_tok': 2, 'moe_intermediate_size': 16,
                     'norm_topk_prob': True}),
}

SAVED |= {
    'hf-bamba': ('Bamba', 'BambaForCausalLM', {**SMALL, **SMALL_SPACE, 'attn_layer_indices': [1]}),
    'hf-granitehybrid': ('GraniteMoeHybrid', 'GraniteMoeHybridForCausalLM',
                         {**SMALL, **SMALL_SPACE, 'layer_types': ['mamba', 'attention'],
                          'attention_multiplier': 0.3, 'embedding_multiplier': 12.0, 'residual_multiplier': 0.22,
                          'logits_scaling': 8.0, 'num_local_experts': 3, 'num_experts_per_tok': 2,
                          'intermediate_size': 16, 'shared_intermediate_size': 16,
                          'position_embedding_type': 'nope'}),
    'hf-gemma4-moe': ('Gemma4Text', 'Gemma4ForCausalLM', {**SMALL, **GEMMA4_MOE, 'num_experts': 3}),
    'hf-cohere2': ('Cohere2', 'Cohere2ForCausalLM',
                   {**SMALL, **MEAN, 'num_hidden_layers': 2, 'sliding_window': 20, 'logit_scale': 0.25,
                    'layer_types': ['sliding_attention', 'full_attention']}),
    'hf-exaone4': ('Exaone4', 'Exaone4ForCausalLM',
                   {**SMALL, 'layer_types': ['sliding_attention', 'full_attention'], 'sliding_window': 20}),
    'hf-lfm2moe': ('Lfm2Moe', 'Lfm2MoeForCausalLM',
                   {**SMALL, 'num_hidden_layers': 2, 'conv_L_cache': 3, 'norm_eps': 1e-5,
                    'layer_types': ['conv', 'full_attention'], 'num_dense_layers': 1, 'num_experts': 3,
                    'num_experts_per_tok': 2, 'moe_intermediate_size': 16, 'use_expert_bias': True,
                    'norm_topk_prob': True}),
    'hf-seed_oss': ('SeedOss', 'SeedOssForCausalLM', {**SMALL, 'attention_bias': True, 'attention_out_bias': False}),
    'hf-starcoder2': ('Starcoder2', 'Starcoder2ForCausalLM',
                      {**SMALL, **MEAN, 'norm_epsilon': 1e-5, 'sliding_window': None, 'use_bias': True}),
    'hf-llama4': ('Llama4Text', 'Llama4ForCausalLM',
                  {**SMALL, **LLAMA4, 'intermediate_size_mlp': 24, 'num_hidden_layers': 3, 'num_local_experts': 3,
                   'interleave_moe_layer_step': 2, 'no_rope_layers': [1, 0, 1], 'attention_chunk_size': 22,
                   'floor_scale': 16, 'attn_scale': 0.3}),
    'hf-nemotron_h_moe': ('NemotronH', 'NemotronHForCausalLM',
                          {**NEMOTRON, **SMALL, 'layers_block_type': ['linear_attention', 'moe', 'full_attention', 'mlp'],
                           'mamba_num_heads': 2, 'n_routed_experts': 3, 'num_experts_per_tok': 2,
                           'moe_intermediate_size': 16, 'moe_shared_expert_intermediate_size': 16,
                           'routed_scaling_factor': 2.5, 'num_hidden_layers': None}),
}

SAVED |= {
    'hf-ernie4_5-moe': ('Ernie4_5_Moe', 'Ernie4_5_MoeForCausalLM',
                        {**SMALL, 'moe_num_experts': 3, 'moe_k': 2, 'moe_intermediate_size': 16,
                         'moe_num_shared_experts': 1, 'moe_layer_start_index': 1}),
    'hf-hunyuan-dense': ('HunYuanDenseV1', 'HunYuanDenseV1ForCausalLM', SMALL),
    'hf-hunyuan-moe': ('HunYuanMoEV1', 'HunYuanMoEV1ForCausalLM', {**SMALL, 'intermediate_size': 32, 'num_experts': 3, 'moe_topk': 2}),
    'hf-phi2': ('Phi', 'PhiForCausalLM',
                {**SMALL, **MEAN, 'tie_word_embeddings': False,
                 'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5}}),
    'hf-qwen3vlmoe': ('Qwen3VLMoe', 'Qwen3VLMoeForConditionalGeneration',
                      {'text_config': {**SIZES, **SMALL, 'num_experts': 3, 'num_experts_per_tok': 2,
                                       'moe_intermediate_size': 16, 'norm_topk_prob': True,
                                       'rope_parameters': {**SECTIONS, 'mrope_section': [2, 1, 1]}},
                       'vision_config': {**VISION, 'out_hidden_size': 16, 'num_position_embeddings': 16}}),
}

SMALL_DELTA = {'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'full_attention'], 'linear_conv_kernel_dim': 4,
               'linear_key_head_dim': 16, 'linear_value_head_dim': 8, 'linear_num_key_heads': 2, 'linear_num_value_heads': 4,
               'num_experts': 3, 'num_experts_per_tok': 2, 'moe_intermediate_size': 16, 'shared_expert_intermediate_size': 16,
               'tie_word_embeddings': False, 'rms_norm_eps': 1e-6}
SAVED |= {
    'hf-qwen3next': ('Qwen3Next', 'Qwen3NextForCausalLM',
                     {**SMALL, **SMALL_DELTA, 'partial_rotary_factor': 0.5, 'norm_topk_prob': True}),
    'hf-qwen35moe': ('Qwen3_5Moe', 'Qwen3_5MoeForConditionalGeneration',
                     {'text_config': {**SIZES, **SMALL, **SMALL_DELTA,
                                      'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0,
                                                          'partial_rotary_factor': 0.5, 'mrope_section': [2, 0, 0]}},
                      'vision_config': {**VISION, 'out_hidden_size': 16, 'num_position_embeddings': 16},
                      'tie_word_embeddings': False}),
    'hf-qwen3next-draft': FAMILIES['qwen3next-draft'],
}

SAVED |= {
    'hf-falcon-h1': ('FalconH1', 'FalconH1ForCausalLM',
                     {**SMALL, **SMALL_SPACE, 'mamba_d_ssm': 32, 'mamba_rms_norm': True, 'attention_in_multiplier': 1.3,
                      'attention_out_multiplier': 0.7, 'ssm_in_multiplier': 0.3, 'ssm_out_multiplier': 1.7,
                      'mlp_multipliers': [0.6, 1.9], 'ssm_multipliers': [0.6, 2.9, 1.8, 0.4, 1.1], 'key_multiplier': 0.55,
                      'lm_head_multiplier': 0.35, 'embedding_multiplier': 2.2, 'tie_word_embeddings': False}),
    'hf-falcon': ('Falcon', 'FalconForCausalLM',
                  {**SMALL, **FALCON, 'rms_norm_eps': ABSENT, 'intermediate_size': ABSENT, 'ffn_hidden_size': 24, 'new_decoder_architecture': True, 'num_kv_heads': 2,
                   'num_attention_heads': 4, 'hidden_size': 32}),
    'hf-gemma3n': ('Gemma3nText', 'Gemma3nForCausalLM',
                   {**SMALL, 'num_hidden_layers': 3, 'num_kv_shared_layers': 1, 'laurel_rank': 8,
                    'layer_types': ['sliding_attention', 'full_attention', 'sliding_attention'], 'sliding_window': 20,
                    'activation_sparsity_pattern': [0.8, 0.0, 0.6], 'hidden_size_per_layer_input': 4,
                    'vocab_size_per_layer_input': VOCABULARY, 'final_logit_softcapping': 3.0}),
    'hf-phimoe': ('Phimoe', 'PhimoeForCausalLM',
                  {**SMALL, 'head_dim': ABSENT, 'intermediate_size': 16, 'num_local_experts': 4, 'num_experts_per_tok': 2,
                   'attention_bias': True, 'lm_head_bias': True, 'sliding_window': None, 'tie_word_embeddings': False,
                   'router_jitter_noise': 0.2,
                   # The same factors for both: transformers takes the short ones in contexts of any length.
                   'rope_parameters': {'rope_type': 'longrope', 'rope_theta': 10000.0, 'short_mscale': 1.24,
                                       'long_mscale': 1.24, 'original_max_position_embeddings': 32,
                                       'long_factor': [1.0, 1.5, 3.0, 8.0],
                                       'short_factor': [1.0, 1.5, 3.0, 8.0]}}),
    'hf-gptneox': ('GPTNeoX', 'GPTNeoXForCausalLM',
                   {**SMALL, **PLAIN, 'rms_norm_eps': ABSENT, 'layer_norm_eps': 1e-5,
                    'rope_parameters': {'rope_type': 'default', 'rope_theta': 10000.0, 'partial_rotary_factor': 0.5}}),
}

# Attention to tokens that an indexer chooses: as many as there are, which is what Sundog runs.
SPARSE = {'q_lora_rank': 16, 'kv_lora_rank': 16, 'qk_rope_head_dim': 8, 'qk_nope_head_dim': 16, 'v_head_dim': 16,
          'n_routed_experts': 4, 'n_shared_experts': 1, 'num_experts_per_tok': 2, 'moe_intermediate_size': 16,
          'first_k_dense_replace': 1, 'norm_topk_prob': True, 'routed_scaling_factor': 2.5, 'num_attention_heads': 2,
          'num_key_value_heads': 2, 'tie_word_embeddings': False, 'head_dim': 8, 'intermediate_size': 24,
          'index_n_heads': 2, 'index_head_dim': 16, 'index_topk': 128}
FAMILIES |= {
    'deepseek32': ('DeepseekV32', 'DeepseekV32ForCausalLM', {**SPARSE, 'n_group': 2, 'topk_group': 1, 'hidden_size': 16}),
    'glm-dsa': ('GlmMoeDsa', 'GlmMoeDsaForCausalLM',
                {**SPARSE, 'n_group': 1, 'topk_group': 1, 'index_topk_freq': 2, 'index_skip_topk_offset': 1, 'hidden_size': 16}),
}
SAVED |= {
    'hf-deepseek32': ('DeepseekV32', 'DeepseekV32ForCausalLM', {**SPARSE, 'n_group': 2, 'topk_group': 1}),
    'hf-glm-dsa': ('GlmMoeDsa', 'GlmMoeDsaForCausalLM',
                   {**SPARSE, 'n_group': 1, 'topk_group': 1, 'index_topk_freq': 2, 'index_skip_topk_offset': 1}),
}

MAMBA = {'hidden_size': 32, 'num_hidden_layers': 2, 'num_heads': 4, 'head_dim': 16, 'state_size': 8, 'n_groups': 2, 'expand': 2,
         'conv_kernel': 4, 'chunk_size': 16, 'layer_norm_epsilon': 1e-5, 'tie_word_embeddings': False,
         **dict.fromkeys(['intermediate_size', 'num_attention_heads', 'num_key_value_heads', 'max_position_embeddings',
                          'rms_norm_eps'], ABSENT)}
FAMILIES |= {'mamba2': ('Mamba2', 'Mamba2ForCausalLM', MAMBA)}
SAVED |= {'hf-mamba2': ('Mamba2', 'Mamba2ForCausalLM', {**MAMBA, 'hidden_size': 16, 'num_heads': 2, 'n_groups': 1})}

# Files in Q8_0; the others are in F16.
QUANTIZED = {'qwen2moe'}


def round_values(parameter, quantized):
    """To what the file will hold, so that it holds the very same."""
    if not quantized or parameter.ndim < 2:
        return parameter.half().float()
    kind = gguf_models.gguf.GGMLQuantizationType.Q8_0
    quants = gguf_models.gguf.quants
    rows = quants.dequantize(quants.quantize(parameter.detach().numpy(), kind), kind)
    return torch.from_numpy(rows).reshape(parameter.shape)


def randomize(model, quantized):
    """Norms that are all ones and biases that are all zero would hide a swapped weight. Values are
    rounded to what the file holds them in."""
    with torch.no_grad():
        biases = [(n, b) for n, b in model.named_buffers() if 'bias' in n or 'layer_scalar' in n]
        for name, parameter in [*model.named_parameters(), *biases]:
            if 'norm' in name:
                parameter.uniform_(-0.5, 0.5)
                if model.config.model_type.removesuffix('_text') not in ('gemma', 'gemma2', 'gemma3'):
                    parameter += 1
            elif 'layer_scalar' in name or name.endswith(('.D', 'output_scale', 'router.scale', 'per_expert_scale')):
                parameter.uniform_(0.5, 1.5)
            elif 'bias' in name or 'sinks' in name:
                parameter.normal_(0, 0.5)
            else:
                parameter.copy_(round_values(parameter, quantized))


FP4 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])


def quantize_mxfp4(model):
    """gpt-oss's experts as it is published: blocks of 32 floats of 4 bits with a power of two."""
    parts = {}
    for name, parameter in model.named_parameters():
        if not name.endswith(('gate_up_proj', 'down_proj')) or 'experts' not in name:
            continue
        experts, columns, rows = parameter.shape
        codes = torch.randint(0, 16, (experts, rows, columns))
        scales = torch.randint(122, 126, (experts, rows, columns // 32))
        values = FP4[codes] * torch.exp2(scales.float() - 127).repeat_interleave(32, -1)
        parameter.copy_(values.transpose(1, 2))
        packed = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
        parts[name] = {name + '_blocks': packed.reshape(experts, rows, columns // 32, 16),
                       name + '_scales': scales.to(torch.uint8)}
    return parts, {'quant_method': 'mxfp4'}


def quantize_gptq(model):
    """The projections of layers in 4 bits, symmetric in the first layer only, with groups of 32."""
    parts = {}
    for name, parameter in model.named_parameters():
        if '_proj' not in name:
            continue
        rows, columns = parameter.shape
        codes = torch.randint(0, 16, (columns, rows))
        scales = (torch.rand(columns // 32, rows) * 0.04 + 0.01).half()
        zeros = torch.full(scales.shape, 8) if 'layers.0' in name else torch.randint(1, 16, scales.shape)
        group = torch.arange(columns) // 32
        parameter.copy_((scales[group].float() * (codes - zeros[group])).T)

        def pack(values):
            words = sum(values[i::8].long() << 4 * i for i in range(8))
            return torch.from_numpy(words.numpy().astype('uint32').view('int32'))

        module = name.removesuffix('.weight')
        parts[name] = {module + '.qweight': pack(codes), module + '.scales': scales,
                       module + '.qzeros': pack(zeros.T - 1).T.contiguous(),
                       module + '.g_idx': group.to(torch.int32)}
    return parts, {'quant_method': 'gptq', 'bits': 4, 'group_size': 32, 'desc_act': False}


def quantize_fp8(model, block):
    """The projections as DeepSeek publishes them, in blocks of so many rows and columns."""
    parts = {}
    for name, parameter in model.named_parameters():
        if '_proj' not in name or parameter.ndim != 2 or 'experts' in name:
            continue
        rows, columns = parameter.shape
        codes = (torch.randn(rows, columns) * 60).to(torch.float8_e4m3fn)
        scales = torch.rand(-(-rows // block[0]), -(-columns // block[1])) * 0.005 + 0.001
        wide = scales.repeat_interleave(block[0], 0)[:rows].repeat_interleave(block[1], 1)[:, :columns]
        parameter.copy_(codes.float() * wide)
        parts[name] = {name: codes, name + '_scale_inv': scales}
    return parts, {'quant_method': 'fp8', 'fmt': 'e4m3', 'weight_block_size': block}


QUANTIZERS = {'hf-deepseek3': functools.partial(quantize_fp8, block=[12, 20]),
              'hf-qwen3-fp8': functools.partial(quantize_fp8, block=[32, 64]),
              'hf-gpt-oss': quantize_mxfp4, 'hf-llama-gptq': quantize_gptq}


def replace_parts(folder, parts, quantization):
    """Puts the parts of quantized matrices in the place of the saved ones."""
    path = os.path.join(folder, 'model.safetensors')
    tensors = safetensors.torch.load_file(path)
    for name, own in parts.items():
        del tensors[name]
        tensors.update(own)
    safetensors.torch.save_file(tensors, path, metadata={'format': 'pt'})
    edit_config(folder, lambda config: config.update(quantization_config=quantization))


def make_model(name):
    config_class, model_class, configuration = {**FAMILIES, **SAVED}[name]
    torch.manual_seed(sum(map(ord, name)))
    settings = {k: v for k, v in {**SIZES, **configuration}.items() if v is not ABSENT}
    config = getattr(transformers, config_class + 'Config')(**settings)
    config._attn_implementation = 'eager'
    model = getattr(transformers, model_class)(config).float().eval()
    randomize(model, name in QUANTIZED)
    return model


def rename_layers(config, kinds):
    names = config.pop('layers_block_type', None) or config['layer_types']
    config.pop('layer_types', None)
    return [kinds[name] for name in names]


def publish_granite(config):
    config['layer_types'] = rename_layers(config, {'mamba': 'mamba', 'linear_attention': 'mamba',
                                                   'full_attention': 'attention', 'attention': 'attention'})


def publish_nemotron(config):
    pattern = ''.join(rename_layers(config, {'linear_attention': 'M', 'full_attention': '*', 'mlp': '-', 'moe': 'E'}))
    config.update(hybrid_override_pattern=pattern, num_hidden_layers=len(pattern))
    if 'E' not in pattern:
        for name in [n for n in config if 'expert' in n or 'moe' in n or n in ('n_group', 'topk_group')]:
            del config[name]


def publish_falcon(config):
    config['num_kv_heads'] = 1


def publish_neox(config):
    config['rotary_pct'] = config['rope_parameters']['partial_rotary_factor']


# What published configurations say otherwise than transformers does when it saves them.
PUBLISHERS = {'falcon': publish_falcon, 'gptneox': publish_neox, 'gptneox-in-turn': publish_neox, 'granitehybrid': publish_granite,
              'nemotron_h': publish_nemotron, 'nemotron_h_moe': publish_nemotron}


def edit_config(folder, edit):
    path = os.path.join(folder, 'config.json')
    with open(path, encoding='utf-8') as file:
        config = json.load(file)
    edit(config)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(config, file, indent=2)


def transpose_experts(folder):
    """As Qwen3-VL's are published."""
    path = os.path.join(folder, 'model.safetensors')
    tensors = safetensors.torch.load_file(path)
    for name in [n for n in tensors if '.experts.' in n]:
        tensors[name] = tensors[name].transpose(1, 2).contiguous()
    safetensors.torch.save_file(tensors, path, metadata={'format': 'pt'})


def join_experts(folder):
    """As Qwen 3.5's are published: gate and up of all experts in one tensor, and down in another."""
    path = os.path.join(folder, 'model.safetensors')
    tensors = safetensors.torch.load_file(path)
    for first in [n for n in tensors if '.experts.0.gate_proj' in n]:
        stem = first.removesuffix('0.gate_proj.weight')
        n_experts = sum(n.startswith(stem) for n in tensors) // 3
        experts = [[tensors.pop(f'{stem}{i}.{part}_proj.weight') for part in ('gate', 'up', 'down')]
                   for i in range(n_experts)]
        tensors[stem + 'gate_up_proj'] = torch.stack([torch.cat([gate, up]) for gate, up, _ in experts])
        tensors[stem + 'down_proj'] = torch.stack([down for _, _, down in experts])
    safetensors.torch.save_file(tensors, path, metadata={'format': 'pt'})


def add_masks(folder):
    """What older files of GPT-NeoX keep beside the weights."""
    path = os.path.join(folder, 'model.safetensors')
    tensors = safetensors.torch.load_file(path)
    tensors['gpt_neox.layers.0.attention.bias'] = torch.ones((1, 1, 4, 4), dtype=torch.bool)
    tensors['gpt_neox.layers.0.attention.masked_bias'] = torch.tensor(-1e9)
    safetensors.torch.save_file(tensors, path, metadata={'format': 'pt'})


def save_tokenizer(folder):
    """Letters alone, and an end: what the converter counts tokens by."""
    vocabulary = {chr(33 + i): i for i in range(VOCABULARY - 1)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(['<|end|>'])
    tokenizer.save(os.path.join(folder, 'tokenizer.json'), pretty=False)


def convert(folder, path, quantized, drafts=False, **options):
    import conversion
    import gguf
    logging.disable(logging.WARNING)
    kind = 'MOSTLY_Q8_0' if quantized else 'MOSTLY_F16'
    with open(os.path.join(folder, 'config.json'), encoding='utf-8') as file:
        parameters = json.load(file)  # transformers would fill in what the file leaves out
    architecture = conversion.get_model_architecture(parameters, conversion.ModelType.TEXT)
    base = conversion.get_model_class(architecture)
    def set_vocab(self):
        gguf_models.write_vocabulary(self.gguf_writer, VOCABULARY)

    made = type('Tiny', (base,), {'model_arch': base.model_arch, 'no_mtp': not drafts, 'set_vocab': set_vocab})
    for inner in vars(base).values():  # some hand their work to a class within
        if isinstance(inner, type):
            inner.set_vocab = set_vocab
    with torch.inference_mode():
        made(pathlib.Path(folder), gguf.LlamaFileType[kind], pathlib.Path(path),
             model_name='tiny', hparams=parameters, **options).write()


class Draft(torch.nn.Module):
    """A layer that guesses the token after the next: W [norm(token), norm(hidden)], then the model's own last layer,
    which is taken out of it. The token weighs most, and the model's layers add little to what they read, so that
    guesses are often right."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        layers = model.model.layers
        self.block, self.index = layers[-1], len(layers) - 1
        model.model.layers = layers[:-1]
        model.config.num_hidden_layers = self.index
        if getattr(model.config, 'layer_types', None):
            model.config.layer_types = model.config.layer_types[:-1]
        size = model.config.hidden_size
        self.eh_proj = torch.nn.Linear(2 * size, size, bias=False)
        self.enorm, self.hnorm, self.norm = (type(model.model.norm)(size, eps=model.config.rms_norm_eps)
                                             for _ in range(3))
        with torch.no_grad():
            # What is guessed with has been normed, and is larger.
            for module, factor in ((model, 0.01), (self.block, 0.1)):
                for name, parameter in module.named_parameters():
                    if name.endswith(('o_proj.weight', 'out_proj.weight', 'down_proj', 'down_proj.weight')):
                        parameter.mul_(factor)
            self.eh_proj.weight.copy_(torch.cat([torch.eye(size), torch.randn(size, size) * 0.02], 1))
            self.norm.weight.copy_(model.model.norm.weight)
            for parameter in [*self.parameters()]:
                parameter.copy_(parameter.half().float())

    def forward(self, tokens):
        """Logits of the tokens after tokens[1:]."""
        tokens = torch.tensor([tokens])
        base, n = self.model.model, tokens.shape[1] - 1
        hidden = base(tokens).last_hidden_state[:, :-1]
        x = self.eh_proj(torch.cat([self.enorm(base.embed_tokens(tokens[:, 1:])), self.hnorm(hidden)], -1))
        positions = torch.arange(n)[None]
        mask = torch.full((n, n), float('-inf')).triu(1)[None, None]
        x = self.block(x, position_embeddings=base.rotary_emb(x, positions), position_ids=positions,
                       attention_mask=mask)
        return self.model.lm_head(self.norm(x[0] if isinstance(x, tuple) else x))[0]

    def tensors(self):
        """Everything by the names of files: the model's own are saved without what it has lost."""
        layer = f'model.layers.{self.index}.'
        block = {'block.' + n: p for n, p in self.block.state_dict().items()}
        own = {'eh_proj.weight': self.eh_proj.weight, 'enorm.weight': self.enorm.weight,
               'hnorm.weight': self.hnorm.weight, 'norm.weight': self.norm.weight}
        if 'qwen' in self.model.config.model_type:
            names = {'eh_proj.': 'mtp.fc.', 'enorm.': 'mtp.pre_fc_norm_embedding.', 'norm.': 'mtp.norm.',
                     'hnorm.': 'mtp.pre_fc_norm_hidden.', 'block.': 'mtp.layers.0.'}
        else:
            names = {'eh_proj.': layer + 'eh_proj.', 'enorm.': layer + 'enorm.', 'hnorm.': layer + 'hnorm.',
                     'norm.': layer + 'shared_head.norm.', 'block.': layer}
        found = {}
        for name, values in {**block, **own}.items():
            prefix = name[:name.index('.') + 1]
            found[names[prefix] + name.removeprefix(prefix)] = values.detach().contiguous().clone()
        return found


def add_draft(folder, draft):
    """Beside the saved model, whose experts lie one by one in files."""
    path = os.path.join(folder, 'model.safetensors')
    tensors = safetensors.torch.load_file(path)
    for name, values in draft.tensors().items():
        if name.endswith('experts.gate_up_proj'):
            for i, both in enumerate(values):
                gate, up = both.chunk(2)
                tensors[name.removesuffix('gate_up_proj') + f'{i}.gate_proj.weight'] = gate.contiguous()
                tensors[name.removesuffix('gate_up_proj') + f'{i}.up_proj.weight'] = up.contiguous()
        elif name.endswith('experts.down_proj'):
            for i, down in enumerate(values):
                tensors[name.removesuffix('down_proj') + f'{i}.down_proj.weight'] = down.contiguous()
        else:
            tensors[name] = values
    safetensors.torch.save_file(tensors, path, metadata={'format': 'pt'})
    edit_config(folder, lambda config: config.update(num_nextn_predict_layers=1))


def write_numbers(path, model, draft=None):
    prompt = torch.randint(0, VOCABULARY, (N_PROMPT,)).tolist()
    logits, greedy = gguf_models.run_greedy(model, prompt, N_GREEDY)
    kept = sorted({*range(0, N_PROMPT, STRIDE), N_PROMPT - 1})
    numbers = {'tokens': prompt, 'greedy': greedy, 'positions': kept,
               'logits': [[float(f'{v:.7g}') for v in logits[i]] for i in kept]}
    if draft:
        with torch.no_grad():
            guessed = draft(prompt).numpy()
        numbers['draft_logits'] = [[float(f'{v:.7g}') for v in guessed[i]] for i in kept[:-1]]
        following = [*logits.argmax(-1)[1:]]
        print(os.path.basename(path), 'guesses right:', sum(int(a) == int(b) for a, b in zip(guessed.argmax(-1), following)),
              'of', len(following))
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(numbers, file, separators=(',', ':'))
        file.write('\n')


def make(output, name):
    model = make_model(name)
    if name in SAVED:
        folder = os.path.join(output, name)
        parts = {}
        draft = Draft(model).eval() if name.endswith('-draft') else None
        with torch.no_grad():
            for parameter in [*model.parameters(), *(b for n, b in model.named_buffers() if 'scalar' in n)]:
                parameter.copy_(parameter.half().float())
            if name in QUANTIZERS:
                parts, quantization = QUANTIZERS[name](model)
        write_numbers(folder + '.json', model, draft)
        model.half().save_pretrained(folder)
        if draft:
            add_draft(folder, draft.half())
        if name == 'hf-qwen3next-draft':  # as it is published
            edit_config(folder, lambda config: config.pop('num_nextn_predict_layers'))
        if name == 'hf-qwen3vlmoe':
            transpose_experts(folder)
        if name == 'hf-gemma3n':  # as it is published, though nothing is scaled by it
            edit_config(folder, lambda config: config.update(query_pre_attn_scalar=256))
        if name == 'hf-gptneox':
            add_masks(folder)
        if name == 'hf-qwen35moe':
            join_experts(folder)
        if parts:
            replace_parts(folder, parts, quantization)
        save_tokenizer(folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        draft = Draft(model).eval() if name.endswith('-draft') else None
        model.save_pretrained(folder)
        save_tokenizer(folder)
        if draft:
            add_draft(folder, draft)
        if name in PUBLISHERS:
            edit_config(folder, PUBLISHERS[name])
        if name == 'qwen3vlmoe':
            transpose_experts(folder)
        convert(folder, os.path.join(output, name + '.gguf'), name in QUANTIZED, drafts=bool(draft))
    write_numbers(os.path.join(output, name + '.json'), model, draft)


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    for name in sys.argv[3:] or [*FAMILIES, *SAVED]:
        make(sys.argv[2], name)
    return 0


if __name__ == '__main__':
    sys.exit(main())
