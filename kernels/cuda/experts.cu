/* Mixtures of experts: experts.h. A warp routes a token, one block makes the step's work list, and a block of
 * a product multiplies 16 rows of an expert with the rows of one entry of that list. */

#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/gate.cuh"

#include "kernels/contract/experts.h"
#include "kernels/contract/keys.h"
#include "kernels/contract/sigmoid-mul.h"

#define LANE ((int)threadIdx.x % 32)
#define TILE SUNDOG_TILE_TOKENS

/* Route */

/* One token's experts in shared memory; keys order them by score, then by index, all different. */
struct Route {
    const SundogCudaRoute &p;
    uint64_t *keys; /* 0 is out of the choice */
    float *probabilities;
};

/* The greatest of keys [n] below a limit, 0 where there is none; the same for all lanes. */
INLINE uint64_t
find_best_below(const uint64_t *keys, int n, uint64_t limit)
{
    uint64_t best = 0;
    for (int i = LANE; i < n; i += 32)
        best = keys[i] < limit && keys[i] > best ? keys[i] : best;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        uint64_t other = __shfl_xor_sync(~0u, best, distance);
        best = other > best ? other : best;
    }
    return best;
}

INLINE void
make_softmax(const Route &route, const float *logits)
{
    int n = route.p.n_experts;
    float greatest = __ldcg(logits), sum = 0;
    for (int i = LANE; i < n; i += 32) {
        float logit = __ldcg(logits + i);
        greatest = logit > greatest ? logit : greatest;
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        float other = __shfl_xor_sync(~0u, greatest, distance);
        greatest = other > greatest ? other : greatest;
    }
    for (int i = LANE; i < n; i += 32)
        route.probabilities[i] = sundog_exp(__ldcg(logits + i) - greatest);
    __syncwarp();
    for (int i = 0; i < n; i++) /* in the contract's order, by each lane */
        sum += route.probabilities[i];
    __syncwarp();
    for (int i = LANE; i < n; i += 32)
        route.probabilities[i] /= sum;
}

INLINE float
find_score(const Route &route, int expert)
{
    float score = route.probabilities[expert];
    return route.p.bias != NULL ? score + ((const float *)route.p.bias)[expert] : score;
}

INLINE void
score_experts(const Route &route, const float *logits)
{
    bool has_margin = route.p.margin > 0;
    if (!route.p.is_sigmoid && !has_margin)
        make_softmax(route, logits);
    for (int i = LANE; i < route.p.n_experts; i += 32) {
        if (has_margin)
            route.probabilities[i] = __ldcg(logits + i);
        else if (route.p.is_sigmoid)
            route.probabilities[i] = sundog_sigmoid(__ldcg(logits + i));
        route.keys[i] = sundog_score_key(find_score(route, i), i);
    }
    __syncwarp();
}

INLINE uint64_t
score_group(const Route &route, int group)
{
    int size = route.p.n_experts / route.p.n_groups;
    uint64_t key = ~0ull;
    float sum = 0;
    for (int n = 0; n < route.p.group_best; n++) {
        key = find_best_below(route.keys + group * size, size, key);
        if (key == 0)
            break;
        sum += find_score(route, (int)sundog_key_index(key));
    }
    return sundog_score_key(sum, group);
}

/* Takes all but the best groups out of the choice. */
INLINE void
choose_groups(const Route &route)
{
    int size = route.p.n_experts / route.p.n_groups;
    uint64_t cut = ~0ull;
    for (int n = 0; n < route.p.n_groups_used; n++) {
        uint64_t best = 0;
        for (int group = 0; group < route.p.n_groups; group++) {
            uint64_t key = score_group(route, group);
            best = key < cut && key > best ? key : best;
        }
        cut = best;
    }
    for (int group = 0; group < route.p.n_groups; group++) {
        bool is_out = score_group(route, group) < cut;
        for (int i = LANE; is_out && i < size; i += 32)
            route.keys[group * size + i] = 0;
        __syncwarp();
    }
}

/* Of the expert of that key among those that are left to choose from: its softmax over the near ones, in the
 * contract's order, by each lane. */
INLINE float
weigh_by_margin(const Route &route, uint64_t key)
{
    float own = route.probabilities[(int)sundog_key_index(key)], sum = 0;
    for (int i = 0; i < route.p.n_experts; i++) {
        float other = route.probabilities[i];
        float size = other < 0 ? -other : other;
        float limit = __fmul_rn(route.p.margin, size > own ? size : own);
        if (route.keys[i] != 0 && route.keys[i] <= key && own - other <= limit)
            sum += sundog_exp(other - own);
    }
    return 1 / sum;
}

INLINE float
find_weight(const Route &route, uint64_t key)
{
    return route.p.margin > 0 ? weigh_by_margin(route, key)
                              : route.probabilities[(int)sundog_key_index(key)];
}

INLINE void
choose_experts(const Route &route, int32_t *choices, float *weights)
{
    uint64_t key = ~0ull;
    float sum = 0;
    for (int u = 0; u < route.p.n_used; u++) {
        key = find_best_below(route.keys, route.p.n_experts, key);
        float weight = find_weight(route, key);
        sum += weight;
        if (LANE == u % 32) {
            choices[u] = (int)sundog_key_index(key);
            weights[u] = weight;
        }
    }
    __syncwarp();
    for (int u = LANE; u < route.p.n_used; u += 32) { /* the lane that wrote the choice */
        float weight = weights[u];
        if (route.p.renormalizes)
            weight /= sum;
        weight *= route.p.scale;
        if (route.p.scales != NULL)
            weight *= ((const float *)route.p.scales)[choices[u]];
        weights[u] = weight;
    }
}

SUNDOG_ENTRY
sundog_route(const __grid_constant__ SundogCudaRoute p)
{
    __shared__ uint64_t keys[SUNDOG_CUDA_MAX_EXPERTS];
    __shared__ float probabilities[SUNDOG_CUDA_MAX_EXPERTS];
    const Route route = {p, keys, probabilities};
    start_dependents();
    wait_for_predecessor();
    score_experts(route, (const float *)p.logits + (size_t)blockIdx.x * p.n_experts);
    if (p.n_groups_used < p.n_groups)
        choose_groups(route);
    choose_experts(route, (int32_t *)p.choices + (size_t)blockIdx.x * p.n_used,
                   (float *)p.weights + (size_t)blockIdx.x * p.n_used);
}

/* The work list */

/* Calls function(choice) for each choice of this thread's expert, in rising order. */
template <class Function>
INLINE void
each_choice(const SundogCudaPlanExperts &p, int32_t *room, Function function)
{
    int n_threads = blockDim.x, expert = threadIdx.x;
    for (int base = 0; base < p.n_choices; base += n_threads) {
        int n = min(n_threads, p.n_choices - base);
        __syncthreads();
        if (expert < n)
            room[expert] = __ldcg((const int32_t *)p.choices + base + expert);
        __syncthreads();
        for (int i = 0; i < n; i++)
            if (room[i] == expert)
                function(base + i);
    }
}

/* The sum of the values of all threads before this one; `total` that of all. */
INLINE int
sum_before(int value, int32_t *room, int *total)
{
    int sum = value;
    __syncthreads();
    room[threadIdx.x] = value;
    __syncthreads();
    for (int distance = 1; distance < (int)blockDim.x; distance *= 2) {
        int other = (int)threadIdx.x >= distance ? room[threadIdx.x - distance] : 0;
        __syncthreads();
        sum += other;
        room[threadIdx.x] = sum;
        __syncthreads();
    }
    *total = room[blockDim.x - 1];
    return sum - value;
}

INLINE void
clear_entry(int32_t *entry, int expert, int n_rows)
{
    entry[SUNDOG_WORK_EXPERT] = expert;
    entry[SUNDOG_WORK_ROWS] = n_rows;
    for (int i = SUNDOG_WORK_CHOICES; i < SUNDOG_WORK_FIELDS; i++)
        entry[i] = -1;
}

/* One block, a thread an expert. */
SUNDOG_ENTRY
__launch_bounds__(SUNDOG_CUDA_MAX_EXPERTS)
    sundog_plan_experts(const __grid_constant__ SundogCudaPlanExperts p)
{
    __shared__ int32_t room[SUNDOG_CUDA_MAX_EXPERTS];
    int expert = threadIdx.x, count = 0, n_entries, n = 0;
    start_dependents();
    wait_for_predecessor();
    each_choice(p, room, [&](int) { count += expert < p.n_experts; });
    int first = sum_before((count + TILE - 1) / TILE, room, &n_entries);
    int32_t *own = (int32_t *)p.work + (size_t)first * SUNDOG_WORK_FIELDS;
    for (int i = 0; i * TILE < count; i++)
        clear_entry(own + i * SUNDOG_WORK_FIELDS, expert, min(TILE, count - i * TILE));
    each_choice(p, room, [&](int choice) {
        if (expert < p.n_experts)
            own[n / TILE * SUNDOG_WORK_FIELDS + SUNDOG_WORK_CHOICES + n % TILE] = choice;
        n++;
    });
    for (int i = n_entries + expert; i < p.n_entries; i += blockDim.x)
        clear_entry((int32_t *)p.work + (size_t)i * SUNDOG_WORK_FIELDS, 0, 0);
}

/* A block an entry. */
SUNDOG_ENTRY
sundog_gather_experts(const __grid_constant__ SundogCudaGatherExperts p)
{
    start_dependents();
    wait_for_predecessor();
    const int32_t *entry = (const int32_t *)p.work + (size_t)blockIdx.x * SUNDOG_WORK_FIELDS;
    int n_rows = __ldcg(entry + SUNDOG_WORK_ROWS);
    for (int r = 0; r < n_rows; r++) {
        int token = __ldcg(entry + SUNDOG_WORK_CHOICES + r) / p.n_used;
        bool known = token < p.n_tokens;
        const uint16_t *x = (const uint16_t *)p.x + (size_t)(known ? token : 0) * p.n_columns;
        uint16_t *y = (uint16_t *)p.y + ((size_t)blockIdx.x * TILE + r) * p.n_columns;
        for (int k = threadIdx.x; k < p.n_columns; k += blockDim.x)
            y[k] = known ? __ldcg(x + k) : to_bf16(NAN);
    }
}

/* Products */

#define WARPS (SUNDOG_CUDA_EXPERT_THREADS / 32)
#define SUMS COLUMNS_SUMS

/* What the warps of a block have summed, by matrix; each warp has a quarter of the blocks of columns. */
template <int LAYOUT, int N_MATRICES>
INLINE void
sum_products(const SundogCudaExpertLinear &p, int expert, int n_rows,
             float (&room)[WARPS][N_MATRICES][SUMS])
{
    using T = Tile<LAYOUT>;
    int n_blocks = (p.n_columns + T::columns - 1) / T::columns, row = LANE / 4;
    size_t panel = (size_t)expert * (p.n_rows / 16) + blockIdx.x;
    const uint16_t *x =
        (const uint16_t *)p.a + ((size_t)blockIdx.y * TILE + min(row, n_rows - 1)) * p.n_columns;
    float c[N_MATRICES][4] = {};
#pragma unroll 2
    for (int b = threadIdx.x / 32; b < n_blocks; b += WARPS) {
        auto columns = load_columns<T::steps>(x, row < n_rows, b * T::columns, p.n_columns);
#pragma unroll
        for (int m = 0; m < N_MATRICES; m++)
            multiply_block<LAYOUT>(c[m], (const char *)p.w[m] + (panel * n_blocks + b) * T::bytes,
                                   columns);
    }
#pragma unroll
    for (int m = 0; m < N_MATRICES; m++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            room[threadIdx.x / 32][m][i * 32 + LANE] = c[m][i];
    __syncthreads();
}

template <int LAYOUT, int N_MATRICES>
INLINE void
run_experts(const SundogCudaExpertLinear &p)
{
    __shared__ float room[WARPS][N_MATRICES][SUMS];
    start_dependents();
    wait_for_predecessor();
    const int32_t *entry = (const int32_t *)p.work + (size_t)blockIdx.y * SUNDOG_WORK_FIELDS;
    int expert = __ldcg(entry + SUNDOG_WORK_EXPERT), n_rows = __ldcg(entry + SUNDOG_WORK_ROWS);
    if (n_rows == 0)
        return;
    sum_products<LAYOUT, N_MATRICES>(p, expert, n_rows, room);
    /* Of a fragment, i and the lane say the row of the weight and the place in the entry. */
    int i = threadIdx.x / 32, n = LANE % 4 * 2 + i % 2;
    int row = (int)blockIdx.x * 16 + LANE / 4 + i / 2 * 8;
    float value[N_MATRICES];
#pragma unroll
    for (int m = 0; m < N_MATRICES; m++) {
        value[m] = 0;
        for (int warp = 0; warp < WARPS; warp++)
            value[m] += room[warp][m][threadIdx.x];
        if (p.bias[m] != NULL)
            value[m] += ((const float *)p.bias[m])[(size_t)expert * p.n_rows + row];
    }
    if (n >= n_rows)
        return;
    if constexpr (N_MATRICES == 2) {
        size_t at = ((size_t)blockIdx.y * TILE + n) * p.n_rows + row;
        ((uint16_t *)p.y)[at] = to_bf16(gate_value(p.function, value[0], value[1]));
    } else {
        int choice = __ldcg(entry + SUNDOG_WORK_CHOICES + n);
        ((float *)p.y)[(size_t)choice * p.n_rows + row] = value[0];
    }
}

#define ENTRIES(suffix, layout)                                                         \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_EXPERT_THREADS)                          \
        sundog_experts_##suffix(const __grid_constant__ SundogCudaExpertLinear p)       \
    {                                                                                   \
        run_experts<layout, 1>(p);                                                      \
    }                                                                                   \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_EXPERT_THREADS)                          \
        sundog_gated_experts_##suffix(const __grid_constant__ SundogCudaExpertLinear p) \
    {                                                                                   \
        run_experts<layout, 2>(p);                                                      \
    }

ENTRIES(bf16, SUNDOG_LAYOUT_TILE16_BF16)
ENTRIES(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0)
ENTRIES(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1)
ENTRIES(f8, SUNDOG_LAYOUT_TILE16_F8)

/* A block a token. */
SUNDOG_ENTRY
sundog_combine_experts(const __grid_constant__ SundogCudaCombineExperts p)
{
    start_dependents();
    wait_for_predecessor();
    size_t row = (size_t)blockIdx.x * p.n_columns, first = (size_t)blockIdx.x * p.n_used;
    for (int k = threadIdx.x; k < p.n_columns; k += blockDim.x) {
        float sum = 0;
        for (int u = 0; u < p.n_used; u++)
            sum = fmaf(__ldcg((const float *)p.weights + first + u),
                       __ldcg((const float *)p.x + (first + u) * p.n_columns + k), sum);
        if (p.residual != NULL)
            sum += __ldcg((const float *)p.residual + row + k);
        ((float *)p.y)[row + k] = sum;
    }
}
