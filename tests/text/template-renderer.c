/*
 * Renders templates for a script: reads one JSON object a line on standard input. {"template": text}
 * sets the template; {"variables": …, "now": microseconds} is answered by one line, {"text", "spans":
 * [[n_bytes, trusted], …]} or {"error": "syntax" | "render" | "raised" | "limit", "message"}.
 */

#include "engine/text/template/template.h"

#include <stdio.h>

static JsonObject *
describe_error(const GError *error)
{
    static const char *const codes[] = {"syntax", "render", "raised", "limit"};
    JsonObject *answer = json_object_new();
    json_object_set_string_member(answer, "error", codes[error->code]);
    json_object_set_string_member(answer, "message", error->message);
    return answer;
}

static JsonObject *
describe(const SundogRendering *rendering)
{
    JsonObject *answer = json_object_new();
    JsonArray *list = json_array_new();
    size_t n_spans;
    const SundogTextSpan *spans = sundog_rendering_get_spans(rendering, &n_spans);
    for (size_t i = 0; i < n_spans; i++) {
        JsonArray *span = json_array_new();
        json_array_add_int_element(span, (gint64)spans[i].n_bytes);
        json_array_add_boolean_element(span, spans[i].trusted);
        json_array_add_array_element(list, span);
    }
    json_object_set_string_member(answer, "text", sundog_rendering_get_text(rendering, NULL));
    json_object_set_array_member(answer, "spans", list);
    return answer;
}

static void
print(JsonObject *answer)
{
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), answer);
    g_autofree char *text = json_to_string(node, FALSE);
    puts(text);
    fflush(stdout);
    json_object_unref(answer);
}

static JsonObject *
answer_request(SundogTemplate **chat_template, GError **template_error, JsonObject *request)
{
    g_autoptr(GError) error = NULL;
    if (json_object_has_member(request, "template")) {
        g_clear_pointer(chat_template, sundog_template_free);
        g_clear_error(template_error);
        *chat_template =
            sundog_template_new(json_object_get_string_member(request, "template"), template_error);
        return NULL;
    }
    if (*chat_template == NULL)
        return describe_error(*template_error);
    g_autoptr(SundogRendering) rendering =
        sundog_template_render(*chat_template, json_object_get_object_member(request, "variables"),
                               json_object_get_int_member(request, "now"), &error);
    return rendering != NULL ? describe(rendering) : describe_error(error);
}

int
main(void)
{
    g_autoptr(SundogTemplate) chat_template = NULL;
    g_autoptr(GError) template_error = NULL;
    g_autoptr(JsonParser) parser = json_parser_new();
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) >= 0) {
        g_autoptr(GError) error = NULL;
        if (!json_parser_load_from_data(parser, line, -1, &error))
            g_error("not JSON: %s", error->message);
        JsonObject *answer = answer_request(&chat_template, &template_error,
                                            json_node_get_object(json_parser_get_root(parser)));
        if (answer != NULL)
            print(answer);
    }
    free(line);
    return 0;
}
