#!/usr/bin/env python3
"""Renders every published template of llama.cpp's source package over many conversations with jinja2 and
with Sundog, and compares the bytes. Prints what differs and a count.

    tests/text/compare-templates.py RENDERER [TEMPLATE...]

RENDERER is the built template-renderer. Skips (77) where jinja2 or the templates are not there."""

import glob
import json
import os
import re
import subprocess
import sys

os.environ['TZ'] = 'UTC'
try:
    import jinja_reference
except ImportError as error:
    print(f'1..0 # SKIP {error}: jinja2 is not installed (python3-jinja2)')
    sys.exit(77)

FORGERY = re.compile('{0}(?:(?!{0}|{1}).)*{1}|{0}|{1}'.format(jinja_reference.OPEN, jinja_reference.CLOSE).encode(), re.S)
CACHE = os.environ.get('SUNDOG_TEST_CACHE', os.path.expanduser('~/.cache/sundog-tests'))

def same(expected, got):
    if 'text' in expected or 'text' in got:
        return 'text' in expected and expected.get('text') == got.get('text')
    if expected['error'] == 'raised':
        return got['error'] == 'raised' and got['message'] == expected['message']
    return got['error'] == expected['error']


def show(name, case, expected, got):
    print(f'# {name}: {case}')
    if 'text' in expected and 'text' in got:
        a, b = expected['text'], got['text']
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        print(f'#   jinja2 {a[max(0, at - 30):at + 40]!r}\n#   sundog {b[max(0, at - 30):at + 40]!r}')
    else:
        print(f'#   jinja2 {str(expected)[:300]}\n#   sundog {str(got)[:300]}')


def forgery_is_trusted(got):
    """Whether a control token that a message spelled, between two marks, counts as the template's own."""
    raw = got.get('text', '').encode()
    trusted = bytearray()
    for n_bytes, is_trusted in got.get('spans', []):
        trusted += (b'T' if is_trusted else b'u') * n_bytes
    assert len(trusted) == len(raw)
    return any(b'T' in trusted[found.start():found.end()] for found in FORGERY.finditer(raw))


def main():
    renderer = sys.argv[1]
    paths = sys.argv[2:] or sorted(glob.glob(os.path.join(
        CACHE, 'llama-cpp-source/models/templates/*.jinja')))
    if not paths:
        print('1..0 # SKIP the templates are not in the cache: run tests/fetch llama-cpp-source')
        return 77
    environment = jinja_reference.make_environment()
    cases = list(jinja_reference.variable_sets())
    process = subprocess.Popen([renderer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               encoding='utf-8')
    n_equal = n_different = n_texts = n_marked = 0
    for path in paths:
        name = os.path.basename(path).removesuffix('.jinja')
        with open(path, encoding='utf-8', newline='') as file:
            source = file.read()
        process.stdin.write(json.dumps({'template': source}) + '\n')
        differences = 0
        for case, variables in cases:
            process.stdin.write(json.dumps({'variables': variables, 'now': jinja_reference.NOW_US}) + '\n')
            process.stdin.flush()
            got = json.loads(process.stdout.readline())
            expected = jinja_reference.render(environment, source, variables)
            n_marked += jinja_reference.OPEN in got.get('text', '')
            if forgery_is_trusted(got):
                expected = {'error': 'forged', 'message': 'a message\'s text counts as the template\'s own'}
            if same(expected, got):
                n_equal += 1
                n_texts += 'text' in expected
                continue
            n_different += 1
            differences += 1
            if differences <= 2:
                show(name, case, expected, got)
        print(f'{"ok" if differences == 0 else "not ok"} {name}', flush=True)
    process.stdin.close()
    print(f'# {len(paths)} templates, {n_equal} cases equal ({n_texts} texts), {n_different} different, '
          f'{n_marked} with forged turns')
    return n_different > 0 or process.wait() != 0


if __name__ == '__main__':
    sys.exit(main())
