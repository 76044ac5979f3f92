#!/usr/bin/env python3
"""The table of families: each tiny model against what transformers computed from the same weights.

    tests/prepare/print-families.py BUILD

Runs the build's test of tiny models and prints a line a model: the family as its file names it, where the
file came from, the largest relative error of the logits of a position in float32 (prefill in steps of 64),
whether all greedy tokens that follow are the same, and whether every cut of the prompt into steps, company
of other sequences, shared prefixes and rollback gave the same bits. Exits with 1 where one is not so.
"""

import json
import os
import re
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tiny')


def read_architecture(path):
    """What a GGUF file says under general.architecture, the first of its settings."""
    with open(path, 'rb') as file:
        head = file.read(4096)
    key = b'general.architecture'
    at = head.index(key) + len(key) + 4  # a type, then a length and the text
    return head[at + 8:at + 8 + int.from_bytes(head[at:at + 8], 'little')].decode()


def describe(name):
    path = os.path.join(FOLDER, name)
    if os.path.isdir(path):
        with open(os.path.join(path, 'config.json'), encoding='utf-8') as file:
            return json.load(file)['architectures'][0], 'safetensors folder'
    return read_architecture(path + '.gguf'), 'GGUF'


def run(build):
    """What the test says: name -> error, and the paths of tests that passed."""
    environment = {**os.environ, 'SUNDOG_BUILD': os.path.abspath(build),
                   'SUNDOG_SOURCE': os.path.abspath(os.path.join(FOLDER, '../../..'))}
    done = subprocess.run([os.path.join(build, 'tests/test-tiny-models'), '-k'], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    errors = dict(re.findall(r'^# (\S+): largest relative error (\S+)$', done.stdout, re.MULTILINE))
    return errors, set(re.findall(r'^ok \d+ (\S+)', done.stdout, re.MULTILINE))


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    errors, passed = run(sys.argv[1])
    all_good = True
    print(f'{"model":21} {"family":34} {"file":18} {"error":>9}  tokens  bits')
    for name in sorted(n.removesuffix('.json') for n in os.listdir(FOLDER) if n.endswith('.json')):
        family, kind = describe(name)
        is_equal = f'/tiny/{name}/float' in passed
        is_invariant = f'/tiny/{name}/invariance' in passed
        all_good = all_good and is_equal and is_invariant
        print(f'{name:21} {family:34} {kind:18} {errors.get(name, "-"):>9}  {"equal" if is_equal else "DIFFER":6}  '
              f'{"same" if is_invariant else "DIFFER"}')
    return 0 if all_good else 1


if __name__ == '__main__':
    sys.exit(main())
