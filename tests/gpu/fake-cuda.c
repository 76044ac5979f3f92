#include "tests/gpu/fake-cuda.h"

#include "kernels/contract/cuda.h"
#include "kernels/contract/operations.h"

#include <string.h>

const char *const fake_cuda_names[FAKE_CUDA_N_FUNCTIONS] = {
#define X(field, symbol, arguments) symbol,
    SUNDOG_CUDA_FUNCTIONS(X)
#undef X
};

#define USUAL_FREE_BYTES ((size_t)1 << 36)

static unsigned counts[FAKE_CUDA_N_FUNCTIONS];
static int failing;
static size_t free_bytes;
static GHashTable *pieces; /* device memory: address to itself */
static GMutex lock;

static CUresult
count(int function)
{
    g_mutex_lock(&lock);
    counts[function]++;
    bool fails = failing == function;
    failing = fails ? -1 : failing;
    g_mutex_unlock(&lock);
    return fails ? FAKE_CUDA_ERROR : 0;
}

/* Of a function that does nothing else. */
#define COUNTED(field, ...)                   \
    static CUresult fake_##field(__VA_ARGS__) \
    {                                         \
        return count(FAKE_CUDA_##field);      \
    }

COUNTED(init, unsigned flags)
COUNTED(context_release, CUdevice device)
COUNTED(context_set, CUcontext context)
COUNTED(host_register, void *data, size_t n_bytes, unsigned flags)
COUNTED(host_unregister, void *data)
COUNTED(module_unload, CUmodule module)
COUNTED(function_attribute, CUfunction function, int attribute, int value)
COUNTED(stream_destroy, CUstream stream)
COUNTED(stream_synchronize, CUstream stream)
COUNTED(stream_query, CUstream stream)
COUNTED(event_destroy, CUevent event)
COUNTED(event_record, CUevent event, CUstream stream)
COUNTED(event_synchronize, CUevent event)
COUNTED(graph_add_edges, CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
        const SundogCudaEdgeData *data, size_t n)
COUNTED(graph_upload, CUgraphExec exec, CUstream stream)
COUNTED(graph_destroy, CUgraph graph)

/* Something that is not NULL, where only that matters. */
#define MADE(field, type, ...)                                \
    static CUresult fake_##field(type *made, __VA_ARGS__)     \
    {                                                         \
        *made = (type)GINT_TO_POINTER(FAKE_CUDA_##field + 1); \
        return count(FAKE_CUDA_##field);                      \
    }

MADE(context_retain, CUcontext, CUdevice device)
MADE(module_load, CUmodule, const void *image)
MADE(stream_create, CUstream, unsigned flags)
MADE(event_create, CUevent, unsigned flags)

static CUresult
fake_driver_version(int *version)
{
    *version = 13000;
    return count(FAKE_CUDA_driver_version);
}

static CUresult
fake_device_count(int *n)
{
    *n = 1;
    return count(FAKE_CUDA_device_count);
}

static CUresult
fake_device_get(CUdevice *device, int index)
{
    *device = index;
    return count(FAKE_CUDA_device_get);
}

static CUresult
fake_device_name(char *name, int n_bytes, CUdevice device)
{
    g_strlcpy(name, "no GPU", (gsize)n_bytes);
    return count(FAKE_CUDA_device_name);
}

static CUresult
fake_device_attribute(int *value, int attribute, CUdevice device)
{
    *value = attribute == SUNDOG_CUDA_ATTRIBUTE_MULTIPROCESSORS ? 132
             : attribute == SUNDOG_CUDA_ATTRIBUTE_MAJOR         ? 9
                                                                : 0;
    return count(FAKE_CUDA_device_attribute);
}

static CUresult
fake_error_string(CUresult result, const char **text)
{
    *text = "made to fail";
    return 0;
}

static CUresult
fake_memory_info(size_t *n_free, size_t *n_all)
{
    *n_free = *n_all = free_bytes;
    return count(FAKE_CUDA_memory_info);
}

static CUresult
fake_memory_allocate(CUdeviceptr *data, size_t n_bytes)
{
    CUresult result = count(FAKE_CUDA_memory_allocate);
    void *piece = result == 0 ? g_malloc0(n_bytes) : NULL;
    *data = (CUdeviceptr)(uintptr_t)piece;
    if (piece != NULL)
        g_hash_table_add(pieces, piece);
    return result;
}

static CUresult
fake_memory_free(CUdeviceptr data)
{
    g_assert_true(g_hash_table_remove(pieces, (void *)(uintptr_t)data));
    return count(FAKE_CUDA_memory_free);
}

static CUresult
fake_memory_set(CUdeviceptr to, unsigned char value, size_t n_bytes, CUstream stream)
{
    memset((void *)(uintptr_t)to, value, n_bytes);
    return count(FAKE_CUDA_memory_set);
}

static CUresult
fake_copy_to_device(CUdeviceptr to, const void *from, size_t n_bytes, CUstream stream)
{
    memcpy((void *)(uintptr_t)to, from, n_bytes);
    return count(FAKE_CUDA_copy_to_device);
}

static CUresult
fake_copy_to_host(void *to, CUdeviceptr from, size_t n_bytes, CUstream stream)
{
    memcpy(to, (const void *)(uintptr_t)from, n_bytes);
    return count(FAKE_CUDA_copy_to_host);
}

static CUresult
fake_copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t n_bytes, CUstream stream)
{
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n_bytes);
    return count(FAKE_CUDA_copy_on_device);
}

static CUresult
fake_host_allocate(void **data, size_t n_bytes, unsigned flags)
{
    CUresult result = count(FAKE_CUDA_host_allocate);
    *data = result == 0 ? g_malloc0(n_bytes) : NULL;
    return result;
}

static CUresult
fake_host_free(void *data)
{
    g_free(data);
    return count(FAKE_CUDA_host_free);
}

static CUresult
fake_host_device_pointer(CUdeviceptr *address, void *data, unsigned flags)
{
    *address = (CUdeviceptr)(uintptr_t)data;
    return count(FAKE_CUDA_host_device_pointer);
}

/* A function is its name. */
static CUresult
fake_module_function(CUfunction *function, CUmodule module, const char *entry)
{
    *function = (CUfunction)g_intern_string(entry);
    return count(FAKE_CUDA_module_function);
}

static size_t
parameter_bytes(CUfunction function)
{
    /* Entries, or where they end with a line, what entries begin with. */
    static const struct {
        const char *name;
        size_t n_bytes;
    } known[] = {{"sundog_ingest", sizeof(SundogCudaIngest)},
                 {"sundog_add", sizeof(SundogCudaElements)},
                 {"sundog_gate", sizeof(SundogCudaElements)},
                 {"sundog_layer_norm", sizeof(SundogCudaElements)},
                 {"sundog_scale", sizeof(SundogCudaElements)},
                 {"sundog_attend_", sizeof(SundogCudaAttend)},
                 {"sundog_pool", sizeof(SundogCudaPool)},
                 {"sundog_fill_weight", sizeof(SundogCudaFill)},
                 {"sundog_plan_attention", sizeof(SundogCudaPlanAttention)},
                 {"sundog_attention_", sizeof(SundogCudaAttention)},
                 {"sundog_decode_", sizeof(SundogCudaAttention)},
                 {"sundog_rope_cache", sizeof(SundogCudaRopeCache)},
                 {"sundog_flash_", sizeof(SundogCudaFlash)},
                 {"sundog_embed_", sizeof(SundogCudaEmbed)},
                 {"sundog_rms_norm", sizeof(SundogCudaRmsNorm)},
                 {"sundog_gather_rows", sizeof(SundogCudaGatherRows)},
                 {"sundog_sample", sizeof(SundogCudaSample)},
                 {"sundog_sample_cluster", sizeof(SundogCudaSample)},
                 {"sundog_short_conv", sizeof(SundogCudaShortConv)},
                 {"sundog_gated_delta_", sizeof(SundogCudaHeadState)},
                 {"sundog_state_space_", sizeof(SundogCudaHeadState)},
                 {"sundog_read_through", sizeof(SundogCudaReadThrough)},
                 {"sundog_spin", sizeof(SundogCudaSpin)}};
    const char *entry = (const char *)function;
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        if (g_str_has_suffix(known[i].name, "_") ? g_str_has_prefix(entry, known[i].name)
                                                 : g_str_equal(entry, known[i].name))
            return known[i].n_bytes;
    /* What runs element by element is named after its operation. */
    if (sundog_operation_find(entry + strlen("sundog_")) != SUNDOG_N_OPERATIONS)
        return sizeof(SundogCudaElements);
    /* Products by warpgroups are named after their tile, 8x2x1. */
    return strchr(strrchr(entry, '_'), 'x') != NULL ? sizeof(SundogCudaGroupLinear)
                                                    : sizeof(SundogCudaLinear);
}

static CUresult
fake_function_parameter(CUfunction function, size_t index, size_t *offset, size_t *n_bytes)
{
    *offset = 0;
    *n_bytes = parameter_bytes(function);
    return count(FAKE_CUDA_function_parameter);
}

static CUresult
fake_tensor_map_encode(void *map, int type, uint32_t rank, void *data, const uint64_t *sizes,
                       const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                       int interleave, int swizzle, int promotion, int fill)
{
    /* As the driver demands. */
    g_assert_cmpuint((uintptr_t)data % 16, ==, 0);
    g_assert_cmpuint(strides[0] % 16, ==, 0);
    g_assert_cmpuint(strides[0], ==, sizes[0] * 2);
    g_assert_cmpuint(sizes[1], >, 0);
    g_assert_true(box[0] * 2 <= 128 && box[1] >= 1 && box[1] <= 256);
    memset(map, 0, sizeof(SundogCudaTensorMap));
    return count(FAKE_CUDA_tensor_map_encode);
}

/* What the host waits for. */
static void
run_kernel(CUfunction function, const void *parameters)
{
    if (strcmp((const char *)function, "sundog_ingest") == 0) {
        const SundogCudaIngest *ingest = parameters;
        uint32_t *step = ingest->step;
        const SundogCudaBlock *block = ingest->blocks[step[0] % 2];
        step[0]++;
        step[1] = block->generation;
        *(uint32_t *)ingest->taken = step[0];
    } else if (g_str_has_prefix((const char *)function, "sundog_sample")) {
        const SundogCudaSample *sample = parameters;
        for (int32_t i = 0; i < sample->n_rows; i++)
            ((uint64_t *)sample->ring)[i] =
                (uint64_t)((const uint32_t *)sample->step)[1] << 32 | FAKE_CUDA_TOKEN;
    }
}

static CUresult
fake_launch(const SundogCudaLaunchConfig *config, CUfunction function, void **parameters,
            void **extra)
{
    g_assert_true(config->gridDimX > 0 && config->gridDimY > 0 && config->gridDimZ > 0);
    run_kernel(function, parameters[0]);
    return count(FAKE_CUDA_launch);
}

/* A graph is its kernels' functions and parameters; its executable is the same. */
typedef struct {
    CUfunction function;
    uint8_t parameters[1024];
} Node;

static CUresult
fake_graph_create(CUgraph *graph, unsigned flags)
{
    CUresult result = count(FAKE_CUDA_graph_create);
    *graph = result == 0 ? (CUgraph)g_array_new(FALSE, FALSE, sizeof(Node)) : NULL;
    return result;
}

static CUresult
fake_graph_add_kernel(CUgraphNode *to, CUgraph graph, const CUgraphNode *from, size_t n,
                      const SundogCudaKernelNode *node)
{
    Node added = {.function = node->func};
    memcpy(added.parameters, node->kernelParams[0], parameter_bytes(node->func));
    g_array_append_val((GArray *)graph, added);
    *to = (CUgraphNode)GINT_TO_POINTER(((GArray *)graph)->len);
    return count(FAKE_CUDA_graph_add_kernel);
}

static CUresult
fake_graph_instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    CUresult result = count(FAKE_CUDA_graph_instantiate);
    *exec = result == 0 ? (CUgraphExec)g_array_ref((GArray *)graph) : NULL;
    return result;
}

static CUresult
fake_graph_launch(CUgraphExec exec, CUstream stream)
{
    GArray *nodes = (GArray *)exec;
    for (guint i = 0; i < nodes->len; i++)
        run_kernel(g_array_index(nodes, Node, i).function,
                   g_array_index(nodes, Node, i).parameters);
    return count(FAKE_CUDA_graph_launch);
}

static CUresult
free_graph(CUgraph graph)
{
    g_array_unref((GArray *)graph);
    return fake_graph_destroy(graph);
}

static CUresult
fake_graph_exec_destroy(CUgraphExec exec)
{
    g_array_unref((GArray *)exec);
    return count(FAKE_CUDA_graph_exec_destroy);
}

void
fake_cuda_begin(void)
{
    static SundogCudaDriver table = {
#define X(field, symbol, arguments) .field = fake_##field,
        SUNDOG_CUDA_FUNCTIONS(X)
#undef X
    };
    table.graph_destroy = free_graph;
    memset(counts, 0, sizeof counts);
    failing = -1;
    free_bytes = USUAL_FREE_BYTES;
    pieces = g_hash_table_new_full(NULL, NULL, g_free, NULL);
    sundog_cuda_driver_use(&table);
}

void
fake_cuda_end(void)
{
    sundog_cuda_driver_use(NULL);
    g_clear_pointer(&pieces, g_hash_table_unref);
}

unsigned
fake_cuda_get_count(int function)
{
    return counts[function];
}

void
fake_cuda_fail(int function)
{
    failing = function;
}

void
fake_cuda_set_free_bytes(size_t n_bytes)
{
    free_bytes = n_bytes;
}

unsigned
fake_cuda_get_n_pieces(void)
{
    return g_hash_table_size(pieces);
}
