/* Plain floats. */

#include "engine/model/floats.h"

#include <math.h>
#include <string.h>

size_t
sundog_float_bytes(uint32_t type)
{
    switch (type) {
    case SUNDOG_GGUF_F32:
        return 4;
    case SUNDOG_GGUF_F16:
    case SUNDOG_GGUF_BF16:
        return 2;
    default:
        return 0;
    }
}

float
sundog_float_from_f16(uint16_t half)
{
    int exponent = half >> 10 & 31;
    float fraction = (float)(half & 1023);
    float magnitude = exponent == 0    ? ldexpf(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? HUGE_VALF : nanf(""))
                                       : ldexpf(fraction + 1024, exponent - 25);
    return half >> 15 != 0 ? -magnitude : magnitude;
}

float
sundog_float_from_e4m3(uint8_t code)
{
    int exponent = code >> 3 & 15;
    float fraction = (float)(code & 7);
    float magnitude = exponent == 0 ? ldexpf(fraction, -9) : ldexpf(8 + fraction, exponent - 10);
    if ((code & 127) == 127)
        magnitude = nanf("");
    return code & 128 ? -magnitude : magnitude;
}

float
sundog_float_get(uint32_t type, const uint8_t *values, size_t index)
{
    float value;
    uint16_t half;
    if (type == SUNDOG_GGUF_F32) {
        memcpy(&value, values + index * sizeof(value), sizeof(value));
        return value;
    }
    memcpy(&half, values + index * sizeof(half), sizeof(half));
    if (type == SUNDOG_GGUF_F16)
        return sundog_float_from_f16(half);
    uint32_t bits = (uint32_t)half << 16;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

bool
sundog_float_to_f16(float value, uint16_t *half)
{
    int exponent;
    if (!isfinite(value))
        return false;
    float fraction = frexpf(fabsf(value), &exponent); /* [0.5, 1) */
    /* Of 2^-24, the smallest half, or of the last of 11 bits. */
    int unit = MAX(exponent - 11, -24);
    float units = ldexpf(fraction, exponent - unit);
    if (units != truncf(units) || exponent > 16)
        return false;
    uint32_t number = (uint32_t)units;
    uint32_t bits = number < 1024 ? number : (uint32_t)(unit + 25) << 10 | (number & 1023);
    *half = (uint16_t)(bits | (signbit(value) ? 0x8000u : 0));
    return true;
}
