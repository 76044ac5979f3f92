#pragma once

/* For tests and times of single products on a GPU: the kernels of this build, launched with parameters of
 * the caller's. Anything that fails ends the test. One thread. */

#include "engine/replay/cuda-driver.h"
#include "kernels/contract/cuda.h"
#include "kernels/contract/layout.h"
#include "kernels/contract/operations.h"

#define PRODUCT_TARGET "sm_90a"

typedef struct {
    const SundogCudaDriver *driver;
    CUdevice device;
    GHashTable *modules; /* name to CUmodule */
    CUstream stream;
    int n_multiprocessors;
} ProductRunner;

/* Ends with a tile of no tokens. */
extern const SundogCudaGroupTile product_tiles[];

/* Which kernel: for few tokens, for one whose x is rounded to bytes, or by warpgroups. */
typedef enum {
    PRODUCT_FEW,
    PRODUCT_ROUNDED,
    PRODUCT_GROUPS,
} ProductClass;

/* One product: addresses are the device's. */
typedef struct {
    SundogLayout layout;
    bool is_gated;
    ProductClass class;
    SundogCudaGroupTile tile; /* by warpgroups */
    SundogCudaLinear linear;  /* x and all else */
} Product;

/* False, with the reason printed, where there is no GPU or no code for it. */
bool product_runner_init(ProductRunner *runner);
void product_runner_clear(ProductRunner *runner);

CUdeviceptr product_runner_allocate(ProductRunner *runner, size_t n_bytes);
void product_runner_free(ProductRunner *runner, CUdeviceptr data);
void product_runner_write(ProductRunner *runner, CUdeviceptr to, const void *from, size_t n_bytes);
void product_runner_read(ProductRunner *runner, void *to, CUdeviceptr from, size_t n_bytes);
void product_runner_poison(ProductRunner *runner, CUdeviceptr to, size_t n_bytes);
/* Random weights of a layout, or with dense-f32 ones. */
void product_runner_fill(ProductRunner *runner, CUdeviceptr to, size_t n_bytes, SundogLayout layout,
                         float scale);
void product_runner_wait(ProductRunner *runner);

/* Begins a kernel of a module of this build, with its one parameter; waits for nothing. */
void product_runner_call(ProductRunner *runner, const char *module, const char *entry,
                         unsigned grid, unsigned n_threads, unsigned n_shared_bytes,
                         void *parameter);
/* The same in three dimensions. */
void product_runner_call_grid(ProductRunner *runner, const char *module, const char *entry,
                              const unsigned grid[3], unsigned n_threads, unsigned n_shared_bytes,
                              void *parameter);
/* Begins it; waits for nothing. */
void product_runner_launch(ProductRunner *runner, const Product *product);
