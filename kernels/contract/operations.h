#pragma once

/*
 * The one list of operations: names, versions, arguments and parameters. Programs are checked and
 * printed from it, host kernels and CUDA kernels are looked up by it. What an operation computes, in
 * which order it accumulates and how it may be split stands in the contract header of its name.
 *
 * Dimensions in the comments: T tokens, S sequences, R rows with logits, P pages a sequence, U units
 * (threads of the pool), all of the step; D hidden size, H heads, G heads of keys and values, C size
 * of a head, N and K rows and columns of a weight, V vocabulary, L layers.
 */

#include "kernels/contract/types.h"

#define SUNDOG_MAX_ARGUMENTS 12
#define SUNDOG_MAX_PARAMETERS 8

typedef enum {
    SUNDOG_ACCESS_READ = 1,
    SUNDOG_ACCESS_WRITE = 2,     /* all of it, each call */
    SUNDOG_ACCESS_UPDATE = 3,    /* reads and writes: state, or a sum in place */
    SUNDOG_ACCESS_WORKSPACE = 4, /* content means nothing before and after */
    SUNDOG_ACCESS_OPTIONAL = 8,  /* flag: the argument may be absent */
} SundogAccess;

typedef struct {
    const char *name;
    SundogAccess access;
} SundogArgumentInfo;

typedef struct {
    const char *name;
    bool is_float;
} SundogParameterInfo;

typedef struct {
    const char *name;
    uint32_t version; /* grows when the meaning changes; stands in every program */
    SundogArgumentInfo arguments[SUNDOG_MAX_ARGUMENTS + 1];    /* ends with a NULL name */
    SundogParameterInfo parameters[SUNDOG_MAX_PARAMETERS + 1]; /* ends with a NULL name */
} SundogOperationInfo;

/*
 * Activations: where a comment says f32 or a8, the output of a norm, the input of a product, hidden
 * and attended values may be bf16 instead, as the CUDA kernels take them; and there all that is computed
 * element by element, or by layer_norm, group_norm and gated_norm, but not in place.
 *
 * X(NAME, text, version, ARGUMENTS, PARAMETERS) with ARGUMENTS of A(name, access) and PARAMETERS of
 * I(name) or F(name). The order here is the order in SundogCall.
 */
#define SUNDOG_OPERATIONS(X)                                                                                                       \
    /* x[t] = table[token[t]]: table WEIGHT [V, D], x [T, D] f32 */                                                                \
    X(EMBED, "embed", 1, A(tokens, READ) A(table, READ) A(x, WRITE), F(scale))                                                     \
    /* y = x / rms(x) * weight: x, y [T, D] f32, weight [1, D] */                                                                  \
    X(RMS_NORM, "rms_norm", 1, A(x, READ) A(weight, READ) A(y, WRITE), F(epsilon))                                                 \
    /* pool.h: x [T, D], first_row [S + 1] i32, y [S, D] f32; pooling is a SundogPool */                                           \
    X(POOL, "pool", 1, A(x, READ) A(first_row, READ) A(y, WRITE), I(pooling))                                                      \
    /* activation.h: x [T, K] f32 to a [ceil_div(T, 6), K] a8 */                                                                   \
    X(QUANTIZE, "quantize", 1, A(x, READ) A(a, WRITE), )                                                                           \
    /* rms_norm, then quantize, without the middle in memory */                                                                    \
    X(NORM_QUANTIZE, "norm_quantize", 1, A(x, READ) A(weight, READ) A(a, WRITE), F(epsilon))                                       \
    /* y = a w^T (+ bias) (+ residual): a [T, K] f32 or a8, w [N, K], y [T, N] f32; residual may be   \
     * the same buffer as y. workspace [U, sundog_linear_workspace_bytes(K)] u8 */                            \
    X(LINEAR, "linear", 1,                                                                                                         \
      A(a, READ) A(w, READ) A(bias, OPTIONAL_READ) A(residual, OPTIONAL_READ) A(y, WRITE)                                          \
          A(workspace, WORKSPACE), )                                                                                               \
    /* The query, key and value products of one layer in one call, written side by side:           \
     * y [T, (H + 2 G) C] */                               \
    X(LINEAR_QKV, "linear_qkv", 1,                                                                                                 \
      A(a, READ) A(wq, READ) A(wk, READ) A(wv, READ) A(bq, OPTIONAL_READ) A(bk, OPTIONAL_READ)                                     \
          A(bv, OPTIONAL_READ) A(y, WRITE) A(workspace, WORKSPACE), )                                                              \
    /* y = f(a gate^T) * (a up^T): y [T, N] f32, or [ceil_div(T, 6), N] a8: quantized in the same        \
     * call; function is a SundogGate */                         \
    X(LINEAR_GATED, "linear_gated", 2,                                                                                             \
      A(a, READ) A(gate, READ) A(up, READ) A(y, WRITE) A(workspace, WORKSPACE), I(function))                                       \
    /* linear.h: a product a head, each with its own rows of w [H N, K] and columns of a [T, H S]; y      \
     * [T, H N] f32; workspace as linear's */                        \
    X(LINEAR_HEADS, "linear_heads", 1, A(a, READ) A(w, READ) A(y, WRITE) A(workspace, WORKSPACE),                                  \
      I(n_heads) I(offset))                                                                                                        \
    /* y = f(gate) * up, or f(gate): all [T, N] f32; function is a SundogGate */                                                   \
    X(GATE, "gate", 1, A(gate, READ) A(up, OPTIONAL_READ) A(y, WRITE), I(function))                                                \
    /* y = x * factor, y = limit * tanh(x / limit): [T, N] f32 */                                                                  \
    X(SCALE, "scale", 1, A(x, READ) A(y, WRITE), F(factor))                                                                        \
    X(SOFTCAP, "softcap", 1, A(x, READ) A(y, WRITE), F(limit))                                                                     \
    X(ADD, "add", 1, A(a, READ) A(b, READ) A(y, WRITE), )                                                                          \
    /* y = a b c side by side, each [T, …] f32; what an unfused program says for linear_qkv */                                   \
    X(JOIN, "join", 1, A(a, READ) A(b, READ) A(c, READ) A(y, WRITE), )                                                             \
    /* rms_norm of each head of q, k and v in qkv [T, (H + 2 G) C], in place, with one weight [1, C] for  \
     * all heads of a part; a part without weight is left as it is */                        \
    X(HEAD_NORM, "head_norm", 1,                                                                                                   \
      A(qkv, UPDATE) A(q_weight, OPTIONAL_READ) A(k_weight, OPTIONAL_READ)                                                         \
          A(v_weight, OPTIONAL_READ),                                                                                              \
      I(n_heads) I(n_kv_heads) I(head_dim) F(epsilon))                                                                             \
    /* q of each row in qkv [T, (H + 2 G) C] times scales[(position + offset) / period], the last of scales   \
     * [1, N] where there are no more */                    \
    X(SCALE_QUERIES, "scale_queries", 2, A(qkv, UPDATE) A(positions, READ) A(scales, READ),                                        \
      I(n_heads) I(n_kv_heads) I(head_dim) I(period) I(offset))                                                                    \
    /* Rotates the heads of x [T, H C] in place, as rope_cache does */                                                             \
    X(ROPE, "rope", 1, A(x, UPDATE) A(positions, READ) A(inverse_frequencies, READ),                                               \
      I(n_heads) I(head_dim) I(rope_dims) I(interleaved) F(magnitude))                                                             \
    /* Rotates q and k in qkv [T, (H + 2 G) C] in place and writes k and v into the sequence's pages. \
     * inverse_frequencies [1, rope_dims / 2] f32, with every scaling already in it; absent where    \
     * rope_dims is 0: nothing is rotated */                            \
    X(ROPE_CACHE, "rope_cache", 2,                                                                                                 \
      A(qkv, UPDATE) A(positions, READ) A(token_sequence, READ) A(page_table, READ)                                                \
          A(inverse_frequencies, OPTIONAL_READ) A(k_pages, UPDATE) A(v_pages, UPDATE),                                             \
      I(n_heads) I(n_kv_heads) I(head_dim) I(rope_dims) I(interleaved) F(magnitude))                                               \
    /* rope_cache into pages of the step alone, all of which it writes: no sequence goes on in another   \
     * step. Pages [ceil_div(T, 64) + S + 1, …] f32; those of no sequence are zeros */                         \
    X(ROPE_PAGES, "rope_pages", 1,                                                                                                 \
      A(qkv, UPDATE) A(positions, READ) A(token_sequence, READ) A(page_table, READ)                                                \
          A(inverse_frequencies, OPTIONAL_READ) A(k_pages, WRITE) A(v_pages, WRITE),                                               \
      I(n_heads) I(n_kv_heads) I(head_dim) I(rope_dims) I(interleaved) F(magnitude))                                               \
    /* The step's list of attention work: tiles [1 + tiles of T and S, 4] i32 */                                                   \
    X(PLAN_ATTENTION, "plan_attention", 1,                                                                                         \
      A(first_row, READ) A(start_position, READ) A(tiles, WRITE), I(n_heads) I(n_kv_heads))                                        \
    /* Causal attention of the q part of qkv, or of q [T, H C] alone, over the pages: o [T, H C] f32, or [ceil_div(T, 6), H C]   \
     * a8: quantized in the same call. workspace [U, sundog_attention_workspace_bytes(C)] u8, sinks     \
     * [1, H]; window, softcap and chunk are 0 where there is none */ \
    X(ATTENTION, "attention", 5,                                                                                                   \
      A(qkv, READ) A(positions, READ) A(page_table, READ) A(tiles, READ) A(k_pages, READ)                                          \
          A(v_pages, READ) A(o, WRITE) A(workspace, WORKSPACE) A(sinks, OPTIONAL_READ),                                            \
      I(n_heads) I(n_kv_heads) I(head_dim) F(scale) I(window) F(softcap) I(chunk) I(both_ways))                                    \
    /* latent.h: queries, keys and values of attention over latents, as qkv [T, (H + 2) C] of one group:  \
     * q [T, H S], absorbed [T, H (C - rope_dims)], latent [T, C], weight [1, C - rope_dims] */                        \
    X(LATENT_QKV, "latent_qkv", 1,                                                                                                 \
      A(q, READ) A(absorbed, READ) A(latent, READ) A(weight, READ) A(qkv, WRITE),                                                  \
      I(n_heads) I(n_kv_heads) I(head_dim) I(rope_dims) F(epsilon))                                                                \
    /* recurrent.h, with state in slots [Z, …] f32 and first_row [S + 1], start_position [S], state_slot [S] \
     * i32. A causal convolution of each channel: x, y [T, C], weight [1, C width], state [Z, width - 1, C] */                   \
    X(SHORT_CONV, "short_conv", 1,                                                                                                 \
      A(x, READ) A(weight, READ) A(bias, OPTIONAL_READ) A(first_row, READ) A(start_position, READ)                                 \
          A(state_slot, READ) A(state, UPDATE) A(y, WRITE),                                                                        \
      I(width) I(silu))                                                                                                            \
    /* The gated delta rule: qkv [T, 2 G K + H V], beta, alpha [T, H], decay, step [1, H],                  \
     * state [Z, H, K, V], y [T, H V] */                      \
    X(GATED_DELTA, "gated_delta", 1,                                                                                               \
      A(qkv, READ) A(beta, READ) A(alpha, READ) A(decay, READ) A(step, READ) A(first_row, READ)                                    \
          A(start_position, READ) A(state_slot, READ) A(state, UPDATE) A(y, WRITE),                                                \
      I(n_key_heads) I(key_dim) I(value_dim) I(is_tiled))                                                                          \
    /* A state space: xbc [T, H V + 2 G K], dt [T, H], decay, step, skip [1, H], state [Z, H, K, V],      \
     * y [T, H V] */                        \
    X(STATE_SPACE, "state_space", 1,                                                                                               \
      A(xbc, READ) A(dt, READ) A(decay, READ) A(step, READ) A(skip, READ) A(first_row, READ)                                       \
          A(start_position, READ) A(state_slot, READ) A(state, UPDATE) A(y, WRITE),                                                \
      I(n_key_heads) I(key_dim) I(value_dim))                                                                                      \
    /* y = rms_norm of each of n_groups parts of a row: x, y [T, N], weight [1, N] */                                              \
    X(GROUP_NORM, "group_norm", 1, A(x, READ) A(weight, READ) A(y, WRITE), I(n_groups) F(epsilon))                                 \
    /* layer-norm.h: x, y [T, D] f32, weight, bias [1, D] */                                                                       \
    X(LAYER_NORM, "layer_norm", 1, A(x, READ) A(weight, READ) A(bias, OPTIONAL_READ) A(y, WRITE),                                  \
      F(epsilon))                                                                                                                  \
    /* y = rms_norm of each head of x, times silu(gate): x, gate, y [T, N], weight [1, size of a head] */                          \
    X(GATED_NORM, "gated_norm", 1, A(x, READ) A(weight, READ) A(gate, READ) A(y, WRITE),                                           \
      F(epsilon))                                                                                                                  \
    /* Columns [offset, offset + size) of each group of `stride`: x [T, A], y [T, A / stride size] */                              \
    X(TAKE, "take", 1, A(x, READ) A(y, WRITE), I(stride) I(offset) I(size))                                                        \
    /* y = a * b: a, y [T, N] f32, b [T, N], or [T, 1] for a whole row */                                                          \
    X(MUL, "mul", 1, A(a, READ) A(b, READ) A(y, WRITE), )                                                                          \
    /* y = a - b: all [T, N] f32; y = x * weight: x, y [T, N], weight [1, N] */                                                    \
    X(SUBTRACT, "subtract", 1, A(a, READ) A(b, READ) A(y, WRITE), )                                                                \
    X(SCALE_COLUMNS, "scale_columns", 1, A(x, READ) A(weight, READ) A(y, WRITE), )                                                 \
    /* streams.h, P streams to Q: x [T, P D], coefficients [T, Q P], residual, y [T, Q D]; x, y [T, P D],  \
     * reference [T, D]; x, y [T, N] */                       \
    X(MIX, "mix", 1, A(x, READ) A(coefficients, READ) A(residual, OPTIONAL_READ) A(y, WRITE),                                      \
      I(n_from) I(n_to))                                                                                                           \
    X(MATCH_NORM, "match_norm", 1, A(x, READ) A(reference, READ) A(y, WRITE), F(floor))                                            \
    X(SPARSIFY, "sparsify", 1, A(x, READ) A(y, WRITE), F(multiplier))                                                              \
    /* experts.h, with X experts, U a token, A = T U choices, W entries of the work list: logits [T, X],  \
     * bias, scales [1, X], choices [T, U] i32, weights [T, U] */                        \
    X(ROUTE, "route", 3,                                                                                                           \
      A(logits, READ) A(bias, OPTIONAL_READ) A(choices, WRITE) A(weights, WRITE)                                                   \
          A(workspace, WORKSPACE) A(scales, OPTIONAL_READ),                                                                        \
      I(sigmoid) I(n_groups) I(n_groups_used) I(group_best) I(renormalize) F(scale) F(margin))                                     \
    /* work [W, 8] i32; workspace [U, sundog_plan_experts_workspace_bytes(X)] u8 */                                                \
    X(PLAN_EXPERTS, "plan_experts", 1, A(choices, READ) A(work, WRITE) A(workspace, WORKSPACE),                                    \
      I(n_experts))                                                                                                                \
    /* x [T, K] f32 or a8 to y, a row a choice in the order of the list: [6 W, K] f32 or [W, K] a8 */                              \
    X(GATHER_EXPERTS, "gather_experts", 1, A(x, READ) A(work, READ) A(y, WRITE), I(n_used))                                        \
    /* y = f(a gate^T) * (a up^T) by experts: gate, up [X N, K], y as a; function is a SundogGate */                               \
    X(LINEAR_GATED_EXPERTS, "linear_gated_experts", 1,                                                                             \
      A(a, READ) A(gate, READ) A(up, READ) A(gate_bias, OPTIONAL_READ) A(up_bias, OPTIONAL_READ)                                   \
          A(work, READ) A(y, WRITE) A(workspace, WORKSPACE),                                                                       \
      I(n_experts) I(function))                                                                                                    \
    /* y = a w^T (+ bias) by experts: w [X N, K], y [A, N] f32 in the order of choices */                                          \
    X(LINEAR_EXPERTS, "linear_experts", 1,                                                                                         \
      A(a, READ) A(w, READ) A(bias, OPTIONAL_READ) A(work, READ) A(y, WRITE)                                                       \
          A(workspace, WORKSPACE),                                                                                                 \
      I(n_experts))                                                                                                                \
    /* y[t] = (residual[t] +) sum of weights[t][u] x[t U + u]: x [A, N], y [T, N] f32 */                                           \
    X(COMBINE_EXPERTS, "combine_experts", 1,                                                                                       \
      A(x, READ) A(weights, READ) A(residual, OPTIONAL_READ) A(y, WRITE), )                                                        \
    /* y = sigmoid(gate) * x: x, y [T, N] f32, gate [T, N], or [T, 1] for a whole row */                                           \
    X(SIGMOID_MUL, "sigmoid_mul", 1, A(gate, READ) A(x, READ) A(y, WRITE), )                                                       \
    /* y[r] = x[rows[r]]: x [T, D], y [R, D] f32 */                                                                                \
    X(GATHER_ROWS, "gather_rows", 1, A(x, READ) A(rows, READ) A(y, WRITE), )                                                       \
    /* sample.h: one token a row of logits [R, V]. sampling [R] of SundogSampling as u8, history   \
     * [R, window] i32 with -1 past the end, mask [R, words] and bias [R, words] i32, token [R] i32, \
     * scores [R, words] i32 of SundogScore */                               \
    X(SAMPLE, "sample", 3,                                                                                                         \
      A(logits, UPDATE) A(sampling, READ) A(history, READ) A(mask, READ) A(bias, READ)                                             \
          A(token, WRITE) A(workspace, WORKSPACE) A(scores, OPTIONAL_WRITE), )

typedef enum {
#define X(name, text, version, arguments, parameters) SUNDOG_OP_##name,
    SUNDOG_OPERATIONS(X)
#undef X
        SUNDOG_N_OPERATIONS
} SundogOperationKind;

/* The list above as data, indexed by SundogOperationKind. */
extern const SundogOperationInfo sundog_operations[SUNDOG_N_OPERATIONS];

/* SUNDOG_N_OPERATIONS where there is none of that name. */
SundogOperationKind sundog_operation_find(const char *name);

/* How many arguments and parameters the operation has. */
uint32_t sundog_operation_n_arguments(SundogOperationKind kind);
uint32_t sundog_operation_n_parameters(SundogOperationKind kind);

size_t sundog_dtype_bytes(SundogDtype dtype);
const char *sundog_dtype_name(SundogDtype dtype);
const char *sundog_layout_name(SundogLayout layout);
