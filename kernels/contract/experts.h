#pragma once

/*
 * Mixtures of experts (Shazeer et al. 2017; Fedus et al. 2021): route, plan_experts, gather_experts,
 * linear_gated_experts, linear_experts and combine_experts. T tokens, X experts, U of them used by each
 * token; choice c = t U + u is token t's u-th, A = T U of them. The matrices of all experts of a layer
 * lie in one weight [X N, K], expert e's rows from e N on; N is a multiple of 16.
 *
 * route        A token's probability of expert i is, with l its logits and exp() that of math.h,
 *                softmax   p[i] = exp(l[i] - max l) / (sum of all in rising order, from 0)
 *                sigmoid   p[i] = 1 / (1 + exp(-l[i]))
 *                margin    p[i] = l[i], where margin is above 0, whatever else is said
 *              its score s[i] = p[i] + bias[i], or p[i] where there is no bias. The experts lie in
 *              n_groups equal groups; where n_groups_used is fewer, a group's score is the sum of its
 *              group_best greatest scores, greatest first, and only experts of the n_groups_used best
 *              groups are chosen from (DeepSeek-AI 2024). The U greatest scores are chosen, greatest
 *              first; of equal ones the lower index, and NaN is ordered by its bits. The weight of a
 *              choice is p, without the bias; with a margin it is 1 / (sum of exp(l[i] - l) over the experts
 *              i, in rising order, from 0, that were left to choose from and of which l - l[i] is at most
 *              margin max(|l[i]|, l)), l being the choice's own (Liu et al. 2024); with renormalize it is divided by the sum of the weights
 *              in order of choice, from 0; then it is multiplied by scale, and by the expert's own of
 *              scales where there are such. Each step is rounded once.
 * plan_experts The step's work list: work [W, 8] i32 with W = ceil_div(A, 6) + min(A, X). An entry is
 *              {expert, n_rows, 6 choices}: a tile of up to 6 rows of one expert. Experts come in
 *              rising order, their choices in rising order, and of an expert's tiles only the last may
 *              hold fewer than 6. What is left of the list is {0, 0, -1 …}; so are places past n_rows -1.
 *              A choice that is no expert (padding) is left out. Thread 0's work.
 * gather_experts
 *              y's row 6 w + r is x's row of the token of entry w's choice r: a8 [ceil_div(T, 6), K] to
 *              a8 [W, K], a tile an entry; or f32 [T, K] to f32 [6 W, K]. Tiles past the list's end and
 *              rows past n_rows are not written in f32; in a8 a tile's rows past n_rows are zero. A
 *              choice outside x gives a row of NaN.
 * linear_gated_experts
 *              linear_gated of each entry's rows with its expert's rows of gate and up, each with its
 *              bias added before the activation; a and y are gathered: a8 [W, K] or f32 [6 W, K].
 * linear_experts
 *              linear of each entry's rows with its expert's rows of w, + bias; y [A, N] f32, where the
 *              row of a choice is its own number. A choice that was left out has no row written.
 * combine_experts
 *              y[t] = sum over u of weights[t][u] x[t U + u], from 0 on, by fma with u rising, then
 *              + residual[t], where there is one. Any split.
 *
 * All accumulate as linear.h says, so a row's bits do not depend on who else chose its expert.
 */

#include "kernels/contract/activation.h"

/* Places of an entry of the work list. */
#define SUNDOG_WORK_EXPERT 0
#define SUNDOG_WORK_ROWS 1
#define SUNDOG_WORK_CHOICES 2
#define SUNDOG_WORK_FIELDS (SUNDOG_WORK_CHOICES + SUNDOG_TILE_TOKENS)

/* Bytes of workspace a unit: a key and a probability an expert, and a count. */
static inline size_t
sundog_route_workspace_bytes(int64_t n_experts)
{
    return ((size_t)n_experts * (sizeof(uint64_t) + sizeof(float)) + 63) / 64 * 64;
}

static inline size_t
sundog_plan_experts_workspace_bytes(int64_t n_experts)
{
    return ((size_t)n_experts * sizeof(int32_t) + 63) / 64 * 64;
}
