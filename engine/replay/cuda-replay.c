/*
 * Replays a core's programs on an NVIDIA GPU. The caller fills inputs in host memory; a step packs them
 * into one of two mapped blocks, which the first kernel of the step takes in, so that the block after
 * it can be packed while the step runs. Sampled tokens come back through a mapped ring.
 *
 * Decoding steps are graphs, one for each size of a ladder that is made at loading; a step between two
 * sizes runs as the larger, its missing rows padded. Everything else is launched directly from the
 * same list at its exact size.
 */

#include "engine/replay/backend.h"

#include "engine/core/step.h"
#include "engine/replay/cuda-device.h"
#include "engine/replay/cuda-launcher.h"
#include "engine/replay/cuda-state.h"
#include "engine/replay/cuda-weights.h"
#include "kernels/contract/cuda.h"
#include "kernels/contract/recurrent.h"
#include "kernels/contract/sample.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define POISON 0xff /* NaN in every type of float */
#define PLACE_ALIGNMENT 256
/* The step, the generation, and from word 16 on what attention counts its parts with. */
#define STEP_BYTES (1 << 20)
#define WORD sizeof(int32_t)
/* How often a waiting host asks whether the device has failed. */
#define CHECK_US 2000

static const char *const program_names[] = {SUNDOG_PROGRAM_FORWARD, SUNDOG_PROGRAM_SAMPLE};
enum { FORWARD, SAMPLE, N_PROGRAMS }; /* cores that give vectors or scores do not sample */

/* Where nothing was measured. */
static const int32_t usual_ladder[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};

/* An input, output or state buffer on the device, and what the caller fills or reads of it. */
typedef struct {
    CUdeviceptr data;
    SundogBufferRole role;
    SundogStateKind kind; /* of state */
    uint64_t n_bytes;
    void *host; /* of inputs and "token", else NULL */
} Place;

typedef struct {
    SundogReplay base;
    SundogCudaDevice device;
    bool poison;
    bool is_alike;
    int32_t ladder[SUNDOG_REPLAY_MAX_RUNGS]; /* as far as steps go */
    uint32_t n_rungs;
    CUstream stream;
    CUdeviceptr weights, arena, pool, step;
    uint64_t arena_bytes, pool_bytes;
    SundogCudaState state;
    GHashTable *places; /* name, the program's, to Place, owned */
    uint8_t *mapped;    /* two blocks, the ring, the scores, then the count of steps taken in */
    CUdeviceptr mapped_data; /* the same on the device */
    uint64_t block_bytes, ring_at, taken_at;
    uint32_t n_steps;      /* begun */
    uint32_t sampled_step; /* the last that samples */
    uint32_t n_sampled;    /* its rows */
    SundogCudaLauncher *launchers[N_PROGRAMS];
} CudaReplay;

static void
free_place(void *data)
{
    Place *place = data;
    g_free(place->host);
    g_free(place);
}

static bool
succeeded(const CudaReplay *replay, CUresult result, const char *what, GError **error)
{
    return sundog_cuda_succeeded(replay->device.driver, result, what, error);
}

/* NULL where the core has none. */
static const SundogProgram *
find_program(const CudaReplay *replay, int program)
{
    return sundog_core_get_program(replay->base.core, program_names[program]);
}

/* Memory */

static void
collect_places(CudaReplay *replay, const SundogProgram *program)
{
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (buffer->role == SUNDOG_BUFFER_WEIGHT || buffer->role == SUNDOG_BUFFER_TEMPORARY)
            continue;
        Place *place = g_hash_table_lookup(replay->places, buffer->name);
        if (place == NULL) {
            place = g_new0(Place, 1);
            place->role = buffer->role;
            place->kind = sundog_program_get_state_kind(program, id);
            g_hash_table_insert(replay->places, (gpointer)buffer->name, place);
        }
        place->n_bytes =
            MAX(place->n_bytes, sundog_program_buffer_bytes(program, id, &replay->base.bounds));
    }
}

/* They are for the host alone, and lie in its memory. */
static bool
is_scores(const char *name)
{
    return strcmp(name, "scores") == 0;
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* By name, so that what is read of one process can be written in another. */
static void
collect_state(CudaReplay *replay)
{
    g_autofree const char **names =
        (const char **)g_hash_table_get_keys_as_array(replay->places, NULL);
    guint n = g_hash_table_size(replay->places);
    qsort(names, n, sizeof *names, compare_names);
    replay->state.driver = replay->device.driver;
    replay->state.stream = replay->stream;
    for (guint i = 0; i < n; i++) {
        const Place *place = g_hash_table_lookup(replay->places, names[i]);
        SundogVariable n_pieces = sundog_state_kind_get_variable(place->kind);
        if (place->role == SUNDOG_BUFFER_STATE)
            sundog_cuda_state_add(&replay->state, place->kind, place->data, place->n_bytes,
                                  replay->base.bounds.values[n_pieces]);
    }
}

/* All of them in one piece, since mapping many small ones costs a hundred times as much. Logits are the
 * one program's output and the other's input, and stay on the device. */
static bool
allocate_places(CudaReplay *replay, GError **error)
{
    GHashTableIter iter;
    const char *name;
    Place *place;
    for (int i = 0; i < N_PROGRAMS; i++)
        if (find_program(replay, i) != NULL)
            collect_places(replay, find_program(replay, i));
    g_hash_table_iter_init(&iter, replay->places);
    while (g_hash_table_iter_next(&iter, (gpointer *)&name, (gpointer *)&place)) {
        if (is_scores(name))
            continue;
        place->data = replay->pool_bytes;
        replay->pool_bytes +=
            (place->n_bytes + PLACE_ALIGNMENT - 1) / PLACE_ALIGNMENT * PLACE_ALIGNMENT;
        bool is_hosts = place->role == SUNDOG_BUFFER_INPUT || strcmp(name, "token") == 0;
        if (is_hosts && strcmp(name, "logits") != 0)
            place->host = g_malloc0(place->n_bytes);
    }
    if (!succeeded(replay,
                   replay->device.driver->memory_allocate(&replay->pool, replay->pool_bytes),
                   "taking memory for the cache", error))
        return false;
    g_hash_table_iter_init(&iter, replay->places);
    while (g_hash_table_iter_next(&iter, (gpointer *)&name, (gpointer *)&place))
        place->data += is_scores(name) ? 0 : replay->pool;
    collect_state(replay);
    return true;
}

static bool
allocate_rest(CudaReplay *replay, GError **error)
{
    const SundogCudaDriver *driver = replay->device.driver;
    for (int i = 0; i < N_PROGRAMS; i++)
        if (find_program(replay, i) != NULL)
            replay->arena_bytes =
                MAX(replay->arena_bytes, sundog_program_get_arena_bytes(find_program(replay, i)));
    return succeeded(replay, driver->memory_allocate(&replay->arena, replay->arena_bytes),
                     "taking memory for a step", error) &&
           succeeded(replay,
                     driver->memory_allocate(&replay->weights,
                                             sundog_core_get_info(replay->base.core)->weight_bytes),
                     "taking memory for the weights", error) &&
           succeeded(replay, driver->memory_allocate(&replay->step, STEP_BYTES),
                     "taking memory for counters", error) &&
           succeeded(replay, driver->memory_set(replay->step, 0, STEP_BYTES, replay->stream),
                     "clearing counters", error) &&
           succeeded(replay,
                     driver->memory_set(replay->pool, replay->poison ? POISON : 0,
                                        replay->pool_bytes, replay->stream),
                     "clearing the cache", error);
}

/* The packed inputs of the larger program, at most; each section is as large as its buffer. */
static bool
map_blocks(CudaReplay *replay, GError **error)
{
    GHashTableIter iter;
    Place *place;
    replay->block_bytes = sizeof(SundogCudaBlock);
    g_hash_table_iter_init(&iter, replay->places);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&place))
        replay->block_bytes += place->host != NULL ? place->n_bytes : 0;
    replay->block_bytes = (replay->block_bytes + 4095) / 4096 * 4096;
    uint64_t ring_bytes =
        (uint64_t)replay->base.bounds.values[SUNDOG_VARIABLE_LOGIT_ROWS] * sizeof(uint64_t);
    Place *scores = g_hash_table_lookup(replay->places, "scores");
    replay->ring_at = 2 * replay->block_bytes;
    uint64_t scores_at = replay->ring_at + (ring_bytes + 63) / 64 * 64;
    replay->taken_at = scores_at + (scores != NULL ? (scores->n_bytes + 63) / 64 * 64 : 0);
    uint64_t n_bytes = replay->taken_at + 64;
    if (!succeeded(replay,
                   replay->device.driver->host_allocate((void **)&replay->mapped, n_bytes,
                                                        SUNDOG_CUDA_HOST_PORTABLE_MAPPED),
                   "taking mapped memory", error) ||
        !succeeded(
            replay,
            replay->device.driver->host_device_pointer(&replay->mapped_data, replay->mapped, 0),
            "finding mapped memory", error))
        return false;
    memset(replay->mapped, 0, n_bytes);
    if (scores != NULL)
        scores->data = replay->mapped_data + scores_at;
    return true;
}

/* 0 where there is none. */
static CUdeviceptr
find_place(const CudaReplay *replay, const char *name)
{
    const Place *place = g_hash_table_lookup(replay->places, name);
    return place != NULL ? place->data : 0;
}

static CUdeviceptr
find_data(const CudaReplay *replay, const SundogBuffer *buffer)
{
    if (buffer->role == SUNDOG_BUFFER_TEMPORARY)
        return replay->arena + buffer->offset;
    if (buffer->role == SUNDOG_BUFFER_WEIGHT)
        return replay->weights + sundog_core_find_weight(replay->base.core, buffer->name)->offset;
    return find_place(replay, buffer->name);
}

static bool
fill_weights(CudaReplay *replay, uint64_t seed, GError **error)
{
    for (uint32_t i = 0; i < sundog_core_get_n_weights(replay->base.core); i++) {
        const SundogCoreWeight *weight = sundog_core_get_weight(replay->base.core, i);
        if (!sundog_cuda_fill_weight(&replay->device, weight, replay->weights + weight->offset,
                                     seed + i, replay->stream, error))
            return false;
    }
    return true;
}

static bool
load_weights(CudaReplay *replay, const SundogReplayOptions *options, GError **error)
{
    if (options->weights_seed != 0)
        return fill_weights(replay, options->weights_seed, error);
    return sundog_cuda_weights_read(&replay->device, replay->base.core, replay->weights,
                                    options->progress, options->data, error);
}

/* Launchers and graphs */

static bool
make_launcher(CudaReplay *replay, int index, GError **error)
{
    const SundogProgram *program = find_program(replay, index);
    uint32_t n = sundog_program_get_n_buffers(program);
    g_autofree CUdeviceptr *buffers = g_new0(CUdeviceptr, n);
    CUdeviceptr mapped = replay->mapped_data;
    for (SundogBufferId id = 0; id < n; id++)
        buffers[id] = find_data(replay, sundog_program_get_buffer(program, id));
    const SundogCudaBinding binding = {.buffers = buffers,
                                       .ring = mapped + replay->ring_at,
                                       .step = replay->step,
                                       .blocks = {mapped, mapped + replay->block_bytes},
                                       .tokens = find_place(replay, "tokens"),
                                       .token = find_place(replay, "token"),
                                       .taken = mapped + replay->taken_at,
                                       .is_alike = replay->is_alike};
    replay->launchers[index] = sundog_cuda_launcher_new(&replay->device, replay->base.core,
                                                        program_names[index], &binding, error);
    return replay->launchers[index] != NULL;
}

/* The shape that launches see: tables are as wide on the device as they can be. */
static SundogShape
launch_shape(const CudaReplay *replay, int64_t n_tokens, int64_t n_sequences, int64_t n_logit_rows)
{
    SundogShape shape = replay->base.bounds;
    shape.values[SUNDOG_VARIABLE_TOKENS] = n_tokens;
    shape.values[SUNDOG_VARIABLE_SEQUENCES] = n_sequences;
    shape.values[SUNDOG_VARIABLE_LOGIT_ROWS] = n_logit_rows;
    return shape;
}

static int64_t
max_decoding(const CudaReplay *replay)
{
    const int64_t *bounds = replay->base.bounds.values;
    return MIN(MIN(bounds[SUNDOG_VARIABLE_TOKENS], bounds[SUNDOG_VARIABLE_SEQUENCES]),
               bounds[SUNDOG_VARIABLE_LOGIT_ROWS]);
}

static void
choose_ladder(CudaReplay *replay, const SundogReplayOptions *options)
{
    const int32_t *from = options->ladder != NULL ? options->ladder : usual_ladder;
    uint32_t n = options->ladder != NULL ? options->n_rungs : G_N_ELEMENTS(usual_ladder);
    n = find_program(replay, SAMPLE) != NULL ? MIN(n, SUNDOG_REPLAY_MAX_RUNGS) : 0;
    while (replay->n_rungs < n && from[replay->n_rungs] <= max_decoding(replay)) {
        replay->ladder[replay->n_rungs] = from[replay->n_rungs];
        replay->n_rungs++;
    }
}

static bool
make_graphs(CudaReplay *replay, GError **error)
{
    for (uint32_t i = 0; i < replay->n_rungs; i++) {
        int32_t n = replay->ladder[i];
        SundogShape shape = launch_shape(replay, n, n, n);
        for (int p = 0; p < N_PROGRAMS; p++)
            if (!sundog_cuda_launcher_add_graph(replay->launchers[p], &shape, error))
                return false;
    }
    return true;
}

/* The smallest size of the ladder that holds n; 0 where none does. */
static int64_t
find_rung(const CudaReplay *replay, int64_t n)
{
    for (uint32_t i = 0; i < replay->n_rungs; i++)
        if (replay->ladder[i] >= n)
            return replay->ladder[i];
    return 0;
}

/* What really runs: sampling asks for rows alone; a step that decodes for every row runs on a graph. */
static SundogShape
choose_shape(const CudaReplay *replay, int program, const SundogShape *shape)
{
    int64_t n_tokens = shape->values[SUNDOG_VARIABLE_TOKENS];
    int64_t n_sequences = shape->values[SUNDOG_VARIABLE_SEQUENCES];
    int64_t n_rows = shape->values[SUNDOG_VARIABLE_LOGIT_ROWS];
    bool decodes = program == SAMPLE || (n_tokens == n_sequences && n_tokens == n_rows);
    int64_t rung = decodes ? find_rung(replay, MAX(n_rows, 1)) : 0;
    return rung > 0 ? launch_shape(replay, rung, rung, rung)
                    : launch_shape(replay, n_tokens, n_sequences, n_rows);
}

/* Steps */

static int64_t
now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Waits in place, since what is waited for comes within microseconds; asks for failures now and then. */
static bool
wait_for(CudaReplay *replay, bool (*is_there)(CudaReplay *replay, uint32_t value), uint32_t value,
         GError **error)
{
    int64_t asked = now_us();
    while (!is_there(replay, value)) {
        int64_t now = now_us();
        if (now - asked < CHECK_US)
            continue;
        asked = now;
        CUresult result = replay->device.driver->stream_query(replay->stream);
        if (result != 0 && result != SUNDOG_CUDA_NOT_READY)
            return succeeded(replay, result, "a step on the GPU", error);
        if (result == 0 && !is_there(replay, value)) {
            g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_DEVICE,
                        "the GPU has ended a step without saying so in mapped memory");
            return false;
        }
    }
    return true;
}

static bool
has_taken(CudaReplay *replay, uint32_t n_steps)
{
    const _Atomic uint32_t *taken = (const _Atomic uint32_t *)(replay->mapped + replay->taken_at);
    return (int32_t)(atomic_load_explicit(taken, memory_order_acquire) - n_steps) >= 0;
}

/* The first `value` entries of the ring are of the present step. */
static bool
has_tokens(CudaReplay *replay, uint32_t value)
{
    const _Atomic uint64_t *ring = (const _Atomic uint64_t *)(replay->mapped + replay->ring_at);
    for (uint32_t i = 0; i < value; i++)
        if (atomic_load_explicit(&ring[i], memory_order_acquire) >> 32 != replay->sampled_step)
            return false;
    return true;
}

/* One input into the block. Rows are as wide as the caller packed them. */
static void
add_section(CudaReplay *replay, SundogCudaBlock *block, uint32_t *at, const char *name,
            int64_t n_rows, int64_t n_padded, int64_t row_words, int64_t stride, int32_t padding)
{
    const Place *place = g_hash_table_lookup(replay->places, name);
    SundogCudaSection *section = &block->sections[block->n_sections++];
    *section = (SundogCudaSection){.to = place->data,
                                   .from = *at,
                                   .n_rows = (uint32_t)n_rows,
                                   .row_words = (uint32_t)row_words,
                                   .stride = (uint32_t)stride,
                                   .n_padded = (uint32_t)MAX(n_padded, n_rows),
                                   .padding = padding};
    memcpy((int32_t *)(block + 1) + *at, place->host, (size_t)(n_rows * row_words) * WORD);
    *at += (uint32_t)(n_rows * row_words);
}

static bool
has_place(const CudaReplay *replay, const char *name)
{
    return g_hash_table_contains(replay->places, name);
}

/* Padded rows are of no sequence; padded sequences begin where the rows end, and have none. */
static void
pack_forward(CudaReplay *replay, SundogCudaBlock *block, const SundogShape *shape,
             const SundogShape *runs)
{
    uint32_t at = 0;
    int64_t n = shape->values[SUNDOG_VARIABLE_TOKENS], s = shape->values[SUNDOG_VARIABLE_SEQUENCES];
    int64_t rows = shape->values[SUNDOG_VARIABLE_LOGIT_ROWS];
    int64_t pages = shape->values[SUNDOG_VARIABLE_SEQUENCE_PAGES];
    int64_t to_n = runs->values[SUNDOG_VARIABLE_TOKENS];
    int64_t to_s = runs->values[SUNDOG_VARIABLE_SEQUENCES];
    int64_t stride = replay->base.bounds.values[SUNDOG_VARIABLE_SEQUENCE_PAGES];
    add_section(replay, block, &at, "tokens", n, to_n, 1, 1, 0);
    add_section(replay, block, &at, "positions", n, to_n, 1, 1, 0);
    add_section(replay, block, &at, "token_sequence", n, to_n, 1, 1, -1);
    add_section(replay, block, &at, "first_row", s + 1, to_s + 1, 1, 1, (int32_t)n);
    add_section(replay, block, &at, "start_position", s, to_s, 1, 1, 0);
    add_section(replay, block, &at, "page_table", s, s, pages, stride, 0);
    if (has_place(replay, "window_table"))
        add_section(replay, block, &at, "window_table", s, s, pages, stride, 0);
    if (has_place(replay, "state_slot"))
        add_section(replay, block, &at, "state_slot", s, to_s, 1, 1, SUNDOG_NULL_STATE_SLOT);
    if (has_place(replay, "token_types"))
        add_section(replay, block, &at, "token_types", n, to_n, 1, 1, 0);
    if (has_place(replay, "logit_rows"))
        add_section(replay, block, &at, "logit_rows", rows,
                    runs->values[SUNDOG_VARIABLE_LOGIT_ROWS], 1, 1, 0);
}

/* Padded rows sample greedily from what lies there; nobody reads their tokens. */
static void
pack_sample(CudaReplay *replay, SundogCudaBlock *block, const SundogShape *shape,
            const SundogShape *runs)
{
    uint32_t at = 0;
    int64_t rows = shape->values[SUNDOG_VARIABLE_LOGIT_ROWS];
    int64_t history = shape->values[SUNDOG_VARIABLE_HISTORY];
    add_section(replay, block, &at, "sampling", rows, runs->values[SUNDOG_VARIABLE_LOGIT_ROWS],
                sizeof(SundogSampling) / WORD, sizeof(SundogSampling) / WORD, 0);
    add_section(replay, block, &at, "history", rows, rows, history,
                replay->base.bounds.values[SUNDOG_VARIABLE_HISTORY], 0);
    add_section(replay, block, &at, "mask", rows, rows, shape->values[SUNDOG_VARIABLE_MASK],
                replay->base.bounds.values[SUNDOG_VARIABLE_MASK], 0);
    add_section(replay, block, &at, "bias", rows, rows, shape->values[SUNDOG_VARIABLE_BIAS],
                replay->base.bounds.values[SUNDOG_VARIABLE_BIAS], 0);
}

static bool
begin_step(CudaReplay *replay, int program, const SundogShape *shape, GError **error)
{
    SundogShape runs = choose_shape(replay, program, shape);
    uint32_t step = replay->n_steps + 1;
    /* The block was last used two steps ago. */
    if (!wait_for(replay, has_taken, step - 2, error))
        return false;
    SundogCudaBlock *block =
        (SundogCudaBlock *)(replay->mapped + (step - 1) % 2 * replay->block_bytes);
    block->generation = step;
    block->n_sections = 0;
    if (program == FORWARD)
        pack_forward(replay, block, shape, &runs);
    else
        pack_sample(replay, block, shape, &runs);
    atomic_thread_fence(memory_order_seq_cst);
    if (replay->poison && program == FORWARD &&
        !succeeded(replay,
                   replay->device.driver->memory_set(replay->arena, POISON, replay->arena_bytes,
                                                     replay->stream),
                   "poisoning the arena", error))
        return false;
    replay->n_steps = step;
    return sundog_cuda_launcher_run(replay->launchers[program], &runs, replay->stream, error);
}

static bool
begin_sample(CudaReplay *replay, const SundogShape *shape, GError **error)
{
    replay->n_sampled = (uint32_t)shape->values[SUNDOG_VARIABLE_LOGIT_ROWS];
    if (replay->n_sampled > 0 && !begin_step(replay, SAMPLE, shape, error))
        return false;
    replay->sampled_step = replay->n_steps;
    return true;
}

static bool
take_tokens(SundogReplay *base, GError **error)
{
    CudaReplay *replay = (CudaReplay *)base;
    const _Atomic uint64_t *ring = (const _Atomic uint64_t *)(replay->mapped + replay->ring_at);
    Place *place = g_hash_table_lookup(replay->places, "token");
    if (!wait_for(replay, has_tokens, replay->n_sampled, error))
        return false;
    for (uint32_t i = 0; i < replay->n_sampled; i++)
        ((int32_t *)place->host)[i] =
            (int32_t)(uint32_t)atomic_load_explicit(&ring[i], memory_order_relaxed);
    return true;
}

static bool
run(SundogReplay *base, const char *program, const SundogShape *shape, GError **error)
{
    CudaReplay *replay = (CudaReplay *)base;
    if (shape->values[SUNDOG_VARIABLE_LOGIT_ROWS] > shape->values[SUNDOG_VARIABLE_TOKENS] &&
        strcmp(program, SUNDOG_PROGRAM_FORWARD) == 0) {
        g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_BOUNDS,
                    "a step with logits of more rows than it has");
        return false;
    }
    if (!succeeded(replay, replay->device.driver->context_set(replay->device.context),
                   "using the GPU", error))
        return false;
    if (strcmp(program, SUNDOG_PROGRAM_FORWARD) == 0)
        return begin_step(replay, FORWARD, shape, error);
    if (strcmp(program, SUNDOG_PROGRAM_SAMPLE) == 0)
        return begin_sample(replay, shape, error);
    g_set_error(error, SUNDOG_REPLAY_ERROR, SUNDOG_REPLAY_ERROR_PROGRAM,
                "the program \"%s\" does not run on a GPU", program);
    return false;
}

/* The table */

static const char *
get_set_name(const SundogReplay *base)
{
    return ((const CudaReplay *)base)->device.name;
}

static void *
get_buffer(SundogReplay *base, const char *name)
{
    CudaReplay *replay = (CudaReplay *)base;
    Place *place = g_hash_table_lookup(replay->places, name);
    if (place != NULL && is_scores(name))
        return replay->mapped + (place->data - replay->mapped_data);
    return place != NULL ? place->host : NULL;
}

static bool
read_buffer(SundogReplay *base, const char *name, void *to, size_t n_bytes, GError **error)
{
    CudaReplay *replay = (CudaReplay *)base;
    const SundogCudaDriver *driver = replay->device.driver;
    Place *place = g_hash_table_lookup(replay->places, name);
    if (place == NULL || n_bytes > place->n_bytes)
        return sundog_replay_refuse_read(name, n_bytes, place != NULL ? place->n_bytes : 0, error);
    return succeeded(replay, driver->context_set(replay->device.context), "using the GPU", error) &&
           succeeded(replay, driver->copy_to_host(to, place->data, n_bytes, replay->stream),
                     "reading from the GPU", error) &&
           succeeded(replay, driver->stream_synchronize(replay->stream), "a step on the GPU",
                     error);
}

/* Operations have no times of their own inside a graph. */
static void
set_times(SundogReplay *base, int64_t *times_ns)
{
}

static void
leave_out(SundogReplay *base, uint64_t operations)
{
    for (int i = 0; i < N_PROGRAMS; i++)
        if (((CudaReplay *)base)->launchers[i] != NULL)
            sundog_cuda_launcher_leave_out(((CudaReplay *)base)->launchers[i], operations);
}

static void
copy_state(SundogReplay *base, SundogStateKind kind, int32_t from, int32_t to)
{
    CudaReplay *replay = (CudaReplay *)base;
    replay->device.driver->context_set(replay->device.context);
    sundog_cuda_state_copy(&replay->state, kind, from, to);
}

static size_t
get_state_bytes(const SundogReplay *base, SundogStateKind kind)
{
    return sundog_cuda_state_get_bytes(&((const CudaReplay *)base)->state, kind);
}

static bool
read_state(SundogReplay *base, SundogStateKind kind, int32_t piece, void *bytes)
{
    CudaReplay *replay = (CudaReplay *)base;
    return replay->device.driver->context_set(replay->device.context) == 0 &&
           sundog_cuda_state_read(&replay->state, kind, piece, bytes);
}

static bool
write_state(SundogReplay *base, SundogStateKind kind, int32_t piece, const void *bytes)
{
    CudaReplay *replay = (CudaReplay *)base;
    return replay->device.driver->context_set(replay->device.context) == 0 &&
           sundog_cuda_state_write(&replay->state, kind, piece, bytes);
}

static void
free_memory(CudaReplay *replay)
{
    const SundogCudaDriver *driver = replay->device.driver;
    const CUdeviceptr pieces[] = {replay->weights, replay->arena, replay->pool, replay->step};
    for (size_t i = 0; i < G_N_ELEMENTS(pieces); i++)
        if (pieces[i] != 0)
            driver->memory_free(pieces[i]);
    if (replay->mapped != NULL)
        driver->host_free(replay->mapped);
    if (replay->stream != NULL)
        driver->stream_destroy(replay->stream);
}

static void
close_replay(SundogReplay *base)
{
    CudaReplay *replay = (CudaReplay *)base;
    if (replay->device.context != NULL) {
        replay->device.driver->context_set(replay->device.context);
        if (replay->stream != NULL)
            replay->device.driver->stream_synchronize(replay->stream);
        for (int i = 0; i < N_PROGRAMS; i++)
            sundog_cuda_launcher_free(replay->launchers[i]);
        free_memory(replay);
    }
    sundog_cuda_device_close(&replay->device);
    sundog_cuda_state_clear(&replay->state);
    g_hash_table_unref(replay->places);
    g_free(replay);
}

static const SundogReplayBackend backend = {
    .close = close_replay,
    .get_set_name = get_set_name,
    .get_buffer = get_buffer,
    .run = run,
    .finish = take_tokens,
    .read = read_buffer,
    .set_times = set_times,
    .leave_out = leave_out,
    .copy_state = copy_state,
    .get_state_bytes = get_state_bytes,
    .read_state = read_state,
    .write_state = write_state,
};

static bool
open_parts(CudaReplay *replay, const SundogReplayOptions *options, GError **error)
{
    const SundogCudaDriver *driver = replay->device.driver;
    replay->base.bounds.values[SUNDOG_VARIABLE_MULTIPROCESSORS] =
        MIN(replay->device.n_multiprocessors,
            replay->base.bounds.values[SUNDOG_VARIABLE_MULTIPROCESSORS]);
    if (!succeeded(replay, driver->stream_create(&replay->stream, SUNDOG_CUDA_STREAM_NON_BLOCKING),
                   "making a stream", error) ||
        !allocate_places(replay, error) || !allocate_rest(replay, error) ||
        !map_blocks(replay, error) || !load_weights(replay, options, error))
        return false;
    for (int i = 0; i < N_PROGRAMS; i++)
        if (find_program(replay, i) != NULL && !make_launcher(replay, i, error))
            return false;
    choose_ladder(replay, options);
    return make_graphs(replay, error) &&
           succeeded(replay, driver->stream_synchronize(replay->stream), "loading", error);
}

SundogReplay *
sundog_cuda_replay_open(SundogCore *core, const SundogReplayOptions *options,
                        const SundogShape *bounds, GError **error)
{
    CudaReplay *replay = g_new0(CudaReplay, 1);
    replay->base = (SundogReplay){.backend = &backend, .core = core, .bounds = *bounds};
    replay->poison = options->poison;
    replay->is_alike = options->is_alike;
    replay->places = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_place);
    sundog_cuda_state_init(&replay->state);
    if (sundog_cuda_device_open(&replay->device, core, error) && open_parts(replay, options, error))
        return &replay->base;
    close_replay(&replay->base);
    return NULL;
}
