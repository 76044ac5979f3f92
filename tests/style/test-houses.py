#!/usr/bin/env python3
"""Holds every #include line to the table of houses: a house includes itself and what its row names."""

import os
import re
import subprocess
import sys

SOURCE = os.environ['SUNDOG_SOURCE']

# House -> houses it may include. The system's libraries are held by the linking test.
ROWS = {
    'kernels/contract': [],
    'kernels/host': ['kernels/contract'],
    'kernels/cuda': ['kernels/contract'],
    'engine/format': [],
    'engine/model': ['engine/format'],
    'engine/core': ['engine/format', 'kernels/contract'],
    'engine/recipe': ['engine/model', 'engine/core', 'engine/format', 'kernels/contract'],
    'engine/replay': ['engine/core', 'engine/format', 'kernels/contract', 'kernels/host'],
    'engine/prepare': ['engine/model', 'engine/recipe', 'engine/core', 'engine/replay', 'engine/text',
                       'engine/format', 'kernels/contract', 'kernels/host'],
    'engine/cache': ['engine/replay', 'engine/core', 'engine/format', 'kernels/contract'],
    'engine/wire': [],
    'engine/schedule': ['engine/cache', 'engine/replay', 'engine/core', 'engine/wire',
                        'kernels/contract'],
    'engine/text': ['engine/format', 'engine/wire'],
    'engine/library': ['engine/format', 'engine/core'],
    'engine/server': ['engine/text', 'engine/library', 'engine/wire', 'engine/format', 'engine/core'],
    'engine/command': ['engine/server', 'engine/prepare', 'engine/library', 'engine/text',
                       'engine/wire', 'engine/model', 'engine/core', 'engine/format',
                       'engine/replay', 'kernels/contract', 'kernels/host'],
    'app': ['engine/library', 'engine/core', 'engine/format', 'ui'],
    # The engine process stands on top of schedule and opens the core for it.
    'engine/main.c': ['engine/schedule', 'engine/cache', 'engine/replay', 'engine/core',
                      'engine/wire', 'engine/format'],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def house_of(path):
    """The row a file belongs to: the longest that is its folder, or itself."""
    rows = [row for row in ROWS if path == row or path.startswith(row + '/')]
    return max(rows, key=len) if rows else None


def faults_of(path, text):
    house = house_of(path)
    if house is None:
        return
    for included in INCLUDE.findall(text):
        target = house_of(included) or os.path.dirname(included)
        if not os.path.exists(os.path.join(SOURCE, included)):
            if '/' in included:
                yield f'{path} includes "{included}", which is not there'
            continue
        if target != house and target not in ROWS[house]:
            yield f'{path} includes "{included}", which the row of {house} does not name'


def main():
    listed = subprocess.run(['git', 'ls-files', '*.c', '*.h', '*.cu', '*.cuh'], cwd=SOURCE, check=True,
                            capture_output=True, text=True).stdout.split()
    n_files = 0
    faults = []
    for path in listed:
        full = os.path.join(SOURCE, path)
        if house_of(path) and os.path.exists(full):
            n_files += 1
            faults += faults_of(path, open(full, encoding='utf-8').read())
    for fault in faults:
        print(fault)
    print(f'{n_files} files looked at, {len(faults)} includes outside the table')
    return 1 if faults or n_files < 20 else 0


if __name__ == '__main__':
    sys.exit(main())
