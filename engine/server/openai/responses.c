/*
 * POST /v1/responses. A stream is response.created, response.in_progress, then for each item of the output
 * its beginning, its pieces and its end with the whole item, and response.completed, .incomplete or
 * .failed with the whole response.
 */

#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/server/answer.h"
#include "engine/server/json-text.h"
#include "engine/server/openai/responses-request.h"
#include "engine/server/openai/stored-responses.h"
#include "engine/server/routes.h"
#include "engine/server/scores.h"
#include <string.h>

/* X(NAME, type of the item, type of its part or NULL, event of a piece, prefix of its id) */
#define ITEMS(X)                                                                 \
    X(REASONING, "reasoning", "reasoning_text", "response.reasoning_text", "rs") \
    X(MESSAGE, "message", "output_text", "response.output_text", "msg")          \
    X(CALL, "function_call", NULL, "response.function_call_arguments", "fc")

typedef enum {
#define X(name, type, part, event, prefix) name,
    ITEMS(X)
#undef X
        NO_ITEM,
} ItemKind;

static const struct {
    const char *type, *part, *event, *prefix;
} kinds[] = {
#define X(name, type, part, event, prefix) {type, part, event, prefix},
    ITEMS(X)
#undef X
};

/* The form's own part of an answer. */
typedef struct {
    JsonObject *echo;        /* of the request, what the response repeats */
    JsonArray *conversation; /* before the answer */
    bool is_stored;
    JsonArray *output; /* finished items */
    guint n_sent;      /* events */
    ItemKind kind;     /* of the item that is open */
    char *item_id;
    GString *item_text;
    GString *item_scores;       /* objects of log probabilities, with commas between */
    const SundogToolCall *call; /* of an open CALL */
} Form;

static void
form_free(void *data)
{
    Form *form = data;
    json_object_unref(form->echo);
    json_array_unref(form->conversation);
    json_array_unref(form->output);
    g_string_free(form->item_text, true);
    g_string_free(form->item_scores, true);
    g_free(form->item_id);
    g_free(form);
}

/* Items */

/* scores: objects as JSON. */
static JsonArray *
make_scores(const GString *scores)
{
    g_autofree char *text = g_strdup_printf("[%s]", scores->str);
    g_autoptr(JsonNode) node = sundog_json_parse(text, strlen(text), NULL);
    return node ? json_node_dup_array(node) : json_array_new();
}

static JsonObject *
make_part(const Form *form, const char *text)
{
    ItemKind kind = form->kind;
    JsonObject *part = json_object_new();
    json_object_set_string_member(part, "type", kinds[kind].part);
    json_object_set_string_member(part, "text", text);
    if (kind == MESSAGE) {
        json_object_set_array_member(part, "annotations", json_array_new());
        json_object_set_array_member(part, "logprobs", make_scores(form->item_scores));
    }
    return part;
}

/* text: of the item, or the call's arguments; NULL while it is still empty. */
static JsonObject *
make_item(const Form *form, const char *status, const char *text)
{
    JsonObject *item = json_object_new();
    json_object_set_string_member(item, "id", form->item_id);
    json_object_set_string_member(item, "type", kinds[form->kind].type);
    json_object_set_string_member(item, "status", status);
    if (form->kind == CALL) {
        json_object_set_string_member(item, "call_id", form->call->id);
        json_object_set_string_member(item, "name", form->call->name);
        json_object_set_string_member(item, "arguments", text ? text : "");
        return item;
    }
    JsonArray *content = json_array_new();
    if (text)
        json_array_add_object_element(content, make_part(form, text));
    json_object_set_array_member(item, "content", content);
    if (form->kind == MESSAGE)
        json_object_set_string_member(item, "role", "assistant");
    else
        json_object_set_array_member(item, "summary", json_array_new());
    return item;
}

static void
begin_item(Form *form, ItemKind kind, const SundogToolCall *call)
{
    g_autofree char *uuid = g_uuid_string_random();
    form->kind = kind;
    form->call = call;
    g_free(form->item_id);
    form->item_id =
        g_strdup_printf("%s_%.8s%.4s%.4s", kinds[kind].prefix, uuid, uuid + 9, uuid + 14);
    g_string_truncate(form->item_text, 0);
    g_string_truncate(form->item_scores, 0);
}

/* The response */

static const char *
get_status(const SundogAnswer *answer)
{
    switch (answer->generation->state) {
    case SUNDOG_GENERATION_STOP:
        return "completed";
    case SUNDOG_GENERATION_LENGTH:
        return "incomplete";
    case SUNDOG_GENERATION_CANCELLED:
        return "cancelled";
    default:
        return "in_progress";
    }
}

static JsonObject *
make_usage(const SundogAnswer *answer)
{
    guint n_input = sundog_answer_get_n_prompt(answer);
    guint n_output = sundog_answer_get_n_produced(answer);
    JsonObject *input = json_object_new(), *output = json_object_new();
    json_object_set_int_member(input, "cached_tokens", sundog_answer_get_n_cached(answer));
    json_object_set_int_member(output, "reasoning_tokens", 0);
    JsonObject *usage = json_object_new();
    json_object_set_int_member(usage, "input_tokens", n_input);
    json_object_set_object_member(usage, "input_tokens_details", input);
    json_object_set_int_member(usage, "output_tokens", n_output);
    json_object_set_object_member(usage, "output_tokens_details", output);
    json_object_set_int_member(usage, "total_tokens", n_input + n_output);
    return usage;
}

/* error: of a response that failed, else NULL. */
static JsonObject *
make_response(const SundogAnswer *answer, const SundogApiError *error)
{
    const Form *form = answer->data;
    const char *status = error ? "failed" : get_status(answer);
    JsonObject *response = json_object_new();
    json_object_set_string_member(response, "id", answer->generation->name);
    json_object_set_string_member(response, "object", "response");
    json_object_set_int_member(response, "created_at", answer->created);
    json_object_set_string_member(response, "status", status);
    json_object_set_string_member(response, "model", answer->generation->core->name);
    json_object_set_null_member(response, "error");
    json_object_set_null_member(response, "incomplete_details");
    json_object_set_null_member(response, "usage");
    if (error) {
        JsonObject *told = json_object_new();
        json_object_set_string_member(told, "code", sundog_api_error_get_code(error));
        json_object_set_string_member(told, "message", error->text);
        json_object_set_object_member(response, "error", told);
    }
    if (strcmp(status, "incomplete") == 0) {
        JsonObject *details = json_object_new();
        json_object_set_string_member(details, "reason", "max_output_tokens");
        json_object_set_object_member(response, "incomplete_details", details);
    }
    if (sundog_generation_is_over(answer->generation))
        json_object_set_object_member(response, "usage", make_usage(answer));
    sundog_json_copy_members(form->echo, response);
    json_object_set_array_member(response, "output", json_array_ref(form->output));
    return response;
}

/* Streams */

static char *
print_object(JsonObject *object)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_take_object(node, object);
    return sundog_json_print(node, false);
}

static void
send_event(SundogAnswer *answer, const char *type, const char *members)
{
    Form *form = answer->data;
    g_autofree char *event =
        g_strdup_printf("event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%u,%s}\n\n", type,
                        type, form->n_sent++, members);
    sundog_exchange_send(answer->exchange, event, strlen(event));
}

static void
send_response(SundogAnswer *answer, const char *type, JsonObject *response)
{
    g_autofree char *text = print_object(response);
    g_autofree char *members = g_strdup_printf("\"response\":%s", text);
    send_event(answer, type, members);
}

/* About the open item. text: a value for key, or NULL. scores: of that text. object: one for object_key,
 * taken, or NULL. */
static void
send_of_item(SundogAnswer *answer, const char *type, const char *key, const char *text,
             size_t n_bytes, const char *scores, const char *object_key, JsonObject *object)
{
    const Form *form = answer->data;
    g_autoptr(GString) members = g_string_new(NULL);
    g_string_printf(members, "\"output_index\":%u,\"item_id\":\"%s\"",
                    json_array_get_length(form->output), form->item_id);
    if (form->kind != CALL)
        g_string_append(members, ",\"content_index\":0");
    if (form->kind == MESSAGE && key)
        g_string_append_printf(members, ",\"logprobs\":[%s]", scores);
    if (key) {
        g_string_append_printf(members, ",\"%s\":", key);
        sundog_json_text_append_n(members, text, n_bytes);
    }
    if (object) {
        g_autofree char *printed = print_object(object);
        g_string_append_printf(members, ",\"%s\":%s", object_key, printed);
    }
    send_event(answer, type, members->str);
}

static void
begin(SundogAnswer *answer)
{
    if (!answer->request->stream)
        return;
    send_response(answer, "response.created", make_response(answer, NULL));
    send_response(answer, "response.in_progress", make_response(answer, NULL));
}

/* Those of the tokens whose text was told since the last time. */
static void
add_scores(SundogAnswer *answer)
{
    GString *scores = ((Form *)answer->data)->item_scores;
    guint first, end = sundog_answer_take_scores(answer, &first);
    if (scores->len > 0 && end > first)
        g_string_append_c(scores, ',');
    sundog_scores_append(scores, answer->generation, first, end, false);
}

static void
close_item(SundogAnswer *answer)
{
    Form *form = answer->data;
    if (form->kind == NO_ITEM)
        return;
    if (form->kind == MESSAGE)
        add_scores(answer);
    const GString *text = form->item_text;
    g_autofree char *done = g_strconcat(kinds[form->kind].event, ".done", NULL);
    bool is_cut = answer->generation->state == SUNDOG_GENERATION_LENGTH;
    JsonObject *item = make_item(form, is_cut ? "incomplete" : "completed", text->str);
    if (answer->request->stream) {
        send_of_item(answer, done, form->kind == CALL ? "arguments" : "text", text->str, text->len,
                     form->item_scores->str, NULL, NULL);
        if (kinds[form->kind].part)
            send_of_item(answer, "response.content_part.done", NULL, NULL, 0, NULL, "part",
                         make_part(form, text->str));
        send_of_item(answer, "response.output_item.done", NULL, NULL, 0, NULL, "item",
                     json_object_ref(item));
    }
    json_array_add_object_element(form->output, item);
    form->kind = NO_ITEM;
}

static void
open_item(SundogAnswer *answer, ItemKind kind, const SundogToolCall *call)
{
    Form *form = answer->data;
    close_item(answer);
    begin_item(form, kind, call);
    if (!answer->request->stream)
        return;
    send_of_item(answer, "response.output_item.added", NULL, NULL, 0, NULL, "item",
                 make_item(form, "in_progress", NULL));
    if (kinds[kind].part)
        send_of_item(answer, "response.content_part.added", NULL, NULL, 0, NULL, "part",
                     make_part(form, ""));
}

/* A piece of the open item, or of a new one where another kind is open. */
static void
add_piece(SundogAnswer *answer, ItemKind kind, const char *text, size_t n_bytes)
{
    Form *form = answer->data;
    if (form->kind != kind)
        open_item(answer, kind, NULL);
    g_string_append_len(form->item_text, text, (gssize)n_bytes);
    size_t begin = form->item_scores->len;
    if (kind == MESSAGE)
        add_scores(answer);
    begin += begin > 0 && form->item_scores->len > begin; /* a comma */
    g_autofree char *delta = g_strconcat(kinds[kind].event, ".delta", NULL);
    if (answer->request->stream)
        send_of_item(answer, delta, "delta", text, n_bytes, form->item_scores->str + begin, NULL,
                     NULL);
}

static void
send_reasoning(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    add_piece(answer, REASONING, text, n_bytes);
}

static void
send_text(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    add_piece(answer, MESSAGE, text, n_bytes);
}

static void
send_tool_call(SundogAnswer *answer, guint index)
{
    open_item(answer, CALL, answer->tool_calls->pdata[index]);
}

static void
send_arguments(SundogAnswer *answer, guint index, const char *text, size_t n_bytes)
{
    add_piece(answer, CALL, text, n_bytes);
}

/* The end */

/* A plain answer has told no pieces: they are its whole. */
static void
add_all(SundogAnswer *answer)
{
    if (answer->reasoning->len)
        add_piece(answer, REASONING, answer->reasoning->str, answer->reasoning->len);
    if (answer->text->len)
        add_piece(answer, MESSAGE, answer->text->str, answer->text->len);
    for (guint i = 0; i < answer->tool_calls->len; i++) {
        const SundogToolCall *call = answer->tool_calls->pdata[i];
        open_item(answer, CALL, call);
        add_piece(answer, CALL, call->arguments->str, call->arguments->len);
    }
}

static JsonObject *
make_message(const SundogAnswer *answer)
{
    JsonObject *message = json_object_new();
    json_object_set_string_member(message, "role", "assistant");
    json_object_set_string_member(message, "content", answer->text->str);
    if (answer->reasoning->len)
        json_object_set_string_member(message, "reasoning_content", answer->reasoning->str);
    if (answer->tool_calls->len == 0)
        return message;
    JsonArray *calls = json_array_new();
    for (guint i = 0; i < answer->tool_calls->len; i++) {
        const SundogToolCall *call = answer->tool_calls->pdata[i];
        JsonObject *function = json_object_new();
        json_object_set_string_member(function, "name", call->name);
        json_object_set_string_member(function, "arguments", call->arguments->str);
        JsonObject *made = json_object_new();
        json_object_set_string_member(made, "id", call->id);
        json_object_set_string_member(made, "type", "function");
        json_object_set_object_member(made, "function", function);
        json_array_add_object_element(calls, made);
    }
    json_object_set_array_member(message, "tool_calls", calls);
    return message;
}

static void
store(SundogAnswer *answer, JsonObject *response)
{
    const Form *form = answer->data;
    if (!form->is_stored)
        return;
    json_array_add_object_element(form->conversation, make_message(answer));
    sundog_stored_responses_put(answer->server->stored_responses, json_object_ref(response),
                                json_array_ref(form->conversation));
}

/* The whole response; kept where the client asked for that. */
static JsonObject *
finish(SundogAnswer *answer)
{
    close_item(answer);
    JsonObject *response = make_response(answer, NULL);
    store(answer, response);
    return response;
}

static void
end_stream(SundogAnswer *answer)
{
    bool is_whole = answer->generation->state == SUNDOG_GENERATION_STOP;
    send_response(answer, is_whole ? "response.completed" : "response.incomplete", finish(answer));
    sundog_exchange_end(answer->exchange);
}

static void
reply(SundogAnswer *answer)
{
    add_all(answer);
    sundog_exchange_reply_object(answer->exchange, SOUP_STATUS_OK, finish(answer));
}

static void
fail(SundogAnswer *answer, const SundogApiError *error)
{
    if (!answer->request->stream) {
        sundog_exchange_fail(answer->exchange, sundog_api_error_copy(error));
        return;
    }
    send_response(answer, "response.failed", make_response(answer, error));
    sundog_exchange_end(answer->exchange);
}

static const SundogAnswerForm form_of_responses = {.endpoint = "/v1/responses",
                                                   .id_prefix = "resp",
                                                   .begin = begin,
                                                   .reasoning = send_reasoning,
                                                   .text = send_text,
                                                   .tool_call = send_tool_call,
                                                   .arguments = send_arguments,
                                                   .end_stream = end_stream,
                                                   .reply = reply,
                                                   .fail = fail,
                                                   .free_data = form_free};

/* What a response repeats of its request; usual values where that named none. */
static JsonObject *
make_echo(JsonObject *object, const SundogResponsesRequest *responses)
{
    static const struct {
        const char *key, *usual;
    } kept[] = {{"instructions", "null"},
                {"max_output_tokens", "null"},
                {"metadata", "{}"},
                {"parallel_tool_calls", "true"},
                {"previous_response_id", "null"},
                {"reasoning", "{\"effort\":null,\"summary\":null}"},
                {"store", "true"},
                {"text", "{\"format\":{\"type\":\"text\"}}"},
                {"tool_choice", "\"auto\""},
                {"tools", "[]"},
                {"truncation", "\"disabled\""},
                {"user", "null"}};
    const SundogSubmit *submit = &responses->request->submit;
    JsonObject *echo = json_object_new();
    for (size_t i = 0; i < G_N_ELEMENTS(kept); i++) {
        JsonNode *node = json_object_get_member(object, kept[i].key);
        json_object_set_member(echo, kept[i].key,
                               node && !JSON_NODE_HOLDS_NULL(node)
                                   ? json_node_copy(node)
                                   : sundog_json_parse(kept[i].usual, strlen(kept[i].usual), NULL));
    }
    json_object_set_double_member(echo, "temperature", submit->temperature);
    json_object_set_double_member(echo, "top_p", submit->top_p);
    return echo;
}

static Form *
form_new(JsonObject *object, SundogResponsesRequest *responses)
{
    Form *form = g_new0(Form, 1);
    form->echo = make_echo(object, responses);
    form->conversation = g_steal_pointer(&responses->conversation);
    form->is_stored = responses->is_stored;
    form->output = json_array_new();
    form->kind = NO_ITEM;
    form->item_text = g_string_new(NULL);
    form->item_scores = g_string_new(NULL);
    return form;
}

void
sundog_responses_post(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    /* What is stored, and what is echoed, are parts of it. */
    sundog_exchange_share_body(exchange);
    SundogResponsesRequest responses = {0};
    SundogApiError *error = NULL;
    if (!object)
        return;
    if (sundog_responses_request_read(&responses, exchange, object, &error)) {
        Form *form = form_new(object, &responses);
        sundog_answer_start(exchange, g_steal_pointer(&responses.request), &form_of_responses,
                            form);
    } else {
        sundog_exchange_fail(exchange, error);
    }
    sundog_responses_request_clear(&responses);
}
