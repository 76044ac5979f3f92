/* Calls whose arguments stand between marks, one by one: they are given on as one JSON object. */

#include "engine/text/output/output-private.h"

#include "engine/format/json.h"

#include <string.h>

#define CDATA_OPEN "<![CDATA["
#define CDATA_CLOSE "]]>"

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

/* What ends a value; owned by the caller. */
static char *
dup_close(const SundogOutputParser *parser, bool is_cdata)
{
    return g_strconcat(is_cdata ? CDATA_CLOSE : "", parser->syntax->value_close, NULL);
}

/* Passes what opens a text; false while that is not all there. */
static bool
open_text(SundogOutputParser *parser)
{
    bool has_cdata = parser->syntax->has_cdata;
    if (has_cdata && sundog_output_may_start_with(parser, CDATA_OPEN))
        return false;
    parser->passed_line = true;
    parser->is_cdata = has_cdata && sundog_output_starts_with(parser, CDATA_OPEN);
    if (parser->is_cdata)
        sundog_output_take(parser, strlen(CDATA_OPEN));
    else if (parser->held->str[0] == '\n')
        sundog_output_take(parser, 1);
    return true;
}

/* One line end after the opening mark and one before the closing one are the syntax's own. */
static bool
step_text_value(SundogOutputParser *parser)
{
    if (parser->held->len == 0 || (!parser->passed_line && !open_text(parser)))
        return false;
    g_autofree char *close = dup_close(parser, parser->is_cdata);
    gssize at = sundog_output_find(parser, close);
    size_t n =
        at >= 0 ? (size_t)at : parser->held->len - sundog_output_count_partial(parser, close);
    bool ends_line = !parser->is_cdata && n > 0 && parser->held->str[n - 1] == '\n';
    size_t n_given = ends_line ? n - 1 : n;
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

/* A value whose type the schema does not say; the caller's. What is no JSON is a text. */
static JsonNode *
read_value(const char *text, bool is_cdata)
{
    g_autofree char *stripped = g_strstrip(g_strdup(text));
    JsonNode *node = is_cdata ? NULL : sundog_json_parse(stripped, strlen(stripped), NULL);
    return node != NULL ? node
                        : json_node_init_string(json_node_alloc(), is_cdata ? text : stripped);
}

static bool
step_value(SundogOutputParser *parser)
{
    bool has_cdata = parser->syntax->has_cdata;
    if (has_cdata && sundog_output_may_start_with(parser, CDATA_OPEN))
        return false;
    bool is_cdata = has_cdata && sundog_output_starts_with(parser, CDATA_OPEN);
    size_t n_open = is_cdata ? strlen(CDATA_OPEN) : 0;
    g_autofree char *close = dup_close(parser, is_cdata);
    gssize at = sundog_output_find(parser, close);
    if (at < 0)
        return false;
    g_autofree char *text = g_strndup(parser->held->str + n_open, (gsize)at - n_open);
    g_autoptr(JsonNode) node = read_value(text, is_cdata);
    g_autofree char *printed = sundog_json_print(node, false);
    sundog_output_take(parser, (size_t)at + strlen(close));
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
