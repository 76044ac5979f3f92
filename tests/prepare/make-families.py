#!/usr/bin/env python3
"""A tiny random model of each family with experts as a GGUF file, and its logits from transformers.

  make-families.py OUTPUT [NAME ...]     writes OUTPUT/NAME.gguf and OUTPUT/NAME.json

Each weight is rounded to the file's type and put back into transformers' model, so that both hold the
same values. A rule turns a parameter into the tensors that GGUF makes of it, as views. Needs torch,
transformers and gguf.
"""

import json
import os
import re
import sys

import gguf
import numpy
import torch
import transformers

import gguf_models

N_PROMPT = 70
N_GREEDY = 8
STRIDE = 6  # every so many positions of the prompt are kept, and the last
VOCABULARY = 48

# What all configurations share; a family's own entries come on top.
SIZES = {'vocab_size': VOCABULARY, 'hidden_size': 32, 'intermediate_size': 48, 'num_hidden_layers': 2,
         'num_attention_heads': 2, 'num_key_value_heads': 1, 'max_position_embeddings': 256,
         'rms_norm_eps': 1e-5, 'tie_word_embeddings': False, 'initializer_range': 0.2,
         'bos_token_id': 0, 'eos_token_id': 0, 'pad_token_id': 0}


def halves(parameter):
    """gate and up of all experts in one parameter [experts, 2 size, hidden]."""
    size = parameter.shape[1] // 2
    return [parameter[:, :size], parameter[:, size:]]


# A pattern of transformers' name without "model.layers.N." -> GGUF's names without "blk.N.", and how a
# parameter is cut into them.
RULES = [
    (r'mlp\.(experts\.)?gate_up_proj', ['ffn_gate_exps.weight', 'ffn_up_exps.weight'], halves),
    (r'mlp\.experts\.down_proj', ['ffn_down_exps.weight'], lambda p: [p]),
    (r'mlp\.gate\.weight', ['ffn_gate_inp.weight'], lambda p: [p]),
    (r'mlp\.shared_expert_gate\.weight', ['ffn_gate_inp_shexp.weight'], lambda p: [p[0]]),
    (r'mlp\.shared_experts?\.(gate|up|down)_proj\.weight', [r'ffn_\1_shexp.weight'], lambda p: [p]),
]


def mixture(writer, config, size, n_experts):
    writer.add_expert_count(n_experts)
    writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_expert_feed_forward_length(size)


def describe_mixtral(writer, config):
    mixture(writer, config, config.intermediate_size, config.num_local_experts)


def describe_qwen2_moe(writer, config):
    mixture(writer, config, config.moe_intermediate_size, config.num_experts)
    writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)


def describe_qwen3_moe(writer, config):
    mixture(writer, config, config.moe_intermediate_size, config.num_experts)


# name: GGUF's architecture, transformers' classes begin with, type of weights, configuration, settings
FAMILIES = {
    'mixtral': ('llama', 'Mixtral', 'BF16', {'intermediate_size': 16, 'num_local_experts': 4, 'num_experts_per_tok': 2},
                describe_mixtral),
    'qwen2moe': ('qwen2moe', 'Qwen2Moe', 'Q8_0',
                 {'num_experts': 5, 'num_experts_per_tok': 3,
                  'moe_intermediate_size': 32, 'shared_expert_intermediate_size': 64},
                 describe_qwen2_moe),
    'qwen3moe': ('qwen3moe', 'Qwen3Moe', 'F16',
                 {'num_experts': 7, 'num_experts_per_tok': 3, 'moe_intermediate_size': 16, 'head_dim': 24,
                  'norm_topk_prob': True}, describe_qwen3_moe),
}


def make_model(name):
    _, classes, _, configuration, _ = FAMILIES[name]
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, classes + 'Config')(**{**SIZES, **configuration})
    model = getattr(transformers, classes + 'ForCausalLM')(config).float().eval()
    with torch.no_grad():
        # Norms that are all ones and biases that are all zero would hide a swapped weight.
        for key, parameter in list(model.named_parameters()) + list(model.named_buffers()):
            if 'norm' in key:
                parameter.uniform_(0.5, 1.5)
            elif 'bias' in key or 'sinks' in key:
                parameter.normal_(0, 0.5)
    return model


def tensors_of(model, family):
    """(GGUF's name, a view of the parameter) of all tensors."""
    for name, parameter in model.state_dict().items():
        if name == 'lm_head.weight' and model.config.tie_word_embeddings:
            continue
        found = re.fullmatch(r'model\.layers\.(\d+)\.(.*)', name)
        rule = next((r for r in RULES if found and re.fullmatch(r[0], found[2])), None)
        if rule:
            for target, view in zip(rule[1], rule[2](parameter)):
                yield f'blk.{found[1]}.' + re.sub(rule[0], target, found[2]) if '\\' in target \
                    else f'blk.{found[1]}.{target}', view
            continue
        n_heads = gguf_models.heads_of(name, model.config) if family == 'llama' else 0
        if n_heads:  # rotated pairs become neighbours
            parameter = parameter.unflatten(0, (n_heads, 2, -1)).transpose(1, 2)
        yield gguf_models.gguf_name(name), parameter


def round_to(view, kind):
    """A view's values as GGUF's bytes, put back as they were rounded."""
    values = view.detach().numpy().astype(numpy.float32)
    if values.ndim == 4:
        values = values.reshape(-1, values.shape[-1])
    data = gguf.quants.quantize(numpy.ascontiguousarray(values), kind)
    with torch.no_grad():
        view.copy_(torch.from_numpy(gguf.quants.dequantize(data, kind)).reshape(view.shape))
    return data


def write_settings(writer, config, describe):
    head_dim = getattr(config, 'head_dim', None) or config.hidden_size // config.num_attention_heads
    writer.add_name('tiny')
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters['rope_theta'])
    describe(writer, config)


def write_gguf(path, name, model):
    family, _, kind, _, describe = FAMILIES[name]
    writer = gguf.GGUFWriter(path, family)
    write_settings(writer, model.config, describe)
    gguf_models.write_vocabulary(writer, VOCABULARY)
    for target, view in tensors_of(model, family):
        plain = view.ndim == 1 or 'ffn_gate_inp' in target or target.endswith('.bias')
        of = gguf.GGMLQuantizationType['F32' if plain else kind]
        writer.add_tensor(target, round_to(view, of), raw_dtype=of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make(folder, name):
    model = make_model(name)
    write_gguf(os.path.join(folder, name + '.gguf'), name, model)
    prompt = torch.randint(0, VOCABULARY, (N_PROMPT,)).tolist()
    logits, greedy = gguf_models.run_greedy(model, prompt, N_GREEDY)
    kept = sorted({*range(0, N_PROMPT, STRIDE), N_PROMPT - 1})
    with open(os.path.join(folder, name + '.json'), 'w', encoding='utf-8') as file:
        json.dump({'tokens': prompt, 'greedy': greedy, 'positions': kept,
                   'logits': [[float(f'{v:.7g}') for v in logits[i]] for i in kept]}, file,
                  separators=(',', ':'))
        file.write('\n')


def main():
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    for name in sys.argv[2:] or FAMILIES:
        make(sys.argv[1], name)
    return 0


if __name__ == '__main__':
    sys.exit(main())
