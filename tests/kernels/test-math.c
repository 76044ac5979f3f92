/* The exponential, sine, cosine and half precision that kernels are defined by, against double. */

#include "kernels/contract/math.h"
#include <glib.h>

/* Distance in units of the last place of the true value. */
static double
error_in_places(float value, double truth)
{
    int exponent;
    frexp(truth, &exponent);
    return fabs((double)value - truth) / ldexp(1.0, exponent - 24);
}

static void
test_exp(void)
{
    double worst = 0;
    for (float x = -86.9f; x < 88.0f; x += 0.00037f)
        worst = MAX(worst, error_in_places(sundog_exp(x), exp(x)));
    g_test_message("exp: %.3f units of the last place at most", worst);
    g_assert_cmpfloat(worst, <, 2.0);
    g_assert_cmpfloat(sundog_exp(0.0f), ==, 1.0f);
    g_assert_cmpfloat(sundog_exp(-1e30f), ==, sundog_exp(-87.0f));
    g_assert_cmpfloat(sundog_exp(1e30f), ==, sundog_exp(88.0f));
    g_assert_cmpfloat(sundog_exp(-INFINITY), >, 0.0f);
    g_assert_true(isfinite(sundog_exp(INFINITY)));
    g_assert_true(isnan(sundog_exp(NAN)));
    g_assert_true(isnan(sundog_exp(sundog_float_from_bits(0xffffffff))));
}

static void
test_tanh(void)
{
    double worst = 0;
    for (float x = -50.0f; x < 50.0f; x += 0.00037f)
        worst = MAX(worst, fabs(sundog_tanh(x) - tanh(x)));
    g_test_message("tanh: %.3g at most", worst);
    g_assert_cmpfloat(worst, <, 0x1p-23);
    g_assert_cmpfloat(sundog_tanh(0.0f), ==, 0.0f);
    g_assert_cmpfloat(sundog_tanh(-INFINITY), ==, -1.0f);
    g_assert_cmpfloat(sundog_tanh(INFINITY), ==, 1.0f);
    g_assert_true(isnan(sundog_tanh(NAN)));
}

static void
test_erf(void)
{
    double worst = 0;
    for (float x = -12.0f; x < 12.0f; x += 0.00037f)
        worst = MAX(worst, fabs(sundog_erf(x) - erf(x)));
    g_test_message("erf: %.3g at most", worst);
    g_assert_cmpfloat(worst, <, 0x1p-21);
    g_assert_cmpfloat(sundog_erf(-INFINITY), ==, -1.0f);
    g_assert_cmpfloat(sundog_erf(INFINITY), ==, 1.0f);
    g_assert_true(isnan(sundog_erf(NAN)));
}

static void
test_sin_cos(void)
{
    double worst = 0;
    for (float angle = -140.0f; angle < 131072.0f; angle += angle < 10 ? 0.0031f : 0.37f) {
        float sine, cosine;
        sundog_sin_cos(angle, &sine, &cosine);
        worst = MAX(worst, fabs(sine - sin(angle)));
        worst = MAX(worst, fabs(cosine - cos(angle)));
    }
    g_test_message("sine and cosine: %.3g at most", worst);
    g_assert_cmpfloat(worst, <, 0x1p-22);
}

static void
test_half(void)
{
    for (uint32_t half = 0; half < 0x10000; half++) {
        float value = sundog_f16_to_f32((uint16_t)half);
        if (isnan(value)) {
            g_assert_true(isnan(sundog_f16_to_f32(sundog_f32_to_f16(value))));
            continue;
        }
        g_assert_cmpuint(sundog_f32_to_f16(value), ==, half);
        /* Between two neighbours: the nearer, and the even one in the middle. */
        if ((half & 0x7fff) >= 0x7bff)
            continue;
        float next = sundog_f16_to_f32((uint16_t)(half + 1));
        float middle = (float)(((double)value + next) / 2);
        g_assert_cmpuint(sundog_f32_to_f16(middle), ==, half + (half & 1));
        g_assert_cmpuint(sundog_f32_to_f16(nextafterf(middle, value)), ==, half);
        g_assert_cmpuint(sundog_f32_to_f16(nextafterf(middle, next)), ==, half + 1);
    }
    g_assert_cmpuint(sundog_f32_to_f16(65519.99f), ==, 0x7bff);
    g_assert_cmpuint(sundog_f32_to_f16(65520.0f), ==, 0x7c00);
    g_assert_cmpuint(sundog_f32_to_f16(-INFINITY), ==, 0xfc00);
}

/* All codes against what OCP's format says of their bits, and the way back: the nearest, the even one in the
 * middle. */
static void
test_e4m3(void)
{
    for (unsigned code = 0; code < 256; code++) {
        int exponent = code >> 3 & 15;
        double fraction = code & 7;
        double size = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
        float value = sundog_e4m3_to_f32((uint8_t)code);
        g_assert_cmpfloat((double)value, ==, code & 128 ? -size : size);
        g_assert_cmpint(signbit(value) != 0, ==, code >> 7);
        if ((code & 127) >= 126)
            continue;
        g_assert_cmpuint(sundog_f32_to_e4m3(value), ==, code);
        float next = sundog_e4m3_to_f32((uint8_t)(code + 1)), middle = (value + next) / 2;
        g_assert_cmpuint(sundog_f32_to_e4m3(middle), ==, code + (code & 1));
        g_assert_cmpuint(sundog_f32_to_e4m3(nextafterf(middle, value)), ==, code);
        g_assert_cmpuint(sundog_f32_to_e4m3(nextafterf(middle, next)), ==, code + 1);
    }
    g_assert_cmpuint(sundog_f32_to_e4m3(463.9f), ==, 0x7e);
    g_assert_cmpuint(sundog_f32_to_e4m3(-INFINITY), ==, 0xfe);
    g_assert_cmpuint(sundog_f32_to_e4m3(1e-30f), ==, 0);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/math/exp", test_exp);
    g_test_add_func("/kernels/math/tanh", test_tanh);
    g_test_add_func("/kernels/math/erf", test_erf);
    g_test_add_func("/kernels/math/sin-cos", test_sin_cos);
    g_test_add_func("/kernels/math/half", test_half);
    g_test_add_func("/kernels/math/e4m3", test_e4m3);
    return g_test_run();
}
