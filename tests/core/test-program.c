/* Programs: what the check refuses, sizes, printing and the file form. */

#include "tests/core/core-builder.h"

#include "engine/core/operation-contract.h"
#include "kernels/contract/activation.h"

#include <math.h>
#include <string.h>

#define NONE ((int64_t)SUNDOG_BUFFER_NONE)
#define END ((int64_t)-1)

static int64_t
find(const SundogProgram *program, const char *name)
{
    SundogBufferId id = sundog_program_find_buffer(program, name);
    g_assert_cmpuint(id, !=, SUNDOG_BUFFER_NONE);
    return id;
}

static SundogExpression
constant(SundogProgram *program, int64_t value)
{
    return sundog_expression_constant(sundog_program_edit_expressions(program), value);
}

static SundogExpression
variable(SundogProgram *program, SundogVariable of)
{
    return sundog_expression_variable(sundog_program_edit_expressions(program), of);
}

static int64_t
add(SundogProgram *program, SundogBuffer buffer)
{
    return sundog_program_add_buffer(program, &buffer);
}

/* An operation that is new in the list must say what it asks. */
static void
test_contracts(void)
{
    for (int kind = 0; kind < SUNDOG_N_OPERATIONS; kind++)
        for (uint32_t a = 0; a < sundog_operation_n_arguments((SundogOperationKind)kind); a++)
            if (sundog_contract_get_text((SundogOperationKind)kind, a) == NULL)
                g_error("%s has no contract for argument %u", sundog_operations[kind].name, a);
    g_assert_true(sundog_operation_takes_matrix(SUNDOG_OP_LINEAR, 1));
    g_assert_false(sundog_operation_takes_matrix(SUNDOG_OP_LINEAR, 2));
}

static void
test_valid(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    sundog_program_check(program, &error);
    g_assert_no_error(error);
}

static void
break_shape(SundogProgram *program)
{
    int64_t wide = core_builder_add_temporary(program, "wide", BUILDER_HIDDEN + 1);
    core_builder_add_operation(program, SUNDOG_OP_EMBED, find(program, "tokens"),
                               find(program, "table"), wide, END);
}

static void
break_type(SundogProgram *program)
{
    int64_t x = core_builder_add_temporary(program, "y", BUILDER_HIDDEN);
    core_builder_add_operation(program, SUNDOG_OP_EMBED, find(program, "x"), find(program, "table"),
                               x, END);
}

static void
break_absent(SundogProgram *program)
{
    core_builder_add_operation(program, SUNDOG_OP_ADD, find(program, "x"), find(program, "x"), END);
}

static void
break_id(SundogProgram *program)
{
    core_builder_add_operation(program, SUNDOG_OP_ADD, find(program, "x"), (int64_t)12345,
                               find(program, "x"), END);
}

static void
break_order(SundogProgram *program)
{
    int64_t y = core_builder_add_temporary(program, "y", BUILDER_HIDDEN);
    int64_t z = core_builder_add_temporary(program, "z", BUILDER_HIDDEN);
    core_builder_add_operation(program, SUNDOG_OP_ADD, find(program, "x"), y, z, END);
}

static void
break_output(SundogProgram *program)
{
    add(program, (SundogBuffer){.name = "more",
                                .role = SUNDOG_BUFFER_OUTPUT,
                                .dtype = SUNDOG_DTYPE_F32,
                                .rank = 1,
                                .shape = {constant(program, 1)}});
}

static void
break_role(SundogProgram *program)
{
    SundogBufferId tokens = (SundogBufferId)find(program, "tokens");
    int64_t rows = add(program, (SundogBuffer){.name = "rows",
                                               .role = SUNDOG_BUFFER_INPUT,
                                               .dtype = SUNDOG_DTYPE_F32,
                                               .rank = 2,
                                               .shape = {variable(program, SUNDOG_VARIABLE_TOKENS),
                                                         constant(program, BUILDER_HIDDEN)}});
    core_builder_add_operation(program, SUNDOG_OP_EMBED, (int64_t)tokens, find(program, "table"),
                               rows, END);
}

static void
break_alias(SundogProgram *program)
{
    core_builder_add_operation(program, SUNDOG_OP_ADD, find(program, "x"), find(program, "x"),
                               find(program, "x"), END);
}

static void
break_workspace(SundogProgram *program)
{
    int64_t small = add(program, (SundogBuffer){.name = "small",
                                                .role = SUNDOG_BUFFER_TEMPORARY,
                                                .dtype = SUNDOG_DTYPE_U8,
                                                .rank = 2,
                                                .shape = {variable(program, SUNDOG_VARIABLE_UNITS),
                                                          constant(program, 1)}});
    int64_t matrix = core_builder_add_matrix(program, "matrix", 8, BUILDER_HIDDEN);
    int64_t y = core_builder_add_temporary(program, "y", 8);
    core_builder_add_operation(program, SUNDOG_OP_LINEAR, find(program, "x"), matrix, NONE, NONE, y,
                               small, END);
}

/* Quantized activations before a weight of floats. */
static void
break_activation(SundogProgram *program)
{
    SundogExpressionPool *pool = sundog_program_edit_expressions(program);
    SundogExpression tiles = sundog_expression_binary(pool, SUNDOG_EXPRESSION_CEIL_DIV,
                                                      variable(program, SUNDOG_VARIABLE_TOKENS),
                                                      constant(program, SUNDOG_TILE_TOKENS));
    int64_t a = add(program, (SundogBuffer){.name = "a",
                                            .role = SUNDOG_BUFFER_TEMPORARY,
                                            .dtype = SUNDOG_DTYPE_A8,
                                            .rank = 2,
                                            .shape = {tiles, constant(program, BUILDER_HIDDEN)}});
    int64_t matrix = core_builder_add_matrix(program, "matrix", 8, BUILDER_HIDDEN);
    int64_t y = core_builder_add_temporary(program, "y", 8);
    core_builder_add_operation(program, SUNDOG_OP_QUANTIZE, find(program, "x"), a, END);
    core_builder_add_operation(program, SUNDOG_OP_LINEAR, a, matrix, NONE, NONE, y,
                               find(program, "workspace"), END);
}

static void
break_gated(SundogProgram *program)
{
    int64_t gate = core_builder_add_matrix(program, "gate", 8, BUILDER_HIDDEN);
    int64_t up = core_builder_add_matrix(program, "up", 8, BUILDER_HIDDEN);
    int64_t y = core_builder_add_temporary(program, "y", 8);
    sundog_program_set_buffer_layout(program, (SundogBufferId)up, SUNDOG_LAYOUT_PANEL16_F16);
    core_builder_add_operation(program, SUNDOG_OP_LINEAR_GATED, find(program, "x"), gate, up, y,
                               find(program, "workspace"), END);
}

static void
break_bounds(SundogProgram *program)
{
    SundogShape bounds = *sundog_program_get_bounds(program);
    bounds.values[SUNDOG_VARIABLE_TOKENS] = 0;
    sundog_program_set_bounds(program, &bounds);
}

static void
break_size(SundogProgram *program)
{
    add(program, (SundogBuffer){.name = "vast",
                                .role = SUNDOG_BUFFER_STATE,
                                .dtype = SUNDOG_DTYPE_F32,
                                .rank = 2,
                                .shape = {constant(program, (int64_t)1 << 40),
                                          constant(program, (int64_t)1 << 40)}});
}

static void
break_layout(SundogProgram *program)
{
    sundog_program_set_buffer_layout(program, (SundogBufferId)find(program, "table"),
                                     (SundogLayout)0);
}

static void
break_parameter(SundogProgram *program)
{
    SundogOperation operations[8];
    uint32_t n = sundog_program_get_n_operations(program);
    for (uint32_t i = 0; i < n; i++)
        operations[i] = *sundog_program_get_operation(program, i);
    operations[0].parameters[0].f = NAN;
    sundog_program_set_operations(program, operations, n);
}

static void
break_overlap(SundogProgram *program)
{
    uint64_t offset =
        sundog_program_get_buffer(program, (SundogBufferId)find(program, "x"))->offset;
    sundog_program_set_buffer_offset(program, (SundogBufferId)find(program, "gathered"), offset);
}

static void
break_alignment(SundogProgram *program)
{
    sundog_program_set_buffer_offset(program, (SundogBufferId)find(program, "x"), 4);
}

static void
break_arena(SundogProgram *program)
{
    sundog_program_set_arena_bytes(program, sundog_program_get_arena_bytes(program) - 1);
}

static void
test_refusals(void)
{
    static const struct {
        void (*break_it)(SundogProgram *program);
        const char *text; /* that the error must hold */
    } cases[] = {
        {break_shape, "operation 3, embed: x has size 33 in dimension 1, expected 32"},
        {break_type, "operation 3, embed: tokens is \"x\", f32 without layout, expected i32"},
        {break_absent, "operation 3, add: y is absent"},
        {break_id, "operation 3, add: b names buffer 12345, which is not there"},
        {break_order, "operation 3, add: reads \"y\" before it is written"},
        {break_output, "output \"more\" is never written"},
        {break_role, "operation 3, embed: x is \"rows\", which may not be written"},
        {break_alias, "operation 3, add: a and y are one buffer"},
        {break_workspace, "operation 3, linear: workspace has 1 bytes a unit, but"},
        {break_activation, "does not go with quantized activations"},
        {break_gated, "gate is in panel16-f32, up in panel16-f16"},
        {break_bounds, "the bound of tokens is 0"},
        {break_size, "buffer \"vast\" is too large at the bounds"},
        {break_layout, "weight \"table\" is not laid out"},
        {break_parameter, "operation 0, embed: scale is nan, not a number above 0"},
        {break_overlap, "buffers \"x\" and \"gathered\" overlap while both live"},
        {break_alignment, "buffer \"x\" is not aligned in the arena"},
        {break_arena, "ends outside the arena"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogProgram) program = core_builder_new_forward();
        cases[i].break_it(program);
        g_assert_false(sundog_program_check(program, &error));
        if (strstr(error->message, cases[i].text) == NULL)
            g_error("case %zu: \"%s\" is not in \"%s\"", i, cases[i].text, error->message);
    }
}

/* All that is wrong is said at once. */
static void
test_all_at_once(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    break_shape(program);
    break_output(program);
    break_bounds(program);
    g_assert_false(sundog_program_check(program, &error));
    g_assert_nonnull(strstr(error->message, "expected 32"));
    g_assert_nonnull(strstr(error->message, "never written"));
    g_assert_nonnull(strstr(error->message, "bound of tokens"));
}

static void
test_sizes(void)
{
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    SundogShape shape = *sundog_program_get_bounds(program);
    SundogBufferId x = (SundogBufferId)find(program, "x");
    shape.values[SUNDOG_VARIABLE_TOKENS] = 7;
    g_assert_cmpint(sundog_program_buffer_elements(program, x, &shape), ==, 7 * BUILDER_HIDDEN);
    g_assert_cmpuint(sundog_program_buffer_bytes(program, x, &shape), ==, 28 * BUILDER_HIDDEN);
    break_activation(program);
    SundogBufferId a = (SundogBufferId)find(program, "a");
    g_assert_cmpint(sundog_program_buffer_elements(program, a, &shape), ==, 12 * BUILDER_HIDDEN);
    g_assert_cmpuint(sundog_program_buffer_bytes(program, a, &shape), ==,
                     2 * sundog_activation_tile_bytes(BUILDER_HIDDEN));
    break_size(program);
    SundogBufferId vast = (SundogBufferId)find(program, "vast");
    g_assert_cmpuint(sundog_program_buffer_bytes(program, vast, &shape), ==, UINT64_MAX);
}

static void
test_drop_unused(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    uint32_t n_buffers = sundog_program_get_n_buffers(program);
    core_builder_add_temporary(program, "idle", 4);
    core_builder_add_matrix(program, "spare", 16, 16);
    sundog_program_drop_unused_buffers(program);
    g_assert_cmpuint(sundog_program_get_n_buffers(program), ==, n_buffers);
    g_assert_cmpuint(sundog_program_find_buffer(program, "idle"), ==, SUNDOG_BUFFER_NONE);
    sundog_program_check(program, &error);
    g_assert_no_error(error);
}

static GBytes *
write_program(const SundogProgram *program)
{
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_program_write(program, &writer);
    return sundog_writer_steal(&writer);
}

static SundogProgram *
read_program(GBytes *bytes, GError **error)
{
    SundogReader reader;
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes), "program");
    g_autoptr(SundogProgram) program = sundog_program_read(&reader);
    return sundog_reader_finish(&reader, error) ? g_steal_pointer(&program) : NULL;
}

static void
test_file(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    g_autoptr(GBytes) bytes = write_program(program);
    g_autoptr(SundogProgram) read = read_program(bytes, &error);
    g_assert_no_error(error);
    sundog_program_check(read, &error);
    g_assert_no_error(error);
    g_autoptr(GBytes) again = write_program(read);
    g_assert_true(g_bytes_equal(bytes, again));
    g_autofree char *text = sundog_program_print(program);
    g_autofree char *text_read = sundog_program_print(read);
    g_assert_cmpstr(text, ==, text_read);
    g_assert_true(sundog_program_get_use(read)->starts_empty);
}

/* Every shorter file is refused, and none is read past its end. */
static void
test_truncated(void)
{
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    g_autoptr(GBytes) bytes = write_program(program);
    for (gsize n = 0; n < g_bytes_get_size(bytes); n++) {
        g_autoptr(GError) error = NULL;
        g_autofree void *copy = g_memdup2(g_bytes_get_data(bytes, NULL), n);
        g_autoptr(GBytes) shorter = g_bytes_new_static(copy, n);
        g_assert_null(read_program(shorter, &error));
        g_assert_nonnull(error);
    }
}

/* An operation of another version, and one that is not known, are refused by name. */
static void
test_other_operations(void)
{
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    g_autoptr(GBytes) bytes = write_program(program);
    gsize n;
    char *data = g_bytes_unref_to_data(g_steal_pointer(&bytes), &n);
    char *name = memmem(data, n, "gather_rows", strlen("gather_rows"));
    g_assert_nonnull(name);
    g_autoptr(GError) version_error = NULL;
    name[strlen("gather_rows")]++;
    g_autoptr(GBytes) other_version = g_bytes_new(data, n);
    g_assert_null(read_program(other_version, &version_error));
    g_assert_nonnull(strstr(version_error->message, "\"gather_rows\" has version 2, expected 1"));
    g_autoptr(GError) name_error = NULL;
    memcpy(name, "gather_moon", strlen("gather_moon"));
    g_autoptr(GBytes) other_name = g_bytes_new(data, n);
    g_assert_null(read_program(other_name, &name_error));
    g_assert_nonnull(strstr(name_error->message, "\"gather_moon\" is not known"));
    g_free(data);
}

static void
test_printing(void)
{
    g_autoptr(SundogProgram) program = core_builder_new_forward();
    g_autofree char *text = sundog_program_print(program);
    g_autofree char *dot = sundog_program_print_dot(program);
    g_assert_nonnull(strstr(text, "program forward: 3 operations, 12 buffers"));
    g_assert_nonnull(strstr(text, "embed          tokens=tokens table=table x=x scale=1"));
    g_assert_nonnull(strstr(text, "[sequences + 1]"));
    g_assert_nonnull(strstr(dot, "o0 -> o1 [label=\"x\"]"));
    g_assert_nonnull(strstr(dot, "o2 -> \"logits\""));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/program/contracts", test_contracts);
    g_test_add_func("/program/valid", test_valid);
    g_test_add_func("/program/refusals", test_refusals);
    g_test_add_func("/program/all-at-once", test_all_at_once);
    g_test_add_func("/program/sizes", test_sizes);
    g_test_add_func("/program/drop-unused", test_drop_unused);
    g_test_add_func("/program/file", test_file);
    g_test_add_func("/program/truncated", test_truncated);
    g_test_add_func("/program/other-operations", test_other_operations);
    g_test_add_func("/program/printing", test_printing);
    return g_test_run();
}
