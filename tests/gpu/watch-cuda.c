#include "tests/gpu/watch-cuda.h"

#include "kernels/contract/cubins.h"
#include "kernels/contract/cuda.h"
#include "tests/gpu/gpu-core.h"

/* Of the disturbing blocks: half a multiprocessor's threads. */
#define DISTURBING_THREADS 1024

const char *const watch_cuda_names[WATCH_CUDA_N] = {
#define X(field) #field,
    WATCH_CUDA_FORBIDDEN(X)
#undef X
        "graph_launch",
    "launch"};

static const SundogCudaDriver *real;
static WatchCudaOptions watched;
static _Atomic unsigned counts[WATCH_CUDA_N];
static GHashTable
    *delays; /* a graph's node to the one that it waits for in a predecessor's place */
static CUmodule measures;
static CUfunction spin;
static CUstream disturbing;

#define COUNTED(field, parameters, arguments) \
    static CUresult watch_##field parameters  \
    {                                         \
        counts[WATCH_CUDA_##field]++;         \
        return real->field arguments;         \
    }

COUNTED(memory_allocate, (CUdeviceptr * data, size_t n_bytes), (data, n_bytes))
COUNTED(memory_free, (CUdeviceptr data), (data))
COUNTED(host_allocate, (void **data, size_t n_bytes, unsigned flags), (data, n_bytes, flags))
COUNTED(host_free, (void *data), (data))
COUNTED(host_register, (void *data, size_t n_bytes, unsigned flags), (data, n_bytes, flags))
COUNTED(module_load, (CUmodule * module, const void *image), (module, image))
COUNTED(function_attribute, (CUfunction function, int attribute, int value),
        (function, attribute, value))
COUNTED(stream_create, (CUstream * stream, unsigned flags), (stream, flags))
COUNTED(stream_synchronize, (CUstream stream), (stream))
COUNTED(event_synchronize, (CUevent event), (event))
COUNTED(graph_create, (CUgraph * graph, unsigned flags), (graph, flags))
COUNTED(graph_instantiate, (CUgraphExec * exec, CUgraph graph, unsigned long long flags),
        (exec, graph, flags))
COUNTED(graph_upload, (CUgraphExec exec, CUstream stream), (exec, stream))
COUNTED(graph_launch, (CUgraphExec exec, CUstream stream), (exec, stream))
COUNTED(copy_to_device, (CUdeviceptr to, const void *from, size_t n_bytes, CUstream stream),
        (to, from, n_bytes, stream))
COUNTED(copy_to_host, (void *to, CUdeviceptr from, size_t n_bytes, CUstream stream),
        (to, from, n_bytes, stream))

static void
check(CUresult result, const char *what)
{
    g_autoptr(GError) error = NULL;
    sundog_cuda_succeeded(real, result, what, &error);
    g_assert_no_error(error);
}

/* Found when a context is there. */
static CUfunction
find_spin(void)
{
    if (spin != NULL)
        return spin;
    check(real->module_load(&measures, sundog_cubin_find(GPU_TARGET, "measure")->data),
          "loading measure");
    check(real->module_function(&spin, measures, "sundog_spin"), "finding sundog_spin");
    return spin;
}

static const SundogCudaEdgeData programmatic = {.from_port = SUNDOG_CUDA_PORT_PROGRAMMATIC,
                                                .type = SUNDOG_CUDA_EDGE_PROGRAMMATIC};

static CUresult
watch_graph_add_kernel(CUgraphNode *to, CUgraph graph, const CUgraphNode *from, size_t n,
                       const SundogCudaKernelNode *node)
{
    SundogCudaSpin parameters = {watched.delay_ns};
    void *all[] = {&parameters};
    CUgraphNode delay;
    counts[WATCH_CUDA_graph_add_kernel]++;
    CUresult result = real->graph_add_kernel(to, graph, from, n, node);
    if (result != 0 || watched.delay_ns == 0)
        return result;
    const SundogCudaKernelNode kernel = {.func = find_spin(),
                                         .gridDimX = 1,
                                         .gridDimY = 1,
                                         .gridDimZ = 1,
                                         .blockDimX = 1,
                                         .blockDimY = 1,
                                         .blockDimZ = 1,
                                         .kernelParams = all};
    check(real->graph_add_kernel(&delay, graph, NULL, 0, &kernel), "adding a delay");
    check(real->graph_add_edges(graph, &delay, to, &programmatic, 1), "adding a delay's edge");
    g_hash_table_insert(delays, *to, delay);
    return 0;
}

static CUresult
watch_graph_add_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                      const SundogCudaEdgeData *data, size_t n)
{
    g_assert_cmpuint(n, ==, 1);
    CUgraphNode delay = g_hash_table_lookup(delays, *to);
    return real->graph_add_edges(graph, from, delay != NULL ? &delay : to,
                                 watched.is_ordinary ? NULL : data, n);
}

static void
launch_spin(unsigned n_blocks, unsigned n_threads, uint64_t ns, CUstream stream)
{
    SundogCudaSpin parameters = {ns};
    void *all[] = {&parameters};
    SundogCudaLaunchAttribute early = {.id = SUNDOG_CUDA_LAUNCH_PROGRAMMATIC,
                                       .value = {.programmatic = 1}};
    const SundogCudaLaunchConfig config = {.gridDimX = n_blocks,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = n_threads,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .hStream = stream,
                                           .attrs = &early,
                                           .numAttrs = 1};
    check(real->launch(&config, find_spin(), all, NULL), "launching a delay");
}

static CUresult
watch_launch(const SundogCudaLaunchConfig *config, CUfunction function, void **parameters,
             void **extra)
{
    SundogCudaLaunchConfig changed = *config;
    counts[WATCH_CUDA_launch]++;
    if (watched.delay_ns > 0)
        launch_spin(1, 1, watched.delay_ns, config->hStream);
    changed.numAttrs = watched.is_ordinary ? 0 : config->numAttrs;
    return real->launch(&changed, function, parameters, extra);
}

void
watch_cuda_begin(const WatchCudaOptions *options)
{
    static SundogCudaDriver table;
    g_autoptr(GError) error = NULL;
    real = sundog_cuda_driver_get(&error);
    g_assert_no_error(error);
    table = *real;
#define X(field) table.field = watch_##field;
    WATCH_CUDA_FORBIDDEN(X)
    X(graph_launch)
    X(launch)
    X(graph_add_edges)
#undef X
    for (int f = 0; f < WATCH_CUDA_N; f++)
        counts[f] = 0;
    watched = *options;
    delays = g_hash_table_new(NULL, NULL);
    sundog_cuda_driver_use(&table);
}

void
watch_cuda_end(void)
{
    sundog_cuda_driver_use(NULL);
    g_clear_pointer(&delays, g_hash_table_unref);
    /* They went with the context. */
    spin = NULL;
    disturbing = NULL;
}

unsigned
watch_cuda_get_count(int function)
{
    return counts[function];
}

void
watch_cuda_disturb(unsigned n_blocks, uint64_t ns)
{
    if (disturbing == NULL)
        check(real->stream_create(&disturbing, SUNDOG_CUDA_STREAM_NON_BLOCKING), "making a stream");
    launch_spin(n_blocks, DISTURBING_THREADS, ns, disturbing);
}
