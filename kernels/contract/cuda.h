#pragma once

/*
 * What a launch hands to a CUDA kernel: one struct by value, which prepare fills with numbers and
 * relocations and nvcc reads under the same name. Fields have one size everywhere; pointers are
 * device addresses. A field's change is a change of the kernel: cubins travel with the launch lists
 * that were made for them.
 *
 * Every kernel begins with "start dependents, touch weights only, wait for the predecessor", so that
 * edges between them may be programmatic.
 */

#include "kernels/contract/types.h"

/* Threads of a block of every kernel of products, and warps in it. */
#define SUNDOG_CUDA_LINEAR_THREADS 256
#define SUNDOG_CUDA_LINEAR_WARPS 8
/* Bytes of a slot in a warp's ring of weights. */
#define SUNDOG_CUDA_SLOT_BYTES 4096
/* At least what a block of a product of few tokens claims, so that two do not share a multiprocessor; what is left
 * but for the static bytes is attention's. */
#define SUNDOG_CUDA_HALF_SHARED_BYTES 116224
#define SUNDOG_CUDA_MAX_SHARED_BYTES 232448
/* Shared memory that a kernel declares itself, at most. */
#define SUNDOG_CUDA_STATIC_BYTES 1024
#define SUNDOG_CUDA_ATTENTION_THREADS 128
/* Pages of keys and values in the ring of a block of attention: of a few rows, which has the
 * multiprocessor's half, and of many, of which three share one. */
#define SUNDOG_CUDA_ATTENTION_PAGES 3
#define SUNDOG_CUDA_ATTENTION_MANY_PAGES 2
/* Blocks that share a row and a group at most, and floats of the part that each leaves of one head: sums of
 * weights times values, then the greatest score and the sum of weights, in whole 16 bytes. */
#define SUNDOG_CUDA_ATTENTION_SPLITS 16
#define SUNDOG_CUDA_PART_FLOATS(head_dim) ((head_dim) + 4)
#define SUNDOG_CUDA_SAMPLE_THREADS 1024
/* Where there are few rows, so many blocks share one, as a cluster; targets from sm_90 on. */
#define SUNDOG_CUDA_CLUSTER_BLOCKS 8
#define SUNDOG_CUDA_CLUSTER_THREADS 512
/* Shared memory of a block that samples: a logit as it came for each bias, and for each place in a history
 * so wide. */
#define SUNDOG_CUDA_SAMPLE_SHARED_BYTES(history, bias_words) \
    ((uint32_t)(((history) + (bias_words) / SUNDOG_BIAS_WORDS) * sizeof(float)))
#define SUNDOG_CUDA_ROW_THREADS 256

/* Where a product's x comes from. */
typedef enum {
    SUNDOG_CUDA_X_BF16 = 0, /* bf16 [T, K] */
    SUNDOG_CUDA_X_NORM =
        1 /* f32 [T, K], to be normed as rms-norm.h says and rounded: to bytes at the end, to
                             * bf16 before the divisor, which goes on the sums */
} SundogCudaSource;

/* Tiles of the products for more tokens: X(tokens, warps by panels, by columns, by tokens, groups of 8
 * tokens a warp, columns of a chunk, chunks on their way). A warp has two panels where it is gated (gate
 * and up) or alone in its columns, else one. */
#define SUNDOG_CUDA_WIDE_TILES(X) \
    X(8, 2, 4, 1, 1, 256, 4)      \
    X(16, 2, 4, 1, 2, 256, 4)     \
    X(32, 2, 4, 1, 4, 256, 4)     \
    X(64, 2, 4, 1, 8, 256, 3)     \
    X(128, 4, 1, 2, 8, 64, 4)

/* A tile as data: {SUNDOG_CUDA_WIDE_TILES(SUNDOG_CUDA_WIDE_TILE)} are all. */
typedef struct {
    int tokens, by_panels, by_columns, by_tokens, groups, chunk, stages;
} SundogCudaWideTile;

#define SUNDOG_CUDA_WIDE_TILE(...) {__VA_ARGS__},

/* Panels of weights in a tile; of results, of which gate and up together make one. */
static inline int
sundog_cuda_wide_panels(const SundogCudaWideTile *tile, bool is_gated)
{
    return tile->by_panels * (is_gated || tile->by_columns == 1 ? 2 : 1);
}

static inline int
sundog_cuda_wide_row_panels(const SundogCudaWideTile *tile, bool is_gated)
{
    return is_gated ? tile->by_panels : sundog_cuda_wide_panels(tile, false);
}

/* Shared memory of a block, as wide.cuh lays it out; a block of the layout is so large. */
static inline uint32_t
sundog_cuda_wide_shared_bytes(const SundogCudaWideTile *tile, bool is_gated, int block_columns,
                              int block_bytes)
{
    int n_panels = sundog_cuda_wide_panels(tile, is_gated);
    int stage =
        n_panels * (tile->chunk / block_columns) * block_bytes + tile->tokens * tile->chunk * 2;
    int ring = tile->stages * ((stage + 127) / 128 * 128);
    int sums = tile->by_columns * n_panels * tile->tokens * 16 * 4;
    return (uint32_t)(ring > sums ? ring : sums);
}

/* Products by warpgroups. Columns of a chunk: what one stage of the rings holds. */
#define SUNDOG_CUDA_GROUP_CHUNK 64
/* Tiles: X(tokens, by columns, by blocks, kinds). So many warpgroups of so many blocks, which are a cluster,
 * have the same rows of the weights; blocks take stretches of columns, their warpgroups chunks of these in
 * turn. Gated products use the two halves of a panel apart, and registers are too few for many warpgroups with
 * many tokens, so not all tiles are for BOTH. */
#define SUNDOG_CUDA_GROUP_TILES(X) \
    X(8, 2, 1, BOTH)               \
    X(8, 4, 1, PLAIN)              \
    X(8, 4, 2, PLAIN)              \
    X(16, 2, 1, BOTH)              \
    X(16, 4, 1, PLAIN)             \
    X(16, 2, 2, PLAIN)             \
    X(32, 2, 1, BOTH)              \
    X(32, 4, 1, PLAIN)             \
    X(32, 2, 2, PLAIN)             \
    X(64, 1, 1, BOTH)              \
    X(64, 2, 1, BOTH)              \
    X(64, 2, 2, PLAIN)             \
    X(128, 1, 1, BOTH)             \
    X(128, 2, 1, PLAIN)            \
    X(256, 1, 1, BOTH)

/* A tile as data: {SUNDOG_CUDA_GROUP_TILES(SUNDOG_CUDA_GROUP_TILE)} are all. */
enum { SUNDOG_CUDA_GROUP_PLAIN = 0, SUNDOG_CUDA_GROUP_BOTH = 1 };

typedef struct {
    int tokens, by_columns, by_blocks;
    int has_gated;
} SundogCudaGroupTile;

#define SUNDOG_CUDA_GROUP_TILE(tokens, by_columns, by_blocks, kinds) \
    {tokens, by_columns, by_blocks, SUNDOG_CUDA_GROUP_##kinds},

/* What follows from a tile; the same for the kernel and for who launches it. */
typedef struct {
    int n_row_groups; /* warpgroups with rows of their own: 64 of the weights each */
    int n_groups;     /* that multiply; one more copies */
    int n_threads;
    int row_panels; /* of results in a tile */
    int n_stages;   /* of weights, a chunk for each warpgroup; x has as many for each by columns */
    int room_bytes; /* of each of the row groups: for others' sums, then for results on their way out */
    int block_bytes; /* likewise: for the sums of the other block */
    int shared_bytes;
} SundogCudaGroupPlan;

/* Barriers, and what aligns the rings. */
#define SUNDOG_CUDA_GROUP_HEAD_BYTES 2048
#define SUNDOG_CUDA_GROUP_MAX_STAGES 12
/* Tokens that are stored at once, and bytes from one to the next in shared memory, which lie in different
 * banks. */
#define SUNDOG_CUDA_GROUP_STORE_TOKENS 32
#define SUNDOG_CUDA_GROUP_STORE_BYTES 272

#ifdef __CUDACC__
#define SUNDOG_CUDA_PLAN constexpr __host__ __device__
#else
#define SUNDOG_CUDA_PLAN static inline
#endif

/* `panel_bytes`: of a chunk. */
SUNDOG_CUDA_PLAN SundogCudaGroupPlan
sundog_cuda_plan_group(bool is_gated, int tokens, int by_columns, int by_blocks, int panel_bytes)
{
    SundogCudaGroupPlan plan = {};
    int at_once = tokens < SUNDOG_CUDA_GROUP_STORE_TOKENS ? tokens : SUNDOG_CUDA_GROUP_STORE_TOKENS;
    int sum_bytes = (by_columns - 1) * tokens * 64 * 4;
    int out_bytes = at_once * SUNDOG_CUDA_GROUP_STORE_BYTES;
    plan.n_row_groups = is_gated || by_columns == 1 ? 2 : 1;
    plan.n_groups = plan.n_row_groups * by_columns;
    plan.n_threads = (plan.n_groups + 1) * 128;
    plan.row_panels = is_gated ? 4 : 4 * plan.n_row_groups;
    plan.room_bytes = sum_bytes > out_bytes ? sum_bytes : out_bytes;
    plan.block_bytes = by_blocks > 1 ? tokens * 64 * 4 : 0;
    int fixed_bytes =
        SUNDOG_CUDA_GROUP_HEAD_BYTES + plan.n_row_groups * (plan.room_bytes + plan.block_bytes);
    int stage_bytes =
        by_columns * tokens * SUNDOG_CUDA_GROUP_CHUNK * 2 + plan.n_groups * 4 * panel_bytes;
    plan.n_stages = (SUNDOG_CUDA_MAX_SHARED_BYTES - fixed_bytes) / stage_bytes;
    if (plan.n_stages > SUNDOG_CUDA_GROUP_MAX_STAGES)
        plan.n_stages = SUNDOG_CUDA_GROUP_MAX_STAGES;
    plan.shared_bytes = fixed_bytes + plan.n_stages * stage_bytes;
    return plan;
}

/* What the driver makes of a matrix of bf16 for the copies of boxes: CUtensorMap. */
typedef struct {
    uint64_t words[16];
} __attribute__((aligned(64))) SundogCudaTensorMap;

/* linear, linear_qkv, linear_gated. For gated, w[0] is gate and w[1] up. */
typedef struct {
    const void *x;
    const void *norm_weight; /* [K] f32 */
    const void *w[3];        /* in tiles */
    const void *bias[3];     /* f32 or NULL */
    const void *residual;    /* f32 [T, y_stride] or NULL; may be y */
    void *y;                 /* f32 or bf16 [T, y_stride] */
    int32_t n_tokens;
    int32_t n_columns; /* K */
    int32_t n_rows[3]; /* 0 where there is no matrix */
    int32_t y_stride;
    int32_t y_is_bf16;
    int32_t source;      /* a SundogCudaSource */
    int32_t n_slots;     /* of a warp's ring */
    int32_t starts_late; /* dependents, which then find all before this launch ended */
    float epsilon;
} SundogCudaLinear;

/* The same by warpgroups: x comes in boxes of a chunk's columns and a tile's tokens. */
typedef struct {
    SundogCudaTensorMap x;
    SundogCudaLinear product;
} SundogCudaGroupLinear;

/* Products that follow one another, in one launch of a block a multiprocessor: warps that multiply, blocks of
 * a layout that one of them takes at once, and at most stages of the ring of weights. */
#define SUNDOG_CUDA_CHAIN_WARPS 16
#define SUNDOG_CUDA_CHAIN_SLOT_BLOCKS 4
#define SUNDOG_CUDA_CHAIN_MAX_STAGES 12
#define SUNDOG_CUDA_CHAIN_MAX_LINKS 4
#define SUNDOG_CUDA_CHAIN_MAX_TOKENS 8
/* Columns of x that share a scale. */
#define SUNDOG_CUDA_CHAIN_GROUP 16
/* Threads: those that multiply, a warp that copies, and warps that finish sums, tokens in turn. */
#define SUNDOG_CUDA_CHAIN_FINISHERS(is_one) ((is_one) ? 1 : 4)
#define SUNDOG_CUDA_CHAIN_THREADS(is_one) \
    (32 * (SUNDOG_CUDA_CHAIN_WARPS + 1 + SUNDOG_CUDA_CHAIN_FINISHERS(is_one)))
/* Slots of a stage: one for a warp, and for one token about as many bytes in each layout. Teams of so many warps
 * take stages in turn, and the ring has as many stages or a multiple: so a stage's place in it always belongs to
 * the same team, none of which can be a whole phase of its barrier ahead. */
#define SUNDOG_CUDA_CHAIN_SLOTS(block_bytes, is_one) ((is_one) && (block_bytes) < 1024 ? 8 : 4)
/* Where, from the counters of steps on, blocks leave x for each other, and how much there is room for. A token
 * has 32 bytes for each group. */
#define SUNDOG_CUDA_LINES_AT (1 << 19)
#define SUNDOG_CUDA_LINES_BYTES (1 << 19)
#define SUNDOG_CUDA_LINES_GROUP_BYTES 32

typedef enum {
    SUNDOG_CUDA_LINK_ADD = 0,  /* + residual, into y and on to the next link through a norm */
    SUNDOG_CUDA_LINK_GATE = 1, /* silu(gate) * up, on to the next link alone */
    SUNDOG_CUDA_LINK_STORE = 2 /* into y alone */
} SundogCudaLinkKind;

typedef struct {
    const void *w[3];    /* in tiles; of GATE gate and up */
    const void *bias[3]; /* f32 or NULL */
    const void *residual;
    void *y;                 /* f32 [T, rows of all] */
    const void *norm_weight; /* f32 [rows]: of the norm between it and the next link, or NULL */
    int32_t n_rows[3];
    int32_t n_columns;
    int32_t kind;      /* a SundogCudaLinkKind */
    int32_t is_normed; /* its x: sums are scaled by what the norm divides by */
    int32_t from;      /* its x among the lines; of the first link unused */
    int32_t to;        /* its results there, or -1 */
    float epsilon;     /* of its x's norm */
} SundogCudaLink;

typedef struct {
    const void *x; /* bf16 [T, K]: of the first link */
    void *step;    /* the counters of steps, and the lines behind them */
    SundogCudaLink links[SUNDOG_CUDA_CHAIN_MAX_LINKS];
    int32_t n_links;
    int32_t n_tokens;
    int32_t n_stages;
    int32_t n_in_flight; /* stages on their way at most */
    int32_t n_waiting;   /* the same while x is waited for */
    int32_t index;       /* among the chains of a step */
    int32_t n_chains;
    int32_t starts_late; /* as a linear */
    int32_t is_counted;  /* this step was counted before the predecessor could begin */
} SundogCudaChain;

/* Bytes of shared memory that one token of so many columns takes: bytes of x, scales in bf16, and sums of
 * twice as many columns. What follows one another lies in other banks. */
#define SUNDOG_CUDA_CHAIN_X_STRIDE(n_columns) (((n_columns) + 127) / 128 * 128 + 64)
#define SUNDOG_CUDA_CHAIN_SCALES_STRIDE(n_columns) ((n_columns) / SUNDOG_CUDA_CHAIN_GROUP * 2 + 16)
#define SUNDOG_CUDA_CHAIN_SUMS_STRIDE(n_columns) \
    ((n_columns) / (2 * SUNDOG_CUDA_CHAIN_GROUP) * 4 + 16)
/* Barriers and parts of norms; two turns of parts of sums a token. */
#define SUNDOG_CUDA_CHAIN_HEAD_BYTES 1024
#define SUNDOG_CUDA_CHAIN_PARTS_BYTES (2 * SUNDOG_CUDA_CHAIN_WARPS * 16 * 4)
#define SUNDOG_CUDA_CHAIN_TOKEN_BYTES(n_columns)                                          \
    (SUNDOG_CUDA_CHAIN_X_STRIDE(n_columns) + SUNDOG_CUDA_CHAIN_SCALES_STRIDE(n_columns) + \
     SUNDOG_CUDA_CHAIN_SUMS_STRIDE(n_columns) + SUNDOG_CUDA_CHAIN_PARTS_BYTES)

typedef struct {
    const void *tokens;
    const void *table; /* in tiles */
    void *x;           /* f32 [T, D] */
    int32_t n_tokens;
    int32_t n_columns;
    int32_t n_vocabulary;
    float scale;
} SundogCudaEmbed;

typedef struct {
    const void *x;
    const void *weight;
    void *y;
    int32_t n_tokens;
    int32_t n_columns;
    int32_t y_is_bf16;
    float epsilon;
} SundogCudaRmsNorm;

#define SUNDOG_CUDA_ELEMENT_INPUTS 3
#define SUNDOG_CUDA_ELEMENT_INTEGERS 5

/* Of operations on rows: inputs, integers and the number in the order of operations.h. */
typedef struct {
    const void *x[SUNDOG_CUDA_ELEMENT_INPUTS]; /* NULL: absent */
    void *y;
    int32_t columns[SUNDOG_CUDA_ELEMENT_INPUTS]; /* of a row of x */
    int32_t is_bf16[SUNDOG_CUDA_ELEMENT_INPUTS];
    int32_t y_columns;
    int32_t y_is_bf16;
    int32_t integers[SUNDOG_CUDA_ELEMENT_INTEGERS];
    float number;
} SundogCudaElements;

/* recurrent.h. Rows of the step that a block of short_conv has; values of a head that a block of the others
 * has, and its threads. */
#define SUNDOG_CUDA_CONV_ROWS 16
#define SUNDOG_CUDA_STATE_COLUMNS 32
#define SUNDOG_CUDA_STATE_THREADS 256

typedef struct {
    const void *first_row;
    const void *start_position;
    const void *state_slot;
    void *state; /* f32 [Z, …] */
    int32_t n_sequences;
    int32_t n_slots; /* Z */
} SundogCudaSlots;

typedef struct {
    SundogCudaSlots slots;
    const void *x;      /* f32 [T, C] */
    const void *weight; /* f32 [C, width] */
    const void *bias;   /* f32 [C], or NULL */
    void *y;            /* f32 [T, C] */
    int32_t n_channels;
    int32_t width;
    int32_t silu;
} SundogCudaShortConv;

/* gated_delta, state_space: all f32 */
typedef struct {
    SundogCudaSlots slots;
    const void *rows; /* qkv, or xbc [T, n_columns] */
    const void *beta; /* [T, H], or NULL */
    const void *gate; /* alpha, or dt [T, H] */
    const void *decay;
    const void *step;
    const void *skip; /* or NULL */
    void *y;          /* [T, H V] */
    int32_t n_columns;
    int32_t n_heads;  /* H */
    int32_t n_groups; /* G */
    int32_t n_keys;   /* K */
    int32_t n_values; /* V */
    int32_t is_tiled;
} SundogCudaHeadState;

/* experts.h */
#define SUNDOG_CUDA_MAX_EXPERTS 1024
#define SUNDOG_CUDA_EXPERT_THREADS 128

typedef struct {
    const void *logits; /* f32 [T, X] */
    const void *bias;   /* f32 [X], or NULL */
    const void *scales; /* the same */
    void *choices;      /* i32 [T, U] */
    void *weights;      /* f32 [T, U] */
    int32_t n_experts;
    int32_t n_used;
    float margin; /* 0: none */
    int32_t is_sigmoid;
    int32_t n_groups;
    int32_t n_groups_used;
    int32_t group_best;
    int32_t renormalizes;
    float scale;
} SundogCudaRoute;

typedef struct {
    const void *choices;
    void *work; /* i32 [W, 8] */
    int32_t n_choices;
    int32_t n_entries;
    int32_t n_experts;
} SundogCudaPlanExperts;

typedef struct {
    const void *x; /* bf16 [T, K] */
    const void *work;
    void *y; /* bf16 [6 W, K] */
    int32_t n_tokens;
    int32_t n_columns;
    int32_t n_used;
} SundogCudaGatherExperts;

/* Of one matrix, y f32 [A, N]; or of gate and up, y bf16 [6 W, N]. */
typedef struct {
    const void *a;       /* bf16 [6 W, K] */
    const void *w[2];    /* in tiles, [X N, K] */
    const void *bias[2]; /* f32 [X N], or NULL */
    const void *work;
    void *y;
    int32_t n_columns;
    int32_t n_rows; /* of one expert */
    int32_t function;
    int32_t n_entries; /* W */
} SundogCudaExpertLinear;

/* Tiles for many rows an expert, of SUNDOG_CUDA_WIDE_TILES those of so many tokens: a tile has as many whole
 * entries of the work list as fit in it. Blocks that share a stretch of the list as long as a tile. */
#define SUNDOG_CUDA_EXPERT_TILES(X) X(32) X(64) X(128)
#define SUNDOG_CUDA_TILE_ENTRIES(tokens) ((tokens) / 6)
#define SUNDOG_CUDA_EXPERT_SHARES 2

typedef struct {
    const void *x;        /* f32 [A, N] */
    const void *weights;  /* f32 [T, U] */
    const void *residual; /* f32 [T, N], or NULL */
    void *y;              /* f32 [T, N] */
    int32_t n_columns;
    int32_t n_used;
} SundogCudaCombineExperts;

typedef struct {
    const void *x; /* f32 [T, D] */
    const void *first_row;
    void *y; /* f32 [S, D] */
    int32_t n_tokens;
    int32_t n_columns;
    int32_t pooling; /* a SundogPool */
} SundogCudaPool;

/* linear_heads, so many tokens a block. */
#define SUNDOG_CUDA_HEADS_THREADS 128
#define SUNDOG_CUDA_HEADS_FEW 8
#define SUNDOG_CUDA_HEADS_MANY 64

typedef struct {
    const void *a; /* f32 or bf16 [T, a_stride] */
    const void *w; /* in tiles, [H N, K] */
    void *y;       /* f32 [T, H N] */
    int32_t n_tokens;
    int32_t a_is_bf16;
    int32_t a_stride;
    int32_t head_stride; /* columns of a from head to head */
    int32_t offset;
    int32_t n_columns;
    int32_t n_rows; /* of all heads */
    int32_t head_rows;
} SundogCudaLinearHeads;

/* latent.h */
typedef struct {
    const void *q;
    const void *absorbed;
    const void *latent;
    const void *weight;
    void *qkv;
    int32_t n_heads;
    int32_t head_dim;
    int32_t rope_dims;
    int32_t query_columns; /* of a head of q */
    float epsilon;
} SundogCudaLatentQkv;

typedef struct {
    const void *x;
    const void *rows;
    void *y;
    int32_t n_rows; /* of y */
    int32_t n_from; /* of x */
    int32_t n_columns;
} SundogCudaGatherRows;

typedef struct {
    const void *first_row;
    const void *start_position;
    void *tiles;
    int32_t n_sequences;
    int32_t n_tiles; /* the head row not included */
} SundogCudaPlanAttention;

/* rope_cache and rope_pages. */
typedef struct {
    void *qkv; /* f32 [T, (H + 2 G) C] */
    const void *positions;
    const void *token_sequence;
    const void *page_table;
    const void *inverse_frequencies;
    void *k_pages;
    void *v_pages;
    int32_t n_heads;
    int32_t n_kv_heads;
    int32_t head_dim;
    int32_t rope_dims;
    int32_t interleaved;
    int32_t sequence_pages; /* stride of the page table */
    int32_t are_q8;         /* the pages; else bf16 */
    float magnitude;
} SundogCudaRopeCache;

/* Attention, which of one row a sequence rotates and stores it too. */
typedef struct {
    void *qkv;
    const void *positions;
    const void *token_sequence;
    const void *page_table;
    const void *inverse_frequencies;
    const void *tiles;
    void *k_pages;
    void *v_pages;
    void *o;        /* bf16 [T, H C] */
    void *parts;    /* f32 [T, H, n_splits, SUNDOG_CUDA_PART_FLOATS(C)] */
    void *counters; /* from u32 16 on [T, G], zero between launches: parts that are there */
    int32_t n_tokens;
    int32_t n_heads;
    int32_t n_kv_heads;
    int32_t head_dim;
    int32_t rope_dims;
    int32_t interleaved;
    int32_t sequence_pages; /* stride of the page table */
    int32_t n_splits;
    int32_t rotates; /* attention of one row a sequence rotates and stores it too */
    int32_t
        reads_early; /* tiles and pages are there before the predecessor has ended: it starts late */
    float magnitude;
    float scale;
} SundogCudaAttention;

/* The same of one row a sequence by clusters: threads of a block, heads of a group at most, blocks that share
 * a row and a group at most, and pages in the ring of each. */
#define SUNDOG_CUDA_DECODE_THREADS 256
#define SUNDOG_CUDA_DECODE_PAIRS 8
#define SUNDOG_CUDA_DECODE_SPLITS 8
#define SUNDOG_CUDA_DECODE_STAGES(head_dim) (384 / (head_dim))
/* Shared memory behind the ring. */
#define SUNDOG_CUDA_DECODE_HEAD_BYTES 8192

/* Attention of heads of any even size, with all that attention.h knows: X(dimensions up to which, pairs of a row and
 * a head in a block that has few, and in one that has many). The last is for latents alone, whose values are
 * their keys. */
#define SUNDOG_CUDA_ATTEND_SIZES(X) \
    X(64, 16, 64)                   \
    X(128, 16, 64)                  \
    X(192, 16, 64)                  \
    X(256, 16, 64)                  \
    X(512, 16, 32)                  \
    X(576, 16, 32)
#define SUNDOG_CUDA_ATTEND_LATENT 576
#define SUNDOG_CUDA_ATTEND_MAX_DIM 512
/* Blocks that share pairs at most: a warp's lanes. */
#define SUNDOG_CUDA_ATTEND_SPLITS 32
#define SUNDOG_CUDA_ATTEND_THREADS(pairs) ((pairs)*8)
/* Pages of keys, and of values, in the ring; and bytes of a block's shared memory: the ring, queries, weights
 * and what its warps tell each other. */
#define SUNDOG_CUDA_ATTEND_SLOTS(head_dim, pairs) ((head_dim) <= ((pairs) > 16 ? 256 : 128) ? 4 : 2)
#define SUNDOG_CUDA_ATTEND_SHARED_BYTES(head_dim, pairs)          \
    (SUNDOG_CUDA_ATTEND_SLOTS(head_dim, pairs) * (head_dim)*128 + \
     (pairs) * (((head_dim) + 8) * 2 + (64 + 8) * 2 + 4 * 4))

typedef struct {
    const void *qkv; /* f32 [T, n_columns], queries first */
    const void *page_table;
    const void *tiles;
    const void *k_pages;
    const void *v_pages;
    const void *sinks; /* f32 [H], or NULL */
    void *o;           /* bf16 [T, H C] */
    void *parts;       /* f32 [T, H, n_splits, SUNDOG_CUDA_PART_FLOATS(C)] */
    void *counters;    /* from u32 16 on one for a block of pairs, zero between launches */
    int32_t n_columns;
    int32_t n_heads;
    int32_t n_kv_heads;
    int32_t head_dim;
    int32_t sequence_pages;
    int32_t window;
    int32_t chunk;
    int32_t both_ways;
    int32_t are_q8; /* the pages */
    int32_t n_splits;
    float scale;
    float softcap;
} SundogCudaAttend;

/* Attention of many rows by warpgroups: pages of keys and of values come in boxes of one head, as rows of
 * 64 positions and of 64 dimensions. Threads of a block, pairs of a row and a head that it has, positions
 * that it attends to at once, pages of these in the rings of keys and of values. */
#define SUNDOG_CUDA_FLASH_THREADS 384
#define SUNDOG_CUDA_FLASH_PAIRS 128
#define SUNDOG_CUDA_FLASH_POSITIONS(head_dim) ((head_dim) > 128 ? 64 : 128)
#define SUNDOG_CUDA_FLASH_STAGES 2
/* Heads whose queries registers are too few for. */
#define SUNDOG_CUDA_FLASH_SHARES_QUERIES(head_dim) ((head_dim) > 128)
/* Shared memory of such a block: barriers, what aligns the rings, the rings, and queries. */
#define SUNDOG_CUDA_FLASH_SHARED_BYTES(head_dim)                                                  \
    (2048 + 2 * SUNDOG_CUDA_FLASH_STAGES * SUNDOG_CUDA_FLASH_POSITIONS(head_dim) * (head_dim)*2 + \
     (SUNDOG_CUDA_FLASH_SHARES_QUERIES(head_dim) ? SUNDOG_CUDA_FLASH_PAIRS * (head_dim)*2 : 0))

typedef struct {
    SundogCudaTensorMap k;
    SundogCudaTensorMap v;
    SundogCudaAttention attention;
    int32_t window; /* positions that a row sees, its own included; 0: all before it */
} SundogCudaFlash;

typedef struct {
    void *logits;
    const void *sampling;
    const void *history;
    const void *mask;
    const void *bias;
    void *token;
    void *scores;     /* mapped, as sample.h says */
    void *ring;       /* mapped u64 [R], or NULL: generation in the high, token in the low half */
    const void *step; /* u32: the generation */
    int32_t n_rows;
    int32_t n_vocabulary;
    int32_t history_stride;
    int32_t mask_stride;
    int32_t bias_stride;
} SundogCudaSample;

/* The packed block of one step's inputs, mapped host memory, read by the ingesting kernel: it spreads
 * the sections over the input buffers and fills up to the graph's shape with padding. */
#define SUNDOG_CUDA_MAX_SECTIONS 12

typedef struct {
    uint64_t to;        /* device address, of 32-bit words */
    uint32_t from;      /* first word in the block's data */
    uint32_t n_rows;    /* in the block */
    uint32_t row_words; /* in the block */
    uint32_t stride;    /* words from row to row at `to` */
    uint32_t n_padded;  /* rows at `to` to be written in all */
    int32_t padding;
} SundogCudaSection;

typedef struct {
    uint32_t generation;
    uint32_t n_sections;
    SundogCudaSection sections[SUNDOG_CUDA_MAX_SECTIONS];
} SundogCudaBlock;

/* Weights of a seed, for measuring: values about as large as a trained matrix's, norms of 1. */
typedef struct {
    void *to;
    uint64_t n_bytes;
    uint64_t seed;
    int32_t layout; /* a SundogLayout */
    float scale;    /* the largest magnitude */
} SundogCudaFill;

typedef struct {
    const void *from;
    uint64_t n_bytes;
    void *to; /* u32 */
} SundogCudaReadThrough;

typedef struct {
    uint64_t ns;
} SundogCudaSpin;

typedef struct {
    const void *blocks[2]; /* used in turn */
    void *step;            /* u32: steps taken in, then the generation */
    void *taken;           /* mapped u32: steps taken in, for the host */
    void *tokens;          /* a section that goes there has, for -1 - r, the token of row r of */
    const void *token;     /* i32: what was sampled last; where that is no token, 0 */
} SundogCudaIngest;
