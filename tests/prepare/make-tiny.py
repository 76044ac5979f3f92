#!/usr/bin/env python3
"""Tiny random models with odd sizes as GGUF files, and their logits from transformers.

  make-tiny.py OUTPUT        writes OUTPUT/NAME.gguf and OUTPUT/NAME.json for each model of the list,
                             and OUTPUT/NAME/ as save_pretrained() does in place of a GGUF file for
                             each folder
  make-tiny.py OUTPUT NAME   the same for one alone

Each model is made by transformers with random weights, written to GGUF in one type of weights, read
back (which rounds the weights to that type) and run in float32. The prompt is longer than one page of
the cache. Needs torch, transformers, tokenizers and gguf.
"""

import json
import os
import shutil
import sys

import gguf
import numpy
import tokenizers
import torch
import transformers

import gguf_models

N_PROMPT = 70
N_GREEDY = 8
STRIDE = 6  # every so many positions of the prompt are kept, and the last

LLAMA3 = {'rope_type': 'llama3', 'rope_theta': 500.0, 'factor': 8.0, 'low_freq_factor': 1.0,
          'high_freq_factor': 4.0, 'original_max_position_embeddings': 32}
LINEAR = {'rope_type': 'linear', 'rope_theta': 10000.0, 'factor': 4.0}
YARN = {'rope_type': 'yarn', 'rope_theta': 10000.0, 'factor': 4.0,
        'original_max_position_embeddings': 64}
PLAIN = {'rope_type': 'default', 'rope_theta': 10000.0}

# Types of weights by a part of their name, for a file that mixes them; the rest is Q8_0.
MIXED = {'v_proj': 'F16', 'layers.0.mlp.gate_proj': 'Q4_1', 'layers.1.mlp.down_proj': 'BF16', 'embed': 'F32'}
# The same for the types of quantized files; what the package gguf cannot quantize is made of random bits.
QUANTS = {'embed': 'Q6_K', '0.self_attn.q': 'Q4_K', '0.self_attn.k': 'Q2_K', '0.self_attn.v': 'Q3_K',
          '0.self_attn.o': 'Q4_0', '0.mlp.gate': 'Q5_K', '0.mlp.up': 'Q5_K', '0.mlp.down': 'Q5_1',
          '1.self_attn.q': 'IQ4_XS', '1.self_attn.k': 'MXFP4', '1.self_attn.v': 'IQ4_NL', '1.self_attn.o': 'Q5_0',
          '1.mlp.gate': 'Q4_K', '1.mlp.up': 'Q6_K', '1.mlp.down': 'MXFP4'}
# Where a block has its halves, and a size of d that makes weights about 0.1.
HALVES = {'Q2_K': ([80, 82], 0.01), 'Q3_K': ([108], 0.002), 'Q4_K': ([0, 2], 0.0004), 'Q5_K': ([0, 2], 0.0002),
          'Q6_K': ([208], 0.00008), 'IQ4_NL': ([0], 0.002), 'IQ4_XS': ([0], 0.0001)}
TERNARY = {'o_proj': 'Q8_0', 'down_proj': 'Q8_0', '_proj': 'TQ2_0', 'embed': 'TQ2_0'}

# name: family, type of weights, hidden, mlp, layers, heads, kv heads, head size, vocabulary, tied, rope
MODELS = {
    'f32-mha': ('llama', 'F32', 24, 40, 2, 2, 2, 32, 67, True, PLAIN),
    'f16-gqa-llama3': ('llama', 'F16', 40, 56, 2, 4, 1, 32, 77, False, LLAMA3),
    'bf16-bias-linear': ('qwen2', 'BF16', 36, 50, 2, 1, 1, 80, 61, False, LINEAR),
    'q8_0-head-128': ('llama', 'Q8_0', 64, 96, 1, 2, 1, 128, 71, True, PLAIN),
    'q4_1-gqa-yarn': ('llama', 'Q4_1', 64, 96, 2, 4, 2, 32, 83, False, YARN),
    'mixed': ('llama', MIXED, 32, 64, 2, 2, 1, 32, 51, True, PLAIN),
    'quants': ('llama', QUANTS, 256, 32, 2, 1, 1, 32, 51, True, PLAIN),
    'q8_0-bias': ('qwen2', 'Q8_0', 96, 32, 1, 3, 3, 32, 65, True, PLAIN),
}

# Files of a type that the host has no kernels for: no numbers are made for them.
REFUSED = {'tq2_0-refused': ('llama', TERNARY, 256, 32, 1, 1, 1, 32, 40, True, PLAIN)}


# Folders: the type of weights, how many shards, then as above.
FOLDERS = {
    'hf-llama-f32': ('float32', 1, 'llama', 24, 40, 2, 4, 2, 16, 67, False, LLAMA3),
    'hf-qwen2-bf16-shards': ('bfloat16', 3, 'qwen2', 40, 56, 2, 2, 1, 32, 77, True, PLAIN),
}


def make_model(family, hidden, mlp, layers, heads, kv_heads, head_dim, vocabulary, tied, rope):
    classes = {'llama': (transformers.LlamaConfig, transformers.LlamaForCausalLM),
               'qwen2': (transformers.Qwen2Config, transformers.Qwen2ForCausalLM)}
    config_class, model_class = classes[family]
    config = config_class(
        vocab_size=vocabulary, hidden_size=hidden, intermediate_size=mlp, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=head_dim,
        max_position_embeddings=256, rms_norm_eps=1e-5, rope_parameters=dict(rope),
        tie_word_embeddings=tied, initializer_range=0.2, bos_token_id=0, eos_token_id=0)
    model = model_class(config)
    with torch.no_grad():
        # Norms that are all ones and biases that are all zero would hide a swapped weight.
        for name, parameter in model.named_parameters():
            if 'norm' in name:
                parameter.uniform_(0.5, 1.5)
            elif name.endswith('.bias'):
                parameter.normal_(0, 0.5)
    return model


def llama3_factors(rope, head_dim):
    """What the converter of llama.cpp writes as rope_freqs.weight: a divisor of each frequency."""
    low = rope['original_max_position_embeddings'] / rope['low_freq_factor']
    high = rope['original_max_position_embeddings'] / rope['high_freq_factor']
    factors = []
    for i in range(0, head_dim, 2):
        length = 2 * numpy.pi * rope['rope_theta'] ** (i / head_dim)
        smooth = ((rope['original_max_position_embeddings'] / length - rope['low_freq_factor']) /
                  (rope['high_freq_factor'] - rope['low_freq_factor']))
        if length < high:
            factors.append(1.0)
        elif length > low:
            factors.append(rope['factor'])
        else:
            factors.append(1 / ((1 - smooth) / rope['factor'] + smooth))
    return numpy.array(factors, dtype=numpy.float32)


def write_numbers(writer, config, rope):
    writer.add_name('tiny')
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(rope['rope_theta'])
    if rope['rope_type'] == 'linear':
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope['factor'])
    elif rope['rope_type'] == 'yarn':
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope['factor'])
        writer.add_rope_scaling_orig_ctx_len(rope['original_max_position_embeddings'])


def type_of(name, kind):
    """The GGUF type of a weight, where `kind` is one for all or a table by parts of names."""
    if isinstance(kind, dict):
        kind = next((k for part, k in kind.items() if part in name), 'Q8_0')
    return gguf.GGMLQuantizationType[kind]


def random_blocks(shape, kind):
    """Rows of random bits in a type of quantized blocks, with scales of a fit size."""
    n_values, n_bytes = gguf.quants.GGML_QUANT_SIZES[kind]
    blocks = numpy.random.randint(0, 256, (shape[0], shape[1] // n_values, n_bytes), dtype=numpy.uint8)
    places, size = HALVES[kind.name]
    for at in places:
        halves = numpy.random.uniform(-size, size, blocks.shape[:2]).astype(numpy.float16)
        blocks[:, :, at:at + 2] = halves.view(numpy.uint8).reshape(*blocks.shape[:2], 2)
    return blocks.reshape(shape[0], -1)


def quantize(values, kind):
    try:
        return gguf.quants.quantize(numpy.ascontiguousarray(values), kind)
    except NotImplementedError:
        return random_blocks(values.shape, kind)


def write_gguf(path, model, family, kind, rope):
    config = model.config
    writer = gguf.GGUFWriter(path, family)
    write_numbers(writer, config, rope)
    gguf_models.write_vocabulary(writer, config.vocab_size)
    for name, parameter in model.state_dict().items():
        if name == 'lm_head.weight' and config.tie_word_embeddings:
            continue
        values = parameter.float().numpy()
        if family == 'llama' and gguf_models.heads_of(name, config):
            values = gguf_models.pair_neighbours(values, gguf_models.heads_of(name, config))
        of = type_of(name, kind) if values.ndim == 2 else gguf.GGMLQuantizationType.F32
        data = quantize(values, of)
        writer.add_tensor(gguf_models.gguf_name(name), data, raw_dtype=of)
    if rope['rope_type'] == 'llama3':
        writer.add_tensor('rope_freqs.weight', llama3_factors(rope, config.head_dim))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_file(folder, name, description):
    family, kind, *sizes, rope = description
    torch.manual_seed(sum(map(ord, name)))
    numpy.random.seed(sum(map(ord, name)))
    model = make_model(family, *sizes, rope)
    path = os.path.join(folder, name + '.gguf')
    write_gguf(path, model, family, kind, rope)
    return gguf_models.load_weights(model, path)


def write_folder(path, model, shards):
    """The model as transformers saves it, and a tokenizer of single letters and one merge."""
    n = model.config.vocab_size
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    model.save_pretrained(path, max_shard_size=size if shards == 1 else size // (shards - 1))
    letters = [chr(33 + i) for i in range(n - 3)]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(
        vocab={text: i for i, text in enumerate([*letters, letters[0] + letters[1]])},
        merges=[(letters[0], letters[1])]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(['<|end|>'])
    tokenizer.save(os.path.join(path, 'tokenizer.json'), pretty=False)


def make_folder(folder, name, description):
    dtype, shards, family, *sizes, rope = description
    torch.manual_seed(sum(map(ord, name)))
    model = make_model(family, *sizes, rope).to(getattr(torch, dtype))
    path = os.path.join(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    write_folder(path, model, shards)
    return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def make(folder, name):
    model = (make_folder(folder, name, FOLDERS[name]) if name in FOLDERS
             else make_file(folder, name, MODELS[name]))
    prompt = torch.randint(0, model.config.vocab_size, (N_PROMPT,)).tolist()
    logits, greedy = gguf_models.run_greedy(model, prompt, N_GREEDY)
    kept = sorted({*range(0, N_PROMPT, STRIDE), N_PROMPT - 1})
    with open(os.path.join(folder, name + '.json'), 'w', encoding='utf-8') as file:
        json.dump({'tokens': prompt, 'greedy': greedy, 'positions': kept,
                   'logits': [[float(f'{v:.7g}') for v in logits[i]] for i in kept]}, file,
                  separators=(',', ':'))
        file.write('\n')


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__)
        return 2
    if len(sys.argv) == 3:
        make(sys.argv[1], sys.argv[2])
        return 0
    for name in [*MODELS, *FOLDERS]:
        make(sys.argv[1], name)
    for name, description in REFUSED.items():
        make_file(sys.argv[1], name, description)
    return 0


if __name__ == '__main__':
    sys.exit(main())
