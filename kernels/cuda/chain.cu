/*
 * The products between two attentions in one launch, for few tokens and quantized weights: a block a
 * multiprocessor, all of them there at once. What each link of the chain makes, its blocks leave for all
 * others as lines of signed bytes (chain.cuh), so that weights of the next link are on their way while x
 * of this one still comes in.
 *
 * Units of 16 rows go to the blocks in turn. One warp copies their weights into a ring of stages; sixteen
 * multiply, each a slot of a stage; others add the warps' sums in order and finish the unit. Which slots are
 * summed together does not depend on the block, so the numeric class is one, whatever the grid.
 */

#include "kernels/cuda/chain.cuh"

/* Older targets have no bulk copies, and their launch lists no chains. */
#if __CUDA_ARCH__ >= 900

#define PANEL_ROWS 16
#define SLOT_BLOCKS SUNDOG_CUDA_CHAIN_SLOT_BLOCKS
#define WARP_THREADS 32
#define MULTIPLIERS (CHAIN_WARPS * WARP_THREADS)

template <int LAYOUT_, bool ONE_> struct Chain {
    using T = Tile<LAYOUT_>;
    static constexpr int layout = LAYOUT_;
    static constexpr bool one = ONE_;
    static constexpr int slots = SUNDOG_CUDA_CHAIN_SLOTS(T::bytes, ONE_);
    static constexpr int stage_blocks = slots * SLOT_BLOCKS;
    static constexpr int stage_bytes = stage_blocks * T::bytes;
    static constexpr int teams = CHAIN_WARPS / slots; /* of warps, which take stages in turn */
    /* Of the launch. */
    static __device__ __forceinline__ int
    tokens(const SundogCudaChain &p)
    {
        return ONE_ ? 1 : p.n_tokens;
    }
    static constexpr int at_once = ONE_ ? 2 : 4; /* groups of x that a thread waits for */
    static constexpr int finishers = SUNDOG_CUDA_CHAIN_FINISHERS(ONE_);
    /* Warps that take a token's x. */
    static __device__ __forceinline__ int
    token_warps(const SundogCudaChain &p)
    {
        return ONE_ ? CHAIN_WARPS : CHAIN_WARPS / p.n_tokens;
    }
};

/* What all warps of a block share: barriers, then x. */
struct ChainHead {
    uint64_t full[SUNDOG_CUDA_CHAIN_MAX_STAGES], empty[SUNDOG_CUDA_CHAIN_MAX_STAGES];
    uint64_t parts_full[2], parts_empty[2];
    float squares[SUNDOG_CUDA_CHAIN_MAX_TOKENS][CHAIN_WARPS];
    int waits; /* for x: then fewer weights are asked for, which lines would queue behind */
};
static_assert(sizeof(ChainHead) <= SUNDOG_CUDA_CHAIN_HEAD_BYTES, "");

struct ChainRoom {
    char *stages;
    ChainHead *head;
    float *parts; /* 2 turns x [CHAIN_WARPS][n_tokens][16] */
    char *x;
};

template <class C>
INLINE ChainRoom
find_chain_room(const SundogCudaChain &p, char *shared)
{
    ChainRoom room;
    room.stages = shared;
    room.head = (ChainHead *)(shared + p.n_stages * C::stage_bytes);
    room.parts = (float *)((char *)room.head + SUNDOG_CUDA_CHAIN_HEAD_BYTES);
    room.x = (char *)room.parts + C::tokens(p) * SUNDOG_CUDA_CHAIN_PARTS_BYTES;
    return room;
}

/* A token's x of a link: bytes of all tokens, then scales, then sums. */
template <class C>
INLINE ChainToken
find_chain_token(const SundogCudaChain &p, const ChainRoom &room, int n_columns, int token)
{
    char *scales = room.x + C::tokens(p) * SUNDOG_CUDA_CHAIN_X_STRIDE(n_columns);
    char *sums = scales + C::tokens(p) * SUNDOG_CUDA_CHAIN_SCALES_STRIDE(n_columns);
    return {room.x + token * SUNDOG_CUDA_CHAIN_X_STRIDE(n_columns),
            (uint16_t *)(scales + token * SUNDOG_CUDA_CHAIN_SCALES_STRIDE(n_columns)),
            (float *)(sums + token * SUNDOG_CUDA_CHAIN_SUMS_STRIDE(n_columns))};
}

template <class C>
INLINE float *
find_parts(const SundogCudaChain &p, const ChainRoom &room, int turn)
{
    return room.parts + turn * CHAIN_WARPS * C::tokens(p) * PANEL_ROWS;
}

INLINE int
panels_of(int n_rows)
{
    return (n_rows + PANEL_ROWS - 1) / PANEL_ROWS;
}

INLINE int
matrices_of(const SundogCudaLink &link)
{
    return link.kind == SUNDOG_CUDA_LINK_GATE ? 2 : 1;
}

INLINE int
units_of(const SundogCudaLink &link)
{
    int n = panels_of(link.n_rows[0]);
    if (link.kind != SUNDOG_CUDA_LINK_GATE)
        n += panels_of(link.n_rows[1]) + panels_of(link.n_rows[2]);
    return n;
}

/* Where a unit lies. */
struct ChainUnit {
    int which; /* matrix, where they follow one another */
    int panel;
    int column; /* of y, where its first row goes */
};

INLINE ChainUnit
find_unit(const SundogCudaLink &link, int unit)
{
    ChainUnit found = {0, unit, 0};
    while (link.kind != SUNDOG_CUDA_LINK_GATE && found.which < 2 &&
           found.panel >= panels_of(link.n_rows[found.which])) {
        found.panel -= panels_of(link.n_rows[found.which]);
        found.column += link.n_rows[found.which++];
    }
    found.column += found.panel * PANEL_ROWS;
    return found;
}

/* A place in a ring: which, and the parity of its barriers' phase. */
struct ChainPlace {
    int at, parity;
};

INLINE void
advance(ChainPlace &place, int n)
{
    if (++place.at == n) {
        place.at = 0;
        place.parity ^= 1;
    }
}

INLINE uint32_t
barrier_of(const uint64_t *barriers, int at)
{
    return shared_address(barriers + at);
}

INLINE int
find_limit(const SundogCudaChain &p, const ChainRoom &room)
{
    return *(const volatile int *)&room.head->waits ? p.n_waiting : p.n_in_flight;
}

/* One lane: all weights of this block, in the order in which they are multiplied. */
template <class C>
INLINE void
copy_weights(const SundogCudaChain &p, const ChainRoom &room)
{
    ChainPlace place = {0, 0}, landed = {0, 0};
    int n_in_flight = 0;
#pragma unroll 1
    for (int l = 0; l < p.n_links; l++) {
        const SundogCudaLink &link = p.links[l];
        int n_blocks = link.n_columns / C::T::columns, n_units = units_of(link);
#pragma unroll 1
        for (int unit = blockIdx.x; unit < n_units; unit += gridDim.x)
#pragma unroll 1
            for (int matrix = 0; matrix < matrices_of(link); matrix++) {
                ChainUnit found = find_unit(link, unit);
                const char *panel = (const char *)link.w[found.which + matrix] +
                                    (size_t)found.panel * n_blocks * C::T::bytes;
#pragma unroll 1
                for (int block = 0; block < n_blocks; block += C::stage_blocks) {
                    uint32_t n_bytes = min(C::stage_blocks, n_blocks - block) * C::T::bytes;
                    uint32_t full = barrier_of(room.head->full, place.at);
                    barrier_wait(barrier_of(room.head->empty, place.at), place.parity ^ 1);
                    for (; n_in_flight >= find_limit(p, room); n_in_flight--) {
                        barrier_wait(barrier_of(room.head->full, landed.at), landed.parity);
                        advance(landed, p.n_stages);
                    }
                    n_in_flight++;
                    barrier_expect(full, n_bytes);
                    copy_bulk(shared_address(room.stages + place.at * C::stage_bytes),
                              panel + (size_t)block * C::T::bytes, n_bytes, full);
                    advance(place, p.n_stages);
                }
            }
    }
}

INLINE void
wait_for_multipliers()
{
    asm volatile("bar.sync 1, %0;" ::"n"(MULTIPLIERS) : "memory");
}

INLINE void
set_waiting(const ChainRoom &room, bool waits)
{
    if (threadIdx.x == 0)
        *(volatile int *)&room.head->waits = waits;
}

/* A link's x into shared memory, once no warp reads the one before. */
template <class C>
INLINE void
take_x(const SundogCudaChain &p, const ChainRoom &room, int l, uint32_t flag)
{
    const SundogCudaLink &link = p.links[l];
    int warp = threadIdx.x / WARP_THREADS, lane = threadIdx.x % WARP_THREADS;
    int n_warps = C::token_warps(p), token = warp / n_warps;
    int n_groups = link.n_columns / CHAIN_GROUP, first = warp % n_warps * WARP_THREADS + lane;
    set_waiting(room, true);
    wait_for_multipliers();
    if (token < C::tokens(p)) {
        ChainToken to = find_chain_token<C>(p, room, link.n_columns, token);
        if (l == 0) {
            take_floats(to, (const uint16_t *)p.x + (size_t)token * link.n_columns, n_groups, first,
                        n_warps * WARP_THREADS);
        } else {
            const char *lines = (const char *)p.step + SUNDOG_CUDA_LINES_AT + link.from +
                                (size_t)token * n_groups * SUNDOG_CUDA_LINES_GROUP_BYTES;
            float squares = warp_sum(
                take_lines<C::at_once>(to, lines, n_groups, first, n_warps * WARP_THREADS, flag));
            if (link.is_normed && lane == 0)
                room.head->squares[token][warp % n_warps] = squares;
        }
    }
    wait_for_multipliers();
    set_waiting(room, false);
}

/* Sum over the four lanes of one row. */
INLINE float
quad_sum(float value)
{
    value += __shfl_xor_sync(~0u, value, 1);
    return value + __shfl_xor_sync(~0u, value, 2);
}

/* A warp's slot of a stage against all tokens. */
template <class C>
INLINE void
multiply_slot(const SundogCudaChain &p, const ChainRoom &room, int n_columns, const char *weights,
              int block, int n, float (&y)[4])
{
    int lane = threadIdx.x % WARP_THREADS;
    if constexpr (C::one) {
        ChainToken x = find_chain_token<C>(p, room, n_columns, 0);
        if (n == SLOT_BLOCKS) {
#pragma unroll
            for (int i = 0; i < SLOT_BLOCKS; i += 2)
                multiply_pair<C::layout>(y, weights + i * C::T::bytes, true, x, block + i);
            return;
        }
#pragma unroll 1
        for (int i = 0; i < n; i += 2)
            multiply_pair<C::layout>(y, weights + i * C::T::bytes, i + 1 < n, x, block + i);
    } else {
        int last = p.n_tokens - 1;
        ChainToken x = find_chain_token<C>(p, room, n_columns, min(lane / 4, last));
        ChainToken first = find_chain_token<C>(p, room, n_columns, min(lane % 4 * 2, last));
        ChainToken second = find_chain_token<C>(p, room, n_columns, min(lane % 4 * 2 + 1, last));
#pragma unroll 2
        for (int i = 0; i < n; i++) {
            int at = block + i;
            multiply_chained<C::layout>(y, weights + i * C::T::bytes,
                                        x.bytes + at * 64 + lane % 4 * 16, first.scales + at * 4,
                                        second.scales + at * 4, first.sums + at * 2,
                                        second.sums + at * 2);
        }
    }
}

/* A warp's slots of one panel: y is its part of the sums, and the place among all parts is returned. */
template <class C>
INLINE int
multiply_panel(const SundogCudaChain &p, const ChainRoom &room, int n_columns, ChainPlace &place,
               int &team, float (&y)[4])
{
    int warp = threadIdx.x / WARP_THREADS, lane = threadIdx.x % WARP_THREADS;
    int own = warp / C::slots, slot = warp % C::slots, n_blocks = n_columns / C::T::columns;
    int part = (own + C::teams - team) % C::teams * C::slots + slot;
#pragma unroll 1
    for (int block = 0; block < n_blocks; block += C::stage_blocks) {
        if (team == own) {
            const char *weights =
                room.stages + place.at * C::stage_bytes + slot * SLOT_BLOCKS * C::T::bytes;
            int b = block + slot * SLOT_BLOCKS, n = min(SLOT_BLOCKS, n_blocks - b);
            barrier_wait(barrier_of(room.head->full, place.at), place.parity);
            multiply_slot<C>(p, room, n_columns, weights, b, n, y);
            __syncwarp();
            if (lane == 0)
                barrier_arrive(barrier_of(room.head->empty, place.at));
        }
        team = team + 1 == C::teams ? 0 : team + 1;
        advance(place, p.n_stages);
    }
    if constexpr (C::one)
        for (int i = 0; i < 4; i += 2)
            y[i] = quad_sum(y[i]);
    return part;
}

/* A warp's fragment among the parts: the tokens that are there. */
INLINE void
keep_part(float *parts, const float (&y)[4], int n_tokens)
{
    int lane = threadIdx.x % WARP_THREADS, row = lane / 4, token = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (token + i % 2 < n_tokens)
            parts[(token + i % 2) * PANEL_ROWS + row + i / 2 * 8] = y[i];
}

template <class C>
INLINE void
multiply_links(const SundogCudaChain &p, const ChainRoom &room, uint32_t flag)
{
    ChainPlace place = {0, 0}, turn = {0, 0};
    int team = 0, lane = threadIdx.x % WARP_THREADS;
#pragma unroll 1
    for (int l = 0; l < p.n_links; l++) {
        const SundogCudaLink &link = p.links[l];
        int n_units = units_of(link);
        take_x<C>(p, room, l, flag);
#pragma unroll 1
        for (int unit = blockIdx.x; unit < n_units; unit += gridDim.x)
#pragma unroll 1
            for (int matrix = 0; matrix < matrices_of(link); matrix++) {
                float y[4] = {};
                int part = multiply_panel<C>(p, room, link.n_columns, place, team, y);
                barrier_wait(barrier_of(room.head->parts_empty, turn.at), turn.parity ^ 1);
                keep_part(find_parts<C>(p, room, turn.at) + part * C::tokens(p) * PANEL_ROWS, y,
                          C::tokens(p));
                __syncwarp();
                if (lane == 0)
                    barrier_arrive(barrier_of(room.head->parts_full, turn.at));
                advance(turn, 2);
            }
    }
}

/* The sum of all parts of one element: half of them by each half of the warp. */
INLINE float
add_parts(const float *parts, int n_tokens, int token)
{
    int row = threadIdx.x % PANEL_ROWS, half = threadIdx.x % WARP_THREADS / PANEL_ROWS;
    const float *from = parts + (half * CHAIN_WARPS / 2 * n_tokens + token) * PANEL_ROWS + row;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < CHAIN_WARPS / 2; w++)
        sum += from[w * n_tokens * PANEL_ROWS];
    return sum + __shfl_xor_sync(~0u, sum, PANEL_ROWS);
}

/* What the norm of a link's x multiplies a token with. */
template <class C>
INLINE float
find_factor(const SundogCudaChain &p, const ChainRoom &room, const SundogCudaLink &link, int token)
{
    int lane = threadIdx.x % CHAIN_WARPS;
    if (!link.is_normed)
        return 1;
    float squares = half_sum(lane < C::token_warps(p) ? room.head->squares[token][lane] : 0);
    return 1.0f / sqrtf(squares / (float)link.n_columns + link.epsilon);
}

/* What a lane knows of its row before the sums are there. */
struct ChainRow {
    ChainUnit unit;
    bool is_there;
    float bias, norm_weight;
    int at, stride; /* in y and residual: of the first token, and from one to the next */
};

INLINE ChainRow
find_row(const SundogCudaLink &link, int index)
{
    ChainUnit unit = find_unit(link, index);
    int lane_row = threadIdx.x % PANEL_ROWS, row = unit.panel * PANEL_ROWS + lane_row;
    const float *bias = (const float *)link.bias[unit.which];
    const float *weights = (const float *)link.norm_weight;
    bool is_there = row < link.n_rows[unit.which];
    return {unit,
            is_there,
            bias != nullptr && is_there ? __ldg(bias + row) : 0,
            weights != nullptr && is_there ? __ldg(weights + row) : 1,
            unit.column + lane_row,
            link.n_rows[0] + link.n_rows[1] + link.n_rows[2]};
}

/* x before this link: a volatile load, since another lane of this warp may have stored it. */
INLINE float
load_residual(const SundogCudaLink &link, const ChainRow &row, int token)
{
    const volatile float *from = (const volatile float *)link.residual;
    return from != nullptr && row.is_there ? from[token * row.stride + row.at] : 0;
}

/* One unit's results of one token: both halves of the warp have a lane for each row. `first` and `second` are
 * the matrices' sums. */
template <class C>
INLINE void
finish_token(const SundogCudaChain &p, const ChainRoom &room, const SundogCudaLink &link,
             const ChainRow &row, int token, float first, float second, float residual,
             uint32_t flag)
{
    float factor = find_factor<C>(p, room, link, token), value = factor * first;
    if (link.kind == SUNDOG_CUDA_LINK_GATE) {
        value = value / (1.0f + __expf(-value)) * (factor * second);
    } else {
        value = value + row.bias + residual;
        if (threadIdx.x % WARP_THREADS < PANEL_ROWS && row.is_there)
            ((float *)link.y)[token * row.stride + row.at] = value;
    }
    if (link.to >= 0) {
        int group = token * (link.n_rows[0] / CHAIN_GROUP) + row.unit.panel;
        leave_lines((char *)p.step + SUNDOG_CUDA_LINES_AT + link.to +
                        (size_t)group * SUNDOG_CUDA_LINES_GROUP_BYTES,
                    value, value * row.norm_weight, flag);
    }
}

/* One unit's sums of a warp's tokens, of one matrix after the other. */
template <class C, int N>
INLINE void
take_sums(const SundogCudaChain &p, const ChainRoom &room, ChainPlace &turn, int first_token,
          float (&sums)[N])
{
    barrier_wait(barrier_of(room.head->parts_full, turn.at), turn.parity);
#pragma unroll
    for (int i = 0; i < N; i++) {
        int token = first_token + i * C::finishers;
        if (token < C::tokens(p))
            sums[i] = add_parts(find_parts<C>(p, room, turn.at), C::tokens(p), token);
    }
    __syncwarp();
    if (threadIdx.x % WARP_THREADS == 0)
        barrier_arrive(barrier_of(room.head->parts_empty, turn.at));
    advance(turn, 2);
}

/* One warp of those that finish: its tokens of all units. */
template <class C>
INLINE void
finish_links(const SundogCudaChain &p, const ChainRoom &room, int first_token, uint32_t flag)
{
    constexpr int n = C::one ? 1 : SUNDOG_CUDA_CHAIN_MAX_TOKENS / C::finishers;
    ChainPlace turn = {0, 0};
#pragma unroll 1
    for (int l = 0; l < p.n_links; l++) {
        const SundogCudaLink &link = p.links[l];
        int n_units = units_of(link);
#pragma unroll 1
        for (int index = blockIdx.x; index < n_units; index += gridDim.x) {
            ChainRow row = find_row(link, index);
            float residual[n] = {}, first[n] = {}, second[n] = {};
#pragma unroll
            for (int i = 0; i < n; i++)
                if (first_token + i * C::finishers < C::tokens(p))
                    residual[i] = load_residual(link, row, first_token + i * C::finishers);
            take_sums<C>(p, room, turn, first_token, first);
            if (matrices_of(link) > 1)
                take_sums<C>(p, room, turn, first_token, second);
#pragma unroll
            for (int i = 0; i < n; i++)
                if (first_token + i * C::finishers < C::tokens(p))
                    finish_token<C>(p, room, link, row, first_token + i * C::finishers, first[i],
                                    second[i], residual[i], flag);
        }
    }
}

template <class C>
INLINE void
init_barriers(const SundogCudaChain &p, ChainHead *head)
{
    head->waits = 1; /* until the first x is there */
    for (int i = 0; i < p.n_stages; i++) {
        barrier_init(barrier_of(head->full, i), 1);
        barrier_init(barrier_of(head->empty, i), C::slots);
    }
    for (int i = 0; i < 2; i++) {
        barrier_init(barrier_of(head->parts_full, i), CHAIN_WARPS);
        barrier_init(barrier_of(head->parts_empty, i), C::finishers);
    }
    barrier_publish();
}

template <class C>
INLINE void
run_chain(const SundogCudaChain &p)
{
    extern __shared__ __align__(128) char shared[];
    int warp = threadIdx.x / WARP_THREADS;
    ChainRoom room = find_chain_room<C>(p, shared);
    if (!p.starts_late)
        start_dependents();
    if (threadIdx.x == 0)
        init_barriers<C>(p, room.head);
    __syncthreads();
    if (warp == CHAIN_WARPS) {
        if (threadIdx.x % WARP_THREADS == 0)
            copy_weights<C>(p, room);
        return;
    }
    uint32_t n_steps = p.is_counted ? __ldcg((const uint32_t *)p.step) : 0;
    wait_for_predecessor();
    if (p.starts_late)
        start_dependents();
    if (!p.is_counted)
        n_steps = __ldcg((const uint32_t *)p.step);
    uint32_t flag = n_steps * (uint32_t)p.n_chains + (uint32_t)p.index;
    if (warp < CHAIN_WARPS)
        multiply_links<C>(p, room, flag);
    else
        finish_links<C>(p, room, warp - CHAIN_WARPS - 1, flag);
}

/* Of one token with few registers, as it was measured. */
#define ENTRIES(name, layout)                                                \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_CHAIN_THREADS(true), 1)       \
        sundog_chain_##name##_one(const __grid_constant__ SundogCudaChain p) \
    {                                                                        \
        run_chain<Chain<layout, true>>(p);                                   \
    }                                                                        \
    SUNDOG_ENTRY __launch_bounds__(SUNDOG_CUDA_CHAIN_THREADS(false), 1)      \
        sundog_chain_##name##_few(const __grid_constant__ SundogCudaChain p) \
    {                                                                        \
        run_chain<Chain<layout, false>>(p);                                  \
    }

ENTRIES(q8_0, SUNDOG_LAYOUT_TILE16_Q8_0)
ENTRIES(q4_1, SUNDOG_LAYOUT_TILE16_Q4_1)

#endif
