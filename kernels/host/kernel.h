#pragma once

/*
 * What every kernel file includes. A file is compiled once for each instruction set that it serves,
 * with SUNDOG_SET naming the set, so that kernels written in plain loops become vector code of the
 * right width. The contracts fix every rounding; the compiler is told to fuse and reorder nothing.
 */

#include "kernels/contract/operations.h"

#define SUNDOG_JOIN_NAMES(set, NAME) sundog_host_##set##_##NAME
#define SUNDOG_JOIN(set, NAME) SUNDOG_JOIN_NAMES(set, NAME)
/* SUNDOG_KERNEL(RMS_NORM) is the name of that operation's kernel in the set being compiled. */
#define SUNDOG_KERNEL(NAME) SUNDOG_JOIN(SUNDOG_SET, NAME)

#define X(NAME, text, version, arguments, parameters)        \
    void sundog_host_plain_##NAME(const SundogCall *call);   \
    void sundog_host_avx2_##NAME(const SundogCall *call);    \
    void sundog_host_avxvnni_##NAME(const SundogCall *call); \
    void sundog_host_avx512_##NAME(const SundogCall *call);
SUNDOG_OPERATIONS(X)
#undef X
void sundog_host_avx512bf16_ATTENTION(const SundogCall *call);

/* A thread's contiguous share of n pieces of work. */
typedef struct {
    int64_t begin;
    int64_t end;
} SundogRange;

static inline SundogRange
sundog_split(const SundogCall *call, int64_t n)
{
    return (SundogRange){n * call->thread / call->n_threads,
                         n * (call->thread + 1) / call->n_threads};
}

static inline int64_t
sundog_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t
sundog_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}
