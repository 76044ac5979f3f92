/* State of sequences in device memory. */

#include "engine/replay/cuda-state.h"

/* A layer's. */
typedef struct {
    CUdeviceptr data;
    uint64_t piece_bytes;
} Buffer;

void
sundog_cuda_state_init(SundogCudaState *state)
{
    *state = (SundogCudaState){0};
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++)
        state->buffers[kind] = g_array_new(FALSE, FALSE, sizeof(Buffer));
}

void
sundog_cuda_state_clear(SundogCudaState *state)
{
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++)
        g_clear_pointer(&state->buffers[kind], g_array_unref);
}

void
sundog_cuda_state_add(SundogCudaState *state, SundogStateKind kind, CUdeviceptr data,
                      uint64_t n_bytes, int64_t n_pieces)
{
    const Buffer buffer = {data, n_bytes / (uint64_t)n_pieces};
    g_array_append_val(state->buffers[kind], buffer);
}

static CUdeviceptr
find_piece(const Buffer *buffer, int32_t piece)
{
    return buffer->data + (uint64_t)piece * buffer->piece_bytes;
}

static const Buffer *
get_buffers(const SundogCudaState *state, SundogStateKind kind, guint *n)
{
    *n = state->buffers[kind]->len;
    return (const Buffer *)(void *)state->buffers[kind]->data;
}

void
sundog_cuda_state_copy(const SundogCudaState *state, SundogStateKind kind, int32_t from, int32_t to)
{
    guint n;
    const Buffer *buffers = get_buffers(state, kind, &n);
    for (guint i = 0; i < n; i++)
        state->driver->copy_on_device(find_piece(&buffers[i], to), find_piece(&buffers[i], from),
                                      buffers[i].piece_bytes, state->stream);
}

size_t
sundog_cuda_state_get_bytes(const SundogCudaState *state, SundogStateKind kind)
{
    guint n;
    const Buffer *buffers = get_buffers(state, kind, &n);
    size_t n_bytes = 0;
    for (guint i = 0; i < n; i++)
        n_bytes += buffers[i].piece_bytes;
    return n_bytes;
}

bool
sundog_cuda_state_read(const SundogCudaState *state, SundogStateKind kind, int32_t piece,
                       void *bytes)
{
    guint n;
    const Buffer *buffers = get_buffers(state, kind, &n);
    CUresult result = 0;
    for (guint i = 0; i < n && result == 0; i++) {
        result = state->driver->copy_to_host(bytes, find_piece(&buffers[i], piece),
                                             buffers[i].piece_bytes, state->stream);
        bytes = (uint8_t *)bytes + buffers[i].piece_bytes;
    }
    return result == 0 && state->driver->stream_synchronize(state->stream) == 0;
}

bool
sundog_cuda_state_write(const SundogCudaState *state, SundogStateKind kind, int32_t piece,
                        const void *bytes)
{
    guint n;
    const Buffer *buffers = get_buffers(state, kind, &n);
    CUresult result = 0;
    for (guint i = 0; i < n && result == 0; i++) {
        result = state->driver->copy_to_device(find_piece(&buffers[i], piece), bytes,
                                               buffers[i].piece_bytes, state->stream);
        bytes = (const uint8_t *)bytes + buffers[i].piece_bytes;
    }
    /* The caller may change its bytes afterwards. */
    return result == 0 && state->driver->stream_synchronize(state->stream) == 0;
}
