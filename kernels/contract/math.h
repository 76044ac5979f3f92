#pragma once

/*
 * The functions of real numbers that operations are defined by, step by step, so that every version of
 * a kernel follows the same roundings. All steps are float32, rounded to nearest even; "fma" is one
 * rounding. The polynomials are minimax fits over the reduced range, made for this project.
 *
 * Written without branches, so that a compiler may run one lane an element.
 */

#include "kernels/contract/types.h"

#include <math.h>
#include <string.h>

#define SUNDOG_EXP_LOWEST -87.0f
#define SUNDOG_EXP_HIGHEST 88.0f
#define SUNDOG_LOG2_E 0x1.715476p+0f
#define SUNDOG_LN2_HIGH 0x1.62e430p-1f
#define SUNDOG_LN2_LOW -0x1.05c610p-29f
/* Adding it rounds to an integer, which then stands in the low bits: 1.5 * 2^23. */
#define SUNDOG_ROUNDING 12582912.0f
/* exp(r) = 1 + r + r^2 (C0 + C1 r + C2 r^2 + C3 r^3 + C4 r^4) for |r| <= ln 2 / 2 */
#define SUNDOG_EXP_C0 0x1.fffffcp-2f
#define SUNDOG_EXP_C1 0x1.555492p-3f
#define SUNDOG_EXP_C2 0x1.5558f2p-5f
#define SUNDOG_EXP_C3 0x1.123a20p-7f
#define SUNDOG_EXP_C4 0x1.6a23d0p-10f

/* erf(x) = 1 - exp(-x^2) t (E0 + E1 t + ... + E6 t^6) with t = 1 / (1 + E x) for x >= 0 */
#define SUNDOG_ERF_E 0x1.e147aep-2f
#define SUNDOG_ERF_E0 0x1.0fe28cp-2f
#define SUNDOG_ERF_E1 0x1.042816p-2f
#define SUNDOG_ERF_E2 0x1.44e352p-2f
#define SUNDOG_ERF_E3 -0x1.839c42p-4f
#define SUNDOG_ERF_E4 0x1.2818eep-1f
#define SUNDOG_ERF_E5 -0x1.9fc0f6p-2f
#define SUNDOG_ERF_E6 0x1.5e20dcp-4f

#define SUNDOG_2_OVER_PI 0x1.45f306p-1f
#define SUNDOG_PI_2_HIGH 0x1.921fb6p+0f
#define SUNDOG_PI_2_MIDDLE -0x1.777a5cp-25f
#define SUNDOG_PI_2_LOW -0x1.ee59dap-50f
/* sin(r) = r + r^3 (S0 + S1 r^2 + S2 r^4), cos(r) = 1 - r^2 / 2 + r^4 (T0 + T1 r^2 + T2 r^4)
 * for |r| <= pi / 4 */
#define SUNDOG_SIN_S0 -0x1.555546p-3f
#define SUNDOG_SIN_S1 0x1.11074cp-7f
#define SUNDOG_SIN_S2 -0x1.9947cap-13f
#define SUNDOG_COS_T0 0x1.55554ap-5f
#define SUNDOG_COS_T1 -0x1.6c0c76p-10f
#define SUNDOG_COS_T2 0x1.99fc26p-16f

SUNDOG_SHARED uint32_t
sundog_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

SUNDOG_SHARED float
sundog_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Floats of 8 bits, "e4m3" of the OCP's: 4 bits of exponent, 3 of fraction, subnormal numbers, no infinity.
 * The code of all ones, which is not a number there, counts as 480. */
SUNDOG_SHARED float
sundog_e4m3_to_f32(uint8_t code)
{
    /* The same bits as a float32 lie 2^120 lower; a subnormal number would too, but for processors that
     * have none: it is a multiple of 2^-9. */
    uint32_t bits = code & 0x7fu, sign = (uint32_t)(code & 0x80) << 24;
    float value =
        bits < 8 ? (float)bits * 0x1p-9f : sundog_float_from_bits((bits << 20) + (120u << 23));
    return sundog_float_from_bits(sundog_float_bits(value) | sign);
}

/* The nearest, to even between two; what is beyond 448 counts as 448. NaN gives 448 too. */
SUNDOG_SHARED uint8_t
sundog_f32_to_e4m3(float value)
{
    uint32_t all = sundog_float_bits(value), bits = all & 0x7fffffffu, sign = all >> 24 & 0x80;
    uint32_t code = 0x7e;
    if (bits < 121u << 23) /* below 2^-6: steps of 2^-9 */
        code = (uint32_t)rintf(sundog_float_from_bits(bits) * 0x1p9f);
    else if (bits < (135u << 23 | 0x680000u)) /* 464, half way from 448 to 480 */
        code = (bits + 0x7ffffu + (bits >> 20 & 1) - (120u << 23)) >> 20;
    return (uint8_t)(code | sign);
}

/* e^x within 2 units of the last place; x outside [-87, 88] counts as the nearer end, so the result
 * is a positive finite number. NaN stays NaN. */
SUNDOG_SHARED float
sundog_exp(float x)
{
    x = SUNDOG_EXP_HIGHEST < x ? SUNDOG_EXP_HIGHEST : x;
    x = SUNDOG_EXP_LOWEST > x ? SUNDOG_EXP_LOWEST : x;
    float t = fmaf(x, SUNDOG_LOG2_E, SUNDOG_ROUNDING);
    float n = t - SUNDOG_ROUNDING;
    float r = fmaf(n, -SUNDOG_LN2_HIGH, x);
    r = fmaf(n, -SUNDOG_LN2_LOW, r);
    float p = fmaf(SUNDOG_EXP_C4, r, SUNDOG_EXP_C3);
    p = fmaf(p, r, SUNDOG_EXP_C2);
    p = fmaf(p, r, SUNDOG_EXP_C1);
    p = fmaf(p, r, SUNDOG_EXP_C0);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    /* 2^n, a normal number for every n that the range leaves. */
    return p * sundog_float_from_bits((sundog_float_bits(t) + 127u) << 23);
}

/* tanh x within 2^-23 absolutely, from e^(-2 |x|). NaN stays NaN. */
SUNDOG_SHARED float
sundog_tanh(float x)
{
    uint32_t sign = sundog_float_bits(x) & 0x80000000u;
    float decay = sundog_exp(-2.0f * sundog_float_from_bits(sundog_float_bits(x) & 0x7fffffffu));
    float result = (1.0f - decay) / (1.0f + decay);
    return sundog_float_from_bits(sundog_float_bits(result) | sign);
}

/* The error function within 2^-21 absolutely. NaN stays NaN. */
SUNDOG_SHARED float
sundog_erf(float x)
{
    uint32_t sign = sundog_float_bits(x) & 0x80000000u;
    float size = sundog_float_from_bits(sundog_float_bits(x) & 0x7fffffffu);
    float t = 1.0f / fmaf(size, SUNDOG_ERF_E, 1.0f);
    float p = fmaf(SUNDOG_ERF_E6, t, SUNDOG_ERF_E5);
    p = fmaf(p, t, SUNDOG_ERF_E4);
    p = fmaf(p, t, SUNDOG_ERF_E3);
    p = fmaf(p, t, SUNDOG_ERF_E2);
    p = fmaf(p, t, SUNDOG_ERF_E1);
    p = fmaf(p, t, SUNDOG_ERF_E0);
    float result = fmaf(-(p * t), sundog_exp(-(size * size)), 1.0f);
    return sundog_float_from_bits(sundog_float_bits(result) ^ sign);
}

/* Sine and cosine of an angle of at most 2^17 in magnitude, within 2^-22 absolutely. */
SUNDOG_SHARED void
sundog_sin_cos(float angle, float *sine, float *cosine)
{
    float t = fmaf(angle, SUNDOG_2_OVER_PI, SUNDOG_ROUNDING);
    float n = t - SUNDOG_ROUNDING;
    float r = fmaf(n, -SUNDOG_PI_2_HIGH, angle);
    r = fmaf(n, -SUNDOG_PI_2_MIDDLE, r);
    r = fmaf(n, -SUNDOG_PI_2_LOW, r);
    float z = r * r;
    float s = fmaf(fmaf(SUNDOG_SIN_S2, z, SUNDOG_SIN_S1), z, SUNDOG_SIN_S0);
    s = fmaf(s * z, r, r);
    float c = fmaf(fmaf(SUNDOG_COS_T2, z, SUNDOG_COS_T1), z, SUNDOG_COS_T0);
    c = fmaf(c, z, -0.5f);
    c = fmaf(c, z, 1.0f);
    /* Quadrants: (s, c), (c, -s), (-s, -c), (-c, s). */
    uint32_t quadrant = sundog_float_bits(t);
    uint32_t swap = 0u - (quadrant & 1u);
    uint32_t sine_bits = sundog_float_bits(s), cosine_bits = sundog_float_bits(c);
    uint32_t difference = (sine_bits ^ cosine_bits) & swap;
    *sine = sundog_float_from_bits((sine_bits ^ difference) ^ ((quadrant & 2u) << 30));
    *cosine = sundog_float_from_bits((cosine_bits ^ difference) ^ (((quadrant + 1u) & 2u) << 30));
}

/* IEEE half precision. Exact upwards; downwards rounded to nearest even, with subnormals, to infinity
 * past the largest. NaN stays NaN, quiet. */
SUNDOG_SHARED float
sundog_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
    if (exponent == 31)
        return sundog_float_from_bits(sign | 0x7f800000 | mantissa << 13 |
                                      (mantissa != 0 ? 0x400000 : 0));
    if (exponent == 0)
        return sundog_float_from_bits(sign | sundog_float_bits((float)mantissa * 0x1p-24f));
    return sundog_float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

SUNDOG_SHARED uint16_t
sundog_f32_to_f16(float value)
{
    uint32_t bits = sundog_float_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x477ff000) /* 65520 and above */
        return sign | 0x7c00;
    if (bits < 0x38800000) { /* below 2^-14: the sum rounds at the subnormals' last place */
        float sum = sundog_float_from_bits(bits) + 0.5f;
        return (uint16_t)(sign | (sundog_float_bits(sum) - 0x3f000000));
    }
    uint32_t odd = bits >> 13 & 1;
    return (uint16_t)(sign | (bits - 0x38000000 + 0xfff + odd) >> 13);
}

/* bf16: the upper half of a float32. Downwards rounded to nearest even. */
SUNDOG_SHARED float
sundog_bf16_to_f32(uint16_t value)
{
    return sundog_float_from_bits((uint32_t)value << 16);
}

SUNDOG_SHARED uint16_t
sundog_f32_to_bf16(float value)
{
    uint32_t bits = sundog_float_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A factor of products by pairs (attention.h): bf16, with zero for magnitudes below 2^-40, so that neither
 * products nor sums of them are subnormal, which processors with such products take for zero. */
#define SUNDOG_BF16_LOWEST_FACTOR 0x2b800000u /* 2^-40 */

SUNDOG_SHARED uint16_t
sundog_f32_to_bf16_factor(float value)
{
    uint32_t magnitude = sundog_float_bits(value) & 0x7fffffff;
    return magnitude < SUNDOG_BF16_LOWEST_FACTOR ? 0 : sundog_f32_to_bf16(value);
}
