/* What can be known of a program before it runs: buffers, operations, dataflow and the arena. */

#include "engine/core/operation-check.h"
#include "engine/format/error.h"
#include "kernels/contract/activation.h"
#include "kernels/contract/layout.h"

#include <string.h>

/* A variable's largest bound: sizes of steps are 32-bit numbers. */
#define MAX_BOUND INT32_MAX

static void
check_bounds(const SundogProgram *program, GString *faults)
{
    const SundogShape *bounds = sundog_program_get_bounds(program);
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++)
        if (bounds->values[i] < 1 || bounds->values[i] > MAX_BOUND)
            sundog_faults_add(faults, "the bound of %s is %" G_GINT64_FORMAT ", not 1 to %d",
                              sundog_variable_name((SundogVariable)i), bounds->values[i],
                              MAX_BOUND);
}

static void
check_weight(const SundogProgram *program, const SundogBuffer *buffer, GString *faults)
{
    int64_t n_rows = 0;
    int64_t n_columns = 0;
    if (buffer->rank != 2 ||
        !sundog_expression_get_constant(sundog_program_get_expressions(program), buffer->shape[0],
                                        &n_rows) ||
        !sundog_expression_get_constant(sundog_program_get_expressions(program), buffer->shape[1],
                                        &n_columns))
        sundog_faults_add(faults, "weight \"%s\" has not two constant dimensions", buffer->name);
    else if (buffer->layout == 0)
        sundog_faults_add(faults, "weight \"%s\" is not laid out", buffer->name);
    else if (n_columns > MAX_BOUND || !sundog_layout_fits(buffer->layout, n_columns))
        sundog_faults_add(faults,
                          "weight \"%s\" has %" G_GINT64_FORMAT " columns, which %s cannot hold",
                          buffer->name, n_columns, sundog_layout_name(buffer->layout));
}

/* Quantized activations stand in whole blocks along their last dimension. */
static void
check_quantized_buffer(const SundogProgram *program, const SundogBuffer *buffer, GString *faults)
{
    int64_t n_columns = 0;
    bool known = sundog_expression_get_constant(sundog_program_get_expressions(program),
                                                buffer->shape[buffer->rank - 1], &n_columns);
    if (buffer->rank != 2 || !known || n_columns % SUNDOG_ACTIVATION_BLOCK != 0)
        sundog_faults_add(
            faults, "quantized buffer \"%s\" has not two dimensions, the last a multiple of %d",
            buffer->name, SUNDOG_ACTIVATION_BLOCK);
}

static void
check_buffer(const SundogProgram *program, SundogBufferId id, GString *faults)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
    const SundogShape *bounds = sundog_program_get_bounds(program);
    size_t before = faults->len;
    for (uint32_t d = 0; d < buffer->rank; d++)
        if (sundog_expression_evaluate(sundog_program_get_expressions(program), buffer->shape[d],
                                       bounds) < 1)
            sundog_faults_add(faults, "buffer \"%s\" is empty in dimension %u", buffer->name, d);
    if ((buffer->role == SUNDOG_BUFFER_WEIGHT) != (buffer->dtype == SUNDOG_DTYPE_WEIGHT))
        sundog_faults_add(faults, "buffer \"%s\" of type %s has another's role", buffer->name,
                          sundog_dtype_name(buffer->dtype));
    else if (buffer->role == SUNDOG_BUFFER_WEIGHT)
        check_weight(program, buffer, faults);
    if (buffer->dtype == SUNDOG_DTYPE_A8)
        check_quantized_buffer(program, buffer, faults);
    if (faults->len == before &&
        sundog_program_buffer_bytes(program, id, bounds) > SUNDOG_BUFFER_MAX_BYTES)
        sundog_faults_add(faults, "buffer \"%s\" is too large at the bounds", buffer->name);
}

/* An argument of an operation, one at a time in the order of reading before writing. */
static bool
reads(SundogAccess access)
{
    return (access & SUNDOG_ACCESS_READ) != 0;
}

static bool
writes(SundogAccess access)
{
    return (access & SUNDOG_ACCESS_WRITE) != 0;
}

/* Only linear says that its residual may be its output. */
static bool
may_alias(const SundogOperation *operation, int reader, int writer)
{
    const SundogArgumentInfo *arguments = sundog_operations[operation->kind].arguments;
    return operation->kind == SUNDOG_OP_LINEAR && strcmp(arguments[reader].name, "residual") == 0 &&
           strcmp(arguments[writer].name, "y") == 0;
}

static void
check_aliases(const SundogOperation *operation, uint32_t index, GString *faults)
{
    const SundogOperationInfo *info = &sundog_operations[operation->kind];
    for (int w = 0; info->arguments[w].name != NULL; w++) {
        bool keeps =
            (info->arguments[w].access & (SUNDOG_ACCESS_WRITE | SUNDOG_ACCESS_WORKSPACE)) == 0;
        if (keeps || operation->arguments[w] == SUNDOG_BUFFER_NONE)
            continue;
        for (int a = 0; info->arguments[a].name != NULL; a++)
            if (a != w && operation->arguments[a] == operation->arguments[w] &&
                !may_alias(operation, a, w) && !may_alias(operation, w, a))
                sundog_faults_add(faults, "operation %u, %s: %s and %s are one buffer", index,
                                  info->name, info->arguments[a].name, info->arguments[w].name);
    }
}

static void
flow_operation(const SundogProgram *program, uint32_t index, bool *is_written, GString *faults)
{
    const SundogOperation *operation = sundog_program_get_operation(program, index);
    const SundogOperationInfo *info = &sundog_operations[operation->kind];
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    for (int a = 0; info->arguments[a].name != NULL; a++) {
        SundogBufferId id = operation->arguments[a];
        if (id < n_buffers && reads(info->arguments[a].access) && !is_written[id])
            sundog_faults_add(faults, "operation %u, %s: reads \"%s\" before it is written", index,
                              info->name, sundog_program_get_buffer(program, id)->name);
    }
    for (int a = 0; info->arguments[a].name != NULL; a++) {
        SundogBufferId id = operation->arguments[a];
        if (id >= n_buffers)
            continue;
        if (writes(info->arguments[a].access))
            is_written[id] = true;
        else if (info->arguments[a].access == SUNDOG_ACCESS_WORKSPACE)
            is_written[id] = false;
    }
}

/* Follows the program once, keeping which buffers hold something. */
static void
check_dataflow(const SundogProgram *program, GString *faults)
{
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    g_autofree bool *is_written = g_new0(bool, MAX(n_buffers, 1));
    for (SundogBufferId id = 0; id < n_buffers; id++) {
        SundogBufferRole role = sundog_program_get_buffer(program, id)->role;
        is_written[id] = role != SUNDOG_BUFFER_OUTPUT && role != SUNDOG_BUFFER_TEMPORARY;
    }
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++) {
        check_aliases(sundog_program_get_operation(program, i), i, faults);
        flow_operation(program, i, is_written, faults);
    }
    for (SundogBufferId id = 0; id < n_buffers; id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (buffer->role == SUNDOG_BUFFER_OUTPUT && !is_written[id])
            sundog_faults_add(faults, "output \"%s\" is never written", buffer->name);
    }
}

/* A temporary's place in time and in the arena. */
typedef struct {
    const char *name;
    SundogLifetime lifetime;
    uint64_t begin;
    uint64_t end;
} Place;

static int
compare_first(const void *left, const void *right)
{
    uint32_t a = ((const Place *)left)->lifetime.first;
    uint32_t b = ((const Place *)right)->lifetime.first;
    return (a > b) - (a < b);
}

static GArray *
collect_places(const SundogProgram *program, GString *faults)
{
    const SundogShape *bounds = sundog_program_get_bounds(program);
    g_autofree SundogLifetime *lifetimes = sundog_program_dup_lifetimes(program);
    GArray *places = g_array_new(FALSE, FALSE, sizeof(Place));
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (buffer->role != SUNDOG_BUFFER_TEMPORARY || !lifetimes[id].is_used)
            continue;
        uint64_t n_bytes = sundog_program_buffer_bytes(program, id, bounds);
        uint64_t arena = sundog_program_get_arena_bytes(program);
        if (buffer->offset % SUNDOG_BUFFER_ALIGNMENT != 0)
            sundog_faults_add(faults, "buffer \"%s\" is not aligned in the arena", buffer->name);
        if (n_bytes > arena || buffer->offset > arena - n_bytes)
            sundog_faults_add(faults, "buffer \"%s\" ends outside the arena", buffer->name);
        else
            g_array_append_val(places, ((Place){buffer->name, lifetimes[id], buffer->offset,
                                                buffer->offset + n_bytes}));
    }
    g_array_sort(places, compare_first);
    return places;
}

static void
check_arena(const SundogProgram *program, GString *faults)
{
    g_autoptr(GArray) places = collect_places(program, faults);
    for (uint32_t i = 0; i < places->len; i++) {
        const Place *a = &g_array_index(places, Place, i);
        for (uint32_t j = i + 1; j < places->len; j++) {
            const Place *b = &g_array_index(places, Place, j);
            if (b->lifetime.first > a->lifetime.last)
                break;
            if (a->begin < b->end && b->begin < a->end)
                sundog_faults_add(faults, "buffers \"%s\" and \"%s\" overlap while both live",
                                  a->name, b->name);
        }
    }
}

bool
sundog_program_check(const SundogProgram *program, GError **error)
{
    g_autoptr(GString) faults = g_string_new(NULL);
    g_autoptr(SundogExpressionPool) scratch =
        sundog_expression_pool_copy(sundog_program_get_expressions(program));
    check_bounds(program, faults);
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++)
        check_buffer(program, id, faults);
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        sundog_operation_check(program, i, scratch, faults);
    check_dataflow(program, faults);
    /* Places mean nothing while sizes are wrong. */
    if (faults->len == 0 && sundog_program_get_arena_bytes(program) > 0)
        check_arena(program, faults);
    if (faults->len == 0)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "program \"%s\": %s",
                sundog_program_get_name(program), faults->str);
    return false;
}
