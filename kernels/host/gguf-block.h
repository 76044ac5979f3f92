#pragma once

/*
 * GGUF's quantized row encodings: one block of a row to its plain parts and back, every bit kept.
 * Source: the structs and dequantize functions of ggml (ggml-common.h, ggml-quants.c).
 */

#include "kernels/contract/types.h"

/* One block of a row: 32 or 256 columns, as SUNDOG_LAYOUTS says. What a layout's form has no place for
 * means nothing. */
typedef struct {
    uint16_t d; /* bits of an f16, of a bf16 in MXFP4 */
    uint16_t m;
    uint8_t scales[16]; /* as a panel holds them */
    uint8_t minima[16];
    uint8_t q[256]; /* stored values, one a byte */
} SundogRowBlock;

/* 0 where the layout is not a quantized panel. */
size_t sundog_gguf_block_bytes(SundogLayout layout);

void sundog_gguf_block_read(SundogLayout layout, const uint8_t *bytes, SundogRowBlock *block);
void sundog_gguf_block_write(SundogLayout layout, const SundogRowBlock *block, uint8_t *bytes);
