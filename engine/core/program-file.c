/*
 * The binary form of a program, little-endian:
 *   "SDPR"               magic
 *   u32                  version of this form, 0
 *   string               name
 *   u32 u8 u8            rows a sequence (0 any), starts empty, commits state
 *   u64 arena bytes
 *   u32 n                bounds: n times string variable, u64 value
 *   pool                 expressions, as expression.c says
 *   u32 n                operations that are used: n times string name, u32 version
 *   u64 n                buffers: n times string name, u8 role, u8 dtype, u8 layout, u8 rank,
 *                        rank times u32 expression, u64 offset
 *   u64 n                operations: n times u32 index into those used, then a u32 buffer (2^32 - 1:
 *                        absent) for each argument and 8 bytes for each parameter of its table:
 *                        i64 or f64
 * Strings are a u32 length and UTF-8. Operations and variables stand by name, so that the lists in the
 * contracts may grow and be put in another order; an operation whose version is another one is refused.
 */

#include "engine/core/program.h"
#include "engine/format/error.h"

#include <string.h>

static const char magic[4] = {'S', 'D', 'P', 'R'};
#define FORM_VERSION 0

static void
write_header(const SundogProgram *program, SundogWriter *writer)
{
    const SundogProgramUse *use = sundog_program_get_use(program);
    sundog_writer_bytes(writer, magic, sizeof(magic));
    sundog_writer_u32(writer, FORM_VERSION);
    sundog_writer_string(writer, sundog_program_get_name(program));
    sundog_writer_u32(writer, use->max_rows_per_sequence);
    sundog_writer_u8(writer, use->starts_empty);
    sundog_writer_u8(writer, use->commits_state);
    sundog_writer_u64(writer, sundog_program_get_arena_bytes(program));
    sundog_writer_u32(writer, SUNDOG_N_VARIABLES);
    for (int i = 0; i < SUNDOG_N_VARIABLES; i++) {
        sundog_writer_string(writer, sundog_variable_name((SundogVariable)i));
        sundog_writer_u64(writer, (uint64_t)sundog_program_get_bounds(program)->values[i]);
    }
}

static void
write_buffers(const SundogProgram *program, SundogWriter *writer)
{
    sundog_writer_u64(writer, sundog_program_get_n_buffers(program));
    for (SundogBufferId id = 0; id < sundog_program_get_n_buffers(program); id++) {
        const SundogBuffer *buffer = sundog_program_get_buffer(program, id);
        sundog_writer_string(writer, buffer->name);
        sundog_writer_u8(writer, (uint8_t)buffer->role);
        sundog_writer_u8(writer, (uint8_t)buffer->dtype);
        sundog_writer_u8(writer, (uint8_t)buffer->layout);
        sundog_writer_u8(writer, (uint8_t)buffer->rank);
        for (uint32_t d = 0; d < buffer->rank; d++)
            sundog_writer_u32(writer, buffer->shape[d]);
        sundog_writer_u64(writer, buffer->offset);
    }
}

/* Fills numbers[kind] with the place of each used kind in the list that is written. */
static void
write_used_kinds(const SundogProgram *program, uint32_t *numbers, SundogWriter *writer)
{
    bool is_used[SUNDOG_N_OPERATIONS] = {false};
    uint32_t n_used = 0;
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        is_used[sundog_program_get_operation(program, i)->kind] = true;
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++)
        if (is_used[kind])
            numbers[kind] = n_used++;
    sundog_writer_u32(writer, n_used);
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++) {
        if (!is_used[kind])
            continue;
        sundog_writer_string(writer, sundog_operations[kind].name);
        sundog_writer_u32(writer, sundog_operations[kind].version);
    }
}

static void
write_operation(const SundogOperation *operation, const uint32_t *numbers, SundogWriter *writer)
{
    const SundogParameterInfo *parameters = sundog_operations[operation->kind].parameters;
    sundog_writer_u32(writer, numbers[operation->kind]);
    for (uint32_t a = 0; a < sundog_operation_n_arguments(operation->kind); a++)
        sundog_writer_u32(writer, operation->arguments[a]);
    for (uint32_t p = 0; p < sundog_operation_n_parameters(operation->kind); p++)
        if (parameters[p].is_float)
            sundog_writer_f64(writer, operation->parameters[p].f);
        else
            sundog_writer_u64(writer, (uint64_t)operation->parameters[p].i);
}

void
sundog_program_write(const SundogProgram *program, SundogWriter *writer)
{
    uint32_t numbers[SUNDOG_N_OPERATIONS] = {0};
    write_header(program, writer);
    sundog_expression_pool_write(sundog_program_get_expressions(program), writer);
    write_used_kinds(program, numbers, writer);
    write_buffers(program, writer);
    sundog_writer_u64(writer, sundog_program_get_n_operations(program));
    for (uint32_t i = 0; i < sundog_program_get_n_operations(program); i++)
        write_operation(sundog_program_get_operation(program, i), numbers, writer);
}

static bool
read_flag(SundogReader *reader)
{
    uint8_t value = sundog_reader_u8(reader);
    if (value > 1)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "a flag is %u, not 0 or 1", value);
    return value != 0;
}

static void
read_bounds(SundogReader *reader, SundogShape *bounds)
{
    uint32_t n = sundog_reader_u32(reader);
    for (uint32_t i = 0; i < n && sundog_reader_ok(reader); i++) {
        g_autofree char *name = sundog_reader_dup_string(reader);
        uint64_t value = sundog_reader_u64(reader);
        SundogVariable variable = name != NULL ? sundog_variable_find(name) : SUNDOG_N_VARIABLES;
        if (!sundog_reader_ok(reader))
            return;
        if (variable == SUNDOG_N_VARIABLES)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                               "the variable \"%s\" is not known here", name);
        else if (value > INT32_MAX)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "the bound of %s is %" G_GUINT64_FORMAT, name, value);
        else
            bounds->values[variable] = (int64_t)value;
    }
}

static void
check_magic(SundogReader *reader)
{
    const uint8_t *found = sundog_reader_bytes(reader, sizeof(magic));
    if (found != NULL && memcmp(found, magic, sizeof(magic)) != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "this is not a program");
    uint32_t version = sundog_reader_u32(reader);
    if (sundog_reader_ok(reader) && version != FORM_VERSION)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "the program's form is %u, expected %d: prepare again", version,
                           FORM_VERSION);
}

static SundogProgram *
read_header(SundogReader *reader)
{
    check_magic(reader);
    g_autofree char *name = sundog_reader_dup_string(reader);
    SundogProgram *program = sundog_program_new(name != NULL ? name : "");
    SundogProgramUse use = {.max_rows_per_sequence = sundog_reader_u32(reader)};
    SundogShape bounds = *sundog_program_get_bounds(program);
    use.starts_empty = read_flag(reader);
    use.commits_state = read_flag(reader);
    sundog_program_set_use(program, &use);
    sundog_program_set_arena_bytes(program, sundog_reader_u64(reader));
    read_bounds(reader, &bounds);
    sundog_program_set_bounds(program, &bounds);
    SundogExpressionPool *pool = sundog_expression_pool_read(reader);
    if (pool != NULL)
        sundog_program_take_expressions(program, pool);
    return program;
}

/* The used operations' kinds, [*n_kinds]; owned by the caller. */
static SundogOperationKind *
read_used_kinds(SundogReader *reader, uint32_t *n_kinds)
{
    *n_kinds = sundog_reader_u32(reader);
    if (*n_kinds > SUNDOG_N_OPERATIONS)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "%u kinds of operations are used, of which %d are known here", *n_kinds,
                           SUNDOG_N_OPERATIONS);
    SundogOperationKind *kinds = g_new0(SundogOperationKind, SUNDOG_N_OPERATIONS);
    for (uint32_t i = 0; i < *n_kinds && sundog_reader_ok(reader); i++) {
        g_autofree char *name = sundog_reader_dup_string(reader);
        uint32_t version = sundog_reader_u32(reader);
        if (!sundog_reader_ok(reader))
            break;
        kinds[i] = sundog_operation_find(name);
        if (kinds[i] == SUNDOG_N_OPERATIONS)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                               "the operation \"%s\" is not known here", name);
        else if (version != sundog_operations[kinds[i]].version)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                               "the operation \"%s\" has version %u, expected %u: prepare again",
                               name, version, sundog_operations[kinds[i]].version);
    }
    return kinds;
}

static bool
is_dtype(uint8_t number)
{
    return number != 0 && sundog_dtype_bytes((SundogDtype)number) != 0;
}

static bool
is_layout(uint8_t number)
{
    switch (number) {
    case 0:
#define X(name, value, values, text) case value:
        SUNDOG_LAYOUTS(X)
#undef X
        return true;
    }
    return false;
}

/* The numbers of a buffer after its name; fails the reader where one cannot be. */
static SundogBuffer
read_buffer_numbers(SundogReader *reader, const char *name, uint32_t n_expressions)
{
    uint8_t role = sundog_reader_u8(reader);
    uint8_t dtype = sundog_reader_u8(reader);
    uint8_t layout = sundog_reader_u8(reader);
    SundogBuffer buffer = {.name = name, .rank = sundog_reader_u8(reader)};
    if (!sundog_reader_ok(reader))
        return buffer;
    if (role < SUNDOG_BUFFER_INPUT || role > SUNDOG_BUFFER_TEMPORARY || !is_dtype(dtype) ||
        !is_layout(layout) || buffer.rank < 1 || buffer.rank > 4)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "buffer \"%s\" has role %u, type %u, layout %u and rank %u, not all "
                           "known here",
                           name, role, dtype, layout, buffer.rank);
    buffer.role = (SundogBufferRole)role;
    buffer.dtype = (SundogDtype)dtype;
    buffer.layout = (SundogLayout)layout;
    for (uint32_t d = 0; d < buffer.rank && sundog_reader_ok(reader); d++) {
        buffer.shape[d] = sundog_reader_u32(reader);
        if (sundog_reader_ok(reader) && buffer.shape[d] >= n_expressions)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "buffer \"%s\" is sized by expression %u of %u", name,
                               buffer.shape[d], n_expressions);
    }
    buffer.offset = sundog_reader_u64(reader);
    return buffer;
}

static void
read_buffer(SundogReader *reader, SundogProgram *program)
{
    g_autofree char *name = sundog_reader_dup_string(reader);
    if (name == NULL)
        return;
    SundogBuffer buffer = read_buffer_numbers(
        reader, name, sundog_expression_pool_get_n(sundog_program_get_expressions(program)));
    if (sundog_reader_ok(reader) && sundog_program_find_buffer(program, name) != SUNDOG_BUFFER_NONE)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "buffer \"%s\" stands there twice",
                           name);
    if (sundog_reader_ok(reader))
        sundog_program_add_buffer(program, &buffer);
}

static void
read_operation(SundogReader *reader, SundogProgram *program, const SundogOperationKind *kinds,
               uint32_t n_kinds)
{
    SundogOperation operation;
    uint32_t number = sundog_reader_u32(reader);
    if (!sundog_reader_ok(reader))
        return;
    if (number >= n_kinds) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "an operation is number %u of %u",
                           number, n_kinds);
        return;
    }
    memset(&operation, 0, sizeof(operation));
    operation.kind = kinds[number];
    for (int a = 0; a < SUNDOG_MAX_ARGUMENTS; a++)
        operation.arguments[a] = SUNDOG_BUFFER_NONE;
    for (uint32_t a = 0; a < sundog_operation_n_arguments(operation.kind); a++)
        operation.arguments[a] = sundog_reader_u32(reader);
    const SundogParameterInfo *parameters = sundog_operations[operation.kind].parameters;
    for (uint32_t p = 0; p < sundog_operation_n_parameters(operation.kind); p++)
        if (parameters[p].is_float)
            operation.parameters[p].f = sundog_reader_f64(reader);
        else
            operation.parameters[p].i = (int64_t)sundog_reader_u64(reader);
    if (sundog_reader_ok(reader))
        sundog_program_add_operation(program, &operation);
}

static uint64_t
read_count(SundogReader *reader, size_t min_bytes, uint64_t most, const char *what)
{
    uint64_t n = sundog_reader_count(reader, min_bytes);
    if (n > most)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "the program has %" G_GUINT64_FORMAT " %s, more than %" G_GUINT64_FORMAT,
                           n, what, most);
    return sundog_reader_ok(reader) ? n : 0;
}

SundogProgram *
sundog_program_read(SundogReader *reader)
{
    uint32_t n_kinds = 0;
    g_autoptr(SundogProgram) program = read_header(reader);
    g_autofree SundogOperationKind *kinds = read_used_kinds(reader, &n_kinds);
    uint64_t n_buffers = read_count(reader, 20, SUNDOG_PROGRAM_MAX_BUFFERS, "buffers");
    for (uint64_t i = 0; i < n_buffers && sundog_reader_ok(reader); i++)
        read_buffer(reader, program);
    uint64_t n_operations = read_count(reader, 8, SUNDOG_PROGRAM_MAX_OPERATIONS, "operations");
    for (uint64_t i = 0; i < n_operations && sundog_reader_ok(reader); i++)
        read_operation(reader, program, kinds, n_kinds);
    return sundog_reader_ok(reader) ? g_steal_pointer(&program) : NULL;
}
