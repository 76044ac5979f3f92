#pragma once

/*
 * What every contract speaks in: types of elements, layouts of weights, and a call. Plain C that
 * nvcc and gcc both read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A small function of a header, which nvcc compiles for both sides. */
#ifdef __CUDACC__
#define SUNDOG_SHARED static inline __host__ __device__
#else
#define SUNDOG_SHARED static inline
#endif

/* Elements of a buffer. X(NAME, number in files, bytes an element, text) */
#define SUNDOG_DTYPES(X)                                                                          \
    X(F32, 1, 4, "f32")                                                                           \
    X(F16, 2, 2, "f16")                                                                           \
    X(BF16, 3, 2, "bf16")                                                                         \
    X(I32, 4, 4, "i32")                                                                           \
    X(U8, 5, 1, "u8")                                                                             \
    X(U64, 6, 8, "u64")                                                                           \
    X(A8, 7, 1, "a8")         /* quantized activations, see activation.h: bytes of whole tiles */ \
    X(WEIGHT, 8, 1, "weight") /* bytes in a SundogLayout */                                       \
    X(Q8, 9, 1, "q8")         /* cached keys and values, see paged-cache.h: bytes of whole pages */

typedef enum {
#define X(name, number, bytes, text) SUNDOG_DTYPE_##name = number,
    SUNDOG_DTYPES(X)
#undef X
} SundogDtype;

/* Layouts of a weight matrix [n_rows, n_columns]; layout.h describes each and packs and unpacks it.
 * X(NAME, number in files, values a block, text) */
#define SUNDOG_LAYOUTS(X)                                                                 \
    X(DENSE_F32, 1, 1, "dense-f32") /* rows one after the other: norms, biases, tables */ \
    X(PANEL16_F32, 2, 1, "panel16-f32")                                                   \
    X(PANEL16_F16, 3, 1, "panel16-f16")                                                   \
    X(PANEL16_BF16, 4, 1, "panel16-bf16")                                                 \
    X(PANEL16_Q4_1, 5, 32, "panel16-q4_1")                                                \
    X(PANEL16_Q8_0, 6, 32, "panel16-q8_0")                                                \
    X(TILE16_BF16, 7, 1, "tile16-bf16") /* the tiles are for CUDA's tensor cores */       \
    X(TILE16_Q4_1, 8, 32, "tile16-q4_1")                                                  \
    X(TILE16_Q8_0, 9, 32, "tile16-q8_0")                                                  \
    X(PANEL16_Q4_0, 10, 32, "panel16-q4_0")                                               \
    X(PANEL16_Q5_0, 11, 32, "panel16-q5_0")                                               \
    X(PANEL16_Q5_1, 12, 32, "panel16-q5_1")                                               \
    X(PANEL16_Q2_K, 13, 256, "panel16-q2_k")                                              \
    X(PANEL16_Q3_K, 14, 256, "panel16-q3_k")                                              \
    X(PANEL16_Q4_K, 15, 256, "panel16-q4_k")                                              \
    X(PANEL16_Q5_K, 16, 256, "panel16-q5_k")                                              \
    X(PANEL16_Q6_K, 17, 256, "panel16-q6_k")                                              \
    X(PANEL16_IQ4_NL, 18, 32, "panel16-iq4_nl")                                           \
    X(PANEL16_IQ4_XS, 19, 256, "panel16-iq4_xs")                                          \
    X(PANEL16_MXFP4, 20, 32, "panel16-mxfp4")                                             \
    X(PANEL16_F8, 21, 64, "panel16-f8")                                                   \
    X(TILE16_F8, 22, 64, "tile16-f8")

typedef enum {
#define X(name, number, values, text) SUNDOG_LAYOUT_##name = number,
    SUNDOG_LAYOUTS(X)
#undef X
} SundogLayout;

/* One argument of a call: where it lies and how large it is at this step's shape. */
typedef struct {
    void *data; /* NULL where an optional argument is absent */
    SundogDtype dtype;
    SundogLayout layout; /* of a WEIGHT, else 0 */
    int64_t shape[4];    /* as the operation's table says; 1 beyond the rank */
} SundogArgument;

typedef union {
    int64_t i;
    double f;
} SundogParameter;

/* One operation at one shape, as every thread of the pool sees it. A kernel splits its work over
 * [0, n_threads) by itself, writes each element of its outputs exactly once, allocates nothing, and
 * needs no barrier inside: the replayer puts one after each call. */
typedef struct {
    const SundogArgument *arguments;   /* in the order of the operation's table */
    const SundogParameter *parameters; /* in the order of the operation's table */
    uint32_t thread;
    uint32_t n_threads;
} SundogCall;

typedef void (*SundogKernel)(const SundogCall *call);
