/* A mixture of experts (Shazeer et al. 2017) in place of the MLP, with the expert that every token
 * passes through where the model has one (Dai et al. 2024). */

#include "kernels/contract/experts.h"
#include "engine/recipe/components.h"
#include "kernels/contract/gate.h"

/* The sizes and buffers that the operations of one layer share. */
typedef struct {
    const SundogExpertDimensions *dimensions;
    SundogGate function;
    SundogExpression n_choices; /* of all tokens */
    SundogExpression n_entries; /* of the work list */
    SundogBufferId weights;     /* [n_rows, n_used] f32 */
    SundogBufferId work;        /* [n_entries, SUNDOG_WORK_FIELDS] i32 */
} Mixture;

static SundogExpression
binary(SundogBuilder *builder, SundogExpressionKind kind, SundogExpression left,
       SundogExpression right)
{
    return sundog_expression_binary(sundog_program_edit_expressions(builder->program), kind, left,
                                    right);
}

static SundogBufferId
temporary(SundogBuilder *builder, const char *name, SundogDtype dtype, SundogExpression n_rows,
          int64_t n_columns)
{
    g_autofree char *full = g_strdup_printf("%u.%s", builder->layer, name);
    const SundogExpression shape[] = {n_rows, sundog_builder_constant(builder, n_columns)};
    return sundog_builder_buffer(builder, full, SUNDOG_BUFFER_TEMPORARY, dtype, 2, shape);
}

/* Six rows an entry of the work list, in its order. */
static SundogBufferId
gathered(SundogBuilder *builder, const Mixture *mixture, const char *name, int64_t n_columns)
{
    SundogExpression n_rows = binary(builder, SUNDOG_EXPRESSION_MUL, mixture->n_entries,
                                     sundog_builder_constant(builder, SUNDOG_TILE_TOKENS));
    return temporary(builder, name, SUNDOG_DTYPE_F32, n_rows, n_columns);
}

static Mixture
mixture_init(SundogBuilder *builder)
{
    const SundogExpertDimensions *dimensions = &builder->dimensions->experts;
    SundogExpression n_used = sundog_builder_constant(builder, dimensions->n_used);
    Mixture mixture = {.dimensions = dimensions};
    mixture.n_choices = binary(builder, SUNDOG_EXPRESSION_MUL, builder->n_rows, n_used);
    mixture.n_entries = binary(builder, SUNDOG_EXPRESSION_ADD,
                               binary(builder, SUNDOG_EXPRESSION_CEIL_DIV, mixture.n_choices,
                                      sundog_builder_constant(builder, SUNDOG_TILE_TOKENS)),
                               binary(builder, SUNDOG_EXPRESSION_MIN, mixture.n_choices,
                                      sundog_builder_constant(builder, dimensions->n_experts)));
    return mixture;
}

/* Which experts, with which weights, and the work that follows; x is what the router sees. */
static void
emit_choice(SundogBuilder *builder, Mixture *mixture, SundogBufferId x)
{
    const SundogExpertDimensions *dimensions = mixture->dimensions;
    SundogBufferId logits =
        sundog_builder_temporary(builder, "experts.logits", dimensions->n_experts);
    sundog_builder_emit(builder, SUNDOG_OP_LINEAR, x,
                        sundog_builder_weight(builder, SUNDOG_TENSOR_ROUTER),
                        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_ROUTER_BIAS),
                        SUNDOG_BUFFER_NONE, logits, builder->workspace);
    SundogBufferId choices = temporary(builder, "experts.choices", SUNDOG_DTYPE_I32,
                                       builder->n_rows, dimensions->n_used);
    mixture->weights = temporary(builder, "experts.weights", SUNDOG_DTYPE_F32, builder->n_rows,
                                 dimensions->n_used);
    const SundogParameter parameters[] = {
        {.i = dimensions->is_sigmoid},    {.i = dimensions->n_groups},
        {.i = dimensions->n_groups_used}, {.i = dimensions->group_best},
        {.i = dimensions->renormalizes},  {.f = dimensions->scale},
        {.f = dimensions->margin}};
    sundog_builder_emit_with(builder, SUNDOG_OP_ROUTE, parameters, logits,
                             sundog_builder_optional_weight(builder, SUNDOG_TENSOR_EXPERT_BIAS),
                             choices, mixture->weights, builder->workspace,
                             sundog_builder_optional_weight(builder, SUNDOG_TENSOR_EXPERT_SCALE));
    mixture->work = temporary(builder, "experts.work", SUNDOG_DTYPE_I32, mixture->n_entries,
                              SUNDOG_WORK_FIELDS);
    const SundogParameter n_experts = {.i = dimensions->n_experts};
    sundog_builder_emit_with(builder, SUNDOG_OP_PLAN_EXPERTS, &n_experts, choices, mixture->work,
                             builder->workspace);
}

/* Experts without a gate square the relu of what they have; it is multiplied as its own gate. */
static SundogTensorRole
find_gate_role(const SundogBuilder *builder)
{
    bool has_gate =
        sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_EXPERT_GATE, builder->layer) != NULL;
    return has_gate ? SUNDOG_TENSOR_EXPERT_GATE : SUNDOG_TENSOR_EXPERT_UP;
}

static SundogBufferId
emit_products(SundogBuilder *builder, const Mixture *mixture, SundogBufferId x)
{
    const SundogExpertDimensions *dimensions = mixture->dimensions;
    uint32_t hidden_size = builder->dimensions->hidden_size;
    const SundogParameter n_used = {.i = dimensions->n_used};
    const SundogParameter parameters[] = {{.i = dimensions->n_experts}, {.i = mixture->function}};
    SundogBufferId a = gathered(builder, mixture, "experts.input", hidden_size);
    SundogBufferId hidden = gathered(builder, mixture, "experts.hidden", dimensions->size);
    SundogBufferId down =
        temporary(builder, "experts.down", SUNDOG_DTYPE_F32, mixture->n_choices, hidden_size);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATHER_EXPERTS, &n_used, x, mixture->work, a);
    sundog_builder_emit_with(
        builder, SUNDOG_OP_LINEAR_GATED_EXPERTS, parameters, a,
        sundog_builder_weight(builder, find_gate_role(builder)),
        sundog_builder_weight(builder, SUNDOG_TENSOR_EXPERT_UP),
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_EXPERT_GATE_BIAS),
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_EXPERT_UP_BIAS), mixture->work,
        hidden, builder->workspace);
    sundog_builder_emit_with(
        builder, SUNDOG_OP_LINEAR_EXPERTS, parameters, hidden,
        sundog_builder_weight(builder, SUNDOG_TENSOR_EXPERT_DOWN),
        sundog_builder_optional_weight(builder, SUNDOG_TENSOR_EXPERT_DOWN_BIAS), mixture->work,
        down, builder->workspace);
    return down;
}

/* The expert of all tokens, scaled by a gate of its own where the model has one. */
static SundogBufferId
emit_shared(SundogBuilder *builder, const Mixture *mixture, SundogBufferId x)
{
    uint32_t size = mixture->dimensions->shared_size;
    uint32_t hidden_size = builder->dimensions->hidden_size;
    const SundogParameter function = {.i = mixture->function};
    bool has_gate =
        sundog_model_get_tensor(builder->model, SUNDOG_TENSOR_SHARED_GATE, builder->layer) != NULL;
    SundogBufferId up =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_SHARED_UP, "shared.up", size);
    SundogBufferId gate = has_gate ? sundog_component_linear(builder, x, SUNDOG_TENSOR_SHARED_GATE,
                                                             "shared.gate", size)
                                   : up;
    SundogBufferId hidden = sundog_builder_temporary(builder, "shared.hidden", size);
    sundog_builder_emit_with(builder, SUNDOG_OP_GATE, &function, gate, up, hidden);
    SundogBufferId down = sundog_component_linear(builder, hidden, SUNDOG_TENSOR_SHARED_DOWN,
                                                  "shared.down", hidden_size);
    if (sundog_builder_optional_weight(builder, SUNDOG_TENSOR_SHARED_SCALE) == SUNDOG_BUFFER_NONE)
        return down;
    SundogBufferId scale =
        sundog_component_linear(builder, x, SUNDOG_TENSOR_SHARED_SCALE, "shared.scale", 1);
    SundogBufferId y = sundog_builder_temporary(builder, "shared.scaled", hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_SIGMOID_MUL, scale, down, y);
    return y;
}

/* The weighted sum of what the token's experts make. */
static SundogBufferId
emit_mixed(SundogBuilder *builder, const Mixture *mixture, SundogBufferId x)
{
    SundogBufferId down = emit_products(builder, mixture, x);
    SundogBufferId mixed =
        sundog_builder_temporary(builder, "experts.mixed", builder->dimensions->hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_COMBINE_EXPERTS, down, mixture->weights,
                        SUNDOG_BUFFER_NONE, mixed);
    return mixed;
}

/* What the token's one expert makes of the weighted token. */
static SundogBufferId
emit_weighed(SundogBuilder *builder, const Mixture *mixture, SundogBufferId x)
{
    SundogBufferId weighed =
        sundog_builder_temporary(builder, "experts.weighed", builder->dimensions->hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_MUL, x, mixture->weights, weighed);
    return emit_products(builder, mixture, weighed);
}

SundogBufferId
sundog_component_experts(SundogBuilder *builder, SundogBufferId x, SundogGate function)
{
    return sundog_component_routed_experts(builder, x, x, function);
}

SundogBufferId
sundog_component_routed_experts(SundogBuilder *builder, SundogBufferId seen, SundogBufferId x,
                                SundogGate function)
{
    uint32_t hidden_size = builder->dimensions->hidden_size;
    Mixture mixture = mixture_init(builder);
    mixture.function = function;
    emit_choice(builder, &mixture, seen);
    SundogBufferId mixed = mixture.dimensions->weighs_inputs ? emit_weighed(builder, &mixture, x)
                                                             : emit_mixed(builder, &mixture, x);
    if (mixture.dimensions->shared_size == 0)
        return mixed;
    SundogBufferId shared = emit_shared(builder, &mixture, x);
    SundogBufferId y = sundog_builder_temporary(builder, "experts.sum", hidden_size);
    sundog_builder_emit(builder, SUNDOG_OP_ADD, mixed, shared, y);
    return y;
}

size_t
sundog_component_experts_workspace_bytes(const SundogModelDimensions *dimensions)
{
    uint32_t n_experts = dimensions->experts.n_experts;
    return MAX(sundog_route_workspace_bytes(n_experts),
               sundog_plan_experts_workspace_bytes(n_experts));
}
