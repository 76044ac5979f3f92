#!/usr/bin/env python3
"""Reads the assembler's reports: no kernel spills a register, none uses a stack, and each was compiled
for its target without a warning. Where cuobjdump is installed, every kernel of an architecture with
programmatic edges is seen to wait for its predecessor, since launch lists rely on it."""

import os
import re
import shutil
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(\w+)'\n.*\n\s*(\d+) bytes stack frame, "
                   r"(\d+) bytes spill stores, (\d+) bytes spill loads")


def report_faults(path):
    text = open(path, encoding='utf-8').read()
    entries = ENTRY.findall(text)
    if not entries:
        yield f'{path} names no kernel'
    for name, target, stack, stores, loads in entries:
        if stack != '0' or stores != '0' or loads != '0':
            yield f'{name} for {target}: {stack} bytes of stack, {stores} spilled, {loads} read back'
    if re.search(r'\bwarning\b', text):
        yield f'{path} holds a warning'


def waiting_faults(path):
    cubin = path[:-len('.report')] + '.cubin'
    tool = shutil.which('cuobjdump', path=os.environ.get('PATH', '') + ':/usr/local/cuda/bin')
    if tool is None or int(re.search(r'@sm_(\d+)', path).group(1)) < 90:
        return
    code = subprocess.run([tool, '-sass', cubin], capture_output=True, text=True, check=True).stdout
    for function in code.split('Function : ')[1:]:
        if 'ACQBULK' not in function:
            yield f'{function.split()[0]} in {cubin} does not wait for its predecessor'


def main():
    faults = []
    for path in sys.argv[1:]:
        faults += report_faults(path)
        faults += waiting_faults(path)
    for fault in faults:
        print(fault)
    print(f'{len(sys.argv) - 1} reports read, {len(faults)} faults')
    return 1 if faults or len(sys.argv) < 2 else 0


if __name__ == '__main__':
    sys.exit(main())
