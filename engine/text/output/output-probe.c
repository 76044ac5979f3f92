/* Answers of known words, rendered by a template. */

#include "engine/text/output/output-probe.h"

#include "engine/format/json.h"
#include <string.h>

static void
set_token(JsonObject *variables, const SundogTokenizer *tokenizer, const char *name, uint32_t token)
{
    g_autoptr(GByteArray) text = g_byte_array_new();
    if (!sundog_tokenizer_append_bytes(tokenizer, token, true, text))
        return;
    g_byte_array_append(text, (const guint8 *)"", 1);
    json_object_set_string_member(variables, name, (const char *)text->data);
}

char *
sundog_probe_render(const SundogProbe *probe, const char *message, bool with_tools)
{
    g_autofree char *json = g_strdup_printf(
        "{\"messages\": [{\"role\": \"user\", \"content\": \"" QUESTION "\"}%s%s], \"tools\": %s, "
        "\"add_generation_prompt\": %s}",
        message != NULL ? ", " : "", message != NULL ? message : "", with_tools ? TOOLS : "null",
        message != NULL ? "false" : "true");
    g_autoptr(JsonNode) node = sundog_json_parse(json, strlen(json), NULL);
    JsonObject *variables = json_node_get_object(node);
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(probe->tokenizer);
    set_token(variables, probe->tokenizer, "bos_token", vocabulary->bos);
    set_token(variables, probe->tokenizer, "eos_token", vocabulary->eos);
    g_autoptr(SundogRendering) rendering =
        sundog_template_render(probe->chat_template, variables, 0, NULL);
    const char *text = rendering != NULL ? sundog_rendering_get_text(rendering, NULL) : "";
    const char *question = g_strrstr(text, QUESTION);
    return question != NULL ? g_strdup(question + strlen(QUESTION)) : NULL;
}

char *
sundog_probe_render_plain(const SundogProbe *probe)
{
    return sundog_probe_render(probe, "{\"role\": \"assistant\", \"content\": \"" CONTENT "\"}",
                               false);
}

char *
sundog_probe_print_call(const SundogProbe *probe, const char *name, const char *identifier)
{
    g_autofree char *escaped = g_strescape(ARGUMENTS, NULL);
    g_autofree char *text = g_strdup_printf("\"%s\"", escaped);
    return g_strdup_printf("{\"id\": \"%s\", \"type\": \"function\", \"function\": {\"name\": "
                           "\"%s\", \"arguments\": %s}}",
                           identifier, name, probe->text_arguments ? text : ARGUMENTS);
}

char *
sundog_probe_render_calls(const SundogProbe *probe, bool two)
{
    g_autofree char *first = sundog_probe_print_call(probe, NAME, IDENTIFIER);
    g_autofree char *second = sundog_probe_print_call(probe, SECOND_NAME,
                                                      "zweit"
                                                      "ruf1");
    g_autofree char *message = g_strdup_printf(
        "{\"role\": \"assistant\", \"content\": %s, \"tool_calls\": [%s%s%s]}",
        probe->null_content ? "null" : "\"\"", first, two ? ", " : "", two ? second : "");
    return sundog_probe_render(probe, message, true);
}

char *
sundog_probe_find_call(SundogProbe *probe)
{
    for (int i = 0; i < 4; i++) {
        probe->text_arguments = i & 1;
        probe->null_content = i & 2;
        char *text = sundog_probe_render_calls(probe, false);
        if (text != NULL && strstr(text, NAME) != NULL && strstr(text, VALUE) != NULL)
            return text;
        g_free(text);
    }
    return NULL;
}

char *
sundog_probe_dup_stripped(const char *text, size_t n_bytes)
{
    return g_strstrip(g_strndup(text, n_bytes));
}

void
sundog_probe_init(SundogProbe *probe, const SundogTemplate *chat_template,
                  const SundogTokenizer *tokenizer)
{
    *probe = (SundogProbe){.chat_template = chat_template, .tokenizer = tokenizer};
    g_autofree char *answer = sundog_probe_render_plain(probe);
    const char *content = answer != NULL ? strstr(answer, CONTENT) : NULL;
    probe->begin = sundog_probe_render(probe, NULL, false);
    if (probe->begin == NULL) /* some are for tools alone */
        probe->begin = sundog_probe_render(probe, NULL, true);
    probe->end = content != NULL ? g_strdup(content + strlen(CONTENT)) : NULL;
}

void
sundog_probe_clear(SundogProbe *probe)
{
    g_free(probe->begin);
    g_free(probe->end);
}
