#!/usr/bin/env python3
"""Reference numbers of the starter model from transformers, and the full comparison with them.

  make-reference.py make GGUF OUTPUT           writes the committed fixture, reference/smollm2.json
  make-reference.py compare GGUF FIXTURE DUMP  runs DUMP (the program dump-logits of the build) and
                                               compares every logit of every position

The model is the GGUF file's weights dequantized to float32 in LlamaForCausalLM, computed in float32.
The fixture holds for each prompt its tokens, the 64 greedy tokens after it, and for each of its
positions the best token and the logits of 64 entries spread evenly over the vocabulary. Needs torch,
transformers and gguf.
"""

import json
import subprocess
import sys
import tempfile

import numpy
import tokenizers
import gguf

import gguf_models

N_GREEDY = 64
N_ENTRIES = 64

PROMPTS = [
    'The capital of France is',
    '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n'
    '<|im_start|>user\nWhat is gravity?<|im_end|>\n<|im_start|>assistant\n',
    'def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n',
    'Once upon a time, in a small village by the sea, there lived an old fisherman who had never told '
    'anyone what he had seen on the night of the great storm. Every evening he mended his nets at the '
    'end of the pier, and every evening the children asked him to tell them about it. One day',
    'Le chat dort sur le canapé. 猫はソファで寝ています。 The cat sleeps on the',
]


def tokenizer_of(path):
    """The file's own byte-level BPE, as the tokenizers package reads it; SmolLM splits digits."""
    fields = gguf.GGUFReader(path).fields
    tokens = fields['tokenizer.ggml.tokens'].contents()
    kinds = fields['tokenizer.ggml.token_type'].contents()
    merges = [tuple(m.split(' ')) for m in fields['tokenizer.ggml.merges'].contents()]
    model = tokenizers.models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    special = [tokenizers.AddedToken(t, special=True) for t, k in zip(tokens, kinds) if k == 3]
    tokenizer.add_special_tokens(special)
    return tokenizer


def entries_of(n_vocabulary):
    return [i * n_vocabulary // N_ENTRIES for i in range(N_ENTRIES)]


def make(path, output):
    model = gguf_models.open_llama(path)
    tokenizer = tokenizer_of(path)
    entries = entries_of(model.config.vocab_size)
    prompts = []
    for text in PROMPTS:
        tokens = tokenizer.encode(text, add_special_tokens=False).ids
        logits, greedy = gguf_models.run_greedy(model, tokens, N_GREEDY)
        prompts.append({
            'text': text, 'tokens': tokens, 'greedy': greedy,
            'best': [int(row.argmax()) for row in logits],
            'logits': [[float(f'{v:.7g}') for v in row[entries]] for row in logits]})
        print(f'{len(tokens)} tokens: {text[:40]!r} -> {tokenizer.decode(greedy)!r}')
    lines = ',\n'.join(json.dumps(p, separators=(',', ':')) for p in prompts)
    with open(output, 'w', encoding='utf-8') as file:
        file.write(f'{{"entries":{json.dumps(entries, separators=(",", ":"))},\n"prompts":[\n{lines}\n]}}\n')


def dump(program, path, activations, tokens):
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([program, path, activations, file.name] + [str(t) for t in tokens], check=True)
        return numpy.fromfile(file.name, dtype='<f4').reshape(len(tokens), -1)


def log_softmax(logits):
    shifted = logits.astype(numpy.float64) - logits.max(axis=-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis=-1, keepdims=True))


def compare(path, fixture, program):
    model = gguf_models.open_llama(path)
    errors, divergences, agreements = [], [], []
    with open(fixture, encoding='utf-8') as file:
        prompts = json.load(file)['prompts']
    for prompt in prompts:
        tokens = prompt['tokens'] + prompt['greedy']
        expected, _ = gguf_models.run_greedy(model, tokens, 1)
        errors.append(gguf_models.relative_errors(dump(program, path, 'f32', tokens), expected))
        found, wanted = log_softmax(dump(program, path, 'int8', tokens)), log_softmax(expected)
        divergences.append((numpy.exp(wanted) * (wanted - found)).sum(axis=-1))
        agreements.append(found.argmax(axis=-1) == wanted.argmax(axis=-1))
    errors, divergences = numpy.concatenate(errors), numpy.concatenate(divergences)
    print(f'f32: {len(errors)} positions, relative error of the logits: '
          f'mean {errors.mean():.2e}, largest {errors.max():.2e}')
    print(f'int8: divergence in nats: mean {divergences.mean():.2e}, '
          f'p99 {numpy.quantile(divergences, 0.99):.2e}, largest {divergences.max():.2e}; '
          f'best token alike in {numpy.concatenate(agreements).mean():.2%}')
    return 0 if errors.max() < 1e-3 else 1


def main():
    if len(sys.argv) == 4 and sys.argv[1] == 'make':
        return make(*sys.argv[2:])
    if len(sys.argv) == 5 and sys.argv[1] == 'compare':
        return compare(*sys.argv[2:])
    print(__doc__)
    return 2


if __name__ == '__main__':
    sys.exit(main())
