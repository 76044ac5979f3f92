/* Rows of floats in blocks. Scales are rounded to half precision before values are, so that the
 * rounding of the scale costs nothing. */

#include "engine/prepare/quantize.h"

#include "engine/format/gguf.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/math.h"

#define BLOCK 32
#define Q4_1_MOST 15
#define F8_MOST 448.0f
/* Ranges that are tried for Q4_1: the values' own, and some that leave the outermost out. */
#define N_RANGES 10
#define RANGE_STEP 0.03f

uint32_t
sundog_quantized_type(const SundogTensor *tensor, SundogWeights weights)
{
    uint64_t block = weights == SUNDOG_WEIGHTS_F8 ? SUNDOG_F8_COLUMNS : BLOCK;
    bool is_float = tensor->type == SUNDOG_GGUF_F32 || tensor->type == SUNDOG_GGUF_F16 ||
                    tensor->type == SUNDOG_GGUF_BF16 || tensor->type == SUNDOG_GGUF_F8;
    if (!is_float || tensor->n_columns % block != 0)
        return tensor->type;
    switch (weights) {
    case SUNDOG_WEIGHTS_Q8:
        return SUNDOG_GGUF_Q8_0;
    case SUNDOG_WEIGHTS_Q4:
        return SUNDOG_GGUF_Q4_1;
    case SUNDOG_WEIGHTS_F8:
        return SUNDOG_GGUF_F8;
    case SUNDOG_WEIGHTS_KEEP:
        break;
    }
    return tensor->type;
}

static void
widen_f8(const uint8_t *row, int64_t n_columns, float *values)
{
    for (int64_t k = 0; k < n_columns; k += SUNDOG_F8_COLUMNS, row += SUNDOG_F8_BYTES) {
        float d;
        memcpy(&d, row, sizeof d);
        for (int64_t i = 0; i < SUNDOG_F8_COLUMNS; i++)
            values[k + i] = d * sundog_e4m3_to_f32(row[sizeof d + (size_t)i]);
    }
}

void
sundog_widen_row(uint32_t type, const uint8_t *row, int64_t n_columns, float *values)
{
    if (type == SUNDOG_GGUF_F8) {
        widen_f8(row, n_columns, values);
        return;
    }
    for (int64_t k = 0; k < n_columns; k++) {
        uint16_t half;
        if (type == SUNDOG_GGUF_F32) {
            memcpy(&values[k], row + 4 * k, 4);
            continue;
        }
        memcpy(&half, row + 2 * k, 2);
        values[k] = type == SUNDOG_GGUF_F16 ? sundog_f16_to_f32(half) : sundog_bf16_to_f32(half);
    }
}

static int
round_to(float value, int least, int most)
{
    return (int)CLAMP(rintf(value), (float)least, (float)most);
}

void
sundog_quantization_error_add(SundogQuantizationError *error, float value, float found)
{
    double difference = (double)value - (double)found;
    error->difference += difference * difference;
    error->norm += (double)value * (double)value;
}

static void
add_errors(const float *x, const float *found, int n, SundogQuantizationError *error)
{
    for (int i = 0; i < n; i++)
        sundog_quantization_error_add(error, x[i], found[i]);
}

static bool
quantize_q8_0(const float *x, uint8_t *block, SundogQuantizationError *error)
{
    float amax = 0, found[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        amax = MAX(amax, fabsf(x[i]));
    uint16_t half = sundog_f32_to_f16(amax / 127.0f);
    float d = sundog_f16_to_f32(half);
    memcpy(block, &half, 2);
    for (int i = 0; i < BLOCK; i++) {
        int q = d > 0 ? round_to(x[i] / d, -127, 127) : 0;
        block[2 + i] = (uint8_t)q;
        found[i] = d * (float)q;
    }
    add_errors(x, found, BLOCK, error);
    return isfinite(d);
}

static bool
quantize_f8(const float *x, uint8_t *block, SundogQuantizationError *error)
{
    float amax = 0, found[SUNDOG_F8_COLUMNS];
    for (int i = 0; i < SUNDOG_F8_COLUMNS; i++)
        amax = MAX(amax, fabsf(x[i]));
    float d = amax / F8_MOST;
    memcpy(block, &d, sizeof d);
    for (int i = 0; i < SUNDOG_F8_COLUMNS; i++)
        block[sizeof d + (size_t)i] = sundog_f32_to_e4m3(d > 0 ? x[i] / d : 0);
    widen_f8(block, SUNDOG_F8_COLUMNS, found);
    add_errors(x, found, SUNDOG_F8_COLUMNS, error);
    return true;
}

/* A line that values are put on: d q + m, with q from 0 to 15. */
typedef struct {
    float d;
    float m;
} Line;

/* The line of least squares through the values, where each has the q that `start` gives it. */
static Line
fit_line(const float *x, Line start)
{
    double sum_q = 0, sum_qq = 0, sum_x = 0, sum_qx = 0;
    float inverse = 1.0f / start.d;
    for (int i = 0; i < BLOCK; i++) {
        double q = round_to((x[i] - start.m) * inverse, 0, Q4_1_MOST);
        sum_q += q;
        sum_qq += q * q;
        sum_x += (double)x[i];
        sum_qx += q * (double)x[i];
    }
    double divisor = BLOCK * sum_qq - sum_q * sum_q;
    if (divisor <= 0)
        return start;
    double d = (BLOCK * sum_qx - sum_q * sum_x) / divisor;
    return (Line){.d = (float)d, .m = (float)((sum_x - d * sum_q) / BLOCK)};
}

/* Rounds the line to halves and puts the values on it; returns the sum of squares that they moved. */
static double
put_on_line(const float *x, Line *line, uint8_t *q, float *found)
{
    SundogQuantizationError error = {0};
    line->d = sundog_f16_to_f32(sundog_f32_to_f16(line->d));
    line->m = sundog_f16_to_f32(sundog_f32_to_f16(line->m));
    for (int i = 0; i < BLOCK; i++) {
        q[i] =
            line->d != 0 ? (uint8_t)round_to((x[i] - line->m) * (1.0f / line->d), 0, Q4_1_MOST) : 0;
        found[i] = fmaf(line->d, (float)q[i], line->m);
    }
    add_errors(x, found, BLOCK, &error);
    return error.difference;
}

static void
write_q4_1(const uint8_t *q, Line line, uint8_t *block)
{
    uint16_t d = sundog_f32_to_f16(line.d), m = sundog_f32_to_f16(line.m);
    memcpy(block, &d, 2);
    memcpy(block + 2, &m, 2);
    for (int i = 0; i < BLOCK / 2; i++)
        block[4 + i] = (uint8_t)(q[i] | q[i + BLOCK / 2] << 4);
}

static bool
quantize_q4_1(const float *x, uint8_t *block, SundogQuantizationError *error)
{
    float least = x[0], most = x[0], found[BLOCK];
    uint8_t q[BLOCK];
    for (int i = 1; i < BLOCK; i++) {
        least = MIN(least, x[i]);
        most = MAX(most, x[i]);
    }
    Line best = {.d = (most - least) / Q4_1_MOST, .m = least};
    double best_error = put_on_line(x, &best, q, found);
    for (int i = 0; i < N_RANGES && most > least; i++) {
        float cut = RANGE_STEP * (float)i * (most - least) / 2;
        Line start = {.d = (most - least - 2 * cut) / Q4_1_MOST, .m = least + cut};
        if (!(start.d > 0))
            break;
        Line line = fit_line(x, start);
        double moved = put_on_line(x, &line, q, found);
        if (moved < best_error) {
            best = line;
            best_error = moved;
        }
    }
    put_on_line(x, &best, q, found);
    add_errors(x, found, BLOCK, error);
    write_q4_1(q, best, block);
    return isfinite(best.d) && isfinite(best.m);
}

bool
sundog_quantize_row(uint32_t type, const float *values, int64_t n_columns, uint8_t *row,
                    SundogQuantizationError *error)
{
    bool ok = true;
    for (int64_t k = 0; k < n_columns; k++)
        ok = ok && isfinite(values[k]);
    int64_t block = type == SUNDOG_GGUF_F8 ? SUNDOG_F8_COLUMNS : BLOCK;
    for (int64_t k = 0; k < n_columns && ok; k += block) {
        ok = type == SUNDOG_GGUF_F8     ? quantize_f8(values + k, row, error)
             : type == SUNDOG_GGUF_Q4_1 ? quantize_q4_1(values + k, row, error)
                                        : quantize_q8_0(values + k, row, error);
        row += sundog_gguf_row_bytes(type, (uint64_t)block);
    }
    return ok;
}
