"""GGUF files and transformers' models, each from the other, so that both hold the very same weights."""

import gguf
import numpy
import torch
import transformers

# transformers' name of a tensor -> GGUF's; {} is the layer.
NAMES = {
    'model.embed_tokens.weight': 'token_embd.weight',
    'model.norm.weight': 'output_norm.weight',
    'lm_head.weight': 'output.weight',
    'model.layers.{}.input_layernorm.weight': 'blk.{}.attn_norm.weight',
    'model.layers.{}.self_attn.q_proj.weight': 'blk.{}.attn_q.weight',
    'model.layers.{}.self_attn.k_proj.weight': 'blk.{}.attn_k.weight',
    'model.layers.{}.self_attn.v_proj.weight': 'blk.{}.attn_v.weight',
    'model.layers.{}.self_attn.q_proj.bias': 'blk.{}.attn_q.bias',
    'model.layers.{}.self_attn.k_proj.bias': 'blk.{}.attn_k.bias',
    'model.layers.{}.self_attn.v_proj.bias': 'blk.{}.attn_v.bias',
    'model.layers.{}.self_attn.o_proj.weight': 'blk.{}.attn_output.weight',
    'model.layers.{}.self_attn.q_norm.weight': 'blk.{}.attn_q_norm.weight',
    'model.layers.{}.self_attn.k_norm.weight': 'blk.{}.attn_k_norm.weight',
    'model.layers.{}.post_attention_layernorm.weight': 'blk.{}.ffn_norm.weight',
    'model.layers.{}.mlp.gate_proj.weight': 'blk.{}.ffn_gate.weight',
    'model.layers.{}.mlp.up_proj.weight': 'blk.{}.ffn_up.weight',
    'model.layers.{}.mlp.down_proj.weight': 'blk.{}.ffn_down.weight',
}


def gguf_name(name):
    """GGUF's name for one of transformers'."""
    parts = name.split('.')
    if len(parts) > 2 and parts[1] == 'layers':
        layer, parts[2] = parts[2], '{}'
        return NAMES['.'.join(parts)].format(layer)
    return NAMES[name]


def heads_of(name, config):
    """How many heads a query or key projection has; 0 for other tensors."""
    if '.q_proj.' in name:
        return config.num_attention_heads
    if '.k_proj.' in name:
        return config.num_key_value_heads
    return 0


def pair_neighbours(values, n_heads):
    """Rows as GGUF's llama wants them: rotated pairs are neighbours, not halves of a head apart."""
    rows = values.reshape(n_heads, 2, values.shape[0] // n_heads // 2, *values.shape[1:])
    return numpy.swapaxes(rows, 1, 2).reshape(values.shape)


def pair_halves(values, n_heads):
    """The reverse of pair_neighbours."""
    rows = values.reshape(n_heads, values.shape[0] // n_heads // 2, 2, *values.shape[1:])
    return numpy.swapaxes(rows, 1, 2).reshape(values.shape)


def dequantize(tensor):
    """A reader's tensor as float32, rows first."""
    if tensor.tensor_type == gguf.GGMLQuantizationType.F32:
        return numpy.array(tensor.data, dtype=numpy.float32)
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)


def load_weights(model, path):
    """Puts a GGUF file's weights, dequantized, into a transformers model."""
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    state = {}
    for name, parameter in model.state_dict().items():
        source = gguf_name(name)
        if source == 'output.weight' and source not in tensors:
            source = 'token_embd.weight'
        values = dequantize(tensors[source])
        if model.config.model_type == 'llama' and heads_of(name, model.config):
            values = pair_halves(values, heads_of(name, model.config))
        state[name] = torch.from_numpy(numpy.ascontiguousarray(values)).reshape(parameter.shape)
    model.load_state_dict(state)
    return model.float().eval()


def open_llama(path):
    """A Llama GGUF file as LlamaForCausalLM in float32 on its dequantized weights."""
    fields = gguf.GGUFReader(path).fields

    def number(key, default=None):
        field = fields.get('llama.' + key)
        return default if field is None else field.contents()

    hidden_size = number('embedding_length')
    n_heads = number('attention.head_count')
    names = [t.name for t in gguf.GGUFReader(path).tensors]
    config = transformers.LlamaConfig(
        vocab_size=len(fields['tokenizer.ggml.tokens'].data),
        hidden_size=hidden_size,
        intermediate_size=number('feed_forward_length'),
        num_hidden_layers=number('block_count'),
        num_attention_heads=n_heads,
        num_key_value_heads=number('attention.head_count_kv', n_heads),
        head_dim=number('attention.key_length', hidden_size // n_heads),
        max_position_embeddings=number('context_length'),
        rms_norm_eps=number('attention.layer_norm_rms_epsilon'),
        rope_parameters={'rope_type': 'default', 'rope_theta': number('rope.freq_base', 10000.0)},
        tie_word_embeddings='output.weight' not in names)
    return load_weights(transformers.LlamaForCausalLM(config), path)


def open_gemma3(path):
    """A Gemma 3 GGUF file as Gemma3ForCausalLM in float32; its norms count from 1."""
    fields = gguf.GGUFReader(path).fields
    config = transformers.Gemma3TextConfig(
        vocab_size=len(fields['tokenizer.ggml.tokens'].data),
        query_pre_attn_scalar=fields['gemma3.attention.key_length'].contents(),
        **{name: fields['gemma3.' + key].contents() for name, key in {
            'hidden_size': 'embedding_length', 'intermediate_size': 'feed_forward_length',
            'num_hidden_layers': 'block_count', 'num_attention_heads': 'attention.head_count',
            'num_key_value_heads': 'attention.head_count_kv', 'head_dim': 'attention.key_length',
            'max_position_embeddings': 'context_length', 'sliding_window': 'attention.sliding_window',
            'rms_norm_eps': 'attention.layer_norm_rms_epsilon'}.items()})
    config._attn_implementation = 'eager'
    model = transformers.Gemma3ForCausalLM(config)
    tensors = {t.name: t for t in gguf.GGUFReader(path).tensors}
    state = {}
    for name, parameter in model.state_dict().items():
        values = dequantize(tensors[gemma3_name(name)]) - (1 if 'norm' in name else 0)
        state[name] = torch.from_numpy(numpy.ascontiguousarray(values)).reshape(parameter.shape)
    model.load_state_dict(state)
    return model.float().eval()


def gemma3_name(name):
    """GGUF's name for one of Gemma 3's tensors, whose head is the embedding."""
    inner = {'post_attention_layernorm': 'post_attention_norm', 'pre_feedforward_layernorm': 'ffn_norm',
             'post_feedforward_layernorm': 'post_ffw_norm', 'q_norm': 'attn_q_norm', 'k_norm': 'attn_k_norm'}
    if name == 'lm_head.weight':
        return 'token_embd.weight'
    parts = name.split('.')
    if parts[-2] in inner:
        return f'blk.{parts[2]}.{inner[parts[-2]]}.weight'
    return gguf_name(name)


def run_anew(model, prompt, n_tokens):
    """The same by whole passes, for a model whose state goes by another name than a cache's."""
    tokens = []
    with torch.no_grad():
        logits = model(torch.tensor([prompt]), use_cache=False).logits[0].numpy()
        while len(tokens) < n_tokens:
            tokens.append(int(model(torch.tensor([prompt + tokens]), use_cache=False).logits[0, -1].argmax()))
    return logits, tokens


def run_greedy(model, prompt, n_tokens):
    """The prompt's logits [len(prompt), vocabulary] float32 and the n_tokens greedy tokens after it."""
    if model.config.model_type == 'mamba2':
        return run_anew(model, prompt, n_tokens)
    with torch.no_grad():
        step = model(torch.tensor([prompt]), use_cache=True)
        logits = step.logits[0].numpy()
        tokens = [int(step.logits[0, -1].argmax())]
        while len(tokens) < n_tokens:
            step = model(torch.tensor([tokens[-1:]]), past_key_values=step.past_key_values,
                         use_cache=True)
            tokens.append(int(step.logits[0, -1].argmax()))
    return logits, tokens


def relative_errors(found, expected):
    """The relative error of each row."""
    difference = numpy.linalg.norm(found.astype(numpy.float64) - expected, axis=-1)
    return difference / numpy.linalg.norm(expected.astype(numpy.float64), axis=-1)


def write_vocabulary(writer, n):
    """Single letters, one merge, an end: what a tokenizer needs to open."""
    letters = [chr(33 + i) for i in range(n - 2)]
    writer.add_tokenizer_model('gpt2')
    writer.add_tokenizer_pre('gpt-2')
    writer.add_token_list(letters + [letters[0] + letters[1], '<|end|>'])
    writer.add_token_types([gguf.TokenType.NORMAL] * (n - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges([letters[0] + ' ' + letters[1]])
    writer.add_eos_token_id(n - 1)
