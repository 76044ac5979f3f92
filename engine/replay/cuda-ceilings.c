/* Measuring a GPU with the kernels of measure.cu. */

#include "engine/replay/cuda-ceilings.h"

#include "engine/replay/replay.h"
#include "kernels/contract/cubins.h"
#include "kernels/contract/cuda.h"

/* Many times what its caches hold, unless less is free. */
#define READ_BYTES ((uint64_t)2 << 30)
#define READ_BLOCKS_PER_MULTIPROCESSOR 8
#define READ_THREADS 256
#define N_NODES 256
#define N_REPEATS 9

typedef struct {
    const SundogCudaDriver *driver;
    CUdevice device;
    CUcontext context; /* NULL: not retained */
    int n_multiprocessors;
    CUmodule module;
    CUfunction read, spin;
    CUstream stream;
    CUdeviceptr memory;
    uint64_t n_bytes;
} Meter;

static bool
succeeded(const Meter *meter, CUresult result, const char *what, GError **error)
{
    return sundog_cuda_succeeded(meter->driver, result, what, error);
}

static bool
load(Meter *meter, const char *target, GError **error)
{
    const SundogCudaDriver *driver = meter->driver;
    const SundogCubin *cubin = target != NULL ? sundog_cubin_find(target, "measure") : NULL;
    if (cubin == NULL) {
        g_set_error_literal(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,
                            "this build carries no kernels for this GPU");
        return false;
    }
    return succeeded(meter, driver->module_load(&meter->module, cubin->data), "measure.cubin",
                     error) &&
           succeeded(meter,
                     driver->module_function(&meter->read, meter->module, "sundog_read_through"),
                     "sundog_read_through", error) &&
           succeeded(meter, driver->module_function(&meter->spin, meter->module, "sundog_spin"),
                     "sundog_spin", error);
}

static bool
open_meter(Meter *meter, const SundogCudaCard *card, GError **error)
{
    const SundogCudaDriver *driver = meter->driver;
    meter->n_bytes = MIN(READ_BYTES, card->free_bytes / 2) / 4096 * 4096;
    return succeeded(meter, driver->device_get(&meter->device, 0), "taking a GPU", error) &&
           succeeded(meter, driver->context_retain(&meter->context, meter->device),
                     "starting the GPU", error) &&
           succeeded(meter, driver->context_set(meter->context), "using the GPU", error) &&
           succeeded(meter,
                     driver->device_attribute(&meter->n_multiprocessors,
                                              SUNDOG_CUDA_ATTRIBUTE_MULTIPROCESSORS, meter->device),
                     "asking a GPU's size", error) &&
           load(meter, card->target, error) &&
           succeeded(meter, driver->stream_create(&meter->stream, SUNDOG_CUDA_STREAM_NON_BLOCKING),
                     "making a stream", error) &&
           succeeded(meter, driver->memory_allocate(&meter->memory, meter->n_bytes),
                     "taking memory to read", error) &&
           succeeded(meter, driver->memory_set(meter->memory, 0, meter->n_bytes, meter->stream),
                     "clearing memory", error);
}

static void
close_meter(Meter *meter)
{
    const SundogCudaDriver *driver = meter->driver;
    if (meter->context == NULL)
        return;
    if (meter->memory != 0)
        driver->memory_free(meter->memory);
    if (meter->stream != NULL)
        driver->stream_destroy(meter->stream);
    if (meter->module != NULL)
        driver->module_unload(meter->module);
    driver->context_release(meter->device);
}

static bool
read_through(const Meter *meter, GError **error)
{
    SundogCudaReadThrough parameters = {.from = (const void *)(uintptr_t)meter->memory,
                                        .n_bytes = meter->n_bytes,
                                        .to = (void *)(uintptr_t)meter->memory};
    void *all[] = {&parameters};
    const SundogCudaLaunchConfig config = {.gridDimX = (unsigned)meter->n_multiprocessors *
                                                       READ_BLOCKS_PER_MULTIPROCESSOR,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = READ_THREADS,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .hStream = meter->stream};
    return succeeded(meter, meter->driver->launch(&config, meter->read, all, NULL),
                     "reading memory", error);
}

static bool
synchronize(const Meter *meter, GError **error)
{
    return succeeded(meter, meter->driver->stream_synchronize(meter->stream), "measuring the GPU",
                     error);
}

/* Several runs behind one another, so that the end of one is the beginning of the next. */
static bool
measure_read(const Meter *meter, double *bytes_per_second, GError **error)
{
    if (!read_through(meter, error) || !synchronize(meter, error))
        return false;
    int64_t start_us = g_get_monotonic_time();
    for (int i = 0; i < N_REPEATS; i++)
        if (!read_through(meter, error))
            return false;
    if (!synchronize(meter, error))
        return false;
    int64_t us = g_get_monotonic_time() - start_us;
    *bytes_per_second = (double)meter->n_bytes * N_REPEATS / (double)MAX(us, 1) * 1e6;
    return true;
}

/* A chain of kernels that do nothing, each beginning before the last has ended. */
static bool
add_chain(const Meter *meter, CUgraph graph, int n, GError **error)
{
    SundogCudaSpin parameters = {0};
    void *all[] = {&parameters};
    const SundogCudaKernelNode kernel = {.func = meter->spin,
                                         .gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 1,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = all};
    const SundogCudaEdgeData early = {.from_port = SUNDOG_CUDA_PORT_PROGRAMMATIC,
                                      .type = SUNDOG_CUDA_EDGE_PROGRAMMATIC};
    CUgraphNode last = NULL;
    for (int i = 0; i < n; i++) {
        CUgraphNode node;
        if (!succeeded(meter, meter->driver->graph_add_kernel(&node, graph, NULL, 0, &kernel),
                       "adding a kernel to a graph", error) ||
            (i > 0 &&
             !succeeded(meter, meter->driver->graph_add_edges(graph, &last, &node, &early, 1),
                        "adding an edge to a graph", error)))
            return false;
        last = node;
    }
    return true;
}

/* The least time of several from asking for such a graph until its end is seen. */
static bool
time_graph(const Meter *meter, CUgraphExec exec, double *us, GError **error)
{
    *us = G_MAXDOUBLE;
    for (int i = 0; i < N_REPEATS; i++) {
        int64_t start_us = g_get_monotonic_time();
        if (!succeeded(meter, meter->driver->graph_launch(exec, meter->stream), "launching a graph",
                       error) ||
            !synchronize(meter, error))
            return false;
        double once = (double)(g_get_monotonic_time() - start_us);
        *us = MIN(*us, once);
    }
    return true;
}

static bool
measure_chain(const Meter *meter, int n, double *us, GError **error)
{
    const SundogCudaDriver *driver = meter->driver;
    CUgraph graph;
    CUgraphExec exec = NULL;
    if (!succeeded(meter, driver->graph_create(&graph, 0), "making a graph", error))
        return false;
    bool ok = add_chain(meter, graph, n, error) &&
              succeeded(meter, driver->graph_instantiate(&exec, graph, 0),
                        "making a graph executable", error);
    driver->graph_destroy(graph);
    ok = ok && time_graph(meter, exec, us, error);
    if (exec != NULL)
        driver->graph_exec_destroy(exec);
    return ok;
}

bool
sundog_cuda_ceilings_measure(SundogCudaCeilings *ceilings, GError **error)
{
    SundogCudaCard card;
    double chain_us = 0;
    *ceilings = (SundogCudaCeilings){0};
    if (!sundog_cuda_card_find(&card, error))
        return false;
    Meter meter = {.driver = sundog_cuda_driver_get(NULL)};
    g_strlcpy(ceilings->name, card.name, sizeof ceilings->name);
    bool ok = open_meter(&meter, &card, error) &&
              measure_read(&meter, &ceilings->read_bytes_per_second, error) &&
              measure_chain(&meter, 1, &ceilings->launch_us, error) &&
              measure_chain(&meter, N_NODES, &chain_us, error);
    close_meter(&meter);
    ceilings->node_us = MAX(chain_us - ceilings->launch_us, 0) / (N_NODES - 1);
    return ok;
}
