/* Launch lists as graphs and as direct launches. */

#include "engine/replay/cuda-launcher.h"

#include "engine/replay/replay.h"
#include "kernels/contract/cuda.h"

#include <string.h>

#include <math.h>

#define INGEST_THREADS 1024
#define FILL_BLOCKS 1024
#define FILL_THREADS 256

/* One launch at a shape. */
typedef struct {
    CUfunction function;
    unsigned grid[3];
    unsigned n_threads;
    unsigned n_shared_bytes;
    SundogEdge edge;
    void *parameters[1]; /* the one struct, in `bytes` or the launcher's own */
    uint64_t bytes[SUNDOG_LAUNCH_MAX_PARAMETER_BYTES / 8];
} Launch;

typedef struct {
    SundogShape shape;
    CUgraphExec exec;
} Graph;

struct SundogCudaLauncher {
    SundogCudaDevice *device;
    const SundogProgram *program;
    const SundogLaunchList *list;
    CUdeviceptr *buffers;
    SundogCudaBinding binding;
    CUfunction *functions; /* [launches of the list] */
    CUfunction ingest;
    GArray *graphs;   /* of Graph */
    Launch *launches; /* room for the longest variant and the ingesting kernel */
    uint32_t max_launches;
    uint64_t left_out; /* bits of operation kinds */
    bool is_alike;
};

static bool
find_functions(SundogCudaLauncher *launcher, GError **error)
{
    uint32_t n = sundog_launch_list_get_n_launches(launcher->list);
    launcher->functions = g_new0(CUfunction, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const SundogLaunch *launch = sundog_launch_list_get_launch(launcher->list, i);
        launcher->functions[i] =
            sundog_cuda_device_find(launcher->device, launch->module, launch->entry,
                                    launch->n_parameter_bytes, launch->n_shared_bytes, error);
        if (launcher->functions[i] == NULL)
            return false;
    }
    launcher->ingest = sundog_cuda_device_find(launcher->device, "step", "sundog_ingest",
                                               sizeof(SundogCudaIngest), 0, error);
    return launcher->ingest != NULL;
}

static bool
check_alike(const SundogCudaLauncher *launcher, GError **error)
{
    if (!launcher->is_alike ||
        sundog_launch_list_find_variant(launcher->list, 1, SUNDOG_STEPS_ALIKE) != NULL)
        return true;
    g_set_error(
        error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
        "on a GPU this model's answers follow from how steps are cut: \"%s\" has no launches "
        "that are all alike",
        sundog_program_get_name(launcher->program));
    return false;
}

SundogCudaLauncher *
sundog_cuda_launcher_new(SundogCudaDevice *device, const SundogCore *core, const char *program,
                         const SundogCudaBinding *binding, GError **error)
{
    g_autoptr(SundogCudaLauncher) launcher = g_new0(SundogCudaLauncher, 1);
    launcher->program = sundog_core_get_program(core, program);
    uint32_t n_buffers = sundog_program_get_n_buffers(launcher->program);
    launcher->device = device;
    launcher->list = sundog_core_get_launch_list(core, program);
    launcher->binding = *binding;
    launcher->is_alike = binding->is_alike;
    launcher->buffers = g_memdup2(binding->buffers, n_buffers * sizeof(CUdeviceptr));
    launcher->graphs = g_array_new(FALSE, FALSE, sizeof(Graph));
    for (uint32_t i = 0; i < sundog_launch_list_get_n_variants(launcher->list); i++)
        launcher->max_launches =
            MAX(launcher->max_launches,
                sundog_launch_list_get_variant(launcher->list, i)->n_launches + 1);
    launcher->launches = g_new0(Launch, launcher->max_launches);
    return check_alike(launcher, error) && find_functions(launcher, error)
               ? g_steal_pointer(&launcher)
               : NULL;
}

void
sundog_cuda_launcher_free(SundogCudaLauncher *launcher)
{
    if (launcher == NULL)
        return;
    for (uint32_t i = 0; i < launcher->graphs->len; i++)
        launcher->device->driver->graph_exec_destroy(
            g_array_index(launcher->graphs, Graph, i).exec);
    g_array_unref(launcher->graphs);
    g_free(launcher->functions);
    g_free(launcher->buffers);
    g_free(launcher->launches);
    g_free(launcher);
}

/* A matrix of bf16 for copies in boxes of 64 columns, as launch-list.h says. */
static bool
encode_map(const SundogCudaLauncher *launcher, const SundogLaunchField *field,
           const SundogShape *shape, uint8_t *bytes, GError **error)
{
    const SundogExpressionPool *pool = sundog_launch_list_get_expressions(launcher->list);
    const SundogBuffer *buffer = sundog_program_get_buffer(launcher->program, field->buffer);
    uint64_t sizes[2] = {
        (uint64_t)sundog_expression_evaluate(pool, buffer->shape[buffer->rank - 1], shape), 1};
    for (uint32_t d = 0; d + 1 < buffer->rank; d++)
        sizes[1] *= (uint64_t)sundog_expression_evaluate(pool, buffer->shape[d], shape);
    const uint64_t strides[1] = {sizes[0] * sizeof(uint16_t)};
    const uint32_t box[2] = {SUNDOG_CUDA_GROUP_CHUNK,
                             (uint32_t)sundog_expression_evaluate(pool, field->value, shape)};
    const uint32_t steps[2] = {1, 1};
    const SundogCudaDriver *driver = launcher->device->driver;
    SundogCudaTensorMap map;
    G_STATIC_ASSERT(sizeof map == SUNDOG_LAUNCH_MAP_BYTES);
    if (!sundog_cuda_succeeded(
            driver,
            driver->tensor_map_encode(&map, SUNDOG_CUDA_MAP_BF16, 2,
                                      (void *)(uintptr_t)launcher->buffers[field->buffer], sizes,
                                      strides, box, steps, 0, SUNDOG_CUDA_MAP_SWIZZLE_128B,
                                      SUNDOG_CUDA_MAP_PROMOTE_256B, 0),
            buffer->name, error))
        return false;
    memcpy(bytes + field->at, &map, sizeof map);
    return true;
}

static bool
fill_field(const SundogCudaLauncher *launcher, const SundogLaunchField *field,
           const SundogShape *shape, uint8_t *bytes, GError **error)
{
    uint64_t address = 0;
    switch (field->kind) {
    case SUNDOG_FIELD_TENSOR_MAP:
        return encode_map(launcher, field, shape, bytes, error);
    case SUNDOG_FIELD_EXPRESSION: {
        int32_t value = (int32_t)sundog_expression_evaluate(
            sundog_launch_list_get_expressions(launcher->list), field->value, shape);
        memcpy(bytes + field->at, &value, sizeof value);
        return true;
    }
    case SUNDOG_FIELD_BUFFER:
        address = launcher->buffers[field->buffer];
        break;
    case SUNDOG_FIELD_RING:
        address = launcher->binding.ring;
        break;
    case SUNDOG_FIELD_STEP:
        address = launcher->binding.step;
        break;
    }
    memcpy(bytes + field->at, &address, sizeof address);
    return true;
}

/* The launch's grid; false where the shape leaves nothing to do. */
static bool
find_grid(const SundogCudaLauncher *launcher, const SundogLaunch *launch, const SundogShape *shape,
          unsigned grid[3])
{
    for (int d = 0; d < 3; d++) {
        int64_t size = sundog_expression_evaluate(
            sundog_launch_list_get_expressions(launcher->list), launch->grid[d], shape);
        if (size < 1)
            return false;
        grid[d] = (unsigned)size;
    }
    return true;
}

static bool
resolve_launch(const SundogCudaLauncher *launcher, uint32_t index, const SundogShape *shape,
               Launch *to, GError **error)
{
    const SundogLaunch *launch = sundog_launch_list_get_launch(launcher->list, index);
    const SundogLaunchField *fields = sundog_launch_list_get_fields(launcher->list, launch);
    to->function = launcher->functions[index];
    to->n_threads = launch->n_threads;
    to->n_shared_bytes = launch->n_shared_bytes;
    to->edge = launch->edge;
    to->parameters[0] = to->bytes;
    memcpy(to->bytes, sundog_launch_list_get_parameters(launcher->list, launch),
           launch->n_parameter_bytes);
    for (uint32_t i = 0; i < launch->n_fields; i++)
        if (!fill_field(launcher, &fields[i], shape, (uint8_t *)to->bytes, error))
            return false;
    return true;
}

/* A launch of several operations is left out with the last of them, which is what it is made for. */
static bool
is_left_out(const SundogCudaLauncher *launcher, const SundogLaunch *launch)
{
    if (launcher->left_out == 0)
        return false;
    uint32_t last = launch->first_operation + launch->n_operations - 1;
    return (launcher->left_out >> sundog_program_get_operation(launcher->program, last)->kind &
            1) != 0;
}

static SundogSteps
find_steps(const SundogCudaLauncher *launcher, const SundogShape *shape)
{
    if (launcher->is_alike)
        return SUNDOG_STEPS_ALIKE;
    return shape->values[SUNDOG_VARIABLE_TOKENS] == shape->values[SUNDOG_VARIABLE_SEQUENCES]
               ? SUNDOG_STEPS_ONE_ROW
               : SUNDOG_STEPS_MIXED;
}

static uint32_t
resolve_launches(SundogCudaLauncher *launcher, const SundogShape *shape, GError **error)
{
    const SundogLaunchVariant *variant = sundog_launch_list_find_variant(
        launcher->list, shape->values[SUNDOG_VARIABLE_TOKENS], find_steps(launcher, shape));
    if (variant == NULL) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                    "no launches are for a step of %" G_GINT64_FORMAT " tokens",
                    shape->values[SUNDOG_VARIABLE_TOKENS]);
        return 0;
    }
    Launch *launches = launcher->launches;
    launches[0] = (Launch){.function = launcher->ingest,
                           .grid = {1, 1, 1},
                           .n_threads = INGEST_THREADS,
                           .edge = SUNDOG_EDGE_ORDINARY};
    SundogCudaIngest ingest = {.blocks = {(const void *)(uintptr_t)launcher->binding.blocks[0],
                                          (const void *)(uintptr_t)launcher->binding.blocks[1]},
                               .step = (void *)(uintptr_t)launcher->binding.step,
                               .tokens = (void *)(uintptr_t)launcher->binding.tokens,
                               .token = (const void *)(uintptr_t)launcher->binding.token,
                               .taken = (void *)(uintptr_t)launcher->binding.taken};
    memcpy(launches[0].bytes, &ingest, sizeof ingest);
    launches[0].parameters[0] = launches[0].bytes;
    uint32_t n = 1;
    for (uint32_t i = 0; i < variant->n_launches; i++) {
        const SundogLaunch *launch =
            sundog_launch_list_get_launch(launcher->list, variant->first_launch + i);
        if (is_left_out(launcher, launch))
            continue;
        /* What follows a launch that has nothing to do has nothing to do either: rows with logits are
         * gathered first. */
        if (!find_grid(launcher, launch, shape, launches[n].grid))
            break;
        if (!resolve_launch(launcher, variant->first_launch + i, shape, &launches[n], error))
            return 0;
        n++;
    }
    return n;
}

static bool
add_node(const SundogCudaLauncher *launcher, CUgraph graph, Launch *launch, CUgraphNode *last,
         GError **error)
{
    const SundogCudaDriver *driver = launcher->device->driver;
    CUgraphNode node;
    const SundogCudaKernelNode parameters = {.func = launch->function,
                                             .gridDimX = launch->grid[0],
                                             .gridDimY = launch->grid[1],
                                             .gridDimZ = launch->grid[2],
                                             .blockDimX = launch->n_threads,
                                             .blockDimY = 1,
                                             .blockDimZ = 1,
                                             .sharedMemBytes = launch->n_shared_bytes,
                                             .kernelParams = launch->parameters};
    const SundogCudaEdgeData programmatic = {.from_port = SUNDOG_CUDA_PORT_PROGRAMMATIC,
                                             .type = SUNDOG_CUDA_EDGE_PROGRAMMATIC};
    if (!sundog_cuda_succeeded(driver, driver->graph_add_kernel(&node, graph, NULL, 0, &parameters),
                               "adding a kernel to a graph", error))
        return false;
    bool is_early = launch->edge == SUNDOG_EDGE_PROGRAMMATIC;
    bool ok =
        *last == NULL ||
        sundog_cuda_succeeded(
            driver, driver->graph_add_edges(graph, last, &node, is_early ? &programmatic : NULL, 1),
            "adding an edge to a graph", error);
    *last = node;
    return ok;
}

bool
sundog_cuda_launcher_add_graph(SundogCudaLauncher *launcher, const SundogShape *shape,
                               GError **error)
{
    const SundogCudaDriver *driver = launcher->device->driver;
    Graph made = {.shape = *shape};
    CUgraphNode last = NULL;
    CUgraph graph;
    uint32_t n = resolve_launches(launcher, shape, error);
    if (n == 0 ||
        !sundog_cuda_succeeded(driver, driver->graph_create(&graph, 0), "making a graph", error))
        return false;
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++)
        ok = add_node(launcher, graph, &launcher->launches[i], &last, error);
    ok = ok && sundog_cuda_succeeded(driver, driver->graph_instantiate(&made.exec, graph, 0),
                                     "making a graph executable", error);
    driver->graph_destroy(graph);
    if (!ok)
        return false;
    g_array_append_val(launcher->graphs, made);
    return sundog_cuda_succeeded(driver, driver->graph_upload(made.exec, NULL), "uploading a graph",
                                 error);
}

static bool
launch_directly(const SundogCudaLauncher *launcher, Launch *launch, CUstream stream, GError **error)
{
    const SundogCudaDriver *driver = launcher->device->driver;
    SundogCudaLaunchAttribute early = {.id = SUNDOG_CUDA_LAUNCH_PROGRAMMATIC,
                                       .value = {.programmatic = 1}};
    const SundogCudaLaunchConfig config = {
        .gridDimX = launch->grid[0],
        .gridDimY = launch->grid[1],
        .gridDimZ = launch->grid[2],
        .blockDimX = launch->n_threads,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = launch->n_shared_bytes,
        .hStream = stream,
        .attrs = &early,
        .numAttrs = launch->edge == SUNDOG_EDGE_PROGRAMMATIC ? 1 : 0,
    };
    return sundog_cuda_succeeded(
        driver, driver->launch(&config, launch->function, launch->parameters, NULL),
        "launching a kernel", error);
}

static CUgraphExec
find_graph(const SundogCudaLauncher *launcher, const SundogShape *shape)
{
    for (uint32_t i = 0; i < launcher->graphs->len; i++)
        if (memcmp(&g_array_index(launcher->graphs, Graph, i).shape, shape, sizeof *shape) == 0)
            return g_array_index(launcher->graphs, Graph, i).exec;
    return NULL;
}

bool
sundog_cuda_launcher_run(SundogCudaLauncher *launcher, const SundogShape *shape, CUstream stream,
                         GError **error)
{
    const SundogCudaDriver *driver = launcher->device->driver;
    CUgraphExec exec = launcher->left_out == 0 ? find_graph(launcher, shape) : NULL;
    if (exec != NULL)
        return sundog_cuda_succeeded(driver, driver->graph_launch(exec, stream),
                                     "launching a graph", error);
    uint32_t n = resolve_launches(launcher, shape, error);
    for (uint32_t i = 0; i < n; i++)
        if (!launch_directly(launcher, &launcher->launches[i], stream, error))
            return false;
    return n > 0;
}

void
sundog_cuda_launcher_leave_out(SundogCudaLauncher *launcher, uint64_t operations)
{
    launcher->left_out = operations;
}

bool
sundog_cuda_fill_weight(SundogCudaDevice *device, const SundogCoreWeight *weight, CUdeviceptr to,
                        uint64_t seed, CUstream stream, GError **error)
{
    /* The variance of a uniform distribution is a third: sums over a row keep the size of x. */
    SundogCudaFill fill = {.to = (void *)(uintptr_t)to,
                           .n_bytes = weight->n_bytes,
                           .seed = seed,
                           .layout = weight->layout,
                           .scale = sqrtf(3.0f / (float)weight->n_columns)};
    void *parameters[] = {&fill};
    CUfunction function =
        sundog_cuda_device_find(device, "step", "sundog_fill_weight", sizeof fill, 0, error);
    const SundogCudaLaunchConfig config = {.gridDimX = FILL_BLOCKS,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = FILL_THREADS,
                                           .blockDimY = 1,
                                           .blockDimZ = 1,
                                           .hStream = stream};
    return function != NULL &&
           sundog_cuda_succeeded(device->driver,
                                 device->driver->launch(&config, function, parameters, NULL),
                                 "filling weights", error);
}
