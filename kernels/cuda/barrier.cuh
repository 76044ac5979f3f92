#pragma once

/* Barriers in shared memory (mbarrier) and the bulk copies that complete on them: sm_90 and later. */

#include "kernels/cuda/device.cuh"

/* For one that `n_arrivals` arrivals, and the bytes expected with them, complete. */
INLINE void
barrier_init(uint32_t barrier, uint32_t n_arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(n_arrivals)
                 : "memory");
}

/* After the last barrier_init() of a thread, before others may use what it has made. */
INLINE void
barrier_publish()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

INLINE void
barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

INLINE void
barrier_expect(uint32_t barrier, uint32_t n_bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(n_bytes)
                 : "memory");
}

/* Until the phase of this parity is complete. */
INLINE void
barrier_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done = 0;
    while (done == 0)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

/* Bytes that follow one another, read once: a multiple of 16. */
INLINE void
copy_bulk(uint32_t to, const void *from, uint32_t n_bytes, uint32_t barrier)
{
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(to),
                 "l"(from), "r"(n_bytes), "r"(barrier), "l"(policy)
                 : "memory");
}

/* A box of the tensor that the map describes, from this column and row on; what lies outside is zero. */
INLINE void
copy_box(uint32_t to, const SundogCudaTensorMap *map, int column, int row, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}
