/* Operations on rows, element by element or head by head: a block a row, each thread or warp its share of it.
 * The contracts of their names say what they compute; sums have the contracts' order, so results have the
 * host's bits where they are float32. */

#include "kernels/cuda/gate.cuh"

#include "kernels/contract/sigmoid-mul.h"

INLINE float
load(const SundogCudaElements &p, int input, size_t at)
{
    return p.is_bf16[input] ? from_bf16(__ldcg((const uint16_t *)p.x[input] + at))
                            : __ldcg((const float *)p.x[input] + at);
}

/* Element k of this block's row of an input. */
INLINE float
load_column(const SundogCudaElements &p, int input, int k)
{
    return load(p, input, (size_t)blockIdx.x * p.columns[input] + k);
}

/* The same of an input that may have one value for the whole row. */
INLINE float
load_shared(const SundogCudaElements &p, int input, int k)
{
    return load_column(p, input, p.columns[input] == 1 ? 0 : k);
}

INLINE void
store_column(const SundogCudaElements &p, int k, float value)
{
    size_t at = (size_t)blockIdx.x * p.y_columns + k;
    if (p.y_is_bf16)
        ((uint16_t *)p.y)[at] = to_bf16(value);
    else
        ((float *)p.y)[at] = value;
}

template <class Function>
INLINE void
each_column(const SundogCudaElements &p, Function function)
{
    start_dependents();
    wait_for_predecessor();
    for (int k = threadIdx.x; k < p.y_columns; k += blockDim.x)
        store_column(p, k, function(k));
}

SUNDOG_ENTRY
sundog_scale(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p, [&](int k) { return load_column(p, 0, k) * p.number; });
}

SUNDOG_ENTRY
sundog_softcap(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p, [&](int k) { return p.number * sundog_tanh(load_column(p, 0, k) / p.number); });
}

SUNDOG_ENTRY
sundog_add(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p, [&](int k) { return load_column(p, 0, k) + load_column(p, 1, k); });
}

SUNDOG_ENTRY
sundog_subtract(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p, [&](int k) { return load_column(p, 0, k) - load_column(p, 1, k); });
}

SUNDOG_ENTRY
sundog_mul(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p, [&](int k) { return load_column(p, 0, k) * load_shared(p, 1, k); });
}

SUNDOG_ENTRY
sundog_scale_columns(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p, [&](int k) { return load_column(p, 0, k) * load(p, 1, k); });
}

SUNDOG_ENTRY
sundog_sigmoid_mul(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p, [&](int k) { return sundog_sigmoid(load_shared(p, 0, k)) * load_column(p, 1, k); });
}

SUNDOG_ENTRY
sundog_gate(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p,
        [&](int k) {
            float up = p.x[1] != NULL ? load_column(p, 1, k) : 1.0f;
            return gate_value(p.integers[0], load_column(p, 0, k), up);
        });
}

SUNDOG_ENTRY
sundog_join(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p,
        [&](int k) {
            if (k < p.columns[0])
                return load_column(p, 0, k);
            k -= p.columns[0];
            return k < p.columns[1] ? load_column(p, 1, k) : load_column(p, 2, k - p.columns[1]);
        });
}

/* Integers: stride, offset, size. */
SUNDOG_ENTRY
sundog_take(const __grid_constant__ SundogCudaElements p)
{
    each_column(
        p,
        [&](int k) {
            return load_column(
                p, 0, k / p.integers[2] * p.integers[0] + p.integers[1] + k % p.integers[2]);
        });
}

/* Streams side by side. Integers: streams of x, of y; inputs: x, coefficients, residual. */
SUNDOG_ENTRY
sundog_mix(const __grid_constant__ SundogCudaElements p)
{
    int n_from = p.integers[0], n = p.y_columns / p.integers[1];
    each_column(p, [&](int k) {
        float y = p.x[2] != NULL ? load_column(p, 2, k) : 0.0f;
        for (int i = 0; i < n_from; i++)
            y = fmaf(load_column(p, 1, k / n * n_from + i), load_column(p, 0, i * n + k % n), y);
        return y;
    });
}

/* In place. Integers: heads, heads of keys, size of a head, period, offset; inputs: positions, scales. */
SUNDOG_ENTRY
sundog_scale_queries(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int position = __ldcg((const int32_t *)p.x[0] + blockIdx.x);
    int which = min((position + p.integers[4]) / p.integers[3], p.columns[1] - 1);
    float scale = load(p, 1, which), *q = (float *)p.y + (size_t)blockIdx.x * p.y_columns;
    for (int k = threadIdx.x; k < p.integers[0] * p.integers[2]; k += blockDim.x)
        q[k] *= scale;
}

/* In place. Integers: heads, size of a head, dimensions that turn, whether pairs are neighbours; inputs:
 * positions, inverse frequencies. */
SUNDOG_ENTRY
sundog_rope(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int position = __ldcg((const int32_t *)p.x[0] + blockIdx.x), half = p.integers[2] / 2;
    float *row = (float *)p.y + (size_t)blockIdx.x * p.y_columns;
    for (int i = threadIdx.x; i < p.integers[0] * half; i += blockDim.x) {
        int pair = i % half;
        float *head = row + i / half * p.integers[1], sine, cosine;
        float *low = head + (p.integers[3] ? pair * 2 : pair);
        float *high = head + (p.integers[3] ? pair * 2 + 1 : pair + half);
        float x = *low, y = *high;
        sundog_sin_cos((float)position * load(p, 1, pair), &sine, &cosine);
        sine *= p.number;
        cosine *= p.number;
        *low = fmaf(x, cosine, -(y * sine));
        *high = fmaf(y, cosine, x * sine);
    }
}

/* Norms */

/* Partial sum k mod 32 by fma in rising k, then halves: a warp's lanes. */
template <class Value>
INLINE float
sum_squares(int n, Value value)
{
    float sum = 0;
    for (int k = threadIdx.x % 32; k < n; k += 32) {
        float x = value(k);
        sum = fmaf(x, x, sum);
    }
    return warp_sum(sum);
}

INLINE float
norm_factor(float sum, int n, float epsilon)
{
    return 1.0f / sqrtf(sum / (float)n + epsilon);
}

#define WARP ((int)threadIdx.x / 32)
#define N_WARPS ((int)blockDim.x / 32)
#define LANE ((int)threadIdx.x % 32)

/* In place. Integers: heads, heads of keys, size of a head; inputs: weights of q, k and v. */
SUNDOG_ENTRY
sundog_head_norm(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int n_q = p.integers[0], n_kv = p.integers[1], c = p.integers[2];
    for (int i = WARP; i < n_q + 2 * n_kv; i += N_WARPS) {
        int part = i < n_q ? 0 : i < n_q + n_kv ? 1 : 2;
        float *head = (float *)p.y + (size_t)blockIdx.x * p.y_columns + (size_t)i * c;
        if (p.x[part] == NULL)
            continue;
        float factor = norm_factor(sum_squares(c, [&](int k) { return head[k]; }), c, p.number);
        for (int k = LANE; k < c; k += 32)
            head[k] = head[k] * factor * load(p, part, k);
    }
}

/* Integers: groups. */
SUNDOG_ENTRY
sundog_group_norm(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int n = p.y_columns / p.integers[0];
    for (int group = WARP; group < p.integers[0]; group += N_WARPS) {
        int first = group * n;
        float factor = norm_factor(
            sum_squares(n, [&](int k) { return load_column(p, 0, first + k); }), n, p.number);
        for (int k = first + LANE; k < first + n; k += 32)
            store_column(p, k, load_column(p, 0, k) * factor * load(p, 1, k));
    }
}

/* Inputs: x, the weight of a head, the gate. */
SUNDOG_ENTRY
sundog_gated_norm(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int c = p.columns[1];
    for (int first = WARP * c; first < p.y_columns; first += N_WARPS * c) {
        float factor = norm_factor(
            sum_squares(c, [&](int k) { return load_column(p, 0, first + k); }), c, p.number);
        for (int k = LANE; k < c; k += 32)
            store_column(p, first + k,
                         load_column(p, 0, first + k) * factor * load(p, 1, k) *
                             sundog_silu(load_column(p, 2, first + k)));
    }
}

/* Streams as large as a reference; inputs: x, the reference. */
SUNDOG_ENTRY
sundog_match_norm(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int n = p.columns[1];
    float wanted = sqrtf(sum_squares(n, [&](int k) { return load_column(p, 1, k); }) / (float)n);
    for (int first = WARP * n; first < p.y_columns; first += N_WARPS * n) {
        float square =
            sum_squares(n, [&](int k) { return load_column(p, 0, first + k); }) / (float)n;
        float factor = wanted / sqrtf(square < p.number ? p.number : square);
        for (int k = LANE; k < n; k += 32)
            store_column(p, first + k, load_column(p, 0, first + k) * factor);
    }
}

/* Of a row, by one warp. */
INLINE float
find_mean(const SundogCudaElements &p, int n)
{
    float sum = 0;
    for (int k = LANE; k < n; k += 32)
        sum += load_column(p, 0, k);
    return warp_sum(sum) / (float)n;
}

/* One warp a row. */
SUNDOG_ENTRY
sundog_sparsify(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int n = p.y_columns;
    if (WARP > 0)
        return;
    float mean = find_mean(p, n);
    float sum = sum_squares(n, [&](int k) { return load_column(p, 0, k) - mean; });
    float cut = fmaf(sqrtf(sum / (float)n), p.number, mean);
    for (int k = LANE; k < n; k += 32) {
        float x = load_column(p, 0, k);
        store_column(p, k, x > cut ? x - cut : 0.0f);
    }
}

/* One warp a row; inputs: x, weight, bias. */
SUNDOG_ENTRY
sundog_layer_norm(const __grid_constant__ SundogCudaElements p)
{
    start_dependents();
    wait_for_predecessor();
    int n = p.y_columns;
    if (WARP > 0)
        return;
    float mean = find_mean(p, n);
    float factor = norm_factor(sum_squares(n, [&](int k) { return load_column(p, 0, k) - mean; }),
                               n, p.number);
    for (int k = LANE; k < n; k += 32)
        store_column(p, k,
                     fmaf((load_column(p, 0, k) - mean) * factor, load(p, 1, k),
                          p.x[2] != NULL ? load(p, 2, k) : 0.0f));
}
