#!/usr/bin/env python3
"""Reference numbers of real models from transformers, and the full comparison with them.

  make-reference.py make GGUF OUTPUT           writes a committed fixture: reference/smollm2.json of the
                                               starter model, reference/gemma3.json of Gemma 3 270M
  make-reference.py compare GGUF FIXTURE DUMP  runs DUMP (the program dump-logits of the build) and
                                               compares every logit of every position

The model is the GGUF file's weights dequantized to float32 in transformers' model, computed in float32.
The fixture holds for each prompt its tokens, the greedy tokens after it, and for each of its
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


# What llama-tokenize makes of two texts with Gemma 3's vocabulary.
GEMMA3_PROMPTS = [
    ('The capital of France is Paris. Paris lies on the',
     [2, 818, 5279, 529, 7001, 563, 9079, 236761, 9079, 12828, 580, 506]),
    ('def fibonacci(n):\n    """Return the n-th Fibonacci number."""\n',
     [2, 2063, 10779, 78113, 236769, 236749, 1473, 107, 140, 12234, 13293, 506, 538, 236772, 594, 123466, 1548,
      29738, 107]),
]
N_GEMMA3_GREEDY = 24


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


def open_model(path):
    """The model, its prompts with their tokens, and how many tokens shall follow."""
    if 'gemma3.block_count' in gguf.GGUFReader(path).fields:
        return gguf_models.open_gemma3(path), GEMMA3_PROMPTS, N_GEMMA3_GREEDY
    tokenizer = tokenizer_of(path)
    tokens = [(text, tokenizer.encode(text, add_special_tokens=False).ids) for text in PROMPTS]
    return gguf_models.open_llama(path), tokens, N_GREEDY


def make(path, output):
    model, texts, n_greedy = open_model(path)
    entries = entries_of(model.config.vocab_size)
    prompts = []
    for text, tokens in texts:
        logits, greedy = gguf_models.run_greedy(model, tokens, n_greedy)
        prompts.append({
            'text': text, 'tokens': tokens, 'greedy': greedy,
            'best': [int(row.argmax()) for row in logits],
            'logits': [[float(f'{v:.7g}') for v in row[entries]] for row in logits]})
        print(f'{len(tokens)} tokens: {text[:40]!r}')
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
