/*
 * The pass that joins operations. A pattern begins at the operation that reads last: its inputs'
 * writers are looked up, and where each result is read by nobody else, the writers vanish into it.
 */

#include "engine/prepare/passes.h"
#include "kernels/contract/activation.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/layout.h"

#include <string.h>

/* Places of arguments in the operations' tables. */
enum { LINEAR_A, LINEAR_W, LINEAR_BIAS, LINEAR_RESIDUAL, LINEAR_Y, LINEAR_WORKSPACE };
enum { GATED_Y = 3 };
enum { ATTENTION_O = 6, ATTENTION_HEAD_DIM = 2 };
enum { COMBINE_X, COMBINE_WEIGHTS, COMBINE_RESIDUAL };
enum { NORM_X, NORM_WEIGHT, NORM_Y };

#define NOBODY UINT32_MAX

typedef struct {
    SundogProgram *program;
    SundogOperation *operations; /* [n_operations], a copy under change */
    bool *is_gone;               /* [n_operations] */
    uint32_t n_operations;
    uint32_t *writers; /* [n_buffers] the operation that writes a temporary, or NOBODY */
    uint32_t *n_reads; /* [n_buffers] */
} Fusion;

static void
fusion_init(Fusion *fusion, SundogProgram *program)
{
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    uint32_t n_operations = sundog_program_get_n_operations(program);
    *fusion = (Fusion){.program = program,
                       .operations = g_new(SundogOperation, n_operations + 1),
                       .is_gone = g_new0(bool, n_operations + 1),
                       .n_operations = n_operations,
                       .writers = g_new(uint32_t, n_buffers + 1),
                       .n_reads = g_new0(uint32_t, n_buffers + 1)};
    memset(fusion->writers, 0xff, n_buffers * sizeof(uint32_t));
    for (uint32_t i = 0; i < n_operations; i++) {
        SundogOperation *operation = &fusion->operations[i];
        *operation = *sundog_program_get_operation(program, i);
        const SundogArgumentInfo *arguments = sundog_operations[operation->kind].arguments;
        for (uint32_t a = 0; arguments[a].name != NULL; a++) {
            SundogBufferId id = operation->arguments[a];
            if (id == SUNDOG_BUFFER_NONE)
                continue;
            fusion->n_reads[id] += (arguments[a].access & SUNDOG_ACCESS_READ) != 0;
            if ((arguments[a].access & SUNDOG_ACCESS_WRITE) != 0 && fusion->writers[id] == NOBODY)
                fusion->writers[id] = i;
        }
    }
}

static void
fusion_finish(Fusion *fusion)
{
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < fusion->n_operations; i++)
        if (!fusion->is_gone[i])
            fusion->operations[n_kept++] = fusion->operations[i];
    sundog_program_set_operations(fusion->program, fusion->operations, n_kept);
    sundog_program_drop_unused_buffers(fusion->program);
    g_free(fusion->operations);
    g_free(fusion->is_gone);
    g_free(fusion->writers);
    g_free(fusion->n_reads);
}

/* The operation of that kind which alone writes a temporary that is read once; NULL else. */
static SundogOperation *
only_writer(const Fusion *fusion, SundogBufferId id, SundogOperationKind kind)
{
    if (id == SUNDOG_BUFFER_NONE || fusion->writers[id] == NOBODY || fusion->n_reads[id] != 1 ||
        sundog_program_get_buffer(fusion->program, id)->role != SUNDOG_BUFFER_TEMPORARY ||
        fusion->operations[fusion->writers[id]].kind != kind)
        return NULL;
    return &fusion->operations[fusion->writers[id]];
}

static void
remove_operation(Fusion *fusion, const SundogOperation *operation)
{
    fusion->is_gone[operation - fusion->operations] = true;
}

/* Puts a new operation in the place of the last one of its pattern. */
static void
replace(SundogOperation *place, SundogOperationKind kind, const SundogBufferId *arguments)
{
    place->kind = kind;
    memset(place->parameters, 0, sizeof(place->parameters));
    for (uint32_t a = 0; a < SUNDOG_MAX_ARGUMENTS; a++)
        place->arguments[a] =
            a < sundog_operation_n_arguments(kind) ? arguments[a] : SUNDOG_BUFFER_NONE;
}

/* True where all are plain products of one input. */
static bool
share_input(SundogOperation *const *products, int n, bool with_bias)
{
    for (int i = 0; i < n; i++) {
        if (products[i] == NULL || products[i]->arguments[LINEAR_RESIDUAL] != SUNDOG_BUFFER_NONE ||
            products[i]->arguments[LINEAR_A] != products[0]->arguments[LINEAR_A])
            return false;
        if (!with_bias && products[i]->arguments[LINEAR_BIAS] != SUNDOG_BUFFER_NONE)
            return false;
    }
    return true;
}

static SundogLayout
get_layout(const Fusion *fusion, const SundogOperation *product)
{
    return sundog_program_get_buffer(fusion->program, product->arguments[LINEAR_W])->layout;
}

/* The CUDA kernels of one product take weights of one layout. */
static bool
may_be_one_call(const Fusion *fusion, SundogOperation *const *products)
{
    SundogLayout layout = get_layout(fusion, products[0]);
    return !sundog_layout_is_tile(layout) ||
           (layout == get_layout(fusion, products[1]) && layout == get_layout(fusion, products[2]));
}

static void
fuse_qkv(Fusion *fusion, SundogOperation *join)
{
    SundogOperation *products[3];
    for (int i = 0; i < 3; i++)
        products[i] = only_writer(fusion, join->arguments[i], SUNDOG_OP_LINEAR);
    if (!share_input(products, 3, true) || !may_be_one_call(fusion, products))
        return;
    const SundogBufferId arguments[] = {
        products[0]->arguments[LINEAR_A],        products[0]->arguments[LINEAR_W],
        products[1]->arguments[LINEAR_W],        products[2]->arguments[LINEAR_W],
        products[0]->arguments[LINEAR_BIAS],     products[1]->arguments[LINEAR_BIAS],
        products[2]->arguments[LINEAR_BIAS],     join->arguments[3],
        products[0]->arguments[LINEAR_WORKSPACE]};
    replace(join, SUNDOG_OP_LINEAR_QKV, arguments);
    for (int i = 0; i < 3; i++)
        remove_operation(fusion, products[i]);
}

/* The kernels multiply gate and up as one tile; those for CUDA know one function. */
static bool
may_be_gated(const Fusion *fusion, const SundogOperation *gate, SundogOperation *const *products)
{
    SundogLayout layout = get_layout(fusion, products[0]);
    return layout == get_layout(fusion, products[1]) &&
           (!sundog_layout_is_tile(layout) || gate->parameters[0].i == SUNDOG_GATE_SILU);
}

static void
fuse_gated(Fusion *fusion, SundogOperation *gate)
{
    SundogOperation *products[2];
    for (int i = 0; i < 2; i++)
        products[i] = only_writer(fusion, gate->arguments[i], SUNDOG_OP_LINEAR);
    if (!share_input(products, 2, false) || !may_be_gated(fusion, gate, products))
        return;
    const SundogParameter function = gate->parameters[0];
    const SundogBufferId arguments[] = {products[0]->arguments[LINEAR_A],
                                        products[0]->arguments[LINEAR_W],
                                        products[1]->arguments[LINEAR_W], gate->arguments[2],
                                        products[0]->arguments[LINEAR_WORKSPACE]};
    replace(gate, SUNDOG_OP_LINEAR_GATED, arguments);
    gate->parameters[0] = function;
    for (int i = 0; i < 2; i++)
        remove_operation(fusion, products[i]);
}

static void
fuse_residual(Fusion *fusion, SundogOperation *add)
{
    SundogOperation *product = only_writer(fusion, add->arguments[0], SUNDOG_OP_LINEAR);
    if (product == NULL || product->arguments[LINEAR_RESIDUAL] != SUNDOG_BUFFER_NONE)
        return;
    const SundogBufferId arguments[] = {product->arguments[LINEAR_A],
                                        product->arguments[LINEAR_W],
                                        product->arguments[LINEAR_BIAS],
                                        add->arguments[1],
                                        add->arguments[2],
                                        product->arguments[LINEAR_WORKSPACE]};
    replace(add, SUNDOG_OP_LINEAR, arguments);
    remove_operation(fusion, product);
}

static void
fuse_combined_residual(Fusion *fusion, SundogOperation *add)
{
    SundogOperation *combine = only_writer(fusion, add->arguments[0], SUNDOG_OP_COMBINE_EXPERTS);
    if (combine == NULL || combine->arguments[COMBINE_RESIDUAL] != SUNDOG_BUFFER_NONE)
        return;
    const SundogBufferId arguments[] = {combine->arguments[COMBINE_X],
                                        combine->arguments[COMBINE_WEIGHTS], add->arguments[1],
                                        add->arguments[2]};
    replace(add, SUNDOG_OP_COMBINE_EXPERTS, arguments);
    remove_operation(fusion, combine);
}

static void
fuse_norm(Fusion *fusion, SundogOperation *quantize)
{
    SundogOperation *norm = only_writer(fusion, quantize->arguments[0], SUNDOG_OP_RMS_NORM);
    if (norm == NULL)
        return;
    const SundogParameter epsilon = norm->parameters[0];
    const SundogBufferId arguments[] = {norm->arguments[NORM_X], norm->arguments[NORM_WEIGHT],
                                        quantize->arguments[1]};
    replace(quantize, SUNDOG_OP_NORM_QUANTIZE, arguments);
    quantize->parameters[0] = epsilon;
    remove_operation(fusion, norm);
}

/* An operation that may write a8 itself; `y` is the place of its output. */
static void
fuse_output(Fusion *fusion, SundogOperation *quantize, SundogOperationKind kind, int y)
{
    SundogOperation *writer = only_writer(fusion, quantize->arguments[0], kind);
    /* A block of 32 must be one thread's: attention's threads share out heads. */
    if (writer == NULL || (kind == SUNDOG_OP_ATTENTION &&
                           writer->parameters[ATTENTION_HEAD_DIM].i % SUNDOG_ACTIVATION_BLOCK != 0))
        return;
    SundogBufferId a = quantize->arguments[1];
    *quantize = *writer;
    quantize->arguments[y] = a;
    remove_operation(fusion, writer);
}

/* The first round joins what the recipe wrote, the second what the first has made. */
static void
fuse_products(Fusion *fusion, SundogOperation *operation)
{
    if (operation->kind == SUNDOG_OP_JOIN)
        fuse_qkv(fusion, operation);
    else if (operation->kind == SUNDOG_OP_GATE)
        fuse_gated(fusion, operation);
    else if (operation->kind == SUNDOG_OP_ADD)
        fuse_residual(fusion, operation);
    if (operation->kind == SUNDOG_OP_ADD)
        fuse_combined_residual(fusion, operation);
}

static void
fuse_quantize(Fusion *fusion, SundogOperation *operation)
{
    if (operation->kind == SUNDOG_OP_QUANTIZE)
        fuse_norm(fusion, operation);
    if (operation->kind == SUNDOG_OP_QUANTIZE)
        fuse_output(fusion, operation, SUNDOG_OP_ATTENTION, ATTENTION_O);
    if (operation->kind == SUNDOG_OP_QUANTIZE)
        fuse_output(fusion, operation, SUNDOG_OP_LINEAR_GATED, GATED_Y);
}

static void
run_round(SundogProgram *program, void (*pattern)(Fusion *fusion, SundogOperation *operation))
{
    Fusion fusion;
    fusion_init(&fusion, program);
    for (uint32_t i = 0; i < fusion.n_operations; i++)
        if (!fusion.is_gone[i])
            pattern(&fusion, &fusion.operations[i]);
    fusion_finish(&fusion);
}

/* True where the product may write over its residual: a temporary that this operation reads last. */
static bool
may_write_in_place(const SundogProgram *program, uint32_t index, const SundogLifetime *lifetimes)
{
    const SundogOperation *operation = sundog_program_get_operation(program, index);
    SundogBufferId residual = operation->arguments[LINEAR_RESIDUAL];
    SundogBufferId y = operation->arguments[LINEAR_Y];
    return operation->kind == SUNDOG_OP_LINEAR && residual != SUNDOG_BUFFER_NONE &&
           residual != operation->arguments[LINEAR_A] && lifetimes[residual].last == index &&
           sundog_program_get_buffer(program, residual)->role == SUNDOG_BUFFER_TEMPORARY &&
           sundog_program_get_buffer(program, y)->role == SUNDOG_BUFFER_TEMPORARY;
}

/* One buffer for the whole residual stream: half the memory to touch, and it stays in the cache. */
static void
merge_residuals(SundogProgram *program)
{
    uint32_t n = sundog_program_get_n_operations(program);
    g_autofree SundogLifetime *lifetimes = sundog_program_dup_lifetimes(program);
    g_autofree SundogOperation *operations = g_new(SundogOperation, n + 1);
    g_autofree SundogBufferId *names = g_new(SundogBufferId, sundog_program_get_n_buffers(program));
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++)
        names[id] = id;
    for (uint32_t i = 0; i < n; i++) {
        operations[i] = *sundog_program_get_operation(program, i);
        if (may_write_in_place(program, i, lifetimes))
            names[operations[i].arguments[LINEAR_Y]] =
                names[operations[i].arguments[LINEAR_RESIDUAL]];
        for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++)
            if (operations[i].arguments[a] != SUNDOG_BUFFER_NONE)
                operations[i].arguments[a] = names[operations[i].arguments[a]];
    }
    sundog_program_set_operations(program, operations, n);
    sundog_program_drop_unused_buffers(program);
}

void
sundog_pass_fuse(SundogProgram *program)
{
    run_round(program, fuse_products);
    run_round(program, fuse_quantize);
    merge_residuals(program);
}
