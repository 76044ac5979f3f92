#pragma once

/*
 * Tensor-core products of a warpgroup (wgmma, sm_90a): sums [64, N] += a [64, 16] b [N, 16]^T. Each of
 * its four warps gives 16 rows of a from registers, in the order of mma.m16n8k16's A operand, and has the
 * same rows of the sums, in the order of its C operand, 8 columns after the other. b lies in shared memory
 * in rows of 64 values whose 16-byte pieces are exchanged as SWIZZLE_128B of a tensor map says: rows of k
 * for one column of the sums, or, transposed, rows of columns for one k. a may lie so as well, rows of k for one
 * row of the sums.
 */

#include "kernels/cuda/device.cuh"

/* What tells the tensor cores where b lies: `address` is that of a whole number of 1024 bytes, eight rows
 * take 1024 bytes; each further 16 values of k are 2 more. */
INLINE uint64_t
describe_rows(uint32_t address)
{
    return (uint64_t)(address >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

/* The same for transposed rows, of which the next 64 columns lie `n_bytes` further; each further 16 values
 * of k are 128 more. */
INLINE uint64_t
describe_columns(uint32_t address, uint32_t n_bytes)
{
    return (uint64_t)(address >> 4) | (uint64_t)(n_bytes >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           1ull << 62;
}

/* Before the first product after registers were written by anything else. */
INLINE void
begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

INLINE void
commit_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until at most LEFT committed groups are under way. */
template <int LEFT>
INLINE void
wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

/* After the last wait and before the sums are used: the compiler does not know that waiting changed them. */
template <int N>
INLINE void
settle_sums(float (&y)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(y[i])::"memory");
}

/* Gives registers of this warpgroup back, or takes them: a multiple of 8, the same for all its threads. */
template <int N>
INLINE void
keep_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N>
INLINE void
take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

/* Names of operands ten by ten, and operands four by four. */
#define TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define SUM4(y, i) "+f"(y[i]), "+f"(y[i + 1]), "+f"(y[i + 2]), "+f"(y[i + 3])
#define SUM16(y, i) SUM4(y, i), SUM4(y, i + 4), SUM4(y, i + 8), SUM4(y, i + 12)
#define SUM64(y, i) SUM16(y, i), SUM16(y, i + 16), SUM16(y, i + 32), SUM16(y, i + 48)

/* `adds` is false where the sums begin at zero, whatever the registers hold. */
#define PRODUCT(name, n, transposed, names, a0, a1, a2, a3, b, flag, ...)                          \
    INLINE void name(float(&y)[n / 2], const uint32_t *a, uint64_t at, bool adds)                  \
    {                                                                                              \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %" flag ", 0; "                               \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" names "}, {%" a0 \
                     ",%" a1 ",%" a2 ",%" a3 "}, %" b ", p, 1, 1, " transposed "; }"               \
                     : __VA_ARGS__                                                                 \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(at), "r"((int)adds));       \
    }

#define TENS_TO_5 TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5")
#define TENS_TO_11 TEN("6") TEN("7") TEN("8") TEN("9") TEN("10") TEN("11")
#define NAMES_32 TEN("") TEN("1") TEN("2") "%30,%31"
#define NAMES_64 TENS_TO_5 "%60,%61,%62,%63"
#define NAMES_128 TENS_TO_5 TENS_TO_11 "%120,%121,%122,%123,%124,%125,%126,%127"

PRODUCT(multiply_8, 8, "0", "%0,%1,%2,%3", "4", "5", "6", "7", "8", "9", SUM4(y, 0))
PRODUCT(multiply_16, 16, "0", "%0,%1,%2,%3,%4,%5,%6,%7", "8", "9", "10", "11", "12", "13",
        SUM4(y, 0), SUM4(y, 4))
PRODUCT(multiply_32, 32, "0", TEN("") "%10,%11,%12,%13,%14,%15", "16", "17", "18", "19", "20", "21",
        SUM16(y, 0))
PRODUCT(multiply_64, 64, "0", NAMES_32, "32", "33", "34", "35", "36", "37", SUM16(y, 0),
        SUM16(y, 16))
PRODUCT(multiply_128, 128, "0", NAMES_64, "64", "65", "66", "67", "68", "69", SUM64(y, 0))
PRODUCT(multiply_256, 256, "0", NAMES_128, "128", "129", "130", "131", "132", "133", SUM64(y, 0),
        SUM64(y, 64))

PRODUCT(multiply_columns_64, 64, "1", NAMES_32, "32", "33", "34", "35", "36", "37", SUM16(y, 0),
        SUM16(y, 16))
PRODUCT(multiply_columns_256, 256, "1", NAMES_128, "128", "129", "130", "131", "132", "133",
        SUM64(y, 0), SUM64(y, 64))
PRODUCT(multiply_columns_128, 128, "1", NAMES_64, "64", "65", "66", "67", "68", "69", SUM64(y, 0))

template <int N>
INLINE void
multiply_columns(float (&y)[N / 2], const uint32_t *a, uint64_t at, bool adds)
{
    if constexpr (N == 64)
        multiply_columns_64(y, a, at, adds);
    else if constexpr (N == 128)
        multiply_columns_128(y, a, at, adds);
    else
        multiply_columns_256(y, a, at, adds);
}

/* The same with a from shared memory too, in rows that describe_rows() describes. */
INLINE void
multiply_shared_columns(float (&y)[32], uint64_t a, uint64_t b, bool adds)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" NAMES_32
                 "}, %32, %33, p, 1, 1, 0, 1; }"
                 : SUM16(y, 0), SUM16(y, 16)
                 : "l"(a), "l"(b), "r"((int)adds));
}

template <int N>
INLINE void
multiply_rows(float (&y)[N / 2], const uint32_t *a, uint64_t at, bool adds)
{
    if constexpr (N == 8)
        multiply_8(y, a, at, adds);
    else if constexpr (N == 16)
        multiply_16(y, a, at, adds);
    else if constexpr (N == 32)
        multiply_32(y, a, at, adds);
    else if constexpr (N == 64)
        multiply_64(y, a, at, adds);
    else if constexpr (N == 128)
        multiply_128(y, a, at, adds);
    else
        multiply_256(y, a, at, adds);
}

#undef TEN
#undef SUM4
#undef SUM16
#undef SUM64
#undef PRODUCT
#undef TENS_TO_5
#undef TENS_TO_11
#undef NAMES_32
#undef NAMES_64
#undef NAMES_128
