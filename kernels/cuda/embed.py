#!/usr/bin/env python3
"""Writes the C source that holds the cubins given: embed.py OUTPUT [TARGET/NAME.cubin …]."""

import os
import sys

HEAD = '''#include "kernels/contract/cubins.h"
'''
ONE = '''
__asm__(".section .rodata\\n.balign 16\\n{symbol}:\\n.incbin \\"{path}\\"\\n{symbol}_end:\\n.previous\\n");
extern const uint8_t {symbol}[] __asm__("{symbol}");
'''


def main():
    output, cubins = sys.argv[1], sys.argv[2:]
    text, rows = HEAD, ''
    for path in cubins:
        name, target = os.path.basename(path)[:-len('.cubin')].split('@')
        symbol = f'sundog_cubin_{target}_{name}'.replace('-', '_')
        text += ONE.format(symbol=symbol, path=os.path.abspath(path))
        rows += f'    {{"{target}", "{name}", {symbol}, {os.path.getsize(path)}}},\n'
    text += f'\nconst SundogCubin sundog_cubins[] = {{\n{rows}    {{0}}}};\n'
    with open(output, 'w', encoding='utf-8') as file:
        file.write(text)


if __name__ == '__main__':
    main()
