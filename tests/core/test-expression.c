/* Expressions: interning, folding, saturation, printing, and the file form of each. */

#include "engine/core/expression.h"

#include "engine/format/error.h"

#include <string.h>

static SundogShape
shape_of(int64_t tokens)
{
    SundogShape shape = {0};
    shape.values[SUNDOG_VARIABLE_TOKENS] = tokens;
    return shape;
}

static void
test_interning(void)
{
    g_autoptr(SundogExpressionPool) pool = sundog_expression_pool_new();
    SundogExpression tokens = sundog_expression_variable(pool, SUNDOG_VARIABLE_TOKENS);
    SundogExpression two = sundog_expression_constant(pool, 2);
    SundogExpression a = sundog_expression_binary(pool, SUNDOG_EXPRESSION_ADD, tokens, two);
    SundogExpression b = sundog_expression_binary(pool, SUNDOG_EXPRESSION_ADD, two, tokens);
    int64_t value;
    g_assert_cmpuint(tokens, ==, sundog_expression_variable(pool, SUNDOG_VARIABLE_TOKENS));
    g_assert_cmpuint(tokens, !=, sundog_expression_variable(pool, SUNDOG_VARIABLE_SEQUENCES));
    g_assert_cmpuint(a, ==, b);
    SundogExpression six = sundog_expression_binary(pool, SUNDOG_EXPRESSION_MUL, two,
                                                    sundog_expression_constant(pool, 3));
    g_assert_true(sundog_expression_get_constant(pool, six, &value));
    g_assert_cmpint(value, ==, 6);
    g_assert_false(sundog_expression_get_constant(pool, a, &value));
    g_autoptr(SundogExpressionPool) copy = sundog_expression_pool_copy(pool);
    g_assert_cmpuint(sundog_expression_constant(copy, 6), ==, six);
}

static void
test_evaluation(void)
{
    static const struct {
        SundogExpressionKind kind;
        int64_t tokens;
        int64_t right;
        int64_t expected;
    } cases[] = {
        {SUNDOG_EXPRESSION_ADD, 5, 7, 12},
        {SUNDOG_EXPRESSION_ADD, INT64_MAX, 1, INT64_MAX},
        {SUNDOG_EXPRESSION_MUL, 5, 7, 35},
        {SUNDOG_EXPRESSION_MUL, INT64_MAX / 2, 3, INT64_MAX},
        {SUNDOG_EXPRESSION_MUL, 5, 0, 0},
        {SUNDOG_EXPRESSION_CEIL_DIV, 0, 6, 0},
        {SUNDOG_EXPRESSION_CEIL_DIV, 1, 6, 1},
        {SUNDOG_EXPRESSION_CEIL_DIV, 6, 6, 1},
        {SUNDOG_EXPRESSION_CEIL_DIV, 7, 6, 2},
        {SUNDOG_EXPRESSION_CEIL_DIV, INT64_MAX, 2, INT64_MAX / 2 + 1},
        {SUNDOG_EXPRESSION_MIN, 5, 7, 5},
        {SUNDOG_EXPRESSION_MAX, 5, 7, 7},
        /* A variable below zero is taken as none. */
        {SUNDOG_EXPRESSION_ADD, -3, 7, 7},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(SundogExpressionPool) pool = sundog_expression_pool_new();
        SundogExpression expression = sundog_expression_binary(
            pool, cases[i].kind, sundog_expression_variable(pool, SUNDOG_VARIABLE_TOKENS),
            sundog_expression_constant(pool, cases[i].right));
        SundogShape shape = shape_of(cases[i].tokens);
        g_assert_cmpint(sundog_expression_evaluate(pool, expression, &shape), ==,
                        cases[i].expected);
    }
}

/* 6 * (ceil_div(tokens, 6) + units) */
static SundogExpression
build_nested(SundogExpressionPool *pool)
{
    SundogExpression six = sundog_expression_constant(pool, 6);
    SundogExpression tiles =
        sundog_expression_binary(pool, SUNDOG_EXPRESSION_CEIL_DIV,
                                 sundog_expression_variable(pool, SUNDOG_VARIABLE_TOKENS), six);
    SundogExpression sum =
        sundog_expression_binary(pool, SUNDOG_EXPRESSION_ADD, tiles,
                                 sundog_expression_variable(pool, SUNDOG_VARIABLE_UNITS));
    return sundog_expression_binary(pool, SUNDOG_EXPRESSION_MUL, six, sum);
}

static void
test_printing(void)
{
    g_autoptr(SundogExpressionPool) pool = sundog_expression_pool_new();
    g_autofree char *text = sundog_expression_print(pool, build_nested(pool));
    g_assert_cmpstr(text, ==, "(ceil_div(tokens, 6) + units) * 6");
}

static SundogExpressionPool *
read_pool(const SundogWriter *writer, GError **error)
{
    SundogReader reader;
    sundog_reader_init(&reader, writer->bytes->data, writer->bytes->len, "expressions");
    g_autoptr(SundogExpressionPool) pool = sundog_expression_pool_read(&reader);
    return sundog_reader_finish(&reader, error) ? g_steal_pointer(&pool) : NULL;
}

static void
test_file(void)
{
    SundogWriter writer;
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogExpressionPool) pool = sundog_expression_pool_new();
    SundogExpression nested = build_nested(pool);
    sundog_writer_init(&writer);
    sundog_expression_pool_write(pool, &writer);
    g_autoptr(SundogExpressionPool) read = read_pool(&writer, &error);
    g_assert_no_error(error);
    g_autofree char *text = sundog_expression_print(read, nested);
    g_assert_cmpstr(text, ==, "(ceil_div(tokens, 6) + units) * 6");
    g_assert_cmpuint(build_nested(read), ==, nested);
    sundog_writer_clear(&writer);
}

static void
write_constant(SundogWriter *writer, uint64_t value)
{
    sundog_writer_u8(writer, SUNDOG_EXPRESSION_CONSTANT);
    sundog_writer_u64(writer, value);
}

static void
write_binary(SundogWriter *writer, uint8_t kind, uint32_t left, uint32_t right)
{
    sundog_writer_u8(writer, kind);
    sundog_writer_u32(writer, left);
    sundog_writer_u32(writer, right);
}

static void
write_later_operand(SundogWriter *writer)
{
    sundog_writer_u64(writer, 1);
    write_binary(writer, SUNDOG_EXPRESSION_ADD, 0, 0);
}

static void
write_division_by_zero(SundogWriter *writer)
{
    sundog_writer_u64(writer, 2);
    write_constant(writer, 0);
    write_binary(writer, SUNDOG_EXPRESSION_CEIL_DIV, 0, 0);
}

static void
write_twice(SundogWriter *writer)
{
    sundog_writer_u64(writer, 2);
    write_constant(writer, 4);
    write_constant(writer, 4);
}

static void
write_unknown_kind(SundogWriter *writer)
{
    sundog_writer_u64(writer, 1);
    write_binary(writer, 99, 0, 0);
}

static void
write_unknown_variable(SundogWriter *writer)
{
    sundog_writer_u64(writer, 1);
    sundog_writer_u8(writer, SUNDOG_EXPRESSION_VARIABLE);
    sundog_writer_string(writer, "moons");
}

static void
write_negative(SundogWriter *writer)
{
    sundog_writer_u64(writer, 1);
    write_constant(writer, UINT64_MAX);
}

/* x + x of what is before, forty times: 2^40 nodes when written out. */
static void
write_doubling(SundogWriter *writer)
{
    sundog_writer_u64(writer, 41);
    write_constant(writer, 1);
    for (uint32_t i = 0; i < 40; i++)
        write_binary(writer, SUNDOG_EXPRESSION_ADD, i, i);
}

static void
write_huge_count(SundogWriter *writer)
{
    sundog_writer_u64(writer, UINT64_MAX / 2);
}

static void
test_hostile(void)
{
    static const struct {
        void (*write)(SundogWriter *writer);
        const char *text; /* that the error must hold */
    } cases[] = {
        {write_later_operand, "does not stand before it"},
        {write_division_by_zero, "does not divide by a constant above 0"},
        {write_twice, "stands there twice"},
        {write_unknown_kind, "kind of expression 99 is not known"},
        {write_unknown_variable, "variable \"moons\" is not known"},
        {write_negative, "is too large"},
        {write_doubling, "parts, more than 64"},
        {write_huge_count, ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        SundogWriter writer;
        g_autoptr(GError) error = NULL;
        sundog_writer_init(&writer);
        cases[i].write(&writer);
        g_assert_null(read_pool(&writer, &error));
        g_assert_nonnull(error);
        g_assert_nonnull(strstr(error->message, cases[i].text));
        sundog_writer_clear(&writer);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/expression/interning", test_interning);
    g_test_add_func("/expression/evaluation", test_evaluation);
    g_test_add_func("/expression/printing", test_printing);
    g_test_add_func("/expression/file", test_file);
    g_test_add_func("/expression/hostile", test_hostile);
    return g_test_run();
}
