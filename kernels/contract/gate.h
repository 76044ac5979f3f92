#pragma once

/*
 * gate: y = f(gate) * up, elementwise; each step rounded once. Where up is absent it counts as 1. Any
 * split. By number:
 *   silu       g / (1 + exp(-g))
 *   gelu_tanh  g / (1 + exp(-2 u)), u = sqrt(2 / pi) (g + 0.044715 g^3) in these steps:
 *              t = (g * g) * g; u2 = fma(t, 2 sqrt(2 / pi) 0.044715, g * (2 sqrt(2 / pi)))
 *              which is g (1 + tanh u) / 2 (Hendrycks and Gimpel 2016)
 *   tanh       math.h's
 *   gelu       (g / 2) (1 + erf(g / sqrt 2)), 1 / sqrt 2 as a factor, math.h's erf
 *   clamped    y = (u + 1) (g / (1 + exp(-1.702 g))), g the gate up to 7 and u up from -7 to 7
 *              (OpenAI 2025); the product of both brackets rounded last
 *   relu       g where it is above 0, else 0; of a product with itself the square of that (So et al. 2021)
 */

#include "kernels/contract/math.h"

/* Numbers in files. X(NAME, number) */
#define SUNDOG_GATES(X) \
    X(SILU, 0)          \
    X(GELU_TANH, 1)     \
    X(CLAMPED, 2)       \
    X(RELU, 3)          \
    X(GELU, 4)          \
    X(TANH, 5)

typedef enum {
#define X(name, number) SUNDOG_GATE_##name = number,
    SUNDOG_GATES(X)
#undef X
        SUNDOG_N_GATES
} SundogGate;

#define SUNDOG_SQRT_HALF 0x1.6a09e6p-1f

SUNDOG_SHARED float
sundog_gelu(float gate)
{
    return (gate * 0.5f) * (1.0f + sundog_erf(gate * SUNDOG_SQRT_HALF));
}

#define SUNDOG_GELU_LINEAR 0x1.988454p+0f
#define SUNDOG_GELU_CUBIC 0x1.2444f2p-4f

SUNDOG_SHARED float
sundog_silu(float gate)
{
    return gate / (1.0f + sundog_exp(-gate));
}

#define SUNDOG_CLAMPED_LIMIT 7.0f
#define SUNDOG_CLAMPED_SLOPE 1.702f

/* The whole of the result, since up has a part in it that is no factor. NaN stays NaN. */
SUNDOG_SHARED float
sundog_clamped(float gate, float up)
{
    gate = SUNDOG_CLAMPED_LIMIT < gate ? SUNDOG_CLAMPED_LIMIT : gate;
    up = SUNDOG_CLAMPED_LIMIT < up ? SUNDOG_CLAMPED_LIMIT : up;
    up = -SUNDOG_CLAMPED_LIMIT > up ? -SUNDOG_CLAMPED_LIMIT : up;
    return (up + 1.0f) * (gate / (1.0f + sundog_exp(-SUNDOG_CLAMPED_SLOPE * gate)));
}

SUNDOG_SHARED float
sundog_gelu_tanh(float gate)
{
    float cube = (gate * gate) * gate;
    float twice = fmaf(cube, SUNDOG_GELU_CUBIC, gate * SUNDOG_GELU_LINEAR);
    return gate / (1.0f + sundog_exp(-twice));
}

/* NaN counts as below 0. */
SUNDOG_SHARED float
sundog_relu(float gate)
{
    return gate > 0.0f ? gate : 0.0f;
}
