#pragma once

/* For tests on a GPU: a model prepared for it, opened, and steps of it. Anything that fails ends the
 * test. */

#include "engine/prepare/prepare.h"
#include "engine/replay/replay.h"

#define GPU_TARGET "sm_90a"

typedef struct {
    char *folder;
    SundogKeyring *keyring;
    SundogCore *core;
    SundogReplay *replay;
    uint32_t n_vocabulary;
} GpuCore;

/* One sequence's stretch in a step; its pages follow one another from the sequence's first on. */
typedef struct {
    int32_t first_page;
    int32_t start;
    int32_t n_tokens;
    const int32_t *tokens;
} GpuPart;

/* A llama of a shape, its data a hole in the file: what is measured needs no values. */
typedef struct {
    uint32_t n_layers, hidden, mlp, n_heads, n_kv_heads, head_dim, n_vocabulary;
    uint32_t type; /* of matrices, as GGUF counts */
} GpuShape;

char *gpu_shape_write(const GpuShape *shape, const char *folder);
/* The same with random data, for what is compared: matrices that keep the size of x, norms about 1. */
char *gpu_shape_write_random(const GpuShape *shape, const char *folder);

void gpu_core_open(GpuCore *gpu, const char *model, const char *target,
                   SundogActivations activations, const SundogReplayOptions *options);
void gpu_core_close(GpuCore *gpu);

/* Fills the inputs of a forward step; `rows` are those with logits. Returns its shape. */
SundogShape gpu_core_fill(GpuCore *gpu, const GpuPart *parts, int n_parts, const int32_t *rows,
                          int n_rows);
/* Runs the step and gives the logits [n_rows, n_vocabulary]; free it. */
float *gpu_core_step(GpuCore *gpu, const GpuPart *parts, int n_parts, const int32_t *rows,
                     int n_rows);
