/* Anthropic's requests. */

#include "engine/server/anthropic/request.h"

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/server/fields.h"
#include <string.h>

static bool
fail(SundogApiError **error, const char *field, const char *reason)
{
    return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, field, field, reason, NULL);
}

static void
add_part(JsonArray *parts, const char *text)
{
    JsonObject *part = json_object_new();
    json_object_set_string_member(part, "type", "text");
    json_object_set_string_member(part, "text", text);
    json_array_add_object_element(parts, part);
}

static JsonObject *
add_message(JsonArray *messages, const char *role, JsonArray *parts)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    json_object_set_array_member(message, "content", parts);
    json_array_add_object_element(messages, message);
    return message;
}

/* One message of the client while its blocks are read. */
typedef struct {
    const char *field;   /* of the request, in which it stands */
    JsonArray *messages; /* the request's; results of tools go there at once */
    JsonArray *parts;
    JsonArray *calls;
    GString *reasoning;
} Turn;

static void
add_call(Turn *turn, JsonObject *block)
{
    JsonNode *input = json_object_get_member(block, "input");
    g_autofree char *arguments = input ? sundog_json_print(input, false) : g_strdup("{}");
    JsonObject *function = json_object_new();
    json_object_set_string_member(function, "name", sundog_json_get_string(block, "name", ""));
    json_object_set_string_member(function, "arguments", arguments);
    JsonObject *call = json_object_new();
    json_object_set_string_member(call, "id", sundog_json_get_string(block, "id", ""));
    json_object_set_string_member(call, "type", "function");
    json_object_set_object_member(call, "function", function);
    json_array_add_object_element(turn->calls, call);
}

/* A document's text stands for it; anything else goes on as a part, which is refused by its type. */
static void
add_other(Turn *turn, JsonObject *block)
{
    JsonObject *source = sundog_json_get_object(block, "source");
    if (source && strcmp(sundog_json_get_string(source, "type", ""), "text") == 0)
        add_part(turn->parts, sundog_json_get_string(source, "data", ""));
    else
        json_array_add_object_element(turn->parts, json_object_ref(block));
}

static bool read_content(Turn *turn, JsonNode *content, SundogApiError **error);

static bool
add_result(Turn *turn, JsonObject *block, SundogApiError **error)
{
    Turn result = {.field = turn->field, .parts = json_array_new(), .messages = turn->messages};
    JsonNode *content = sundog_field_get(block, "content");
    bool is_read = !content || read_content(&result, content, error);
    JsonObject *message = add_message(turn->messages, "tool", result.parts);
    json_object_set_string_member(message, "tool_call_id",
                                  sundog_json_get_string(block, "tool_use_id", ""));
    return is_read;
}

/* Blocks of Anthropic's own servers, of which some say what their tools did, whatever these are called. */
static bool
is_left_out(const char *type)
{
    static const char *const left_out[] = {"redacted_thinking", "tool_reference",
                                           "container_upload"};
    for (size_t i = 0; i < G_N_ELEMENTS(left_out); i++)
        if (strcmp(left_out[i], type) == 0)
            return true;
    return g_str_has_suffix(type, "_tool_use") || g_str_has_suffix(type, "_tool_result");
}

static bool
add_block(Turn *turn, JsonObject *block, SundogApiError **error)
{
    const char *type = sundog_json_get_string(block, "type", "");
    if (is_left_out(type))
        return true;
    if (strcmp(type, "text") == 0)
        add_part(turn->parts, sundog_json_get_string(block, "text", ""));
    else if (strcmp(type, "thinking") == 0 && turn->reasoning)
        g_string_append(turn->reasoning, sundog_json_get_string(block, "thinking", ""));
    else if (strcmp(type, "tool_use") == 0 && turn->calls)
        add_call(turn, block);
    else if (strcmp(type, "tool_result") == 0 && turn->calls)
        return add_result(turn, block, error);
    else
        add_other(turn, block);
    return true;
}

static bool
read_content(Turn *turn, JsonNode *content, SundogApiError **error)
{
    if (json_node_get_value_type(content) == G_TYPE_STRING) {
        add_part(turn->parts, json_node_get_string(content));
        return true;
    }
    if (!JSON_NODE_HOLDS_ARRAY(content))
        return fail(error, turn->field, "content is a text or a list of blocks");
    JsonArray *blocks = json_node_get_array(content);
    for (guint i = 0; i < json_array_get_length(blocks); i++) {
        JsonNode *block = json_array_get_element(blocks, i);
        if (!JSON_NODE_HOLDS_OBJECT(block))
            return fail(error, turn->field, "a block of content is an object");
        if (!add_block(turn, json_node_get_object(block), error))
            return false;
    }
    return true;
}

/* The message after the results of tools that it begins with; none where it held nothing else. */
static void
finish_turn(Turn *turn, const char *role)
{
    bool is_empty = json_array_get_length(turn->parts) == 0 &&
                    json_array_get_length(turn->calls) == 0 && turn->reasoning->len == 0;
    if (is_empty)
        return;
    JsonObject *message = add_message(turn->messages, role, json_array_ref(turn->parts));
    if (turn->reasoning->len)
        json_object_set_string_member(message, "reasoning_content", turn->reasoning->str);
    if (json_array_get_length(turn->calls))
        json_object_set_array_member(message, "tool_calls", json_array_ref(turn->calls));
}

static bool
read_message(JsonArray *messages, JsonNode *node, SundogApiError **error)
{
    if (!JSON_NODE_HOLDS_OBJECT(node))
        return fail(error, "messages", "a message is an object");
    JsonObject *message = json_node_get_object(node);
    JsonNode *content = sundog_field_get(message, "content");
    const char *role = sundog_json_get_string(message, "role", "");
    if (!*role || !content)
        return fail(error, "messages", "a message has a role and a content");
    Turn turn = {"messages", messages, json_array_new(), json_array_new(), g_string_new(NULL)};
    bool is_read = read_content(&turn, content, error);
    if (is_read)
        finish_turn(&turn, role);
    json_array_unref(turn.parts);
    json_array_unref(turn.calls);
    g_string_free(turn.reasoning, true);
    return is_read;
}

static bool
read_messages(SundogPrompt *prompt, JsonObject *object, SundogApiError **error)
{
    JsonArray *given = NULL;
    JsonNode *system = sundog_field_get(object, "system");
    if (!sundog_field_read_array(object, SUNDOG_FIELD_MESSAGES, &given, error))
        return false;
    guint n = given ? json_array_get_length(given) : 0;
    if (n == 0)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "messages", "messages", NULL);
    prompt->messages = json_array_new();
    if (system) {
        Turn turn = {.field = "system", .messages = prompt->messages, .parts = json_array_new()};
        add_message(prompt->messages, "system", turn.parts);
        if (!read_content(&turn, system, error))
            return false;
    }
    for (guint i = 0; i < n; i++)
        if (!read_message(prompt->messages, json_array_get_element(given, i), error))
            return false;
    prompt->continues = true;
    return true;
}

/* Tools with a schema of their own; those without one are carried out by Anthropic's servers alone. */
static bool
read_tools(SundogPrompt *prompt, JsonObject *object, SundogApiError **error)
{
    JsonArray *given = NULL;
    if (!sundog_field_read_array(object, SUNDOG_FIELD_TOOLS, &given, error))
        return false;
    if (!given)
        return true;
    prompt->tools = json_array_new();
    for (guint i = 0; i < json_array_get_length(given); i++) {
        JsonObject *tool = sundog_json_get_element(given, i);
        JsonNode *schema = tool ? sundog_field_get(tool, "input_schema") : NULL;
        if (!schema)
            continue;
        JsonObject *function = json_object_new();
        json_object_set_string_member(function, "name", sundog_json_get_string(tool, "name", ""));
        json_object_set_string_member(function, "description",
                                      sundog_json_get_string(tool, "description", ""));
        json_object_set_member(function, "parameters", json_node_copy(schema));
        JsonObject *wrapped = json_object_new();
        json_object_set_string_member(wrapped, "type", "function");
        json_object_set_object_member(wrapped, "function", function);
        json_array_add_object_element(prompt->tools, wrapped);
    }
    return true;
}

static bool
read_tool_choice(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    static const struct {
        const char *type;
        SundogToolChoice choice;
    } choices[] = {{"auto", SUNDOG_TOOL_CHOICE_AUTO},
                   {"any", SUNDOG_TOOL_CHOICE_REQUIRED},
                   {"none", SUNDOG_TOOL_CHOICE_NONE},
                   {"tool", SUNDOG_TOOL_CHOICE_NAMED}};
    JsonObject *given = NULL;
    if (!sundog_field_read_object(object, SUNDOG_FIELD_TOOL_CHOICE_OBJECT, &given, error))
        return false;
    if (!given)
        return true;
    if (!sundog_field_get_boolean(given, "disable_parallel_tool_use",
                                  &request->no_parallel_tool_calls, error))
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
        if (strcmp(choices[i].type, sundog_json_get_string(given, "type", "")) == 0) {
            request->tool_choice = choices[i].choice;
            request->tool_name = g_strdup(sundog_json_get_string(given, "name", ""));
            return true;
        }
    return fail(error, "tool_choice", "its type is auto, any, none or tool");
}

static bool
read_thinking(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonObject *thinking = NULL;
    if (!sundog_field_read_object(object, SUNDOG_FIELD_THINKING, &thinking, error))
        return false;
    if (thinking)
        request->reasoning = strcmp(sundog_json_get_string(thinking, "type", ""), "disabled") == 0
                                 ? SUNDOG_REASONING_OFF
                                 : SUNDOG_REASONING_ON;
    return true;
}

/* output_config: {"format": {"type": "json_schema", "schema"}} */
static bool
read_format(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonObject *config = NULL, *format = NULL, *schema = NULL;
    if (!sundog_field_read_object(object, SUNDOG_FIELD_OUTPUT_CONFIG, &config, error) ||
        (config && !sundog_field_get_object(config, "format", &format, error)) ||
        (format && !sundog_field_get_object(format, "schema", &schema, error)))
        return false;
    if (!schema)
        return true;
    request->format = SUNDOG_ANSWER_FORMAT_SCHEMA;
    request->schema = json_node_copy(json_object_get_member(format, "schema"));
    return true;
}

static bool
read_max_tokens(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    int64_t n = UINT32_MAX;
    if (!sundog_field_read_integer(object, SUNDOG_FIELD_MESSAGE_MAX_TOKENS, &n, error))
        return false;
    request->submit.max_tokens = (uint32_t)n;
    return true;
}

SundogCompletionRequest *
sundog_anthropic_request_read(SundogExchange *exchange, JsonObject *object, SundogApiError **error)
{
    const char *model = NULL;
    g_autoptr(SundogCompletionRequest) request = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, error) ||
        !(request = sundog_completion_request_new_for(exchange, model, error)) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_STREAM, &request->stream, error) ||
        !read_max_tokens(request, object, error) ||
        !sundog_completion_request_read_stops(request, object, "stop_sequences", error) ||
        !sundog_completion_request_read_sampling(request, object, error) ||
        !read_messages(&request->prompt, object, error) ||
        !read_tools(&request->prompt, object, error) || !read_tool_choice(request, object, error) ||
        !read_thinking(request, object, error) || !read_format(request, object, error))
        return NULL;
    return g_steal_pointer(&request);
}
