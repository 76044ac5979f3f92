#!/usr/bin/env python3
"""Holds the tree to what does not belong in it: unformatted C, paths of a machine, registry hosts,
notes to self, trailing blanks, and files too large to be fixtures."""

import os
import re
import subprocess
import sys

SOURCE = os.environ['SUNDOG_SOURCE']
MAX_BYTES = 512 * 1024
NOT_HERE = [
    (re.compile(r'(?:^|[^A-Za-z.])/(?:work|farm|root)/'), 'a path of one machine'),
    (re.compile(r'//[a-z.-]*(?:pypi|pythonhosted|debian|ubuntu)[a-z.-]*/'), 'the host of a package registry'),
    (re.compile(r'\b(?:TODO|FIXME|XXX)\b'), 'a note to self'),
]
# GLib's macros take their arguments more than once: a clock or an atomic in one gives two values.
UNSTEADY = re.compile(r'\b(?:MIN|MAX|CLAMP|ABS)\((?=.*(?:get_monotonic_time|get_real_time|clock\(|atomic_))')
THIS = 'tests/style/test-tree.py'


def listed(*patterns):
    out = subprocess.run(['git', 'ls-files', '-z', '--', *patterns], cwd=SOURCE, check=True,
                         capture_output=True, text=True).stdout
    return [path for path in out.split('\0') if path and os.path.isfile(os.path.join(SOURCE, path))]


def text_faults(path):
    full = os.path.join(SOURCE, path)
    if os.path.getsize(full) > MAX_BYTES:
        yield f'{path} has {os.path.getsize(full)} bytes; fixtures stay under {MAX_BYTES}'
    try:
        lines = open(full, encoding='utf-8').read().split('\n')
    except UnicodeDecodeError:
        return
    for number, line in enumerate(lines, 1):
        for pattern, what in NOT_HERE:
            if pattern.search(line):
                yield f'{path}:{number}: {what}: {line.strip()[:100]}'
        if path.endswith(('.c', '.h', '.cu')) and UNSTEADY.search(line):
            yield f'{path}:{number}: a macro takes this argument more than once: {line.strip()[:100]}'
        if path.endswith(('.c', '.h', '.py', '.ui', '.css', 'meson.build')) and line.rstrip() != line:
            yield f'{path}:{number}: blanks at the end of the line'


def format_faults(paths):
    tool = next((t for t in ('clang-format-14', 'clang-format') if
                 subprocess.run(['which', t], capture_output=True).returncode == 0), None)
    if tool is None:
        return ['clang-format is not installed']
    result = subprocess.run([tool, '--dry-run', '-Werror', *paths], cwd=SOURCE, capture_output=True,
                            text=True)
    return [line for line in result.stderr.split('\n') if 'clang-format-violations' in line]


def main():
    faults = format_faults(listed('*.c', '*.h', '*.cu', '*.cuh'))
    for path in listed():
        if path != THIS and path != 'LICENSE':
            faults += text_faults(path)
    for fault in faults:
        print(fault)
    print(f'{len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
