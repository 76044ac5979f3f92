#!/usr/bin/env python3
"""Checks each model beside this file with SPIN: it must hold, must fail where its fault is put in, and must
name only functions that the engine has."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINE = os.path.join(HERE, '../../engine')


def check(model, options):
    """Whether the model holds, and how many states were seen."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['spin', '-a', *options, model], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(['cc', '-O1', '-w', '-DSAFETY', '-DVECTORSZ=2048', '-o', 'pan', 'pan.c'], cwd=folder,
                       check=True)
        told = subprocess.run(['./pan', '-m200000'], cwd=folder, check=True, capture_output=True, text=True).stdout
    if 'max search depth too small' in told or 'errors:' not in told:
        sys.exit(f'{model}: the search did not end:\n{told}')
    states = next(line.split()[0] for line in told.splitlines() if 'states, stored' in line)
    return 'errors: 0' in told, int(states), told


def find_unknown(model):
    """Functions named in the model's head that no source defines."""
    source = '\n'.join(open(path, encoding='utf-8').read()
                       for path in glob.glob(os.path.join(ENGINE, '**/*.c'), recursive=True))
    head = open(model, encoding='utf-8').read().split('*/')[0]
    return [name for name in re.findall(r'(\w+)\(\)', head)
            if not re.search(rf'^{name}\(', source, re.MULTILINE)]


def main():
    if not shutil.which('spin'):
        print('spin is not installed')
        return 77
    n_wrong = 0
    for model in sorted(glob.glob(os.path.join(HERE, '*.pml'))):
        holds, n_states, told = check(model, [])
        faulty_holds, _, _ = check(model, ['-DFAULT'])
        name = os.path.basename(model)
        print(f'{name}: {n_states} states, {"holds" if holds else "FAILS"}; '
              f'its fault is {"NOT FOUND" if faulty_holds else "found"}')
        if not holds:
            print(told)
        for unknown in find_unknown(model):
            print(f'{name}: the engine has no function {unknown}()')
            n_wrong += 1
        n_wrong += (not holds) + faulty_holds
    return 1 if n_wrong else 0


if __name__ == '__main__':
    sys.exit(main())
