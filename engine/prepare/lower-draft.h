#pragma once

/*
 * One launch under construction. begin, then parameters and the fields that replay fills in, then finish,
 * which adds it to the list. The first failure of a lowering is kept, and what comes after it is not
 * added. Within this house.
 */

#include "engine/core/launch-list.h"
#include "kernels/contract/cuda.h"

#define SUNDOG_DRAFT_MAX_FIELDS 24

/* Steps that a variant is for, and what is the same for all its launches. */
typedef struct {
    int64_t min_tokens;
    int64_t max_tokens;
    bool one_row;
    /* No choice follows from how many tokens there are, and no row's sums from what other rows there are. */
    bool is_alike;
} SundogLoweringKind;

/* Tokens up to which a product holds x in shared memory. */
#define SUNDOG_LOWERING_FEW_TOKENS 4

typedef struct {
    const SundogProgram *program;
    SundogLaunchList *list;
    const SundogLifetime *lifetimes; /* by operations */
    const SundogLoweringKind *kind;
    bool waits;          /* the kernels wait by themselves */
    bool has_warpgroups; /* the target has their products */
    bool rounds;         /* products of quantized weights may round x to bytes */
    GError **error;
    bool failed;
} SundogLowering;

typedef struct {
    SundogLaunch launch;
    union {
        SundogCudaLinear linear;
        SundogCudaGroupLinear group_linear;
        SundogCudaChain chain;
        SundogCudaEmbed embed;
        SundogCudaRmsNorm rms_norm;
        SundogCudaElements elements;
        SundogCudaShortConv short_conv;
        SundogCudaHeadState head_state;
        SundogCudaRoute route;
        SundogCudaPlanExperts plan_experts;
        SundogCudaGatherExperts gather_experts;
        SundogCudaExpertLinear expert_linear;
        SundogCudaCombineExperts combine_experts;
        SundogCudaGatherRows gather_rows;
        SundogCudaPool pool;
        SundogCudaPlanAttention plan_attention;
        SundogCudaAttention attention;
        SundogCudaRopeCache rope_cache;
        SundogCudaAttend attend;
        SundogCudaLinearHeads linear_heads;
        SundogCudaLatentQkv latent_qkv;
        SundogCudaFlash flash;
        SundogCudaSample sample;
    } parameters;
    SundogLaunchField fields[SUNDOG_DRAFT_MAX_FIELDS];
} SundogDraft;

void sundog_lowering_fail(SundogLowering *lowering, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* True where the operation `index` makes queries, keys and values that attention of one row a sequence takes
 * right after it, rotating and storing them itself. Then the product lets attention begin only when all
 * before it has ended, and attention reads pages and tiles before the product has. */
bool sundog_lowering_attends_next(const SundogLowering *lowering, uint32_t index);
/* True where each block of a product works for so few tokens that it makes their x itself. */
bool sundog_lowering_is_for_few(const SundogLowering *lowering);

SundogExpression sundog_lowering_constant(const SundogLowering *lowering, int64_t value);
SundogExpression sundog_lowering_variable(const SundogLowering *lowering, SundogVariable which);
SundogExpression sundog_lowering_binary(const SundogLowering *lowering, SundogExpressionKind kind,
                                        SundogExpression left, SundogExpression right);

const SundogBuffer *sundog_lowering_get_buffer(const SundogLowering *lowering, SundogBufferId id);
/* Of a buffer whose last or first dimension is a constant. */
int64_t sundog_lowering_get_columns(const SundogLowering *lowering, SundogBufferId id);
int64_t sundog_lowering_get_rows(const SundogLowering *lowering, SundogBufferId id);
/* "bf16" of tile16-bf16: what entries are named after. */
const char *sundog_lowering_get_layout_suffix(SundogLowering *lowering, SundogBufferId id);

/* A launch of one block that carries out operations [first, first + n). */
void sundog_draft_begin(const SundogLowering *lowering, SundogDraft *draft, uint32_t first,
                        uint32_t n, const char *module, size_t n_parameter_bytes);
SundogLaunchField *sundog_draft_add_field(const SundogLowering *lowering, SundogDraft *draft,
                                          SundogFieldKind kind, size_t at);
/* How a buffer is copied in boxes of so many rows. */
void sundog_draft_add_map(const SundogLowering *lowering, SundogDraft *draft, size_t at,
                          SundogBufferId id, int64_t box_rows);
/* A whole buffer; an absent one leaves a null pointer. */
void sundog_draft_add_buffer(const SundogLowering *lowering, SundogDraft *draft, size_t at,
                             SundogBufferId id, SundogAccess access);
void sundog_draft_add_value(const SundogLowering *lowering, SundogDraft *draft, size_t at,
                            SundogExpression value);
void sundog_draft_finish(SundogLowering *lowering, SundogDraft *draft, const char *entry);

/* For functions in which `lowering` is at hand and the draft is called so. */
#define SUNDOG_DRAFT_READ(type, name, id) \
    sundog_draft_add_buffer(lowering, &draft, offsetof(type, name), id, SUNDOG_ACCESS_READ)
#define SUNDOG_DRAFT_WRITE(type, name, id) \
    sundog_draft_add_buffer(lowering, &draft, offsetof(type, name), id, SUNDOG_ACCESS_WRITE)
#define SUNDOG_DRAFT_VALUE(type, name, expression) \
    sundog_draft_add_value(lowering, &draft, offsetof(type, name), expression)
