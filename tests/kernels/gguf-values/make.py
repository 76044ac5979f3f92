#!/usr/bin/env python3
"""Writes values.bin: rows in each of GGUF's quantized types, with the values that the Python package
`gguf` gives them.

    tests/kernels/gguf-values/make.py

For each type, little-endian: u32 type, u32 rows, u32 columns, u32 bytes a row, the rows, float32
[rows, columns]. Row 0 has scales as models have them; the others begin their blocks with the scales
that go wrong first: zeros, the smallest and largest halves, infinities, NaN."""

import os
import struct
import warnings

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import GGML_QUANT_SIZES, dequantize

# Where a block has its halves.
HALVES = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0], Type.Q2_K: [80, 82],
          Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208], Type.IQ4_NL: [0],
          Type.IQ4_XS: [0], Type.MXFP4: []}
ODD = [0x0000, 0x8000, 0x0001, 0x83ff, 0x7bff, 0xfc00, 0x7c00, 0x7e00]
ROWS, COLUMNS = 3, 256


def rows_of(kind, random):
    values, n_bytes = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (ROWS, COLUMNS // values, n_bytes), dtype=np.uint8)
    for row in range(ROWS):
        for index, block in enumerate(blocks[row]):
            for which, at in enumerate(HALVES[kind]):
                half = np.frombuffer(np.float16(random.normal() / 64).tobytes(), np.uint8)
                if row > 0:
                    odd = ODD[(index + 3 * which + 5 * row) % len(ODD)]
                    half = np.frombuffer(struct.pack('<H', odd), np.uint8)
                block[at:at + 2] = half
            if kind == Type.MXFP4:
                block[0] = 120 + index if row == 0 else [0, 1, 2, 127, 128, 252, 253, 254][index]
    return blocks.reshape(ROWS, -1)


def main():
    random = np.random.default_rng(1)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'values.bin')
    with open(path, 'wb') as file:
        for kind in HALVES:
            rows = rows_of(kind, random)
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                values = np.ascontiguousarray(dequantize(rows, kind), dtype='<f4').reshape(ROWS, COLUMNS)
            file.write(struct.pack('<4I', int(kind), ROWS, COLUMNS, rows.shape[1]) + rows.tobytes() + values.tobytes())


if __name__ == '__main__':
    main()
