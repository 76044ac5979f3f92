#pragma once

/*
 * A warp's own ring of slots in shared memory, filled by one lane's bulk copies on a barrier a slot
 * (sm_90 and later) or by all lanes' asynchronous copies. No other warp is waited for.
 */

#include "kernels/cuda/barrier.cuh"

#define MAX_SLOTS 4

struct Ring {
    char *slots;
    uint32_t barriers; /* shared address of u64 [n_slots] */
    int n_slots;
    int head;  /* slot to be read next */
    int phase; /* parity of the head's barrier */
    int tail;  /* slot to be filled next */
};

INLINE void
ring_init(Ring &ring, char *slots, uint64_t *barriers, int n_slots)
{
    ring.slots = slots;
    ring.barriers = shared_address(barriers);
    ring.n_slots = n_slots;
    ring.head = ring.tail = ring.phase = 0;
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) {
        for (int i = 0; i < n_slots; i++)
            barrier_init(ring.barriers + i * 8, 1);
        barrier_publish();
    }
    __syncwarp();
#endif
}

/* Begins to fill the next slot; with nothing to copy, only counts. Call exactly once a slot freed. */
INLINE void
ring_fill(Ring &ring, const char *from, uint32_t n_bytes)
{
    uint32_t to = shared_address(ring.slots + ring.tail * SUNDOG_CUDA_SLOT_BYTES);
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0 && n_bytes > 0) {
        uint32_t barrier = ring.barriers + ring.tail * 8;
        barrier_expect(barrier, n_bytes);
        copy_bulk(to, from, n_bytes, barrier);
    }
#else
    for (uint32_t at = threadIdx.x % 32 * 16; at < n_bytes; at += 512)
        copy_async(to + at, from + at, true);
    commit_copies();
#endif
    ring.tail = ring.tail + 1 == ring.n_slots ? 0 : ring.tail + 1;
}

/* The oldest slot, once it is full. */
INLINE const char *
ring_wait(const Ring &ring)
{
#if __CUDA_ARCH__ >= 900
    barrier_wait(ring.barriers + ring.head * 8, ring.phase);
#else
    /* Groups are committed in order, one a slot. */
    if (ring.n_slots == 2)
        wait_for_copies<1>();
    else if (ring.n_slots == 3)
        wait_for_copies<2>();
    else
        wait_for_copies<0>();
    __syncwarp();
#endif
    return ring.slots + ring.head * SUNDOG_CUDA_SLOT_BYTES;
}

/* The head has been read by all lanes. */
INLINE void
ring_next(Ring &ring)
{
    __syncwarp();
    if (++ring.head == ring.n_slots) {
        ring.head = 0;
        ring.phase ^= 1;
    }
}
