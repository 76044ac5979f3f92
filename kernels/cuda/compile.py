#!/usr/bin/env python3
"""Runs nvcc and keeps the assembler's report: compile.py NVCC CUBIN REPORT DEPFILE ARGUMENT…"""

import subprocess
import sys


def main():
    nvcc, cubin, report, depfile, *arguments = sys.argv[1:]
    result = subprocess.run([nvcc, '-o', cubin, '-MD', '-MF', depfile, *arguments], capture_output=True,
                            text=True)
    said = result.stdout + result.stderr
    with open(report, 'w', encoding='utf-8') as file:
        file.write(said)
    if result.returncode != 0 or 'warning' in said:
        print(said)
    return result.returncode


if __name__ == '__main__':
    sys.exit(main())
