/* Programs: building and looking at them. */

#include "engine/core/program.h"

#include <string.h>

#include "kernels/contract/activation.h"
#include "kernels/contract/layout.h"

struct SundogProgram {
    char *name;
    SundogProgramUse use;
    SundogShape bounds;
    SundogExpressionPool *expressions;
    GStringChunk *strings; /* names of buffers */
    GArray *buffers;       /* of SundogBuffer */
    GHashTable *names;     /* a buffer's name to its id + 1 */
    GArray *operations;    /* of SundogOperation */
    uint64_t arena_bytes;
};

SundogProgram *
sundog_program_new(const char *name)
{
    SundogProgram *program = g_new0(SundogProgram, 1);
    program->name = g_strdup(name);
    program->expressions = sundog_expression_pool_new();
    program->strings = g_string_chunk_new(4096);
    program->buffers = g_array_new(FALSE, FALSE, sizeof(SundogBuffer));
    program->names = g_hash_table_new(g_str_hash, g_str_equal);
    program->operations = g_array_new(FALSE, FALSE, sizeof(SundogOperation));
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++)
        program->bounds.values[i] = 1;
    return program;
}

void
sundog_program_free(SundogProgram *program)
{
    if (program == NULL)
        return;
    g_free(program->name);
    sundog_expression_pool_free(program->expressions);
    g_hash_table_unref(program->names);
    g_array_unref(program->buffers);
    g_array_unref(program->operations);
    g_string_chunk_free(program->strings);
    g_free(program);
}

const char *
sundog_program_get_name(const SundogProgram *program)
{
    return program->name;
}

void
sundog_program_set_name(SundogProgram *program, const char *name)
{
    g_free(program->name);
    program->name = g_strdup(name);
}

const SundogProgramUse *
sundog_program_get_use(const SundogProgram *program)
{
    return &program->use;
}

void
sundog_program_set_use(SundogProgram *program, const SundogProgramUse *use)
{
    program->use = *use;
}

const SundogExpressionPool *
sundog_program_get_expressions(const SundogProgram *program)
{
    return program->expressions;
}

SundogExpressionPool *
sundog_program_edit_expressions(SundogProgram *program)
{
    return program->expressions;
}

void
sundog_program_take_expressions(SundogProgram *program, SundogExpressionPool *pool)
{
    g_assert(program->buffers->len == 0);
    sundog_expression_pool_free(program->expressions);
    program->expressions = pool;
}

const SundogShape *
sundog_program_get_bounds(const SundogProgram *program)
{
    return &program->bounds;
}

void
sundog_program_set_bounds(SundogProgram *program, const SundogShape *bounds)
{
    program->bounds = *bounds;
}

SundogBufferId
sundog_program_add_buffer(SundogProgram *program, const SundogBuffer *buffer)
{
    SundogBuffer copy = *buffer;
    g_assert(buffer->rank >= 1 && buffer->rank <= 4);
    g_assert(sundog_program_find_buffer(program, buffer->name) == SUNDOG_BUFFER_NONE);
    copy.name = g_string_chunk_insert(program->strings, buffer->name);
    g_array_append_val(program->buffers, copy);
    g_hash_table_insert(program->names, (gpointer)copy.name,
                        GUINT_TO_POINTER(program->buffers->len));
    return program->buffers->len - 1;
}

void
sundog_program_add_operation(SundogProgram *program, const SundogOperation *operation)
{
    g_assert(operation->kind < SUNDOG_N_OPERATIONS);
    g_array_append_val(program->operations, *operation);
}

uint32_t
sundog_program_get_n_buffers(const SundogProgram *program)
{
    return program->buffers->len;
}

const SundogBuffer *
sundog_program_get_buffer(const SundogProgram *program, SundogBufferId id)
{
    g_assert(id < program->buffers->len);
    return &g_array_index(program->buffers, SundogBuffer, id);
}

void
sundog_program_set_buffer_offset(SundogProgram *program, SundogBufferId id, uint64_t offset)
{
    g_assert(id < program->buffers->len);
    g_array_index(program->buffers, SundogBuffer, id).offset = offset;
}

void
sundog_program_set_buffer_dtype(SundogProgram *program, SundogBufferId id, SundogDtype dtype)
{
    g_assert(id < program->buffers->len);
    g_array_index(program->buffers, SundogBuffer, id).dtype = dtype;
}

void
sundog_program_set_buffer_dimension(SundogProgram *program, SundogBufferId id, uint32_t dimension,
                                    SundogExpression size)
{
    g_assert(id < program->buffers->len && dimension < 4);
    g_array_index(program->buffers, SundogBuffer, id).shape[dimension] = size;
}

void
sundog_program_set_buffer_layout(SundogProgram *program, SundogBufferId id, SundogLayout layout)
{
    g_assert(id < program->buffers->len);
    g_array_index(program->buffers, SundogBuffer, id).layout = layout;
}

SundogBufferId
sundog_program_find_buffer(const SundogProgram *program, const char *name)
{
    gpointer known = g_hash_table_lookup(program->names, name);
    return known != NULL ? GPOINTER_TO_UINT(known) - 1 : SUNDOG_BUFFER_NONE;
}

uint32_t
sundog_program_get_n_operations(const SundogProgram *program)
{
    return program->operations->len;
}

const SundogOperation *
sundog_program_get_operation(const SundogProgram *program, uint32_t index)
{
    g_assert(index < program->operations->len);
    return &g_array_index(program->operations, SundogOperation, index);
}

void
sundog_program_set_operations(SundogProgram *program, const SundogOperation *operations,
                              uint32_t n_operations)
{
    GArray *replacement =
        g_array_sized_new(FALSE, FALSE, sizeof(SundogOperation), MAX(n_operations, 1));
    g_array_append_vals(replacement, operations, n_operations);
    g_array_unref(program->operations);
    program->operations = replacement;
}

static bool
may_drop(const SundogBuffer *buffer)
{
    return buffer->role == SUNDOG_BUFFER_TEMPORARY || buffer->role == SUNDOG_BUFFER_WEIGHT;
}

/* Renames the arguments of all operations by a table of new ids. */
static void
renumber_arguments(SundogProgram *program, const SundogBufferId *ids)
{
    for (uint32_t i = 0; i < program->operations->len; i++) {
        SundogOperation *operation = &g_array_index(program->operations, SundogOperation, i);
        for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++)
            if (operation->arguments[a] != SUNDOG_BUFFER_NONE)
                operation->arguments[a] = ids[operation->arguments[a]];
    }
}

void
sundog_program_drop_unused_buffers(SundogProgram *program)
{
    g_autofree SundogLifetime *lifetimes = sundog_program_dup_lifetimes(program);
    g_autofree SundogBufferId *ids = g_new0(SundogBufferId, program->buffers->len);
    uint32_t n_kept = 0;
    g_hash_table_remove_all(program->names);
    for (uint32_t i = 0; i < program->buffers->len; i++) {
        SundogBuffer buffer = g_array_index(program->buffers, SundogBuffer, i);
        if (!lifetimes[i].is_used && may_drop(&buffer))
            continue;
        g_array_index(program->buffers, SundogBuffer, n_kept) = buffer;
        ids[i] = n_kept++;
        g_hash_table_insert(program->names, (gpointer)buffer.name, GUINT_TO_POINTER(n_kept));
    }
    g_array_set_size(program->buffers, n_kept);
    renumber_arguments(program, ids);
}

SundogLifetime *
sundog_program_dup_lifetimes(const SundogProgram *program)
{
    SundogLifetime *lifetimes = g_new0(SundogLifetime, program->buffers->len);
    for (uint32_t i = 0; i < program->operations->len; i++) {
        const SundogOperation *operation = sundog_program_get_operation(program, i);
        for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++) {
            if (operation->arguments[a] >= program->buffers->len)
                continue;
            SundogLifetime *lifetime = &lifetimes[operation->arguments[a]];
            lifetime->first = lifetime->is_used ? lifetime->first : i;
            lifetime->last = i;
            lifetime->is_used = true;
        }
    }
    return lifetimes;
}

static uint64_t
saturating_mul(uint64_t left, uint64_t right)
{
    uint64_t product;
    return __builtin_mul_overflow(left, right, &product) ? UINT64_MAX : product;
}

static int64_t
buffer_dimension(const SundogProgram *program, const SundogBuffer *buffer, uint32_t dimension,
                 const SundogShape *shape)
{
    return sundog_expression_evaluate(program->expressions, buffer->shape[dimension], shape);
}

int64_t
sundog_program_buffer_elements(const SundogProgram *program, SundogBufferId id,
                               const SundogShape *shape)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
    uint64_t n = buffer->dtype == SUNDOG_DTYPE_A8 ? SUNDOG_TILE_TOKENS : 1;
    for (uint32_t d = 0; d < buffer->rank; d++)
        n = saturating_mul(n, (uint64_t)buffer_dimension(program, buffer, d, shape));
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* [n_pages, G, C, 64] or [n_pages, G, 64, C]; another rank is a fault of the program. */
static uint64_t
measure_pages(const SundogProgram *program, const SundogBuffer *buffer, const SundogShape *shape)
{
    if (buffer->rank != 4)
        return UINT64_MAX;
    uint64_t sizes[4];
    for (uint32_t d = 0; d < 4; d++)
        sizes[d] = (uint64_t)buffer_dimension(program, buffer, d, shape);
    uint64_t n_parts = saturating_mul(sizes[0], sizes[1]);
    uint64_t head_dim = saturating_mul(sizes[2], sizes[3]) / SUNDOG_PAGE_TOKENS;
    return saturating_mul(n_parts, sundog_page_part_bytes(SUNDOG_DTYPE_Q8, 1, head_dim));
}

uint64_t
sundog_program_buffer_bytes(const SundogProgram *program, SundogBufferId id,
                            const SundogShape *shape)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
    uint64_t n_elements = (uint64_t)sundog_program_buffer_elements(program, id, shape);
    /* The contract's own functions do not saturate; they are not asked about such sizes. */
    if (n_elements > SUNDOG_BUFFER_MAX_BYTES)
        return UINT64_MAX;
    int64_t n_columns = buffer_dimension(program, buffer, buffer->rank - 1, shape);
    if (buffer->dtype == SUNDOG_DTYPE_A8)
        return saturating_mul(n_elements / SUNDOG_TILE_TOKENS / (uint64_t)MAX(n_columns, 1),
                              sundog_activation_tile_bytes(n_columns));
    if (buffer->dtype == SUNDOG_DTYPE_Q8)
        return measure_pages(program, buffer, shape);
    if (buffer->dtype != SUNDOG_DTYPE_WEIGHT)
        return n_elements * sundog_dtype_bytes(buffer->dtype);
    if (buffer->layout == 0)
        return 0;
    return sundog_layout_bytes(buffer->layout, buffer_dimension(program, buffer, 0, shape),
                               n_columns);
}

/* Whether the first dimension of a buffer grows with a variable. */
static bool
depends_on(const SundogProgram *program, SundogBufferId id, SundogVariable variable)
{
    const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
    const SundogExpressionPool *pool = sundog_program_get_expressions(program);
    SundogShape shape = *sundog_program_get_bounds(program);
    if (buffer->rank == 0)
        return false;
    shape.values[variable] = 1;
    int64_t one = sundog_expression_evaluate(pool, buffer->shape[0], &shape);
    shape.values[variable] = 2;
    return sundog_expression_evaluate(pool, buffer->shape[0], &shape) != one;
}

SundogVariable
sundog_state_kind_get_variable(SundogStateKind kind)
{
    static const SundogVariable variables[SUNDOG_N_STATE_KINDS] = {
        [SUNDOG_STATE_PAGES] = SUNDOG_VARIABLE_POOL_PAGES,
        [SUNDOG_STATE_WINDOWS] = SUNDOG_VARIABLE_WINDOW_PAGES,
        [SUNDOG_STATE_SLOTS] = SUNDOG_VARIABLE_POOL_STATES,
    };
    return variables[kind];
}

SundogStateKind
sundog_program_get_state_kind(const SundogProgram *program, SundogBufferId id)
{
    if (depends_on(program, id, SUNDOG_VARIABLE_POOL_STATES))
        return SUNDOG_STATE_SLOTS;
    return depends_on(program, id, SUNDOG_VARIABLE_WINDOW_PAGES) ? SUNDOG_STATE_WINDOWS
                                                                 : SUNDOG_STATE_PAGES;
}

uint64_t
sundog_program_get_arena_bytes(const SundogProgram *program)
{
    return program->arena_bytes;
}

uint64_t
sundog_program_measure_arena(const SundogProgram *program, const SundogShape *shape)
{
    uint64_t n_bytes = 0;
    for (SundogBufferId id = 0; id < program->buffers->len; id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        if (buffer->role == SUNDOG_BUFFER_TEMPORARY)
            n_bytes =
                MAX(n_bytes, buffer->offset + sundog_program_buffer_bytes(program, id, shape));
    }
    return n_bytes;
}

void
sundog_program_set_arena_bytes(SundogProgram *program, uint64_t n_bytes)
{
    program->arena_bytes = n_bytes;
}

void
sundog_program_measure_state(const SundogProgram *program, uint64_t n_bytes[SUNDOG_N_STATE_KINDS])
{
    SundogShape one = *sundog_program_get_bounds(program);
    for (int kind = 0; kind < SUNDOG_N_STATE_KINDS; kind++)
        one.values[sundog_state_kind_get_variable((SundogStateKind)kind)] = 1;
    memset(n_bytes, 0, SUNDOG_N_STATE_KINDS * sizeof *n_bytes);
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++)
        if (sundog_program_get_buffer(program, id)->role == SUNDOG_BUFFER_STATE)
            n_bytes[sundog_program_get_state_kind(program, id)] +=
                sundog_program_buffer_bytes(program, id, &one);
}
