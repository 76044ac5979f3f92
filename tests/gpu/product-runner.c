#include "tests/gpu/product-runner.h"

#include "kernels/contract/cubins.h"

#include <string.h>

const SundogCudaGroupTile product_tiles[] = {
    SUNDOG_CUDA_GROUP_TILES(SUNDOG_CUDA_GROUP_TILE){0},
};

static void
check(const ProductRunner *runner, CUresult result, const char *what)
{
    g_autoptr(GError) error = NULL;
    sundog_cuda_succeeded(runner->driver, result, what, &error);
    g_assert_no_error(error);
}

static CUmodule
find_module(ProductRunner *runner, const char *name)
{
    CUmodule module = g_hash_table_lookup(runner->modules, name);
    if (module == NULL) {
        const SundogCubin *cubin = sundog_cubin_find(PRODUCT_TARGET, name);
        check(runner, runner->driver->module_load(&module, cubin->data), name);
        g_hash_table_insert(runner->modules, g_strdup(name), module);
    }
    return module;
}

bool
product_runner_init(ProductRunner *runner)
{
    g_autoptr(GError) error = NULL;
    CUcontext context;
    *runner = (ProductRunner){.driver = sundog_cuda_driver_get(&error)};
    if (runner->driver == NULL || sundog_cubin_find(PRODUCT_TARGET, "warpgroup") == NULL) {
        g_print("1..0 # SKIP %s\n",
                error != NULL ? error->message : "built without kernels for " PRODUCT_TARGET);
        return false;
    }
    check(runner, runner->driver->device_get(&runner->device, 0), "taking a GPU");
    check(runner, runner->driver->context_retain(&context, runner->device), "starting the GPU");
    check(runner, runner->driver->context_set(context), "using the GPU");
    check(runner,
          runner->driver->device_attribute(&runner->n_multiprocessors,
                                           SUNDOG_CUDA_ATTRIBUTE_MULTIPROCESSORS, runner->device),
          "asking a GPU's size");
    check(runner, runner->driver->stream_create(&runner->stream, SUNDOG_CUDA_STREAM_NON_BLOCKING),
          "making a stream");
    runner->modules = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return true;
}

void
product_runner_clear(ProductRunner *runner)
{
    g_hash_table_unref(runner->modules);
    runner->driver->stream_destroy(runner->stream);
    runner->driver->context_release(runner->device);
}

CUdeviceptr
product_runner_allocate(ProductRunner *runner, size_t n_bytes)
{
    CUdeviceptr data;
    check(runner, runner->driver->memory_allocate(&data, n_bytes), "taking memory");
    return data;
}

void
product_runner_free(ProductRunner *runner, CUdeviceptr data)
{
    check(runner, runner->driver->memory_free(data), "giving memory back");
}

void
product_runner_wait(ProductRunner *runner)
{
    check(runner, runner->driver->stream_synchronize(runner->stream), "waiting");
}

void
product_runner_write(ProductRunner *runner, CUdeviceptr to, const void *from, size_t n_bytes)
{
    check(runner, runner->driver->copy_to_device(to, from, n_bytes, runner->stream), "writing");
    product_runner_wait(runner);
}

void
product_runner_read(ProductRunner *runner, void *to, CUdeviceptr from, size_t n_bytes)
{
    check(runner, runner->driver->copy_to_host(to, from, n_bytes, runner->stream), "reading");
    product_runner_wait(runner);
}

void
product_runner_poison(ProductRunner *runner, CUdeviceptr to, size_t n_bytes)
{
    check(runner, runner->driver->memory_set(to, 0xff, n_bytes, runner->stream), "poisoning");
}

void
product_runner_call_grid(ProductRunner *runner, const char *module, const char *entry,
                         const unsigned grid[3], unsigned n_threads, unsigned n_shared_bytes,
                         void *parameter)
{
    CUfunction function;
    SundogCudaLaunchAttribute early = {.id = SUNDOG_CUDA_LAUNCH_PROGRAMMATIC,
                                       .value = {.programmatic = 1}};
    const SundogCudaLaunchConfig config = {.gridDimX = grid[0],
                                           .gridDimY = grid[1],
                                           .gridDimZ = grid[2],
                                           .blockDimX = n_threads,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .sharedMemBytes = n_shared_bytes,
                                           .hStream = runner->stream,
                                           .attrs = &early,
                                           .numAttrs = 1};
    check(runner, runner->driver->module_function(&function, find_module(runner, module), entry),
          entry);
    check(runner,
          runner->driver->function_attribute(function, SUNDOG_CUDA_FUNCTION_MAX_DYNAMIC_SHARED,
                                             (int)n_shared_bytes),
          entry);
    check(runner, runner->driver->launch(&config, function, &parameter, NULL), entry);
}

void
product_runner_call(ProductRunner *runner, const char *module, const char *entry, unsigned grid,
                    unsigned n_threads, unsigned n_shared_bytes, void *parameter)
{
    product_runner_call_grid(runner, module, entry, (const unsigned[]){grid, 1, 1}, n_threads,
                             n_shared_bytes, parameter);
}

void
product_runner_fill(ProductRunner *runner, CUdeviceptr to, size_t n_bytes, SundogLayout layout,
                    float scale)
{
    SundogCudaFill fill = {.to = (void *)(uintptr_t)to,
                           .n_bytes = n_bytes,
                           .seed = to,
                           .layout = layout,
                           .scale = scale};
    product_runner_call(runner, "step", "sundog_fill_weight", 1024, 256, 0, &fill);
}

static SundogCudaTensorMap
encode(const ProductRunner *runner, const Product *product)
{
    SundogCudaTensorMap map;
    const SundogCudaLinear *linear = &product->linear;
    const uint64_t sizes[2] = {(uint64_t)linear->n_columns, (uint64_t)linear->n_tokens};
    const uint64_t strides[1] = {sizes[0] * 2};
    const uint32_t box[2] = {SUNDOG_CUDA_GROUP_CHUNK, (uint32_t)product->tile.tokens};
    const uint32_t steps[2] = {1, 1};
    check(runner,
          runner->driver->tensor_map_encode(&map, SUNDOG_CUDA_MAP_BF16, 2, (void *)linear->x, sizes,
                                            strides, box, steps, 0, SUNDOG_CUDA_MAP_SWIZZLE_128B,
                                            SUNDOG_CUDA_MAP_PROMOTE_256B, 0),
          "describing x");
    return map;
}

static int
count_panels(const Product *product)
{
    int n_panels = 0;
    for (int i = 0; i < (product->is_gated ? 1 : 3); i++)
        n_panels += (product->linear.n_rows[i] + SUNDOG_PANEL_ROWS - 1) / SUNDOG_PANEL_ROWS;
    return n_panels;
}

static char *
dup_entry(const Product *product, const char *suffix)
{
    return g_strdup_printf("sundog_%s_%s_%s", product->is_gated ? "gated" : "linear",
                           strchr(sundog_layout_name(product->layout), '-') + 1, suffix);
}

/* With all the memory there is, and two slots. */
static void
launch_few(ProductRunner *runner, const Product *product)
{
    bool is_rounded = product->class == PRODUCT_ROUNDED;
    SundogCudaLinear linear = product->linear;
    linear.n_slots = 2;
    g_autofree char *entry = dup_entry(product, is_rounded ? "one_rounded" : "few");
    product_runner_call(runner, "linear", entry,
                        (unsigned)MIN(count_panels(product), runner->n_multiprocessors),
                        SUNDOG_CUDA_LINEAR_THREADS, SUNDOG_CUDA_MAX_SHARED_BYTES, &linear);
}

static void
launch_groups(ProductRunner *runner, const Product *product)
{
    const SundogCudaLinear *linear = &product->linear;
    int tokens = product->tile.tokens, by_columns = product->tile.by_columns;
    int by_blocks = product->tile.by_blocks;
    SundogCudaGroupPlan plan = sundog_cuda_plan_group(
        product->is_gated, tokens, by_columns, by_blocks,
        (int)(SUNDOG_CUDA_GROUP_CHUNK / sundog_tile_block_columns(product->layout) *
              (int64_t)sundog_tile_block_bytes(product->layout)));
    int n_tiles = (count_panels(product) + plan.row_panels - 1) / plan.row_panels *
                  ((linear->n_tokens + tokens - 1) / tokens);
    g_autofree char *suffix = g_strdup_printf("%dx%dx%d", tokens, by_columns, by_blocks);
    g_autofree char *entry = dup_entry(product, suffix);
    SundogCudaGroupLinear parameters = {.x = encode(runner, product), .product = *linear};
    product_runner_call(runner, "warpgroup", entry,
                        (unsigned)(by_blocks * MIN(n_tiles, runner->n_multiprocessors / by_blocks)),
                        (unsigned)plan.n_threads, (unsigned)plan.shared_bytes, &parameters);
}

void
product_runner_launch(ProductRunner *runner, const Product *product)
{
    if (product->class == PRODUCT_GROUPS)
        launch_groups(runner, product);
    else
        launch_few(runner, product);
}
