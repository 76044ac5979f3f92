/* What the passes make of a recipe's program: which operations are left, and memory that is shared. */

#include "tests/prepare/fixture.h"

#include "engine/prepare/plan.h"

static void
plan_tiny(SundogPlan *plan, const char *name, SundogActivations activations)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *gguf = g_strdup_printf("tiny/%s.gguf", name);
    g_autofree char *path = fixture_dup_path(gguf);
    const SundogPrepareOptions options = {.name = "tiny", .activations = activations};
    g_autoptr(SundogModel) model = sundog_model_open(path, &error);
    g_assert_no_error(error);
    sundog_plan_make(plan, model, &options, &error);
    g_assert_no_error(error);
}

static uint32_t
count(const SundogProgram *program, SundogOperationKind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        n += sundog_program_get_operation(program, i)->kind == kind;
    return n;
}

/* Expected numbers of each kind, in a list ending with SUNDOG_N_OPERATIONS; no other is there. */
typedef struct {
    SundogOperationKind kind;
    uint32_t n;
} Expected;

static void
assert_operations(const SundogProgram *program, const Expected *expected)
{
    uint32_t n = 0;
    for (; expected->kind != SUNDOG_N_OPERATIONS; expected++) {
        g_assert_cmpuint(count(program, expected->kind), ==, expected->n);
        n += expected->n;
    }
    g_assert_cmpuint(sundog_program_get_n_operations(program), ==, n);
}

static void
test_quantized(void)
{
    static const Expected expected[] = {{SUNDOG_OP_PLAN_ATTENTION, 1}, {SUNDOG_OP_EMBED, 1},
                                        {SUNDOG_OP_NORM_QUANTIZE, 5},  {SUNDOG_OP_LINEAR_QKV, 2},
                                        {SUNDOG_OP_ROPE_CACHE, 2},     {SUNDOG_OP_ATTENTION, 2},
                                        {SUNDOG_OP_LINEAR_GATED, 2},   {SUNDOG_OP_LINEAR, 5},
                                        {SUNDOG_OP_GATHER_ROWS, 1},    {SUNDOG_N_OPERATIONS, 0}};
    g_auto(SundogPlan) plan = {0};
    plan_tiny(&plan, "q4_1-gqa-yarn", SUNDOG_ACTIVATIONS_INT8);
    assert_operations(plan.forward.program, expected);
}

static void
test_float(void)
{
    static const Expected expected[] = {{SUNDOG_OP_PLAN_ATTENTION, 1}, {SUNDOG_OP_EMBED, 1},
                                        {SUNDOG_OP_RMS_NORM, 5},       {SUNDOG_OP_LINEAR_QKV, 2},
                                        {SUNDOG_OP_ROPE_CACHE, 2},     {SUNDOG_OP_ATTENTION, 2},
                                        {SUNDOG_OP_LINEAR_GATED, 2},   {SUNDOG_OP_LINEAR, 5},
                                        {SUNDOG_OP_GATHER_ROWS, 1},    {SUNDOG_N_OPERATIONS, 0}};
    g_auto(SundogPlan) plan = {0};
    plan_tiny(&plan, "q4_1-gqa-yarn", SUNDOG_ACTIVATIONS_F32);
    assert_operations(plan.forward.program, expected);
}

static void
test_reference(void)
{
    static const Expected expected[] = {
        {SUNDOG_OP_PLAN_ATTENTION, 1}, {SUNDOG_OP_EMBED, 1},    {SUNDOG_OP_RMS_NORM, 5},
        {SUNDOG_OP_LINEAR, 15},        {SUNDOG_OP_JOIN, 2},     {SUNDOG_OP_ROPE_CACHE, 2},
        {SUNDOG_OP_ATTENTION, 2},      {SUNDOG_OP_GATE, 2},     {SUNDOG_OP_ADD, 4},
        {SUNDOG_OP_GATHER_ROWS, 1},    {SUNDOG_N_OPERATIONS, 0}};
    g_auto(SundogPlan) plan = {0};
    plan_tiny(&plan, "q4_1-gqa-yarn", SUNDOG_ACTIVATIONS_INT8);
    assert_operations(plan.reference, expected);
    /* All that was planned is there once, for both. */
    g_assert_cmpuint(plan.weights->len, ==, 1 + 2 * 9 + 3);
}

/* Values are F16, so that they take float inputs and queries and keys quantized ones: not one call.
 * The first layer's gate and up are of two types, which no kernel joins; the second layer's MLP ends in
 * BF16, so that its hidden values stay floats. */
static void
test_mixed(void)
{
    static const Expected expected[] = {
        {SUNDOG_OP_PLAN_ATTENTION, 1}, {SUNDOG_OP_EMBED, 1},         {SUNDOG_OP_RMS_NORM, 3},
        {SUNDOG_OP_QUANTIZE, 3},       {SUNDOG_OP_NORM_QUANTIZE, 2}, {SUNDOG_OP_JOIN, 2},
        {SUNDOG_OP_ROPE_CACHE, 2},     {SUNDOG_OP_ATTENTION, 2},     {SUNDOG_OP_LINEAR_GATED, 1},
        {SUNDOG_OP_GATE, 1},           {SUNDOG_OP_LINEAR, 13},       {SUNDOG_OP_GATHER_ROWS, 1},
        {SUNDOG_N_OPERATIONS, 0}};
    g_auto(SundogPlan) plan = {0};
    plan_tiny(&plan, "mixed", SUNDOG_ACTIVATIONS_INT8);
    assert_operations(plan.forward.program, expected);
}

/* Buffers that do not live together share their place: far less than one after the other. */
static void
test_arena(void)
{
    g_auto(SundogPlan) plan = {0};
    uint64_t n_bytes = 0;
    plan_tiny(&plan, "f16-gqa-llama3", SUNDOG_ACTIVATIONS_F32);
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(plan.reference); id++)
        if (sundog_program_get_buffer(plan.reference, id)->role == SUNDOG_BUFFER_TEMPORARY)
            n_bytes += sundog_program_buffer_bytes(plan.reference, id, &plan.bounds);
    g_assert_cmpuint(sundog_program_get_arena_bytes(plan.reference), <, n_bytes * 2 / 3);
    g_assert_cmpuint(sundog_program_get_arena_bytes(plan.forward.program), <,
                     sundog_program_get_arena_bytes(plan.reference));
}

/* Fewer threads touch less of the arena, and all of them no more than was planned. */
static void
test_threads(void)
{
    g_auto(SundogPlan) plan = {0};
    uint64_t before = 0;
    plan_tiny(&plan, "q8_0-head-128", SUNDOG_ACTIVATIONS_INT8);
    for (unsigned n_threads = 1; n_threads <= 64; n_threads *= 4) {
        uint64_t n_bytes = sundog_plan_measure_arena(&plan, n_threads);
        g_assert_cmpuint(n_bytes, >, before);
        before = n_bytes;
    }
    g_assert_cmpuint(before, <=, plan.arena_bytes);
    g_assert_cmpuint(sundog_plan_measure_arena(&plan, 1000), ==, before);
}

/* Offsets follow the order in which a step reads. */
static void
test_weight_order(void)
{
    static const char *const first[] = {"token_embd.weight", "blk.0.attn_norm.weight",
                                        "blk.0.attn_q.weight", "blk.0.attn_k.weight"};
    g_auto(SundogPlan) plan = {0};
    uint64_t offset = 0;
    plan_tiny(&plan, "q8_0-head-128", SUNDOG_ACTIVATIONS_INT8);
    for (guint i = 0; i < plan.weights->len; i++) {
        const SundogCoreWeight *weight =
            &g_array_index(plan.weights, SundogPlannedWeight, i).weight;
        if (i < G_N_ELEMENTS(first))
            g_assert_cmpstr(weight->name, ==, first[i]);
        g_assert_cmpuint(weight->offset, ==, offset);
        g_assert_cmpuint(weight->offset % SUNDOG_BUFFER_ALIGNMENT, ==, 0);
        offset += weight->n_bytes;
    }
    g_assert_cmpuint(offset, ==, plan.weight_bytes);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan/quantized", test_quantized);
    g_test_add_func("/plan/float", test_float);
    g_test_add_func("/plan/reference", test_reference);
    g_test_add_func("/plan/mixed", test_mixed);
    g_test_add_func("/plan/arena", test_arena);
    g_test_add_func("/plan/threads", test_threads);
    g_test_add_func("/plan/weight-order", test_weight_order);
    return g_test_run();
}
