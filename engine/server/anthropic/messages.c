/*
 * POST /v1/messages. A stream is message_start, then for each block content_block_start, its deltas and
 * content_block_stop, then message_delta with the reason and the usage, and message_stop.
 */

#include "engine/format/json.h"
#include "engine/server/answer.h"
#include "engine/server/anthropic/request.h"
#include "engine/server/json-text.h"
#include "engine/server/routes.h"
#include <string.h>

typedef enum {
    NO_BLOCK,
    THINKING,
    TEXT,
    TOOL_USE,
} BlockKind;

/* The form's own part of an answer: the block that is open in the stream. */
typedef struct {
    BlockKind kind;
    guint n_blocks; /* begun */
} Form;

static const char *const reasons[] = {[SUNDOG_ANSWER_STOP] = "end_turn",
                                      [SUNDOG_ANSWER_STOP_SEQUENCE] = "stop_sequence",
                                      [SUNDOG_ANSWER_LENGTH] = "max_tokens",
                                      [SUNDOG_ANSWER_TOOL_CALLS] = "tool_use"};

static void
append_usage(const SundogAnswer *answer, GString *json)
{
    g_string_append_printf(json,
                           "\"usage\":{\"input_tokens\":%u,\"cache_creation_input_tokens\":0,"
                           "\"cache_read_input_tokens\":0,\"output_tokens\":%u}",
                           sundog_answer_get_n_prompt(answer),
                           sundog_answer_get_n_produced(answer));
}

static void
append_reason(const SundogAnswer *answer, GString *json)
{
    const char *stop = sundog_answer_get_stop(answer);
    g_string_append_printf(json, "\"stop_reason\":\"%s\",\"stop_sequence\":",
                           reasons[sundog_answer_get_reason(answer)]);
    if (stop)
        sundog_json_text_append(json, stop);
    else
        g_string_append(json, "null");
}

/* All of a message before its content. */
static void
append_head(const SundogAnswer *answer, GString *json)
{
    g_string_append(json, "{\"id\":");
    sundog_json_text_append(json, answer->generation->name);
    g_string_append(json, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
    sundog_json_text_append(json, answer->generation->core->name);
    g_string_append_c(json, ',');
}

/* Streams */

static void
send_event(SundogAnswer *answer, const char *name, const char *members)
{
    g_autofree char *event = g_strdup_printf("event: %s\ndata: {\"type\":\"%s\"%s%s}\n\n", name,
                                             name, *members ? "," : "", members);
    sundog_exchange_send(answer->exchange, event, strlen(event));
}

static void
begin(SundogAnswer *answer)
{
    if (!answer->request->stream)
        return;
    g_autoptr(GString) members = g_string_new("\"message\":");
    append_head(answer, members);
    g_string_append(members, "\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,");
    append_usage(answer, members);
    g_string_append_c(members, '}');
    send_event(answer, "message_start", members->str);
}

static void
send_delta(SundogAnswer *answer, const char *type, const char *key, const char *text,
           size_t n_bytes)
{
    const Form *form = answer->data;
    g_autoptr(GString) members = g_string_new(NULL);
    g_string_printf(members, "\"index\":%u,\"delta\":{\"type\":\"%s\",\"%s\":", form->n_blocks - 1,
                    type, key);
    sundog_json_text_append_n(members, text, n_bytes);
    g_string_append_c(members, '}');
    send_event(answer, "content_block_delta", members->str);
}

static void
close_block(SundogAnswer *answer)
{
    Form *form = answer->data;
    if (form->kind == NO_BLOCK)
        return;
    if (form->kind == THINKING)
        send_delta(answer, "signature_delta", "signature", "", 0);
    form->kind = NO_BLOCK;
    g_autofree char *members = g_strdup_printf("\"index\":%u", form->n_blocks - 1);
    send_event(answer, "content_block_stop", members);
}

/* content_block: the block's object while it is empty. */
static void
open_block(SundogAnswer *answer, BlockKind kind, const char *content_block)
{
    Form *form = answer->data;
    close_block(answer);
    form->kind = kind;
    g_autofree char *members =
        g_strdup_printf("\"index\":%u,\"content_block\":%s", form->n_blocks++, content_block);
    send_event(answer, "content_block_start", members);
}

static void
send_text(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    if (((const Form *)answer->data)->kind != TEXT)
        open_block(answer, TEXT, "{\"type\":\"text\",\"text\":\"\"}");
    send_delta(answer, "text_delta", "text", text, n_bytes);
}

static void
send_reasoning(SundogAnswer *answer, const char *text, size_t n_bytes)
{
    if (((const Form *)answer->data)->kind != THINKING)
        open_block(answer, THINKING,
                   "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}");
    send_delta(answer, "thinking_delta", "thinking", text, n_bytes);
}

static void
append_tool_use(GString *json, const SundogToolCall *call, const char *input)
{
    g_string_append(json, "{\"type\":\"tool_use\",\"id\":");
    sundog_json_text_append(json, call->id);
    g_string_append(json, ",\"name\":");
    sundog_json_text_append(json, call->name);
    g_string_append_printf(json, ",\"input\":%s}", input);
}

static void
send_tool_call(SundogAnswer *answer, guint index)
{
    g_autoptr(GString) block = g_string_new(NULL);
    append_tool_use(block, answer->tool_calls->pdata[index], "{}");
    open_block(answer, TOOL_USE, block->str);
}

static void
send_arguments(SundogAnswer *answer, guint index, const char *text, size_t n_bytes)
{
    send_delta(answer, "input_json_delta", "partial_json", text, n_bytes);
}

static void
end_stream(SundogAnswer *answer)
{
    close_block(answer);
    g_autoptr(GString) members = g_string_new("\"delta\":{");
    append_reason(answer, members);
    g_string_append(members, "},");
    append_usage(answer, members);
    send_event(answer, "message_delta", members->str);
    send_event(answer, "message_stop", "");
    sundog_exchange_end(answer->exchange);
}

/* Plain answers */

/* Arguments that were cut by the answer's length are no JSON. */
static const char *
get_input(const SundogToolCall *call)
{
    g_autoptr(JsonNode) node = sundog_json_parse(call->arguments->str, call->arguments->len, NULL);
    return node && JSON_NODE_HOLDS_OBJECT(node) ? call->arguments->str : "{}";
}

static void
append_content(const SundogAnswer *answer, GString *json)
{
    size_t n_before = json->len;
    if (answer->reasoning->len) {
        g_string_append(json, "{\"type\":\"thinking\",\"signature\":\"\",\"thinking\":");
        sundog_json_text_append_n(json, answer->reasoning->str, answer->reasoning->len);
        g_string_append_c(json, '}');
    }
    if (answer->text->len) {
        g_string_append(json, json->len > n_before ? "," : "");
        g_string_append(json, "{\"type\":\"text\",\"text\":");
        sundog_json_text_append_n(json, answer->text->str, answer->text->len);
        g_string_append_c(json, '}');
    }
    for (guint i = 0; i < answer->tool_calls->len; i++) {
        const SundogToolCall *call = answer->tool_calls->pdata[i];
        g_string_append(json, json->len > n_before ? "," : "");
        append_tool_use(json, call, get_input(call));
    }
}

static void
reply(SundogAnswer *answer)
{
    g_autoptr(GString) json = g_string_new(NULL);
    append_head(answer, json);
    g_string_append(json, "\"content\":[");
    append_content(answer, json);
    g_string_append(json, "],");
    append_reason(answer, json);
    g_string_append_c(json, ',');
    append_usage(answer, json);
    g_string_append_c(json, '}');
    sundog_exchange_reply_text(answer->exchange, SOUP_STATUS_OK, "application/json", json->str,
                               json->len);
}

static const SundogAnswerForm form_of_messages = {.endpoint = "/v1/messages",
                                                  .id_prefix = "msg",
                                                  .begin = begin,
                                                  .reasoning = send_reasoning,
                                                  .text = send_text,
                                                  .tool_call = send_tool_call,
                                                  .arguments = send_arguments,
                                                  .end_stream = end_stream,
                                                  .reply = reply,
                                                  .free_data = g_free};

void
sundog_messages(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    if (!object)
        return;
    SundogCompletionRequest *request = sundog_anthropic_request_read(exchange, object, &error);
    if (request)
        sundog_answer_start(exchange, request, &form_of_messages, g_new0(Form, 1));
    else
        sundog_exchange_fail(exchange, error);
}
