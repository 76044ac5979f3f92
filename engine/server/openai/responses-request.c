/* Requests of the Responses API. */

#include "engine/server/openai/responses-request.h"

#include "engine/format/json-members.h"
#include "engine/server/fields.h"
#include "engine/server/openai/stored-responses.h"
#include "engine/server/openai/tools.h"
#include "engine/server/service.h"
#include <string.h>

void
sundog_responses_request_clear(SundogResponsesRequest *responses)
{
    g_clear_pointer(&responses->request, sundog_completion_request_free);
    g_clear_pointer(&responses->conversation, json_array_unref);
}

static bool
fail(SundogApiError **error, const char *field, const char *reason)
{
    return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, field, field, reason, NULL);
}

/* Messages being made of items. */
typedef struct {
    SundogServer *server;
    JsonArray *messages;
    GString *reasoning; /* for the assistant's next message */
} Reading;

static JsonObject *
add_message(Reading *reading, const char *role, JsonNode *content)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", role);
    if (content)
        json_object_set_member(message, "content", json_node_copy(content));
    if (strcmp(role, "assistant") == 0 && reading->reasoning->len) {
        json_object_set_string_member(message, "reasoning_content", reading->reasoning->str);
        g_string_truncate(reading->reasoning, 0);
    }
    json_array_add_object_element(reading->messages, message);
    return message;
}

/* The assistant's last message, to which a call belongs; a new one where the last is another's. */
static JsonObject *
get_assistant(Reading *reading)
{
    guint n = json_array_get_length(reading->messages);
    JsonObject *last = n ? json_array_get_object_element(reading->messages, n - 1) : NULL;
    bool is_assistant = last && strcmp(sundog_json_get_string(last, "role", ""), "assistant") == 0;
    return is_assistant ? last : add_message(reading, "assistant", NULL);
}

static void
add_call(Reading *reading, JsonObject *item)
{
    JsonObject *message = get_assistant(reading);
    if (!json_object_has_member(message, "tool_calls"))
        json_object_set_array_member(message, "tool_calls", json_array_new());
    JsonObject *function = json_object_new();
    json_object_set_string_member(function, "name", sundog_json_get_string(item, "name", ""));
    json_object_set_string_member(function, "arguments",
                                  sundog_json_get_string(item, "arguments", "{}"));
    JsonObject *call = json_object_new();
    json_object_set_string_member(call, "id", sundog_json_get_string(item, "call_id", ""));
    json_object_set_string_member(call, "type", "function");
    json_object_set_object_member(call, "function", function);
    json_array_add_object_element(json_object_get_array_member(message, "tool_calls"), call);
}

static void
add_output(Reading *reading, JsonObject *item)
{
    JsonObject *message = add_message(reading, "tool", sundog_field_get(item, "output"));
    json_object_set_string_member(message, "tool_call_id",
                                  sundog_json_get_string(item, "call_id", ""));
}

static void
add_reasoning(Reading *reading, JsonObject *item)
{
    JsonArray *parts = sundog_json_get_array(item, "content");
    for (guint i = 0; parts && i < json_array_get_length(parts); i++)
        g_string_append(reading->reasoning,
                        sundog_json_get_string(sundog_json_get_element(parts, i), "text", ""));
}

static bool
add_item(Reading *reading, JsonObject *item, SundogApiError **error)
{
    const char *type = sundog_json_get_string(item, "type", "message");
    const char *role = sundog_json_get_string(item, "role", NULL);
    if (strcmp(type, "message") == 0 && !role)
        return fail(error, "input", "a message has a role");
    if (strcmp(type, "message") == 0)
        add_message(reading, role, sundog_field_get(item, "content"));
    else if (strcmp(type, "function_call") == 0)
        add_call(reading, item);
    else if (strcmp(type, "function_call_output") == 0)
        add_output(reading, item);
    else if (strcmp(type, "reasoning") == 0)
        add_reasoning(reading, item);
    else
        sundog_server_log(reading->server, "warning",
                          "An item of the type “%.40s” in a request is left out", type);
    return true;
}

static bool
read_items(Reading *reading, JsonArray *items, SundogApiError **error)
{
    for (guint i = 0; i < json_array_get_length(items); i++) {
        JsonObject *item = sundog_json_get_element(items, i);
        if (!item)
            return fail(error, "input", "an item is an object");
        if (!add_item(reading, item, error))
            return false;
    }
    return true;
}

static bool
read_input(Reading *reading, JsonObject *object, SundogApiError **error)
{
    JsonNode *input = sundog_field_get(object, "input");
    if (!input)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "input", "input", NULL);
    if (JSON_NODE_HOLDS_ARRAY(input))
        return read_items(reading, json_node_get_array(input), error);
    if (json_node_get_value_type(input) != G_TYPE_STRING)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_WRONG_TYPE, "input", "input",
                                    "a text or a list of items", NULL);
    add_message(reading, "user", input);
    return true;
}

static void
append_all(JsonArray *to, JsonArray *from)
{
    for (guint i = 0; i < json_array_get_length(from); i++)
        json_array_add_element(to, json_node_copy(json_array_get_element(from, i)));
}

static bool
read_conversation(SundogResponsesRequest *responses, SundogServer *server, JsonObject *object,
                  SundogApiError **error)
{
    if (!sundog_field_read_text(object, SUNDOG_FIELD_PREVIOUS_RESPONSE_ID, &responses->previous,
                                error))
        return false;
    responses->conversation = json_array_new();
    JsonArray *before = responses->previous ? sundog_stored_responses_get_conversation(
                                                  server->stored_responses, responses->previous)
                                            : NULL;
    if (responses->previous && !before)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_NO_RESPONSE, "previous_response_id",
                                    responses->previous, NULL);
    if (before)
        append_all(responses->conversation, before);
    g_autoptr(GString) reasoning = g_string_new(NULL);
    Reading reading = {server, responses->conversation, reasoning};
    return read_input(&reading, object, error);
}

static bool
read_messages(SundogResponsesRequest *responses, JsonObject *object, SundogApiError **error)
{
    SundogPrompt *prompt = &responses->request->prompt;
    const char *instructions = "";
    if (!sundog_field_read_text(object, SUNDOG_FIELD_INSTRUCTIONS, &instructions, error))
        return false;
    prompt->messages = json_array_new();
    if (*instructions) {
        JsonObject *system = json_object_new();
        json_object_set_string_member(system, "role", "system");
        json_object_set_string_member(system, "content", instructions);
        json_array_add_object_element(prompt->messages, system);
    }
    append_all(prompt->messages, responses->conversation);
    return true;
}

/* Functions, whose fields stand in the tool itself here. */
static bool
read_tools(SundogPrompt *prompt, SundogServer *server, JsonObject *object, SundogApiError **error)
{
    static const char *const keys[] = {"name", "description", "parameters", "strict"};
    JsonArray *given = NULL;
    if (!sundog_field_read_array(object, SUNDOG_FIELD_TOOLS, &given, error))
        return false;
    JsonArray *tools = json_array_new();
    for (guint i = 0; given && i < json_array_get_length(given); i++) {
        JsonObject *tool = sundog_json_get_element(given, i);
        const char *type = sundog_json_get_string(tool, "type", "");
        if (strcmp(type, "function") != 0) {
            sundog_server_log(server, "warning",
                              "A tool of the type “%.40s” in a request is left out", type);
            continue;
        }
        JsonObject *function = json_object_new();
        for (size_t k = 0; k < G_N_ELEMENTS(keys); k++) {
            JsonNode *node = sundog_field_get(tool, keys[k]);
            if (node)
                json_object_set_member(function, keys[k], json_node_copy(node));
        }
        JsonObject *wrapped = json_object_new();
        json_object_set_string_member(wrapped, "type", "function");
        json_object_set_object_member(wrapped, "function", function);
        json_array_add_object_element(tools, wrapped);
    }
    prompt->tools = tools;
    return true;
}

static bool
read_format(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonObject *text = NULL, *format = NULL;
    if (!sundog_field_read_object(object, SUNDOG_FIELD_TEXT, &text, error) ||
        (text && !sundog_field_get_object(text, "format", &format, error)))
        return false;
    const char *type = sundog_json_get_string(format, "type", "text");
    if (strcmp(type, "json_schema") == 0)
        return sundog_openai_schema_read(request, format, error);
    if (strcmp(type, "json_object") == 0)
        request->format = SUNDOG_ANSWER_FORMAT_JSON;
    return true;
}

/* Of what may be included, the log probabilities; what the others would tell there is not. */
static bool
read_scores(SundogCompletionRequest *request, JsonObject *object, SundogApiError **error)
{
    JsonArray *include = NULL;
    int64_t n_rivals = 0;
    bool wanted = false;
    if (!sundog_field_read_array(object, SUNDOG_FIELD_INCLUDE, &include, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_TOP_LOGPROBS, &n_rivals, error))
        return false;
    for (guint i = 0; include && i < json_array_get_length(include); i++) {
        JsonNode *node = json_array_get_element(include, i);
        wanted |= json_node_get_value_type(node) == G_TYPE_STRING &&
                  strcmp(json_node_get_string(node), "message.output_text.logprobs") == 0;
    }
    sundog_completion_request_set_scores(request, wanted ? 1 + (guint)n_rivals : 0);
    return true;
}

static bool
read_rest(SundogResponsesRequest *responses, JsonObject *object, SundogApiError **error)
{
    SundogCompletionRequest *request = responses->request;
    JsonObject *reasoning = NULL;
    int64_t n = UINT32_MAX;
    bool is_parallel = true, is_background = false;
    responses->is_stored = true;
    if (!sundog_field_read_boolean(object, SUNDOG_FIELD_STORE, &responses->is_stored, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_STREAM, &request->stream, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_BACKGROUND, &is_background, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_PARALLEL_TOOL_CALLS, &is_parallel, error) ||
        !sundog_field_read_object(object, SUNDOG_FIELD_REASONING, &reasoning, error) ||
        !sundog_field_read_integer(object, SUNDOG_FIELD_MAX_OUTPUT_TOKENS, &n, error))
        return false;
    if (is_background)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_UNSUPPORTED, "background", "background",
                                    NULL);
    request->submit.max_tokens = (uint32_t)n;
    request->no_parallel_tool_calls = !is_parallel;
    const char *effort = sundog_json_get_string(reasoning, "effort", NULL);
    if (effort)
        request->reasoning =
            strcmp(effort, "none") == 0 ? SUNDOG_REASONING_OFF : SUNDOG_REASONING_ON;
    return true;
}

bool
sundog_responses_request_read(SundogResponsesRequest *responses, SundogExchange *exchange,
                              JsonObject *object, SundogApiError **error)
{
    SundogServer *server = sundog_exchange_get_server(exchange);
    const char *model = NULL;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, error))
        return false;
    responses->request = sundog_completion_request_new_for(exchange, model, error);
    return responses->request && read_rest(responses, object, error) &&
           sundog_completion_request_read_sampling(responses->request, object, error) &&
           read_scores(responses->request, object, error) &&
           read_tools(&responses->request->prompt, server, object, error) &&
           sundog_openai_tool_choice_read(responses->request, object, error) &&
           read_format(responses->request, object, error) &&
           read_conversation(responses, server, object, error) &&
           read_messages(responses, object, error);
}
