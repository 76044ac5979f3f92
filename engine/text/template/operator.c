/* Python's operators. */

#include "engine/text/template/evaluate.h"

#include <math.h>

bool
sundog_value_require(SundogRender *render, SundogValue value)
{
    if (value.kind != SUNDOG_VALUE_UNDEFINED)
        return true;
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "%s", value.reason);
    return false;
}

static SundogValue
fail_types(SundogRender *render, int operation, SundogValue a, SundogValue b)
{
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                       "unsupported operand type(s) for %s: '%s' and '%s'",
                       sundog_template_token_text((SundogTemplateTokenKind)operation),
                       sundog_value_type_name(a), sundog_value_type_name(b));
    return SUNDOG_NONE;
}

static SundogValue
fail_overflow(SundogRender *render)
{
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_LIMIT,
                       "The template computes an integer beyond 64 bits");
    return SUNDOG_NONE;
}

static SundogValue
fail_zero(SundogRender *render)
{
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "division by zero");
    return SUNDOG_NONE;
}

static SundogValue
integer_power(SundogRender *render, int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 0 ? fail_zero(render)
                         : sundog_value_float(pow((double)base, (double)exponent));
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return fail_overflow(render);
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
            return fail_overflow(render);
    }
    return sundog_value_integer(result);
}

/* Quotients are rounded down and remainders take the divisor's sign. */
static SundogValue
integer_divide(SundogRender *render, int operation, int64_t a, int64_t b)
{
    if (b == 0)
        return fail_zero(render);
    if (operation == SUNDOG_TOKEN_DIV)
        return sundog_value_float((double)a / (double)b);
    if (a == INT64_MIN && b == -1)
        return operation == SUNDOG_TOKEN_MOD ? sundog_value_integer(0) : fail_overflow(render);
    int64_t quotient = a / b, remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        quotient--;
        remainder += b;
    }
    return sundog_value_integer(operation == SUNDOG_TOKEN_MOD ? remainder : quotient);
}

static SundogValue
integer_binary(SundogRender *render, int operation, int64_t a, int64_t b)
{
    int64_t result;
    bool overflow;
    switch (operation) {
    case SUNDOG_TOKEN_ADD:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case SUNDOG_TOKEN_SUB:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case SUNDOG_TOKEN_MUL:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case SUNDOG_TOKEN_POW:
        return integer_power(render, a, b);
    default:
        return integer_divide(render, operation, a, b);
    }
    return overflow ? fail_overflow(render) : sundog_value_integer(result);
}

static SundogValue
float_binary(SundogRender *render, int operation, double a, double b)
{
    switch (operation) {
    case SUNDOG_TOKEN_ADD:
        return sundog_value_float(a + b);
    case SUNDOG_TOKEN_SUB:
        return sundog_value_float(a - b);
    case SUNDOG_TOKEN_MUL:
        return sundog_value_float(a * b);
    case SUNDOG_TOKEN_POW:
        return sundog_value_float(pow(a, b));
    default:
        break;
    }
    if (b == 0)
        return fail_zero(render);
    if (operation == SUNDOG_TOKEN_DIV)
        return sundog_value_float(a / b);
    double remainder = fmod(a, b);
    if (remainder != 0 && (remainder < 0) != (b < 0))
        remainder += b;
    return sundog_value_float(operation == SUNDOG_TOKEN_MOD ? remainder : floor(a / b));
}

static SundogValue
add_strings(SundogRender *render, const SundogString *a, const SundogString *b)
{
    bool markup = a->markup || b->markup;
    if (markup) {
        a = sundog_string_escape(render, a);
        b = sundog_string_escape(render, b);
    }
    return sundog_value_string(
        sundog_string_with_markup(render, sundog_string_concat(render, a, b), markup));
}

static SundogValue
add_lists(SundogRender *render, const SundogList *a, const SundogList *b)
{
    SundogList *list = sundog_list_new(render, a->flavor);
    for (size_t i = 0; i < a->n_items && !sundog_render_failed(render); i++)
        sundog_list_append(render, list, a->items[i]);
    for (size_t i = 0; i < b->n_items && !sundog_render_failed(render); i++)
        sundog_list_append(render, list, b->items[i]);
    return sundog_value_list(list);
}

static SundogValue
repeat_list(SundogRender *render, const SundogList *list, int64_t n)
{
    SundogList *result = sundog_list_new(render, list->flavor);
    for (int64_t i = 0; i < n && list->n_items > 0 && !sundog_render_failed(render); i++)
        for (size_t j = 0; j < list->n_items; j++)
            sundog_list_append(render, result, list->items[j]);
    return sundog_value_list(result);
}

static bool
is_integer(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_INTEGER || value.kind == SUNDOG_VALUE_BOOLEAN;
}

static bool
is_sequence(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_LIST && value.list->flavor <= SUNDOG_LIST_TUPLE;
}

static SundogValue
repeat(SundogRender *render, SundogValue a, SundogValue b)
{
    SundogValue what = is_integer(b) ? a : b;
    int64_t n = sundog_value_as_integer(is_integer(b) ? b : a);
    if (what.kind == SUNDOG_VALUE_STRING)
        return sundog_value_string(sundog_string_repeat(render, what.string, n));
    return repeat_list(render, what.list, n);
}

SundogValue
sundog_template_binary(SundogRender *render, int operation, SundogValue a, SundogValue b)
{
    if (operation == SUNDOG_TOKEN_MOD && a.kind == SUNDOG_VALUE_STRING)
        return sundog_template_percent(render, a.string, b);
    if (!sundog_value_require(render, a) || !sundog_value_require(render, b))
        return SUNDOG_NONE;
    if (is_integer(a) && is_integer(b))
        return integer_binary(render, operation, sundog_value_as_integer(a),
                              sundog_value_as_integer(b));
    if (sundog_value_is_number(a) && sundog_value_is_number(b))
        return float_binary(render, operation, sundog_value_as_double(a),
                            sundog_value_as_double(b));
    if (operation == SUNDOG_TOKEN_ADD && a.kind == SUNDOG_VALUE_STRING &&
        b.kind == SUNDOG_VALUE_STRING)
        return add_strings(render, a.string, b.string);
    if (operation == SUNDOG_TOKEN_ADD && is_sequence(a) && is_sequence(b) &&
        a.list->flavor == b.list->flavor)
        return add_lists(render, a.list, b.list);
    bool a_repeats = a.kind == SUNDOG_VALUE_STRING || is_sequence(a);
    bool b_repeats = b.kind == SUNDOG_VALUE_STRING || is_sequence(b);
    if (operation == SUNDOG_TOKEN_MUL &&
        ((a_repeats && is_integer(b)) || (is_integer(a) && b_repeats)))
        return repeat(render, a, b);
    return fail_types(render, operation, a, b);
}

SundogValue
sundog_template_negate(SundogRender *render, SundogValue value)
{
    if (!sundog_value_require(render, value) || sundog_render_failed(render))
        return SUNDOG_NONE;
    if (value.kind == SUNDOG_VALUE_FLOAT)
        return sundog_value_float(-value.number);
    if (is_integer(value))
        return integer_binary(render, SUNDOG_TOKEN_SUB, 0, sundog_value_as_integer(value));
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER, "bad operand type for unary -: '%s'",
                       sundog_value_type_name(value));
    return SUNDOG_NONE;
}

static bool
list_contains(SundogRender *render, const SundogList *list, SundogValue item)
{
    for (size_t i = 0; list != NULL && i < list->n_items && !sundog_render_failed(render); i++)
        if (sundog_value_equal(render, list->items[i], item))
            return true;
    return false;
}

bool
sundog_template_contains(SundogRender *render, SundogValue container, SundogValue item)
{
    if (container.kind == SUNDOG_VALUE_DICT)
        return sundog_dict_get(render, container.dict, item) != NULL;
    if (container.kind != SUNDOG_VALUE_STRING) {
        if (sundog_value_is_iterable(container) && container.kind != SUNDOG_VALUE_LOOP)
            return list_contains(render, sundog_value_iterate(render, container), item);
        sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                           "argument of type '%s' is not iterable",
                           sundog_value_type_name(container));
        return false;
    }
    if (item.kind == SUNDOG_VALUE_STRING)
        return sundog_string_find(render, container.string, item.string, 0,
                                  container.string->n_bytes, false) >= 0;
    sundog_render_fail(render, SUNDOG_TEMPLATE_ERROR_RENDER,
                       "'in <string>' requires string as left operand, not %s",
                       sundog_value_type_name(item));
    return false;
}

static bool
is_nan(SundogValue value)
{
    return value.kind == SUNDOG_VALUE_FLOAT && isnan(value.number);
}

bool
sundog_template_compare(SundogRender *render, int operation, SundogValue a, SundogValue b)
{
    switch (operation) {
    case SUNDOG_TOKEN_EQ:
        return sundog_value_equal(render, a, b);
    case SUNDOG_TOKEN_NE:
        return !sundog_value_equal(render, a, b);
    case SUNDOG_OPERATION_IN:
        return sundog_template_contains(render, b, a);
    case SUNDOG_OPERATION_NOT_IN:
        return !sundog_template_contains(render, b, a);
    default:
        break;
    }
    int order = sundog_value_compare(
        render, a, b, sundog_template_token_text((SundogTemplateTokenKind)operation));
    if (is_nan(a) || is_nan(b))
        return false;
    switch (operation) {
    case SUNDOG_TOKEN_LT:
        return order < 0;
    case SUNDOG_TOKEN_LTEQ:
        return order <= 0;
    case SUNDOG_TOKEN_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}
