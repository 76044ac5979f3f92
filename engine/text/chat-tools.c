/* Tools in chats. */

#include "engine/text/chat-tools.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/text/chat.h"

#include <string.h>

#define fail(error, ...) \
    sundog_error_set(error, SUNDOG_TEMPLATE_ERROR, SUNDOG_TEMPLATE_ERROR_MESSAGES, __VA_ARGS__)

/* A call's arguments as an object or as JSON's text of one, whichever the template takes; arguments that
 * are no JSON stay the text that they are. Owned by the caller. */
static JsonNode *
convert_arguments(JsonNode *arguments, bool as_text)
{
    bool is_text = json_node_get_value_type(arguments) == G_TYPE_STRING;
    if (is_text == as_text)
        return json_node_ref(arguments);
    if (!as_text) {
        const char *text = json_node_get_string(arguments);
        JsonNode *object = sundog_json_parse(text, strlen(text), NULL);
        if (object != NULL && JSON_NODE_HOLDS_OBJECT(object))
            return object;
        g_clear_pointer(&object, json_node_unref);
        return json_node_ref(arguments);
    }
    g_autofree char *text = sundog_json_print(arguments, false);
    JsonNode *node = json_node_alloc();
    json_node_init_string(node, text);
    return node;
}

static JsonObject *
convert_call(JsonObject *call, bool as_text)
{
    JsonObject *function = sundog_json_get_object(call, "function");
    JsonNode *arguments = function ? json_object_get_member(function, "arguments") : NULL;
    JsonObject *copy = json_object_new(), *inner = json_object_new();
    sundog_json_copy_members(call, copy);
    if (function != NULL)
        sundog_json_copy_members(function, inner);
    if (arguments != NULL && !JSON_NODE_HOLDS_NULL(arguments))
        sundog_json_set_member(inner, "arguments", convert_arguments(arguments, as_text));
    else
        json_object_set_object_member(inner, "arguments", json_object_new());
    json_object_set_object_member(copy, "function", inner);
    return copy;
}

bool
sundog_chat_convert_calls(JsonObject *message, unsigned index, bool as_text, GError **error)
{
    JsonNode *node = json_object_get_member(message, "tool_calls");
    JsonArray *calls =
        node != NULL && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    unsigned n = calls != NULL ? json_array_get_length(calls) : 0;
    if (n ==
        0) { /* null and an empty list are no calls, but templates ask only whether it is there */
        json_object_remove_member(message, "tool_calls");
        return node == NULL || calls != NULL || JSON_NODE_HOLDS_NULL(node) ||
               fail(error, "messages[%u].tool_calls: expected a list", index);
    }
    JsonArray *converted = json_array_new();
    for (unsigned i = 0; i < n; i++) {
        JsonNode *call = json_array_get_element(calls, i);
        if (!JSON_NODE_HOLDS_OBJECT(call)) {
            json_array_unref(converted);
            return fail(error, "messages[%u].tool_calls[%u]: expected an object", index, i);
        }
        json_array_add_object_element(converted, convert_call(json_node_get_object(call), as_text));
    }
    json_object_set_array_member(message, "tool_calls", converted);
    return true;
}

/* Normalising tools */

static JsonObject *
normalise_function(JsonObject *function)
{
    JsonObject *copy = json_object_new();
    sundog_json_copy_members(function, copy);
    JsonNode *description = json_object_get_member(copy, "description");
    if (description == NULL || JSON_NODE_HOLDS_NULL(description))
        json_object_set_string_member(copy, "description", "");
    if (sundog_json_get_object(copy, "parameters") == NULL) {
        JsonObject *none = json_object_new();
        json_object_set_string_member(none, "type", "object");
        json_object_set_object_member(none, "properties", json_object_new());
        json_object_set_object_member(copy, "parameters", none);
    }
    return copy;
}

JsonArray *
sundog_chat_normalise_tools(JsonArray *tools)
{
    JsonArray *normalised = json_array_new();
    for (unsigned i = 0; i < json_array_get_length(tools); i++) {
        JsonNode *node = json_array_get_element(tools, i);
        JsonObject *tool = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
        JsonObject *function = tool != NULL ? sundog_json_get_object(tool, "function") : NULL;
        JsonNode *name = function != NULL ? json_object_get_member(function, "name") : NULL;
        if (name == NULL || json_node_get_value_type(name) != G_TYPE_STRING)
            continue;
        JsonObject *copy = json_object_new();
        json_object_set_string_member(copy, "type", "function");
        json_object_set_object_member(copy, "function", normalise_function(function));
        json_array_add_object_element(normalised, copy);
    }
    return normalised;
}

/* Tools for a template that has none */

static char *
print_array(JsonArray *array)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_ARRAY);
    json_node_set_array(node, array);
    return sundog_json_print(node, false);
}

static char *
explain(JsonArray *tools)
{
    g_autofree char *list = print_array(tools);
    return g_strdup_printf(
        "You can call functions. These are there, as JSON:\n%s\n\nTo call one, answer with "
        "<tool_call>\n{\"name\": \"its name\", \"arguments\": {…}}\n</tool_call> and nothing "
        "else; the arguments must be valid to its parameters. You will be given the result, and "
        "then answer the user. If no function helps, answer without one.",
        list);
}

/* A message with its calls as text behind its content. */
static char *
print_calls(JsonObject *message)
{
    GString *text =
        g_string_new(json_object_get_string_member_with_default(message, "content", ""));
    JsonArray *calls = json_object_get_array_member(message, "tool_calls");
    for (unsigned i = 0; i < json_array_get_length(calls); i++) {
        JsonObject *function =
            sundog_json_get_object(json_array_get_object_element(calls, i), "function");
        g_autoptr(JsonObject) shown = json_object_new();
        const char *const keys[] = {"name", "arguments"};
        for (size_t k = 0; function != NULL && k < G_N_ELEMENTS(keys); k++)
            if (json_object_has_member(function, keys[k]))
                json_object_set_member(shown, keys[k],
                                       json_node_ref(json_object_get_member(function, keys[k])));
        g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
        json_node_set_object(node, shown);
        g_autofree char *json = sundog_json_print(node, false);
        g_string_append_printf(text, "%s<tool_call>\n%s\n</tool_call>", text->len > 0 ? "\n" : "",
                               json);
    }
    return g_string_free(text, FALSE);
}

static void
add_message(JsonArray *messages, const char *role, const char *content)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    json_object_set_string_member(message, "content", content);
    json_array_add_object_element(messages, message);
}

/* Results of several calls become one turn, since many templates have turns alternate. */
static void
add_result(JsonArray *messages, const char *content, bool follows_result)
{
    g_autofree char *text = g_strdup_printf("<tool_response>\n%s\n</tool_response>", content);
    unsigned n = json_array_get_length(messages);
    if (!follows_result) {
        add_message(messages, "user", text);
        return;
    }
    JsonObject *last = json_array_get_object_element(messages, n - 1);
    g_autofree char *both =
        g_strconcat(json_object_get_string_member(last, "content"), "\n", text, NULL);
    json_object_set_string_member(last, "content", both);
}

JsonArray *
sundog_chat_explain_tools(JsonArray *messages, JsonArray *tools)
{
    JsonArray *explained = json_array_new();
    bool has_tools = tools != NULL && json_array_get_length(tools) > 0;
    g_autofree char *text = has_tools ? explain(tools) : NULL;
    bool was_result = false;
    for (unsigned i = 0; i < json_array_get_length(messages); i++) {
        JsonObject *message = json_array_get_object_element(messages, i);
        const char *role = json_object_get_string_member(message, "role");
        const char *content = json_object_get_string_member_with_default(message, "content", "");
        bool is_system = strcmp(role, "system") == 0, is_result = strcmp(role, "tool") == 0;
        if (text != NULL && !is_system)
            add_message(explained, "system", text);
        if (is_result) {
            add_result(explained, content, was_result);
        } else if (json_object_has_member(message, "tool_calls")) {
            g_autofree char *calls = print_calls(message);
            add_message(explained, role, calls);
        } else if (is_system && text != NULL) {
            g_autofree char *both = g_strconcat(content, "\n\n", text, NULL);
            add_message(explained, role, both);
        } else {
            json_array_add_object_element(explained, json_object_ref(message));
        }
        was_result = is_result;
        g_clear_pointer(&text, g_free);
    }
    return explained;
}
