#!/usr/bin/env python3
"""Small matrices in every kind of quantization, and their values.

  make-quantized.py OUTPUT    writes OUTPUT, a safetensors file

For each case NAME the file holds the parts "NAME.m.…" as checkpoints have them, "NAME.config", what
config.json says of quantization as JSON in bytes, and "NAME.expected", the matrix in float32. The formulas
are those of the formats' own dequantizing code; compressed-tensors' and MLX's matrices are packed by these
libraries themselves, and so are bitsandbytes'. Needs numpy, torch, bitsandbytes, compressed-tensors and mlx.
"""

import json
import sys

import mlx.core as mx
import numpy
import safetensors.torch
import torch
from bitsandbytes.functional import quantize_4bit
from compressed_tensors.compressors import pack_to_int32

ROWS, COLUMNS = 8, 64
FP4 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])

file = {}


def add(name, config, expected, **parts):
    file[f'{name}.config'] = torch.tensor(list(json.dumps(config).encode()), dtype=torch.uint8)
    file[f'{name}.expected'] = expected.float().contiguous().clone()
    for part, values in parts.items():
        suffix = part if part.startswith('_') else '.' + part
        file[f'{name}.m{suffix}'] = values.contiguous().clone()


def numbers(bits, *shape):
    return torch.randint(0, 2 ** bits, shape)


def scales(*shape, dtype=torch.float16):
    return (torch.rand(shape) * 0.02 + 0.001).to(dtype)


def pack_down(values, bits):
    """[n, any] numbers as AutoGPTQ packs them: a stream of bits down each column."""
    n, columns = values.shape
    words = torch.zeros((n * bits // 32, columns), dtype=torch.int64)
    for i in range(n):
        word, shift = divmod(i * bits, 32)
        words[word] |= values[i] << shift & 0xffffffff
        if shift + bits > 32:
            words[word + 1] |= values[i] >> (32 - shift)
    return words.to(torch.int32) if words.max() < 2 ** 31 else \
        torch.from_numpy(words.numpy().astype(numpy.uint32).view(numpy.int32))


def gptq(name, bits, group, symmetric, v2=False, order=None, rows=ROWS):
    q = numbers(bits, COLUMNS, rows)
    groups = COLUMNS // group
    s = scales(groups, rows)
    zero = torch.full((groups, rows), 2 ** (bits - 1)) if symmetric else \
        torch.randint(1, 2 ** bits, (groups, rows))
    g_idx = torch.arange(COLUMNS) // group
    if order == 'random':
        g_idx = g_idx[torch.randperm(COLUMNS)]
    values = s[g_idx].double() * (q - zero[g_idx])
    stored = zero if v2 else zero - 1
    parts = {'qweight': pack_down(q, bits), 'qzeros': pack_down(stored.T.contiguous(), bits).T, 'scales': s}
    if order:
        parts['g_idx'] = g_idx.to(torch.int32)
    config = {'quant_method': 'gptq', 'bits': bits, 'group_size': group,
              'checkpoint_format': 'gptq_v2' if v2 else 'gptq'}
    add(name, config, values.T, **parts)


def awq(name, group):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    q, zero = numbers(4, COLUMNS, ROWS), numbers(4, COLUMNS // group, ROWS)
    s = scales(COLUMNS // group, ROWS)

    def pack(values):
        words = torch.zeros((values.shape[0], values.shape[1] // 8), dtype=torch.int64)
        for i in range(8):
            words |= values[:, order[i]::8] << (4 * i)
        return torch.from_numpy(words.numpy().astype(numpy.uint32).view(numpy.int32))

    g = torch.arange(COLUMNS) // group
    values = s[g].double() * (q - zero[g])
    add(name, {'quant_method': 'awq', 'bits': 4, 'group_size': group, 'version': 'gemm'}, values.T,
        qweight=pack(q), qzeros=pack(zero), scales=s)


def compressed(name, bits, group, symmetric=True, order=False, dtype=torch.bfloat16):
    half = 2 ** (bits - 1)
    q = (numbers(bits, ROWS, COLUMNS) - half).to(torch.int8)
    groups = COLUMNS // group
    s = scales(ROWS, groups, dtype=dtype)
    zero = torch.zeros((ROWS, groups), dtype=torch.int8) if symmetric else \
        (numbers(bits, ROWS, groups) - half).to(torch.int8)
    g_idx = torch.arange(COLUMNS) // group
    parts = {'weight_packed': pack_to_int32(q, bits), 'weight_scale': s,
             'weight_shape': torch.tensor([ROWS, COLUMNS])}
    if not symmetric:
        parts['weight_zero_point'] = pack_to_int32(zero, bits, packed_dim=0)
    if order:
        g_idx = g_idx[torch.randperm(COLUMNS)]
        parts['weight_g_idx'] = g_idx.to(torch.int32)
    values = s[:, g_idx].double() * (q.long() - zero[:, g_idx].long())
    add(name, {'quant_method': 'compressed-tensors', 'format': 'pack-quantized'}, values, **parts)


def int8(name):
    q = (numbers(8, ROWS, COLUMNS) - 128).to(torch.int8)
    s = scales(ROWS, 1, dtype=torch.bfloat16)
    add(name, {'quant_method': 'compressed-tensors', 'format': 'int-quantized'}, q * s.double(), weight=q,
        weight_scale=s)


def to_torch(array):
    kind = {mx.uint32: numpy.uint32, mx.uint8: numpy.uint8}.get(array.dtype)
    if kind:
        return torch.from_numpy(numpy.array(array).astype(kind))
    values = torch.from_numpy(numpy.array(array.astype(mx.float32)))
    return values.to(torch.bfloat16 if array.dtype == mx.bfloat16 else torch.float16)


def mlx(name, bits, group, dtype):
    weight = mx.array((torch.randn(ROWS, COLUMNS) * 0.1).numpy()).astype(dtype)
    packed, s, b = mx.quantize(weight, group_size=group, bits=bits)
    dense = torch.from_numpy(numpy.array(mx.dequantize(packed, s, b, group_size=group, bits=bits)
                                         .astype(mx.float32)))
    stream = numpy.unpackbits(numpy.array(packed).view(numpy.uint8), axis=1, bitorder='little')
    q = (stream.reshape(ROWS, COLUMNS, bits) * 2 ** numpy.arange(bits)).sum(-1)
    s, b = to_torch(s), to_torch(b)
    values = (torch.from_numpy(q).double() * s.double().repeat_interleave(group, 1) +
              b.double().repeat_interleave(group, 1))
    # MLX rounds each step to the scales' type.
    assert (values - dense).norm() / dense.norm() < 1e-2
    add(name, {'group_size': 1, 'bits': 1, f'{name}.m': {'group_size': group, 'bits': bits}}, values,
        weight=to_torch(packed), scales=s, biases=b)


def fp8(name, dtype, scale, config, per_column, part='weight_scale'):
    weight = (torch.randn(ROWS, COLUMNS) * 50).to(dtype)
    add(name, config, weight.float() * per_column(scale.float()), **{'weight': weight, part: scale})


def mx_codes(*shape):
    codes = numbers(4, *shape)
    return codes, (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)


def mxfp4(name):
    codes, packed = mx_codes(2, ROWS // 2, COLUMNS)
    s = torch.randint(110, 130, (2, ROWS // 2, COLUMNS // 32))
    values = FP4[codes] * torch.exp2((s - 127).float()).repeat_interleave(32, -1)
    blocks = packed.reshape(2, ROWS // 2, COLUMNS // 32, 16)
    add(f'{name}-gpt-oss', {'quant_method': 'mxfp4'}, values.reshape(ROWS, COLUMNS), _blocks=blocks,
        _scales=s.to(torch.uint8))
    add(f'{name}-compressed', {'quant_method': 'compressed-tensors'}, values.reshape(ROWS, COLUMNS),
        weight_packed=packed.reshape(ROWS, -1), weight_scale=s.to(torch.uint8).reshape(ROWS, -1))
    weight = mx.array((torch.randn(ROWS, COLUMNS) * 0.1).numpy())
    words, exponents = mx.quantize(weight, group_size=32, bits=4, mode='mxfp4')
    dense = mx.dequantize(words, exponents, group_size=32, bits=4, mode='mxfp4').astype(mx.float32)
    add(f'{name}-mlx', {'group_size': 32, 'bits': 4, 'mode': 'mxfp4'}, torch.from_numpy(numpy.array(dense)),
        weight=to_torch(words), scales=to_torch(exponents))


def nvfp4(name):
    codes, packed = mx_codes(ROWS, COLUMNS)
    s = (torch.rand(ROWS, COLUMNS // 16) * 400 + 1).to(torch.float8_e4m3fn)
    whole = torch.tensor([123.4])
    wide = (s.float() / whole).repeat_interleave(16, 1)
    add(f'{name}-compressed', {'quant_method': 'compressed-tensors'}, FP4[codes] * wide,
        weight_packed=packed, weight_scale=s, weight_global_scale=whole)
    small = torch.tensor(0.0021)
    wide = (s.float() * small).repeat_interleave(16, 1)
    add(f'{name}-modelopt', {'quant_method': 'modelopt'}, FP4[codes] * wide, weight=packed, weight_scale=s,
        weight_scale_2=small)


def bnb(name, kind, dtype, nested, block=64):
    weight = (torch.randn(ROWS, COLUMNS) * 0.1).to(dtype)
    packed, state = quantize_4bit(weight, blocksize=block, quant_type=kind, compress_statistics=nested)
    parts = {'weight.' + part: values for part, values in state.as_dict(packed=True).items()}
    # The formula of the kernels for GPUs, which round a value once.
    absmax = state.absmax
    if nested:
        outer = state.state2
        absmax = outer.code[absmax.long()] * outer.absmax.repeat_interleave(outer.blocksize)[:absmax.numel()] + state.offset
    codes = torch.stack([packed.flatten() >> 4, packed.flatten() & 15], 1).flatten().long()
    values = (state.code[codes] * absmax.repeat_interleave(block)).reshape(ROWS, COLUMNS)
    add(name, {'quant_method': 'bitsandbytes', 'load_in_4bit': True},
        values.to(dtype if dtype == torch.bfloat16 else torch.float32), weight=packed, **parts)


def main():
    torch.manual_seed(7)
    mx.random.seed(7)
    gptq('gptq-4-symmetric', 4, 32, True)
    gptq('gptq-4-asymmetric', 4, 32, False)
    gptq('gptq-4-v2', 4, 32, False, v2=True)
    gptq('gptq-4-plain-list', 4, 32, True, order='plain')
    gptq('gptq-4-list', 4, 32, False, order='random')
    gptq('gptq-3-symmetric', 3, 32, True, rows=32)
    gptq('gptq-8-symmetric', 8, 64, True)
    gptq('gptq-8-asymmetric', 8, 64, False)
    awq('awq-4', 32)
    compressed('compressed-4-symmetric', 4, 32)
    compressed('compressed-4-asymmetric', 4, 32, symmetric=False)
    compressed('compressed-4-f32-scales', 4, 32, dtype=torch.float32)
    compressed('compressed-4-small-groups', 4, 16)
    compressed('compressed-4-list', 4, 32, order=True)
    compressed('compressed-3-symmetric', 3, 32)
    compressed('compressed-8-symmetric', 8, 64)
    int8('compressed-int8')
    for bits in (2, 3, 4, 5, 6, 8):
        mlx(f'mlx-{bits}', bits, 32, mx.float16 if bits == 2 else mx.bfloat16)
    block = {'quant_method': 'fp8', 'weight_block_size': [6, 24]}
    fp8('fp8-block', torch.float8_e4m3fn, torch.rand(2, 3), block,
        lambda s: s.repeat_interleave(6, 0)[:ROWS].repeat_interleave(24, 1)[:, :COLUMNS], 'weight_scale_inv')
    fp8('fp8-row', torch.float8_e4m3fn, scales(ROWS, 1, dtype=torch.bfloat16), {}, lambda s: s)
    fp8('fp8-tensor', torch.float8_e4m3fn, torch.tensor(0.125), {}, lambda s: s)
    fp8('fp8-e5m2', torch.float8_e5m2, torch.tensor([0.3]), {}, lambda s: s)
    exponents = torch.randint(120, 130, (ROWS, COLUMNS // 32)).to(torch.uint8)
    weight = torch.randn(ROWS, COLUMNS).to(torch.float8_e4m3fn)
    wide = torch.exp2(exponents.float() - 127).repeat_interleave(32, 1)
    add('mxfp8', {}, weight.float() * wide, weight=weight, weight_scale=exponents)
    mxfp4('mxfp4')
    nvfp4('nvfp4')
    bnb('bnb-nf4', 'nf4', torch.bfloat16, False)
    bnb('bnb-nf4-nested', 'nf4', torch.bfloat16, True)
    bnb('bnb-fp4-f16', 'fp4', torch.float16, False, block=128)
    safetensors.torch.save_file(file, sys.argv[1])


if __name__ == '__main__':
    main()
