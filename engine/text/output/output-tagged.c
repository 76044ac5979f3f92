/* Calls whose arguments stand between marks, one by one: they are given on as one JSON object. */

#include "engine/text/output/output-private.h"

#include "engine/format/json.h"

#include <string.h>

static void
give_string(SundogOutputParser *parser, const char *text)
{
    sundog_output_give_arguments(parser, text, strlen(text));
}

/* Text as it stands within JSON's quotes. */
static void
give_escaped(SundogOutputParser *parser, const char *text, size_t n_bytes)
{
    g_autoptr(JsonNode) node = json_node_alloc();
    g_autofree char *copy = g_strndup(text, n_bytes);
    json_node_init_string(node, copy);
    g_autofree char *printed = sundog_json_print(node, false);
    sundog_output_give_arguments(parser, printed + 1, strlen(printed) - 2);
}

static JsonObject *
get_object(JsonObject *object, const char *key)
{
    JsonNode *node = object != NULL ? json_object_get_member(object, key) : NULL;
    return node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static bool
is_string_type(JsonNode *type)
{
    if (type != NULL && JSON_NODE_HOLDS_ARRAY(type)) {
        JsonArray *list = json_node_get_array(type);
        for (guint i = 0; i < json_array_get_length(list); i++)
            if (is_string_type(json_array_get_element(list, i)))
                return true;
        return false;
    }
    return type != NULL && json_node_get_value_type(type) == G_TYPE_STRING &&
           strcmp(json_node_get_string(type), "string") == 0;
}

/* Whether the tool's schema has a text for this argument. */
static bool
wants_text(const SundogOutputParser *parser, const char *key)
{
    JsonArray *tools = parser->options.tools;
    for (guint i = 0; tools != NULL && i < json_array_get_length(tools); i++) {
        JsonNode *node = json_array_get_element(tools, i);
        JsonObject *function = get_object(
            JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL, "function");
        JsonNode *name = function != NULL ? json_object_get_member(function, "name") : NULL;
        if (name == NULL || g_strcmp0(json_node_get_string(name), parser->name) != 0)
            continue;
        JsonObject *schema =
            get_object(get_object(get_object(function, "parameters"), "properties"), key);
        return schema != NULL && is_string_type(json_object_get_member(schema, "type"));
    }
    return false;
}

static bool
end_call(SundogOutputParser *parser)
{
    give_string(parser, parser->had_member ? "}" : "{}");
    parser->state = SUNDOG_OUTPUT_CALL_END;
    return true;
}

static bool
step_keys(SundogOutputParser *parser)
{
    const SundogOutputSyntax *syntax = parser->syntax;
    sundog_output_skip_space(parser, "");
    if (parser->held->len == 0)
        return false;
    if (sundog_output_starts_with(parser, syntax->key_open)) {
        sundog_output_take(parser, strlen(syntax->key_open));
        parser->state = SUNDOG_OUTPUT_KEY;
        return true;
    }
    if (sundog_output_may_start_with(parser, syntax->key_open) ||
        sundog_output_may_start_with(parser, syntax->call_close))
        return false;
    return end_call(parser);
}

static bool
step_key(SundogOutputParser *parser)
{
    const SundogOutputSyntax *syntax = parser->syntax;
    bool differ = strcmp(syntax->text_open, syntax->value_open) != 0;
    const char *const marks[] = {syntax->text_open, syntax->value_open};
    size_t which, end = 0;
    if (!sundog_output_find_first(parser, marks, G_N_ELEMENTS(marks), &which, &end) ||
        which == G_N_ELEMENTS(marks))
        return false;
    g_autofree char *key = g_strstrip(g_strndup(parser->held->str, end));
    parser->is_text = differ ? which == 0 : wants_text(parser, key);
    sundog_output_take(parser, end + strlen(marks[which]));
    give_string(parser, parser->had_member ? ", \"" : "{\"");
    give_escaped(parser, key, strlen(key));
    give_string(parser, parser->is_text ? "\": \"" : "\": ");
    parser->had_member = true;
    parser->passed_line = false;
    parser->state = parser->is_text ? SUNDOG_OUTPUT_TEXT_VALUE : SUNDOG_OUTPUT_VALUE;
    return true;
}

/* One line end after the opening mark and one before the closing one are the syntax's own. */
static bool
step_text_value(SundogOutputParser *parser)
{
    const char *close = parser->syntax->value_close;
    if (!parser->passed_line) {
        parser->passed_line = true;
        if (parser->held->str[0] == '\n')
            sundog_output_take(parser, 1);
        if (parser->held->len == 0)
            return false;
    }
    gssize at = sundog_output_find(parser, close);
    size_t n =
        at >= 0 ? (size_t)at : parser->held->len - sundog_output_count_partial(parser, close);
    size_t n_given = n > 0 && parser->held->str[n - 1] == '\n' ? n - 1 : n;
    if (at < 0 && parser->is_final)
        n_given = n;
    give_escaped(parser, parser->held->str, n_given);
    sundog_output_take(parser, at >= 0 ? n + strlen(close) : n_given);
    if (at < 0)
        return false;
    give_string(parser, "\"");
    parser->state = SUNDOG_OUTPUT_KEYS;
    return true;
}

static bool
step_value(SundogOutputParser *parser)
{
    gssize at = sundog_output_find(parser, parser->syntax->value_close);
    if (at < 0)
        return false;
    g_autofree char *text = g_strstrip(g_strndup(parser->held->str, (gsize)at));
    g_autoptr(JsonNode) node = sundog_json_parse(text, strlen(text), NULL);
    if (node == NULL) { /* whatever the schema says, it is a text */
        node = json_node_alloc();
        json_node_init_string(node, text);
    }
    g_autofree char *printed = sundog_json_print(node, false);
    sundog_output_take(parser, (size_t)at + strlen(parser->syntax->value_close));
    give_string(parser, printed);
    parser->state = SUNDOG_OUTPUT_KEYS;
    return true;
}

bool
sundog_output_step_tagged(SundogOutputParser *parser)
{
    switch (parser->state) {
    case SUNDOG_OUTPUT_KEYS:
        return step_keys(parser);
    case SUNDOG_OUTPUT_KEY:
        return step_key(parser);
    case SUNDOG_OUTPUT_TEXT_VALUE:
        return step_text_value(parser);
    default:
        return step_value(parser);
    }
}
