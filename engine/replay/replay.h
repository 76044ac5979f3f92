#pragma once

/*
 * Runs a core's programs: on the host as a list of calls over a pool of threads, on a GPU as CUDA graphs
 * or, at sizes for which there is none, as direct launches. Owns the
 * arena, step inputs and outputs, state and the mapped weights; knows no model family.
 *
 * open, then for each step: fill inputs, run a program at a shape, read outputs. Everything is
 * allocated in open; running allocates nothing and takes no lock. One thread calls; the pool's workers
 * spin for a moment after a step, then sleep.
 */

#include "engine/core/core.h"
#include "kernels/host/kernels.h"
#include <gio/gio.h>

#define SUNDOG_REPLAY_ERROR (sundog_replay_error_quark())

typedef enum {
    SUNDOG_REPLAY_ERROR_BOUNDS,  /* More than the core or this replay allows: ask for less. */
    SUNDOG_REPLAY_ERROR_PROGRAM, /* The core has no such program: prepare it again. */
    SUNDOG_REPLAY_ERROR_MEMORY,  /* The system refused memory or a thread: close something. */
    SUNDOG_REPLAY_ERROR_DEVICE,  /* No GPU that this core runs on, or it failed: see the text. */
    SUNDOG_REPLAY_ERROR_WEIGHTS, /* The weights could not be read: verify the core. */
} SundogReplayError;

GQuark sundog_replay_error_quark(void);

typedef struct {
    unsigned n_threads;   /* 0: all cores, as far as the core's bound allows */
    int64_t pool_pages;   /* pages of the paged pool, the null page included */
    int64_t window_pages; /* the same of layers with a window; 0: as many, where there are such */
    int64_t pool_states;  /* slots of recurrent state, the null one included; 0: the core's bound */
    int64_t sequence_pages; /* width of the page table: longest context in pages */
    int64_t max_tokens;     /* of a step; 0: the program's bound */
    int64_t max_sequences;  /* 0: the program's bound */
    int64_t history;        /* width of the penalties' history; 0: the program's bound */
    int host_set;           /* a SundogHostSet, or -1: the best that runs here */
    bool poison;            /* fill arena and free pages with NaN, for tests */
    uint64_t
        weights_seed; /* not 0: on a GPU, random weights of this seed, none are read; to measure */
    /* On a GPU a row has the same bits whatever else is in its step and however its sequence was cut; slower. On
     * the host it always has. */
    bool is_alike;
    /* On a GPU: sizes of decoding steps that have a graph, rising; NULL: the usual ones. */
    const int32_t *ladder;
    uint32_t n_rungs; /* at most SUNDOG_REPLAY_MAX_RUNGS */
    void (*progress)(double fraction, void *data);
    void *data;
} SundogReplayOptions;

#define SUNDOG_REPLAY_MAX_RUNGS 64

typedef struct SundogReplay SundogReplay;

SundogReplay *sundog_replay_open(SundogCore *core, const SundogReplayOptions *options,
                                 GError **error);
void sundog_replay_close(SundogReplay *replay);

unsigned sundog_replay_get_n_threads(const SundogReplay *replay);
const char *sundog_replay_get_set_name(const SundogReplay *replay);
/* The largest shape this replay can run; a step copies it and makes it smaller. */
const SundogShape *sundog_replay_get_bounds(const SundogReplay *replay);

/* An input, output or state buffer by name, shared by the programs that name it; NULL where there is
 * none. Inputs keep what was written until written again. On a GPU only inputs and "token" are memory
 * of the host's; the rest is NULL here, and read by sundog_replay_read(). */
void *sundog_replay_get_buffer(SundogReplay *replay, const char *name);

/* Waits for all that was run, and copies the first bytes of any such buffer. */
bool sundog_replay_read(SundogReplay *replay, const char *name, void *to, size_t n_bytes,
                        GError **error);

/* Memory that the core's device can give; 0 where that is the host's. */
bool sundog_replay_find_device_bytes(const SundogCore *core, uint64_t *n_bytes, GError **error);

/* Runs a program at a shape within the bounds; logit_rows may be 0, other variables not. units and
 * pools are this replay's, whatever the shape says. False where there is no such program or the
 * shape is out of bounds. On a GPU the step is only begun, and its inputs may be written again; "sample"
 * returns when the tokens are there. Numbers that are not finite are told a row at a time: sampling gives -1. */
bool sundog_replay_run(SundogReplay *replay, const char *program, const SundogShape *shape,
                       GError **error);

/* "sample" in two, where it can be, which is on a GPU: a step may begin between them, in whose input "tokens"
 * -1 - r stands for the token of row r. "token" has them after the end. */
bool sundog_replay_can_begin(const SundogReplay *replay);
bool sundog_replay_begin_sample(SundogReplay *replay, const SundogShape *shape, GError **error);
bool sundog_replay_end_sample(SundogReplay *replay, GError **error);

/* From now on adds the time of each operation of all programs to `times_ns` [SUNDOG_N_OPERATIONS],
 * which must live until it is set again; NULL stops it. For measuring: a step is slower by some
 * microseconds. */
void sundog_replay_set_times(SundogReplay *replay, int64_t *times_ns);

/* From now on leaves out the operations whose bits, 1 << SundogOperationKind, are set in `operations`, and
 * on a GPU issues all launches directly: what a step is faster by is what they cost. For measuring:
 * results mean nothing. 0 ends it. Only on a GPU; false elsewhere. */
bool sundog_replay_leave_out(SundogReplay *replay, uint64_t operations);

/* State by kind: a piece is a page, a page of windows or a slot of recurrent state, in every layer that has such,
 * and none of them the null one. Copies one to another, where a page is shared and must grow. */
void sundog_replay_copy_state(SundogReplay *replay, SundogStateKind kind, int32_t from, int32_t to);
/* Bytes of a piece, by name of the buffer; 0 where there is none, or it does not leave the device. */
size_t sundog_replay_get_state_bytes(const SundogReplay *replay, SundogStateKind kind);
/* Copies a piece out, and back in, another one as well, and waits for all before it. False where the device
 * failed: what was to be filled then means nothing. */
bool sundog_replay_read_state(SundogReplay *replay, SundogStateKind kind, int32_t piece,
                              void *bytes);
bool sundog_replay_write_state(SundogReplay *replay, SundogStateKind kind, int32_t piece,
                               const void *bytes);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(SundogReplay, sundog_replay_close)
