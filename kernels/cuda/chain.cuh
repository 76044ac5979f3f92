#pragma once

/*
 * How blocks of a chain leave x for each other. A group of 16 columns of a token is two lines of 16 bytes:
 * eight signed bytes, a word (the group's scale; the sum of its squares before the norm's weights), and a flag that
 * no earlier launch has left there. A line is stored and loaded whole, so that whoever sees the flag sees the rest:
 * no barrier, no fence, no counter to be cleared.
 *
 * In shared memory the bytes lie as rounded.cuh says, with a scale for 16 columns and a sum for 32.
 */

#include "kernels/cuda/barrier.cuh"
#include "kernels/cuda/rounded.cuh"

#define CHAIN_WARPS SUNDOG_CUDA_CHAIN_WARPS
#define CHAIN_GROUP SUNDOG_CUDA_CHAIN_GROUP
#define MAX_TRIES (1 << 24)

/* x of one token in shared memory. */
struct ChainToken {
    char *bytes;
    uint16_t *scales; /* bf16, a group each */
    float *sums;      /* scale times sum of bytes, of two groups each */
};

/* Of bytes that hold up to `most`: a bf16, rounded up. What is next to nothing becomes nothing. */
INLINE float
choose_scale(float most)
{
    float scale = most / 127.0f;
    return scale < 0x1p-100f ? 0 : __uint_as_float((__float_as_uint(scale) + 0xffff) & 0xffff0000);
}

INLINE float
choose_factor(float scale)
{
    return scale > 0 ? 1.0f / scale : 0;
}

INLINE void
store_line(char *to, uint32_t first, uint32_t second, uint32_t word, uint32_t flag)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .b128 v; .reg .b64 a, b; mov.b64 a, {%1, %2}; mov.b64 b, {%3, %4}; "
                 "mov.b128 v, {a, b}; st.relaxed.gpu.global.b128 [%0], v; }" ::"l"(to),
                 "r"(first), "r"(second), "r"(word), "r"(flag)
                 : "memory");
#endif
}

INLINE uint4
load_line(const char *from)
{
    uint4 line = {};
#if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .b128 v; .reg .b64 a, b; ld.relaxed.gpu.global.b128 v, [%4]; "
                 "mov.b128 {a, b}, v; mov.b64 {%0, %1}, a; mov.b64 {%2, %3}, b; }"
                 : "=r"(line.x), "=r"(line.y), "=r"(line.z), "=r"(line.w)
                 : "l"(from)
                 : "memory");
#endif
    return line;
}

/* The line once it has the flag. A block that was never begun beside this one would be waited for without end:
 * after some ten seconds the launch fails instead, which the host is told of. */
INLINE uint4
await_line(uint4 line, const char *from, uint32_t flag)
{
    for (int n_tries = 0; line.w != flag; n_tries++) {
        if (n_tries == MAX_TRIES)
            asm volatile("trap;");
        line = load_line(from);
    }
    return line;
}

/* One group into shared memory. All lanes of a warp call it, each with the group after its neighbour's. */
INLINE void
keep_group(const ChainToken &to, int group, bool is_there, const uint32_t (&words)[4], float scale)
{
    int sum = 0;
#pragma unroll
    for (int t = 0; t < 4; t++)
        sum = __dp4a((int)words[t], 0x01010101, sum);
    float own = scale * (float)sum, other = __shfl_xor_sync(~0u, own, 1);
    if (!is_there)
        return;
    char *bytes = to.bytes + group / 4 * 64 + group % 4 * 4;
#pragma unroll
    for (int t = 0; t < 4; t++)
        *(uint32_t *)(bytes + t * 16) = words[t];
    to.scales[group] = (uint16_t)(__float_as_uint(scale) >> 16);
    if (group % 2 == 0)
        to.sums[group / 2] = own + other;
}

/* Groups of a token from the lines of other blocks, as soon as each is there: from `first` on every `step`th.
 * Returns the sum of their squares. */
template <int AT_ONCE>
INLINE float
take_lines(const ChainToken &to, const char *lines, int n_groups, int first, int step,
           uint32_t flag)
{
    float squares = 0;
    int lane = threadIdx.x % 32;
    for (int base = first; base - lane < n_groups; base += AT_ONCE * step) {
        uint4 line[AT_ONCE][2];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const char *from =
                lines + (size_t)min(base + i * step, n_groups - 1) * SUNDOG_CUDA_LINES_GROUP_BYTES;
            line[i][0] = load_line(from);
            line[i][1] = load_line(from + 16);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            int group = base + i * step;
            const char *from =
                lines + (size_t)min(group, n_groups - 1) * SUNDOG_CUDA_LINES_GROUP_BYTES;
            line[i][0] = await_line(line[i][0], from, flag);
            line[i][1] = await_line(line[i][1], from + 16, flag);
            bool is_there = group < n_groups;
            const uint32_t words[4] = {line[i][0].x, line[i][0].y, line[i][1].x, line[i][1].y};
            keep_group(to, group, is_there, words, __uint_as_float(line[i][0].z));
            squares += is_there ? __uint_as_float(line[i][1].z) : 0;
        }
    }
    return squares;
}

/* The same from bf16 in memory, rounded here. */
INLINE void
take_floats(const ChainToken &to, const uint16_t *from, int n_groups, int first, int step)
{
    int lane = threadIdx.x % 32;
    for (int group = first; group - lane < n_groups; group += step) {
        bool is_there = group < n_groups;
        uint32_t pairs[8] = {}, words[4] = {};
        float most = 0;
        if (is_there) {
            const uint4 *groups = (const uint4 *)(from + (size_t)group * CHAIN_GROUP);
            uint4 low = __ldcg(groups), high = __ldcg(groups + 1);
            pairs[0] = low.x, pairs[1] = low.y, pairs[2] = low.z, pairs[3] = low.w;
            pairs[4] = high.x, pairs[5] = high.y, pairs[6] = high.z, pairs[7] = high.w;
        }
#pragma unroll
        for (int i = 0; i < 8; i++)
            most = fmaxf(most, fmaxf(fabsf(__uint_as_float(pairs[i] << 16)),
                                     fabsf(__uint_as_float(pairs[i] & 0xffff0000))));
        float scale = choose_scale(most), factor = choose_factor(scale);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            /* Columns 2 i and 2 i + 1: lane i mod 4's bytes 0 and 2, of the second half 1 and 3. */
            int even = __float2int_rn(__uint_as_float(pairs[i] << 16) * factor) & 0xff;
            int odd = __float2int_rn(__uint_as_float(pairs[i] & 0xffff0000) * factor) & 0xff;
            words[i % 4] |= (uint32_t)(even | odd << 16) << i / 4 * 8;
        }
        keep_group(to, group, is_there, words, scale);
    }
}

/* Largest and sum over the 16 lanes of a half warp. */
INLINE float
half_max(float value)
{
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

INLINE float
half_sum(float value)
{
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2)
        value += __shfl_xor_sync(~0u, value, distance);
    return value;
}

/* One group of results as lines: lane `row` of 16 has its value, `weighted` by the norm. Both halves of the
 * warp have the same. */
INLINE void
leave_lines(char *lines, float value, float weighted, uint32_t flag)
{
    int lane = threadIdx.x % 32;
    float most = half_max(fabsf(weighted)), squares = half_sum(value * value);
    float scale = choose_scale(most), factor = choose_factor(scale);
    uint32_t own = (uint32_t)(__float2int_rn(weighted * factor) & 0xff);
    uint32_t pair = own | __shfl_xor_sync(~0u, own, 8) << 8;
    uint32_t word = pair | __shfl_xor_sync(~0u, pair, 1) << 16;
    uint32_t next = __shfl_xor_sync(~0u, word, 2);
    if (lane == 0 || lane == 4)
        store_line(lines + lane * 4, word, next, __float_as_uint(lane == 0 ? scale : squares),
                   flag);
}

/*
 * Two blocks of 64 columns against one token: y of rows g and g + 8, of which each lane of four has the part of
 * its own 32 columns. One token fills one of eight columns of a fragment, so each has another group of 16
 * instead, and zeros in place of the rest: all sums of a block pair end in one fragment, a lane's two groups
 * side by side, and are scaled once for all. The second block counts where it is there.
 */
template <int LAYOUT>
INLINE void
multiply_pair(float (&y)[4], const char *block, bool has_second, const ChainToken &x, int at)
{
    constexpr bool has_minima = LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1;
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, c[4] = {0, 0, 0, 0};
    bool is_there = has_second || g < 4;
    uint32_t word = *(const uint32_t *)(x.bytes + (at + g / 4) * 64 + t * 16 + g % 4 * 4);
    word = is_there ? word : 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        Packed<LAYOUT> packed = load_packed<LAYOUT>(block + i * Tile<LAYOUT>::bytes);
#pragma unroll
        for (int group = 0; group < 2; group++) {
            int first = i * 4 + group * 2;
            uint32_t a[4];
            load_integers<LAYOUT>(a, packed, group);
            multiply_integers<LAYOUT>(c, a, g == first ? word : 0, g == first + 1 ? word : 0);
        }
    }
    if (!has_second && t >= 2)
        return;
    Scales w = load_own_scales<LAYOUT>(block + t / 2 * Tile<LAYOUT>::bytes, t % 2);
    uint32_t scales = *(const uint32_t *)(x.scales + at * 4 + t * 2);
    float low = __uint_as_float(scales << 16), high = __uint_as_float(scales & 0xffff0000);
    float sum = has_minima ? x.sums[at * 2 + t] : 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float both = fmaf(high, (float)c[i * 2 + 1], low * (float)c[i * 2]);
        y[i * 2] = fmaf(w.d[i], both, y[i * 2]);
        if constexpr (has_minima)
            y[i * 2] = fmaf(w.m[i], sum, y[i * 2]);
    }
}

/* One block of 64 columns, as multiply_rounded() with a scale for 16 columns. */
template <int LAYOUT>
INLINE void
multiply_chained(float (&y)[4], const char *block, const char *x, const uint16_t *scales0,
                 const uint16_t *scales1, const float *sums0, const float *sums1)
{
    constexpr bool has_minima = LAYOUT == SUNDOG_LAYOUT_TILE16_Q4_1;
    Packed<LAYOUT> packed = load_packed<LAYOUT>(block);
    uint4 b = *(const uint4 *)x;
    uint2 first = *(const uint2 *)scales0, second = *(const uint2 *)scales1;
    float2 minima0 = {}, minima1 = {};
    if constexpr (has_minima) {
        minima0 = *(const float2 *)sums0;
        minima1 = *(const float2 *)sums1;
    }
#pragma unroll
    for (int group = 0; group < 2; group++) {
        Scales w = load_own_scales<LAYOUT>(block, group);
        uint32_t a[4];
        int low[4] = {0, 0, 0, 0}, high[4] = {0, 0, 0, 0};
        load_integers<LAYOUT>(a, packed, group);
        multiply_integers_16<LAYOUT>(low, a[0], a[1], group == 0 ? b.x : b.z);
        multiply_integers_16<LAYOUT>(high, a[2], a[3], group == 0 ? b.y : b.w);
        const uint32_t pairs[2] = {group == 0 ? first.x : first.y,
                                   group == 0 ? second.x : second.y};
        const float sum[2] = {group == 0 ? minima0.x : minima0.y,
                              group == 0 ? minima1.x : minima1.y};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float at_low = __uint_as_float(pairs[i % 2] << 16);
            float at_high = __uint_as_float(pairs[i % 2] & 0xffff0000);
            float both = fmaf(at_high, (float)high[i], at_low * (float)low[i]);
            y[i] = fmaf(w.d[i / 2], both, y[i]);
            if constexpr (has_minima)
                y[i] = fmaf(w.m[i / 2], sum[i % 2], y[i]);
        }
    }
}
