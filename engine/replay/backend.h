#pragma once

/*
 * What stands behind replay.h: the host's replayer and the CUDA one, each a table of functions. Within
 * this house.
 */

#include "engine/replay/replay.h"

typedef struct {
    void (*close)(SundogReplay *replay);
    const char *(*get_set_name)(const SundogReplay *replay);
    void *(*get_buffer)(SundogReplay *replay, const char *name);
    /* The shape has been checked against the bounds. */
    bool (*run)(SundogReplay *replay, const char *program, const SundogShape *shape,
                GError **error);
    /* Waits for the tokens that a run of "sample" has begun to draw; NULL where run has them already. */
    bool (*finish)(SundogReplay *replay, GError **error);
    bool (*read)(SundogReplay *replay, const char *name, void *to, size_t n_bytes, GError **error);
    void (*set_times)(SundogReplay *replay, int64_t *times_ns);
    void (*leave_out)(SundogReplay *replay, uint64_t operations); /* or NULL */
    /* State by kind, whose pieces have been checked. */
    void (*copy_state)(SundogReplay *replay, SundogStateKind kind, int32_t from, int32_t to);
    /* NULL, and the two below, where state does not leave the device. */
    size_t (*get_state_bytes)(const SundogReplay *replay, SundogStateKind kind);
    bool (*read_state)(SundogReplay *replay, SundogStateKind kind, int32_t piece, void *bytes);
    bool (*write_state)(SundogReplay *replay, SundogStateKind kind, int32_t piece,
                        const void *bytes);
} SundogReplayBackend;

/* The head of every backend's own struct. */
struct SundogReplay {
    const SundogReplayBackend *backend;
    SundogCore *core;
    SundogShape bounds;
};

SundogReplay *sundog_host_replay_open(SundogCore *core, const SundogReplayOptions *options,
                                      const SundogShape *bounds, GError **error);
SundogReplay *sundog_cuda_replay_open(SundogCore *core, const SundogReplayOptions *options,
                                      const SundogShape *bounds, GError **error);

/* Sets the error of a read that is not possible; returns false. */
bool sundog_replay_refuse_read(const char *name, size_t n_bytes, size_t n_there, GError **error);
