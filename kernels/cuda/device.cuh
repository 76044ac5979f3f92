#pragma once

/* What the kernels share: edges between launches, bf16 pairs, tensor-core products, asynchronous
 * copies. Everything that only newer architectures have has its older form beside it. */

#include "kernels/contract/cuda.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define SUNDOG_ENTRY extern "C" __global__ void
#define INLINE static __device__ __forceinline__

INLINE void
start_dependents()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

INLINE void
wait_for_predecessor()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

INLINE uint32_t
shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* Two floats as bf16, the first in the low half. */
INLINE uint32_t
pack_bf16(float low, float high)
{
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

INLINE uint16_t
to_bf16(float value)
{
    return (uint16_t)pack_bf16(value, 0);
}

INLINE float
from_bf16(uint16_t value)
{
    return __uint_as_float((uint32_t)value << 16);
}

INLINE float2
half2_to_float2(uint32_t halves)
{
    return __half22float2(*reinterpret_cast<__half2 *>(&halves));
}

/* c += a b^T: a [16, 16] bf16, b [8, 16] bf16, c [16, 8] f32, in fragments. */
INLINE void
multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Four 8 x 8 matrices of 16-bit values from rows in shared memory, transposed. */
INLINE void
load_transposed(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

/* 16 bytes from global to shared memory; zeros where `valid` is false. */
INLINE void
copy_async(uint32_t to, const void *from, bool valid)
{
    int n_bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(n_bytes)
                 : "memory");
}

INLINE void
commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int LEFT>
INLINE void
wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

INLINE float
warp_sum(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(~0u, value, distance);
    return value;
}

/* Sum over a block of at most 1024 threads, the same value for all; `room` holds 32 floats. */
INLINE float
block_sum(float value, float *room)
{
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < (int)(blockDim.x + 31) / 32; i++)
        sum += room[i];
    __syncthreads();
    return sum;
}
