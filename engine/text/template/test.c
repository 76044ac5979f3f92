/* Tests: what stands after `is`. */

#include "engine/text/template/text.h"

static SundogValue
test_boolean(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_BOOLEAN);
}

static SundogValue
test_callable(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_FUNCTION ||
                                self.kind == SUNDOG_VALUE_LOOP ||
                                self.kind == SUNDOG_VALUE_UNDEFINED);
}

static SundogValue
test_defined(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind != SUNDOG_VALUE_UNDEFINED);
}

static SundogValue
test_undefined(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_UNDEFINED);
}

static SundogValue
divisible(SundogRender *render, SundogValue self, SundogValue by, bool wanted)
{
    SundogValue rest = sundog_template_binary(render, SUNDOG_TOKEN_MOD, self, by);
    return sundog_value_boolean(!sundog_value_is_true(rest) == wanted);
}

static SundogValue
test_divisibleby(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue number;
    if (!sundog_arguments_bind(render, arguments, "divisibleby", "num", &number))
        return SUNDOG_NONE;
    return divisible(render, self, number, true);
}

static SundogValue
test_even(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return divisible(render, self, sundog_value_integer(2), true);
}

static SundogValue
test_odd(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return divisible(render, self, sundog_value_integer(2), false);
}

static SundogValue
test_escaped(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_STRING && self.string->markup);
}

static SundogValue
test_false(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_BOOLEAN && !self.boolean);
}

static SundogValue
test_true(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_BOOLEAN && self.boolean);
}

static SundogValue
test_filter(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(
        self.kind == SUNDOG_VALUE_STRING &&
        sundog_template_find_filter(sundog_string_text(render, self.string)) != NULL);
}

static SundogValue
test_test(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(
        self.kind == SUNDOG_VALUE_STRING &&
        sundog_template_find_test(sundog_string_text(render, self.string)) != NULL);
}

static SundogValue
test_float(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_FLOAT);
}

static SundogValue
test_integer(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_INTEGER);
}

static SundogValue
test_number(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(sundog_value_is_number(self));
}

static SundogValue
test_iterable(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(sundog_value_is_iterable(self));
}

static SundogValue
test_mapping(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_DICT);
}

static SundogValue
test_none(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_NONE);
}

static SundogValue
test_sequence(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(
        self.kind == SUNDOG_VALUE_UNDEFINED || self.kind == SUNDOG_VALUE_STRING ||
        self.kind == SUNDOG_VALUE_DICT ||
        (self.kind == SUNDOG_VALUE_LIST && self.list->flavor <= SUNDOG_LIST_RANGE));
}

static SundogValue
test_string(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return sundog_value_boolean(self.kind == SUNDOG_VALUE_STRING);
}

static SundogValue
test_sameas(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    SundogValue other;
    if (!sundog_arguments_bind(render, arguments, "sameas", "other", &other))
        return SUNDOG_NONE;
    bool same = self.kind == other.kind;
    if (same && self.kind == SUNDOG_VALUE_LIST)
        same = self.list == other.list;
    else if (same && self.kind == SUNDOG_VALUE_DICT)
        same = self.dict == other.dict;
    else
        same = same && sundog_value_equal(render, self, other);
    return sundog_value_boolean(same);
}

static SundogValue
case_test(SundogRender *render, SundogValue self, const char *method)
{
    SundogValue text = sundog_value_string(sundog_value_print(render, self));
    bool is_unsafe;
    return sundog_template_find_method(text, method, &is_unsafe)(render, text,
                                                                 &(SundogArguments){0});
}

static SundogValue
test_lower(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return case_test(render, self, "islower");
}

static SundogValue
test_upper(SundogRender *render, SundogValue self, const SundogArguments *arguments)
{
    return case_test(render, self, "isupper");
}

static SundogValue
compare(SundogRender *render, SundogValue self, const SundogArguments *arguments, int operation)
{
    SundogValue other;
    if (!sundog_arguments_bind(render, arguments, "the test", "other", &other))
        return SUNDOG_NONE;
    return sundog_value_boolean(sundog_template_compare(render, operation, self, other));
}

#define COMPARISON(name, operation)                                        \
    static SundogValue test_##name(SundogRender *render, SundogValue self, \
                                   const SundogArguments *arguments)       \
    {                                                                      \
        return compare(render, self, arguments, operation);                \
    }
COMPARISON(eq, SUNDOG_TOKEN_EQ)
COMPARISON(ge, SUNDOG_TOKEN_GTEQ)
COMPARISON(gt, SUNDOG_TOKEN_GT)
COMPARISON(in, SUNDOG_OPERATION_IN)
COMPARISON(le, SUNDOG_TOKEN_LTEQ)
COMPARISON(lt, SUNDOG_TOKEN_LT)
COMPARISON(ne, SUNDOG_TOKEN_NE)
#undef COMPARISON

static const SundogCallableRow tests[] = {
    {"!=", test_ne},
    {"<", test_lt},
    {"<=", test_le},
    {"==", test_eq},
    {">", test_gt},
    {">=", test_ge},
    {"boolean", test_boolean},
    {"callable", test_callable},
    {"defined", test_defined},
    {"divisibleby", test_divisibleby},
    {"eq", test_eq},
    {"equalto", test_eq},
    {"escaped", test_escaped},
    {"even", test_even},
    {"false", test_false},
    {"filter", test_filter},
    {"float", test_float},
    {"ge", test_ge},
    {"greaterthan", test_gt},
    {"gt", test_gt},
    {"in", test_in},
    {"integer", test_integer},
    {"iterable", test_iterable},
    {"le", test_le},
    {"lessthan", test_lt},
    {"lower", test_lower},
    {"lt", test_lt},
    {"mapping", test_mapping},
    {"ne", test_ne},
    {"none", test_none},
    {"number", test_number},
    {"odd", test_odd},
    {"sameas", test_sameas},
    {"sequence", test_sequence},
    {"string", test_string},
    {"test", test_test},
    {"true", test_true},
    {"undefined", test_undefined},
    {"upper", test_upper},
};

SundogCallable
sundog_template_find_test(const char *name)
{
    return sundog_callable_find(tests, G_N_ELEMENTS(tests), name);
}
