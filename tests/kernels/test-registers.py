#!/usr/bin/env python3
"""The hot loops keep their accumulators in registers.

A compiler that leaves them in memory gives the right numbers four times slower (clang 14 did), and a
test by the clock would fail on a busy machine. So the machine code is read: in each function no wide
register goes to the stack, and the expected number of products stands there, unrolled.

    test-registers.py AVX512 BF16        libsundog-kernels-avx512.a and -avx512bf16.a of a build without sanitizers
"""

import re
import shutil
import subprocess
import sys

# Function -> how many of which instruction it must hold at least.
EXPECTED = {
    'multiply_with_minima': (96, 'vpdpbusd'),
    'multiply_with_minima_of_16': (96, 'vpdpbusd'),
    'multiply_with_zero': (96, 'vpdpbusd'),
    'multiply_with_zero_of_16': (96, 'vpdpbusd'),
    'find_f32_scores_6': (12, 'vfmadd'),
    'find_f16_scores_3': (12, 'vfmadd'),
    'sum_f32_values_6': (24, 'vfmadd'),
    'sum_f16_values_3': (12, 'vfmadd'),
}
# The set with products of pairs of bf16.
EXPECTED_BF16 = {
    'find_bf16_scores_3': (12 + 6, 'vdpbf16ps'),
    'find_bf16_scores_6': (24 + 12, 'vdpbf16ps'),
    'sum_bf16_values_3': (12 + 6 + 6, 'vdpbf16ps'),
    'sum_bf16_values_6': (24 + 12 + 12, 'vdpbf16ps'),
}
# One token of one panel, and one of two. Q2_K is not held to it: taking its 16 columns' minima apart needs a
# few registers too many, before the tokens pass.
for layout in ['Q4_0', 'Q4_1', 'Q5_0', 'Q5_1', 'Q8_0', 'Q3_K', 'Q4_K', 'Q5_K', 'Q6_K', 'IQ4_NL', 'IQ4_XS', 'MXFP4']:
    EXPECTED[f'direct_{layout}'] = (8 + 16, 'vpdpbusd')

SPILL = re.compile(r'%zmm\d+.*\(%r[sb]p\)|\(%r[sb]p\).*%zmm\d+')


def functions(library):
    """Name -> lines of its code."""
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', library], check=True,
                          capture_output=True, text=True).stdout
    parts = re.split(r'^[0-9a-f]+ <(\w+)>:$', text, flags=re.MULTILINE)
    return {name: body.splitlines() for name, body in zip(parts[1::2], parts[2::2])}


def faults_of(name, lines, wanted, instruction):
    if lines is None:
        yield f'{name}: not in the library'
        return
    found = sum(instruction in line for line in lines)
    if found < wanted:
        yield f'{name}: {found} {instruction}, expected {wanted}: the loop is not unrolled'
    for line in lines:
        # A broadcast takes one number that was computed for it, and a narrowing move leaves one of half the
        # size: no accumulator.
        if SPILL.search(line) and 'broadcast' not in line and 'vpmovdw' not in line:
            yield f'{name}: a register goes through memory: {line.strip()}'


def main():
    if shutil.which('objdump') is None:
        print('skipped: objdump is not installed')
        return 77
    faults = []
    for library, expected in zip(sys.argv[1:], [EXPECTED, EXPECTED_BF16]):
        found = functions(library)
        for name, numbers in expected.items():
            faults += faults_of(name, found.get(name), *numbers)
    print('\n'.join(faults))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
