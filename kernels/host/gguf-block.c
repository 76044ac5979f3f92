/*
 * One table says where each encoding keeps its parts. Its values lie in planes of bits that all follow one
 * rule: a run of R bytes holds 8 / B times R columns of B bits, first the lowest bits of all R bytes, then
 * the next. Only the 6-bit scales of the K types are packed each in its own way.
 */

#include "kernels/host/gguf-block.h"

#include <string.h>

#define NONE -1

typedef struct {
    int at;
    int bits;
    int run;
} Plane;

typedef enum {
    SCALES_NONE,
    SCALES_PAIRS,     /* Q2_K: a scale and a minimum of 4 bits in a byte */
    SCALES_SIXES,     /* Q3_K: 16 scales of 6 bits, + 32, in 12 bytes */
    SCALES_TWO_SIXES, /* Q4_K, Q5_K: 8 scales and 8 minima of 6 bits in 12 bytes */
    SCALES_BYTES,     /* Q6_K: 16 signed bytes */
    SCALES_SPLIT, /* IQ4_XS: 8 scales of 6 bits, + 32, their upper two in a half before the others */
} Scales;

typedef struct {
    int n_columns;
    int n_bytes;
    int d; /* byte offsets; NONE where there is none */
    int m;
    Plane low;
    Plane high; /* of 0 bits where there is none */
    Scales scales;
    int scales_at;
} Encoding;

static const Encoding encodings[] = {
    [SUNDOG_LAYOUT_PANEL16_Q4_0] = {32, 18, 0, NONE, {2, 4, 16}, {0}, SCALES_NONE, 0},
    [SUNDOG_LAYOUT_PANEL16_Q4_1] = {32, 20, 0, 2, {4, 4, 16}, {0}, SCALES_NONE, 0},
    [SUNDOG_LAYOUT_PANEL16_Q5_0] = {32, 22, 0, NONE, {6, 4, 16}, {2, 1, 1}, SCALES_NONE, 0},
    [SUNDOG_LAYOUT_PANEL16_Q5_1] = {32, 24, 0, 2, {8, 4, 16}, {4, 1, 1}, SCALES_NONE, 0},
    [SUNDOG_LAYOUT_PANEL16_Q8_0] = {32, 34, 0, NONE, {2, 8, 32}, {0}, SCALES_NONE, 0},
    [SUNDOG_LAYOUT_PANEL16_Q2_K] = {256, 84, 80, 82, {16, 2, 32}, {0}, SCALES_PAIRS, 0},
    [SUNDOG_LAYOUT_PANEL16_Q3_K] = {256, 110, 108, NONE, {32, 2, 32}, {0, 1, 32}, SCALES_SIXES, 96},
    [SUNDOG_LAYOUT_PANEL16_Q4_K] = {256, 144, 0, 2, {16, 4, 32}, {0}, SCALES_TWO_SIXES, 4},
    [SUNDOG_LAYOUT_PANEL16_Q5_K] = {256, 176, 0, 2, {48, 4, 32}, {16, 1, 32}, SCALES_TWO_SIXES, 4},
    [SUNDOG_LAYOUT_PANEL16_Q6_K] =
        {256, 210, 208, NONE, {0, 4, 64}, {128, 2, 32}, SCALES_BYTES, 192},
    [SUNDOG_LAYOUT_PANEL16_IQ4_NL] = {32, 18, 0, NONE, {2, 4, 16}, {0}, SCALES_NONE, 0},
    [SUNDOG_LAYOUT_PANEL16_IQ4_XS] = {256, 136, 0, NONE, {8, 4, 16}, {0}, SCALES_SPLIT, 2},
    [SUNDOG_LAYOUT_PANEL16_MXFP4] = {32, 17, NONE, NONE, {1, 4, 16}, {0}, SCALES_NONE, 0},
};

static const Encoding *
find_encoding(SundogLayout layout)
{
    size_t n = sizeof encodings / sizeof *encodings;
    return (size_t)layout < n ? &encodings[layout] : &encodings[0];
}

size_t
sundog_gguf_block_bytes(SundogLayout layout)
{
    return (size_t)find_encoding(layout)->n_bytes;
}

static void
read_plane(const Plane *plane, int n_columns, const uint8_t *bytes, int shift, uint8_t *q)
{
    const uint8_t *from = bytes + plane->at;
    int mask = (1 << plane->bits) - 1;
    for (int k = 0; k < n_columns; from += plane->run)
        for (int low = 0; low < 8; low += plane->bits, k += plane->run)
            for (int i = 0; i < plane->run; i++)
                q[k + i] |= (uint8_t)((from[i] >> low & mask) << shift);
}

/* The bytes must be zero. */
static void
write_plane(const Plane *plane, int n_columns, const uint8_t *q, int shift, uint8_t *bytes)
{
    uint8_t *to = bytes + plane->at;
    int mask = (1 << plane->bits) - 1;
    for (int k = 0; k < n_columns; to += plane->run)
        for (int low = 0; low < 8; low += plane->bits, k += plane->run)
            for (int i = 0; i < plane->run; i++)
                to[i] |= (uint8_t)((q[k + i] >> shift & mask) << low);
}

/* Numbers 0 to 3 of scales and minima are whole bytes; 4 to 7 have their low four bits in the last
 * four bytes and the upper two above numbers 0 to 3. */
static void
read_two_sixes(const uint8_t *bytes, SundogRowBlock *block)
{
    for (int i = 0; i < 4; i++) {
        block->scales[i] = bytes[i] & 63;
        block->minima[i] = bytes[4 + i] & 63;
        block->scales[4 + i] = (uint8_t)((bytes[8 + i] & 15) | bytes[i] >> 6 << 4);
        block->minima[4 + i] = (uint8_t)(bytes[8 + i] >> 4 | bytes[4 + i] >> 6 << 4);
    }
}

static void
write_two_sixes(const SundogRowBlock *block, uint8_t *bytes)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(block->scales[i] | block->scales[4 + i] >> 4 << 6);
        bytes[4 + i] = (uint8_t)(block->minima[i] | block->minima[4 + i] >> 4 << 6);
        bytes[8 + i] = (uint8_t)((block->scales[4 + i] & 15) | (block->minima[4 + i] & 15) << 4);
    }
}

/* Low four bits of 16 scales in eight bytes, the upper two in the last four. */
static void
read_sixes(const uint8_t *bytes, SundogRowBlock *block)
{
    for (int i = 0; i < 16; i++) {
        int low = bytes[i % 8] >> (i / 8 * 4) & 15, high = bytes[8 + i % 4] >> (i / 4 * 2) & 3;
        block->scales[i] = (uint8_t)((low | high << 4) - 32);
    }
}

static void
write_sixes(const SundogRowBlock *block, uint8_t *bytes)
{
    for (int i = 0; i < 16; i++) {
        int scale = (block->scales[i] + 32) & 63;
        bytes[i % 8] |= (uint8_t)((scale & 15) << (i / 8 * 4));
        bytes[8 + i % 4] |= (uint8_t)(scale >> 4 << (i / 4 * 2));
    }
}

/* Two bytes of upper bits, then four of the lower ones. */
static void
read_split(const uint8_t *bytes, SundogRowBlock *block)
{
    for (int i = 0; i < 8; i++) {
        int low = bytes[2 + i / 2] >> (i % 2 * 4) & 15, high = bytes[i / 4] >> (i % 4 * 2) & 3;
        block->scales[i] = (uint8_t)((low | high << 4) - 32);
    }
}

static void
write_split(const SundogRowBlock *block, uint8_t *bytes)
{
    for (int i = 0; i < 8; i++) {
        int scale = (block->scales[i] + 32) & 63;
        bytes[2 + i / 2] |= (uint8_t)((scale & 15) << (i % 2 * 4));
        bytes[i / 4] |= (uint8_t)(scale >> 4 << (i % 4 * 2));
    }
}

static void
read_scales(const Encoding *encoding, const uint8_t *bytes, SundogRowBlock *block)
{
    bytes += encoding->scales_at;
    if (encoding->scales == SCALES_PAIRS || encoding->scales == SCALES_BYTES)
        memcpy(block->scales, bytes, 16);
    else if (encoding->scales == SCALES_SIXES)
        read_sixes(bytes, block);
    else if (encoding->scales == SCALES_TWO_SIXES)
        read_two_sixes(bytes, block);
    else if (encoding->scales == SCALES_SPLIT)
        read_split(bytes, block);
}

static void
write_scales(const Encoding *encoding, const SundogRowBlock *block, uint8_t *bytes)
{
    bytes += encoding->scales_at;
    if (encoding->scales == SCALES_PAIRS || encoding->scales == SCALES_BYTES)
        memcpy(bytes, block->scales, 16);
    else if (encoding->scales == SCALES_SIXES)
        write_sixes(block, bytes);
    else if (encoding->scales == SCALES_TWO_SIXES)
        write_two_sixes(block, bytes);
    else if (encoding->scales == SCALES_SPLIT)
        write_split(block, bytes);
}

/* E8M0: 2^(e - 127), here halved since the codebook holds twice the values. Exact in bf16, whose
 * smallest two are below its normal numbers. */
static uint16_t
power_to_bf16(uint8_t exponent)
{
    return (uint16_t)(exponent < 2 ? 0x20 << exponent : (exponent - 1) << 7);
}

static uint8_t
bf16_to_power(uint16_t bits)
{
    return (uint8_t)(bits < 0x80 ? bits >> 6 : (bits >> 7) + 1);
}

void
sundog_gguf_block_read(SundogLayout layout, const uint8_t *bytes, SundogRowBlock *block)
{
    const Encoding *encoding = find_encoding(layout);
    if (encoding->d == NONE)
        block->d = power_to_bf16(bytes[0]);
    else
        memcpy(&block->d, bytes + encoding->d, 2);
    if (encoding->m != NONE)
        memcpy(&block->m, bytes + encoding->m, 2);
    read_scales(encoding, bytes, block);
    memset(block->q, 0, (size_t)encoding->n_columns);
    read_plane(&encoding->low, encoding->n_columns, bytes, 0, block->q);
    if (encoding->high.bits > 0)
        read_plane(&encoding->high, encoding->n_columns, bytes, encoding->low.bits, block->q);
    for (int k = 0; k < encoding->n_columns && encoding->low.bits == 8; k++)
        block->q[k] ^= 0x80; /* signed to + 128 */
}

void
sundog_gguf_block_write(SundogLayout layout, const SundogRowBlock *block, uint8_t *bytes)
{
    const Encoding *encoding = find_encoding(layout);
    memset(bytes, 0, (size_t)encoding->n_bytes);
    if (encoding->d == NONE)
        bytes[0] = bf16_to_power(block->d);
    else
        memcpy(bytes + encoding->d, &block->d, 2);
    if (encoding->m != NONE)
        memcpy(bytes + encoding->m, &block->m, 2);
    write_scales(encoding, block, bytes);
    write_plane(&encoding->low, encoding->n_columns, block->q, 0, bytes);
    if (encoding->high.bits > 0)
        write_plane(&encoding->high, encoding->n_columns, block->q, encoding->low.bits, bytes);
    for (int k = 0; k < encoding->n_columns && encoding->low.bits == 8; k++)
        bytes[encoding->low.at + k] ^= 0x80;
}
