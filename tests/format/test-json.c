/* JSON from outside: what is taken, what is refused, and where the error text points. */

#include "engine/format/error.h"
#include "engine/format/json.h"

#include <math.h>
#include <string.h>
#include <time.h>

static void
expect_good(const char *text, const char *printed)
{
    g_autoptr(GError) error = NULL;
    JsonNode *node = sundog_json_parse(text, strlen(text), &error);
    g_assert_no_error(error);
    g_assert_nonnull(node);
    g_autofree char *line = sundog_json_print(node, false);
    g_assert_cmpstr(line, ==, printed);
    json_node_unref(node);
}

static void
expect_error_bytes(const char *text, size_t n_bytes, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_json_parse(text, n_bytes, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void
test_good(void)
{
    expect_good("{}", "{}");
    expect_good(" [ ] ", "[]");
    expect_good("null", "null");
    expect_good("true", "true");
    expect_good("\"text\"", "\"text\"");
    expect_good("-0", "0");
    expect_good("12", "12");
    expect_good("-1.5e+3", "-1500.0");
    expect_good("[1,[2,{\"a\":[]}],{}]", "[1,[2,{\"a\":[]}],{}]");
    expect_good("{\"a\":1,\"a\":2}", "{\"a\":2}"); /* the last of two wins */
    expect_good("\t{\r\n\"a\" : false , \"b\":\"\\u00e4\\n\"}\n",
                "{\"a\":false,\"b\":\"\xc3\xa4\\n\"}");
    expect_good("\"\\ud83e\\udd8a\"", "\"\xf0\x9f\xa6\x8a\"");
    expect_good("\"\xf0\x9f\xa6\x8a\"", "\"\xf0\x9f\xa6\x8a\"");
    expect_good("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
}

static void
test_bad(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "JSON, line 1, column 1: a value expected, the text ends"},
        {"  ", "JSON, line 1, column 3: a value expected, the text ends"},
        {"{", "JSON, line 1, column 2: a string expected, the text ends"},
        {"[1,]", "JSON, line 1, column 4: a value expected, ']' found"},
        {"{\"a\":1,}", "JSON, line 1, column 8: a string expected, '}' found"},
        {"{\n  \"a\": 1,\n}", "JSON, line 3, column 1: a string expected, '}' found"},
        {"[1 2]", "JSON, line 1, column 4: ',' or ']' expected, '2' found"},
        {"{\"a\" 1}", "JSON, line 1, column 6: ':' expected, '1' found"},
        {"{\"a\":1]", "JSON, line 1, column 7: ',' or '}' expected, ']' found"},
        {"[1}", "JSON, line 1, column 3: ',' or ']' expected, '}' found"},
        {"// c\n1", "JSON, line 1, column 1: a value expected, '/' found"},
        {"[1 /* c */]", "JSON, line 1, column 4: ',' or ']' expected, '/' found"},
        {"{a:1}", "JSON, line 1, column 2: a string expected, 'a' found"},
        {"{'a':1}", "JSON, line 1, column 2: a string expected, ''' found"},
        {"1 2", "JSON, line 1, column 3: the end of the text expected, '2' found"},
        {"01", "JSON, line 1, column 2: the end of the text expected, '1' found"},
        {"-", "JSON, line 1, column 2: a digit expected, the text ends"},
        {"1.", "JSON, line 1, column 3: a digit expected, the text ends"},
        {"1e", "JSON, line 1, column 3: a digit expected, the text ends"},
        {".5", "JSON, line 1, column 1: a value expected, '.' found"},
        {"+1", "JSON, line 1, column 1: a value expected, '+' found"},
        {"0x10", "JSON, line 1, column 2: the end of the text expected, 'x' found"},
        {"NaN", "JSON, line 1, column 1: a value expected, 'N' found"},
        {"nul", "JSON, line 1, column 1: a value expected, 'n' found"},
        {"nulls", "JSON, line 1, column 5: the end of the text expected, 's' found"},
        {"\"a", "JSON, line 1, column 3: '\"' expected, the text ends"},
        {"\"a\nb\"", "JSON, line 1, column 3: a character above U+001F expected, U+000A found"},
        {"\"\\x\"", "JSON, line 1, column 3: an escape of JSON expected, 'x' found"},
        {"\"\\u12g4\"", "JSON, line 1, column 6: a hexadecimal digit expected, 'g' found"},
        {"\"\\u0000\"", "JSON, line 1, column 8: the character U+0000 is not taken"},
        {"\"\\ud800\"",
         "JSON, line 1, column 8: half of a pair of code units, \\ud800, stands alone"},
        {"\"\\udc00\\ud800\"",
         "JSON, line 1, column 8: half of a pair of code units, \\udc00, stands alone"},
        {"[\"\xc3\xa4\xe2\x82\xac\", x]", "JSON, line 1, column 8: a value expected, 'x' found"},
        {"\xef\xbb\xbf{}", "JSON, line 1, column 1: a value expected, U+FEFF found"},
        {"[1,\n\xff]", "JSON, line 2, column 1: the byte 0xff is not UTF-8"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        expect_error_bytes(cases[i].text, strlen(cases[i].text), cases[i].message);
    expect_error_bytes("[1,\0002]", 6,
                       "JSON, line 1, column 4: a NUL byte, which JSON does not have");
    expect_error_bytes("1\0", 2, "JSON, line 1, column 2: a NUL byte, which JSON does not have");
    expect_error_bytes(NULL, 0, "JSON, line 1, column 1: a value expected, the text ends");
}

static void
test_not_terminated(void)
{
    /* Only n_bytes are looked at. */
    JsonNode *node = sundog_json_parse("[1]garbage", 3, NULL);
    g_assert_nonnull(node);
    json_node_unref(node);
}

static void
test_depth(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (int i = 0; i < SUNDOG_JSON_MAX_DEPTH; i++)
        g_string_append(text, i % 2 ? "[" : "{\"a\":");
    for (int i = SUNDOG_JSON_MAX_DEPTH; i-- > 0;)
        g_string_append(text, i % 2 ? "]" : "}");
    /* The innermost array is empty, and one more level is one too many. */
    JsonNode *node = sundog_json_parse(text->str, text->len, NULL);
    g_assert_nonnull(node);
    json_node_unref(node);
    g_string_insert(text, 0, "[");
    g_string_append(text, "]");
    g_autoptr(GError) error = NULL;
    g_assert_null(sundog_json_parse(text->str, text->len, &error));
    g_assert_nonnull(strstr(error->message, "nested deeper than 64 levels"));

    g_autofree char *deep = g_strnfill(10000, '[');
    g_assert_null(sundog_json_parse(deep, 10000, NULL));
}

/* An object of n members whose names all have one hash in GLib's tables. */
static GString *
make_colliding(unsigned n)
{
    GString *text = g_string_new("{");
    for (unsigned i = 0; i < n; i++) {
        g_string_append(text, i > 0 ? ",\"" : "\"");
        for (unsigned bit = 0; bit < 16; bit++)
            g_string_append(text, i >> bit & 1 ? "Ez" : "FY");
        g_string_append(text, "\":0");
    }
    g_string_append(text, "}");
    return text;
}

static void
test_members(void)
{
    g_autoptr(GString) most = make_colliding(SUNDOG_JSON_MAX_MEMBERS);
    g_autoptr(GString) too_many = make_colliding(SUNDOG_JSON_MAX_MEMBERS + 1);
    g_autoptr(GError) error = NULL;
    clock_t begin = clock();
    g_autoptr(JsonNode) node = sundog_json_parse(most->str, most->len, NULL);
    g_assert_nonnull(node);
    g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC);
    g_assert_null(sundog_json_parse(too_many->str, too_many->len, &error));
    g_assert_nonnull(strstr(error->message, "an object with more than 4096 members"));
}

static void
test_numbers(void)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"9223372036854775807", 9223372036854775807.0},
        {"-9223372036854775808", -9223372036854775808.0},
        {"9223372036854775808.0", 9223372036854775808.0},
        {"1e308", 1e308},
        {"1E-400", 0},
        {"0.1", 0.1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        JsonNode *node = sundog_json_parse(cases[i].text, strlen(cases[i].text), NULL);
        g_assert_nonnull(node);
        g_assert_cmpfloat(json_node_get_double(node), ==, cases[i].value);
        json_node_unref(node);
    }
}

static void
test_large_numbers(void)
{
    /* json-glib would wrap the first ones round, and make an infinity of the last. */
    static const char *const numbers[] = {
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "123456789012345678901234567890",
        "1e309",
        "-1e400",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_autofree char *text = g_strdup_printf("[%s]", numbers[i]);
        g_autoptr(GError) error = NULL;
        g_assert_null(sundog_json_parse(text, strlen(text), &error));
        g_assert_nonnull(strstr(error->message, "line 1, column 2: the number is too large"));
    }
}

static void
test_printed_numbers(void)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},  {1e20, "1e+20"},     {-1e-7, "-1e-07"},
        {3, "3.0"},    {0, "0.0"},          {1.0 / 3, "0.3333333333333333"},
        {NAN, "null"}, {-INFINITY, "null"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(JsonNode) node = json_node_init_double(json_node_alloc(), cases[i].value);
        g_autofree char *text = sundog_json_print(node, false);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static void
test_pretty(void)
{
    static const char text[] = "{\"b\":[1,{}],\"a\":{\"c\":[]}}";
    g_autoptr(JsonNode) node = sundog_json_parse(text, strlen(text), NULL);
    g_autofree char *pretty = sundog_json_print(node, true);
    g_assert_cmpstr(pretty, ==,
                    "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"c\": []\n  }\n}");
}

static void
test_printed_strings(void)
{
    g_autoptr(JsonNode) node =
        json_node_init_string(json_node_alloc(), "\"\\/\b\f\n\r\t\x01\x1f\x7f\xc3\xa4\xff");
    g_autofree char *text = sundog_json_print(node, false);
    g_assert_cmpstr(text, ==, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xc3\xa4\xef\xbf\xbd\"");
}

static void
assert_large(const char *text, double expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = sundog_json_parse_large(text, strlen(text), &error);
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(json_node_get_double(node), expected, fabs(expected) * 1e-12);
}

static void
test_large(void)
{
    assert_large("1000000000000000019884624838656", 1e30);
    assert_large("-9223372036854775809", -9223372036854775809.0);
    assert_large("9223372036854775807", 9223372036854775807.0);
    assert_large("9223372036854775808", 9223372036854775808.0);
    assert_large("99999999999999999999.5", 1e20);
    assert_large("1.9999999999999999999999", 2);
    assert_large("1e0000000000000000000000001", 10);
    assert_large("Infinity", 1e308);
    assert_large("-Infinity", -1e308);
    /* Within a text all stays as it is. */
    const char *text = "\"\\\"99999999999999999999 Infinity\"";
    g_autoptr(JsonNode) node = sundog_json_parse_large(text, strlen(text), NULL);
    g_assert_cmpstr(json_node_get_string(node), ==, "\"99999999999999999999 Infinity");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json/good", test_good);
    g_test_add_func("/json/bad", test_bad);
    g_test_add_func("/json/not-terminated", test_not_terminated);
    g_test_add_func("/json/depth", test_depth);
    g_test_add_func("/json/members", test_members);
    g_test_add_func("/json/numbers", test_numbers);
    g_test_add_func("/json/large-numbers", test_large_numbers);
    g_test_add_func("/json/printed-numbers", test_printed_numbers);
    g_test_add_func("/json/printed-strings", test_printed_strings);
    g_test_add_func("/json/pretty", test_pretty);
    g_test_add_func("/json/large", test_large);
    return g_test_run();
}
