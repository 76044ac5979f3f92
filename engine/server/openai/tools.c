/* Tools and forms of answers in OpenAI's words. */

#include "engine/server/openai/tools.h"

#include "engine/server/fields.h"
#include <string.h>

bool
sundog_openai_tool_choice_read(SundogCompletionRequest *request, JsonObject *object,
                               SundogApiError **error)
{
    static const char *const names[] = {"auto", "none", "required"};
    JsonNode *node = sundog_field_get(object, "tool_choice");
    JsonObject *choice = NULL, *function = NULL;
    const char *text = NULL;
    if (!node)
        return true;
    if (JSON_NODE_HOLDS_OBJECT(node)) {
        choice = json_node_get_object(node);
        /* The Responses API has the name beside the type. */
        if (!sundog_field_get_object(choice, "function", &function, error) ||
            !sundog_field_get_text(function ? function : choice, "name", &text, error))
            return false;
        request->tool_choice = SUNDOG_TOOL_CHOICE_NAMED;
        request->tool_name = g_strdup(text);
    } else if (sundog_field_read_text(object, SUNDOG_FIELD_TOOL_CHOICE, &text, error)) {
        for (guint i = 0; i < G_N_ELEMENTS(names); i++)
            if (strcmp(names[i], text) == 0) {
                request->tool_choice = SUNDOG_TOOL_CHOICE_AUTO + i;
                return true;
            }
        text = NULL;
    }
    if (*error)
        return false;
    return text || sundog_api_error_set(
                       error, SUNDOG_API_ERROR_INVALID_VALUE, "tool_choice", "tool_choice",
                       "it is auto, none, required, or an object that names a function", NULL);
}

bool
sundog_openai_schema_read(SundogCompletionRequest *request, JsonObject *object,
                          SundogApiError **error)
{
    JsonObject *schema = NULL;
    if (!sundog_field_get_object(object, "schema", &schema, error) ||
        !sundog_field_get_boolean(object, "strict", &request->is_strict, error))
        return false;
    if (!schema)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "response_format", "schema",
                                    NULL);
    request->format = SUNDOG_ANSWER_FORMAT_SCHEMA;
    request->schema = json_node_copy(json_object_get_member(object, "schema"));
    return true;
}

static bool
read_response_format(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonObject *format = NULL, *schema = NULL;
    const char *type = "text";
    if (!sundog_field_read_object(object, SUNDOG_FIELD_RESPONSE_FORMAT, &format, error))
        return false;
    if (!format)
        return true;
    if (!sundog_field_get_text(format, "type", &type, error) ||
        !sundog_field_get_object(format, "json_schema", &schema, error))
        return false;
    if (strcmp(type, "json_schema") == 0 && schema)
        return sundog_openai_schema_read(request, schema, error);
    if (strcmp(type, "json_object") == 0)
        request->format = SUNDOG_ANSWER_FORMAT_JSON;
    return strcmp(type, "text") == 0 || strcmp(type, "json_object") == 0 ||
           sundog_api_error_set(
               error, SUNDOG_API_ERROR_INVALID_VALUE, "response_format", "response_format",
               "its type is text, json_object, or json_schema with a json_schema", NULL);
}

/* As vLLM has them: an expression, and texts of which one is the answer. */
static bool
read_guided(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    const char *pattern = NULL;
    JsonArray *choices = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_GUIDED_REGEX, &pattern, error) ||
        !sundog_field_read_array(object, SUNDOG_FIELD_GUIDED_CHOICE, &choices, error))
        return false;
    if (pattern) {
        request->format = SUNDOG_ANSWER_FORMAT_PATTERN;
        request->grammar = g_strdup(pattern);
    }
    if (!choices)
        return true;
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    for (guint i = 0; i < json_array_get_length(choices); i++) {
        JsonNode *node = json_array_get_element(choices, i);
        if (json_node_get_value_type(node) != G_TYPE_STRING)
            return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, "guided_choice",
                                        "guided_choice", "a list of texts", NULL);
        g_strv_builder_add(builder, json_node_get_string(node));
    }
    request->format = SUNDOG_ANSWER_FORMAT_CHOICE;
    request->choices = g_strv_builder_end(builder);
    return true;
}

static bool
read_grammar(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    const char *grammar = NULL;
    JsonObject *schema = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_GRAMMAR, &grammar, error) ||
        !sundog_field_read_object(object, SUNDOG_FIELD_JSON_SCHEMA, &schema, error))
        return false;
    if (grammar && *grammar) {
        request->format = SUNDOG_ANSWER_FORMAT_GRAMMAR;
        request->grammar = g_strdup(grammar);
    } else if (schema && json_object_get_size(schema) > 0) {
        request->format = SUNDOG_ANSWER_FORMAT_SCHEMA;
        request->schema = json_node_copy(json_object_get_member(object, "json_schema"));
    }
    return true;
}

/* "none" asks for no reasoning at all; other words are the template's to know. */
static bool
read_effort(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    const char *effort = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_REASONING_EFFORT, &effort, error))
        return false;
    if (effort && strcmp(effort, "none") == 0)
        request->reasoning = SUNDOG_REASONING_OFF;
    else
        request->effort = g_strdup(effort);
    return true;
}

bool
sundog_openai_tools_read(SundogCompletionRequest *request, JsonObject *object,
                         SundogApiError **error)
{
    JsonArray *tools = NULL;
    bool is_parallel = true;
    if (!sundog_field_read_array(object, SUNDOG_FIELD_TOOLS, &tools, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_PARALLEL_TOOL_CALLS, &is_parallel, error) ||
        !sundog_openai_tool_choice_read(request, object, error) ||
        !read_effort(request, object, error) || !read_response_format(request, object, error) ||
        !read_grammar(request, object, error) || !read_guided(request, object, error))
        return false;
    if (tools)
        sundog_prompt_set_tools(&request->prompt, tools);
    request->no_parallel_tool_calls = !is_parallel;
    return true;
}
