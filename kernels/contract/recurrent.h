#pragma once

/*
 * Operations with recurrent state: short_conv, gated_delta and state_space. What a sequence's earlier tokens have come to
 * lies in slot state_slot[s] of the state; rows first_row[s] to first_row[s + 1] of the step go on from
 * it, one after the other, and leave theirs there. Where start_position[s] is 0 there are no earlier
 * tokens and the state counts as zero, whatever lies there. Slot 0 is the null one: it counts as zero
 * and is never written. No two sequences of a step have one slot.
 *
 * Each row's bits depend on the rows before it alone, however they were cut into steps.
 *
 * short_conv   A channel's last `width` inputs, the oldest first, x[0] to x[width - 1]:
 *                y = fma over j in rising order of weight[c][j], x[j], from bias[c] or 0
 *              then, where silu is not 0, y / (1 + exp(-y)). The state is the last width - 1 inputs of
 *              each channel, the oldest first. Channels may be split over threads.
 * gated_delta  Linear attention by the gated delta rule (Yang et al. 2024). qkv is, side by side, q and k
 *              of G key heads of K values and v of H value heads of V values. Value head h has the key
 *              head h / (H / G), or h mod G where is_tiled is not 0. For each row, with S the state
 *              [K, V] of the head, each step rounded once:
 *                q' = q (1 / sqrt(|q|^2 + 1e-6) * (1 / sqrt(K))), k' = k / sqrt(|k|^2 + 1e-6): squares are
 *                summed as in rms-norm.h, the divisions are by reciprocals
 *                g = exp(decay[h] * softplus(alpha + step[h])), b = 1 / (1 + exp(-beta))
 *                S[i][j] = S[i][j] * g; m[j] = fma over i in rising order of S[i][j], k'[i], from 0
 *                d[j] = (v[j] - m[j]) * b
 *                S[i][j] = fma(k'[i], d[j], S[i][j]); y[j] = fma over i of S[i][j], q'[i], from 0
 *              Heads and sequences may be split over threads; K and V are at most 256.
 * state_space  A state space with one decay a head (Dao and Gu 2024). xbc is, side by side, x of H heads
 *              of V values, then b and c of G groups of K values. Head h has the b and c of group
 *              h / (H / G), and a state S [K, V]. For each row, with dt the row's of the head:
 *                s = softplus(dt + step[h]); a = exp(decay[h] * s)
 *                S[i][j] = fma(b[i] * s, x[j], S[i][j] * a)
 *                y[j] = fma over i in rising order of S[i][j], c[i], from skip[h] * x[j]
 *              Heads and sequences may be split over threads; K and V are at most 256.
 */

#include "kernels/contract/math.h"

#define SUNDOG_NULL_STATE_SLOT 0
#define SUNDOG_DELTA_MAX_DIM 256
#define SUNDOG_DELTA_EPSILON 1e-6f
#define SUNDOG_LN_2 0x1.62e430p-1f

/* The natural logarithm of a normal number above 0, within 3 units of the last place: the series of
 * artanh over [sqrt(1/2), sqrt(2)]. */
SUNDOG_SHARED float
sundog_log(float x)
{
    uint32_t bits = sundog_float_bits(x);
    float n = (float)((int32_t)(bits >> 23) - 127);
    float m = sundog_float_from_bits((bits & 0x7fffff) | 0x3f800000);
    bool is_high = m > 0x1.6a09e6p+0f;
    m = is_high ? m * 0.5f : m;
    n = is_high ? n + 1.0f : n;
    float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    float p = fmaf(z, 2.0f / 11.0f, 2.0f / 9.0f);
    p = fmaf(z, p, 2.0f / 7.0f);
    p = fmaf(z, p, 2.0f / 5.0f);
    p = fmaf(z, p, 2.0f / 3.0f);
    p = fmaf(z, p, 2.0f);
    return fmaf(n, SUNDOG_LN_2, s * p);
}

/* log(1 + e^x); what rounding 1 + e^x lost is put back. */
SUNDOG_SHARED float
sundog_softplus(float x)
{
    if (x > 20.0f)
        return x;
    float e = sundog_exp(x), u = 1.0f + e;
    return sundog_log(u) - ((u - 1.0f) - e) / u;
}
