/* In blocks of 32, whose integers are kept: only the line on which they lie is written anew. */

#include "engine/prepare/convert.h"

#include "engine/format/gguf.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/math.h"
#include <math.h>
#include <string.h>

#define BLOCK 32
#define BLOCKS_256 8 /* in the encodings that share a scale over 256 */

/* Values of a block are d q + m. */
typedef struct {
    float d;
    float m;
} Line;

static float
read_half(const uint8_t *bytes)
{
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return sundog_f16_to_f32(half);
}

static const uint8_t *
find_block(uint32_t type, const uint8_t *row, int64_t block, int64_t blocks_each)
{
    return row + (size_t)(block / blocks_each) *
                     sundog_gguf_row_bytes(type, (uint64_t)(BLOCK * blocks_each));
}

/* Scales and minima are six bits each: those of the first four blocks in a byte's low bits, of the others
 * in nibbles, and their high bits above those of the first. */
static Line
find_line_q4_k(const uint8_t *bytes, int64_t block)
{
    const uint8_t *packed = bytes + 4;
    int64_t j = block % BLOCKS_256;
    int scale, minimum;
    if (j < 4) {
        scale = packed[j] & 63;
        minimum = packed[j + 4] & 63;
    } else {
        scale = (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        minimum = packed[j + 4] >> 4 | packed[j] >> 6 << 4;
    }
    return (Line){read_half(bytes) * (float)scale, -read_half(bytes + 2) * (float)minimum};
}

/* The low four bits of a scale are a nibble, the high two lie in a word of all eight. */
static Line
find_line_iq4_xs(const uint8_t *bytes, int64_t block)
{
    int64_t j = block % BLOCKS_256;
    uint16_t high;
    memcpy(&high, bytes + 2, sizeof high);
    int low = bytes[4 + j / 2] >> (4 * (j % 2)) & 15;
    return (Line){read_half(bytes) * (float)((low | (high >> (2 * j) & 3) << 4) - 32), 0};
}

static Line
find_line(uint32_t type, const uint8_t *row, int64_t block)
{
    bool is_large = type == SUNDOG_GGUF_Q4_K || type == SUNDOG_GGUF_IQ4_XS;
    const uint8_t *bytes = find_block(type, row, block, is_large ? BLOCKS_256 : 1);
    switch (type) {
    case SUNDOG_GGUF_Q4_K:
        return find_line_q4_k(bytes, block);
    case SUNDOG_GGUF_IQ4_XS:
        return find_line_iq4_xs(bytes, block);
    case SUNDOG_GGUF_MXFP4: /* its codebook counts in halves */
        return (Line){ldexpf(1, bytes[0] - 128), 0};
    case SUNDOG_GGUF_Q4_0:
        return (Line){read_half(bytes), -8 * read_half(bytes)};
    default:
        return (Line){read_half(bytes), 0};
    }
}

uint32_t
sundog_cuda_type(uint32_t type)
{
    if (sundog_layout_for_cuda(type) != 0 || sundog_layout_for_gguf_type(type) == 0)
        return type;
    switch (type) {
    case SUNDOG_GGUF_Q4_0:
    case SUNDOG_GGUF_Q4_K:
        return SUNDOG_GGUF_Q4_1;
    case SUNDOG_GGUF_Q5_0:
    case SUNDOG_GGUF_IQ4_NL:
    case SUNDOG_GGUF_IQ4_XS:
    case SUNDOG_GGUF_MXFP4:
        return SUNDOG_GGUF_Q8_0;
    default:
        return SUNDOG_GGUF_BF16;
    }
}

static int
find_integer(float value, Line line)
{
    return line.d != 0 ? (int)rintf((value - line.m) / line.d) : 0;
}

/* Writes a number as a half and returns what that is. */
static float
write_half(float value, uint8_t *bytes)
{
    uint16_t half = sundog_f32_to_f16(value);
    memcpy(bytes, &half, sizeof half);
    return sundog_f16_to_f32(half);
}

static bool
write_q8_0(Line line, const float *values, uint8_t *block, SundogQuantizationError *error)
{
    float d = write_half(line.d, block);
    for (int i = 0; i < BLOCK; i++) {
        int q = find_integer(values[i], line);
        block[2 + i] = (uint8_t)q;
        sundog_quantization_error_add(error, values[i], d * (float)q);
    }
    return isfinite(d);
}

static bool
write_q4_1(Line line, const float *values, uint8_t *block, SundogQuantizationError *error)
{
    float d = write_half(line.d, block), m = write_half(line.m, block + 2);
    memset(block + 4, 0, BLOCK / 2);
    for (int i = 0; i < BLOCK; i++) {
        int q = find_integer(values[i], line);
        block[4 + i % (BLOCK / 2)] |= (uint8_t)(i < BLOCK / 2 ? q : q << 4);
        sundog_quantization_error_add(error, values[i], fmaf(d, (float)q, m));
    }
    return isfinite(d) && isfinite(m);
}

static bool
write_bf16(const float *values, int64_t n_columns, uint8_t *converted,
           SundogQuantizationError *error)
{
    bool is_finite = true;
    for (int64_t k = 0; k < n_columns; k++) {
        uint16_t half = sundog_f32_to_bf16(values[k]);
        memcpy(converted + 2 * k, &half, sizeof half);
        sundog_quantization_error_add(error, values[k], sundog_bf16_to_f32(half));
        is_finite = is_finite && isfinite(sundog_bf16_to_f32(half));
    }
    return is_finite;
}

bool
sundog_convert_row(uint32_t from, const uint8_t *row, const float *values, int64_t n_columns,
                   uint32_t to, uint8_t *converted, SundogQuantizationError *error)
{
    bool is_finite = true;
    if (to == SUNDOG_GGUF_BF16)
        return write_bf16(values, n_columns, converted, error);
    for (int64_t b = 0; b < n_columns / BLOCK; b++) {
        Line line = find_line(from, row, b);
        const float *block = values + b * BLOCK;
        is_finite &= to == SUNDOG_GGUF_Q8_0 ? write_q8_0(line, block, converted, error)
                                            : write_q4_1(line, block, converted, error);
        converted += sundog_gguf_row_bytes(to, BLOCK);
    }
    return is_finite;
}
