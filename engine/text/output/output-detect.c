/* Reads a template's marks of reasoning, of calls and of the ends of turns. */

#include "engine/text/output/output-probe.h"

#include <string.h>

/* Reasoning */

/* Marks of which a template speaks, where it does not render reasoning itself. */
static const struct {
    const char *open;
    const char *close;
} known_marks[] = {
    {"<think>", "</think>"},
    {"[THINK]", "[/THINK]"},
    {"<seed:think>", "</seed:think>"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<|channel>thought", "<channel|>"},
};

static void
clear_reasoning(SundogOutputSyntax *syntax)
{
    g_clear_pointer(&syntax->reasoning_open, g_free);
    g_clear_pointer(&syntax->reasoning_close, g_free);
}

/* The marks around reasoning that a template renders; the closing one up to its own end. */
static void
read_reasoning(SundogOutputSyntax *syntax, const char *text)
{
    const char *reasoning = text != NULL ? strstr(text, REASONING) : NULL;
    const char *content = reasoning != NULL ? strstr(reasoning, CONTENT) : NULL;
    if (content == NULL)
        return;
    const char *open = reasoning, *close = reasoning + strlen(REASONING);
    while (open > text && *open != '<' && *open != '[')
        open--;
    size_t n_close = strcspn(close, ">]") + 1;
    syntax->reasoning_open = sundog_probe_dup_stripped(open, (size_t)(reasoning - open));
    syntax->reasoning_close =
        sundog_probe_dup_stripped(close, MIN(n_close, (size_t)(content - close)));
    if (*syntax->reasoning_open == '\0' || *syntax->reasoning_close == '\0')
        clear_reasoning(syntax);
}

static void
detect_reasoning(SundogOutputSyntax *syntax, const SundogProbe *probe, const char *source)
{
    g_autofree char *text =
        sundog_probe_render(probe,
                            "{\"role\": \"assistant\", \"reasoning_content\": \"" REASONING
                            "\", \"content\": \"" CONTENT "\"}",
                            false);
    g_autofree char *plain = sundog_probe_render_plain(probe);
    read_reasoning(syntax, text);
    /* A mark that stands before plain answers too says nothing; but for an empty pair. */
    if (syntax->reasoning_open != NULL && plain != NULL &&
        strstr(plain, syntax->reasoning_open) != NULL &&
        strstr(plain, syntax->reasoning_close) == NULL)
        clear_reasoning(syntax);
    for (size_t i = 0; i < G_N_ELEMENTS(known_marks) && syntax->reasoning_open == NULL; i++)
        if (strstr(source, known_marks[i].open) != NULL ||
            strstr(source, known_marks[i].close) != NULL) {
            syntax->reasoning_open = g_strdup(known_marks[i].open);
            syntax->reasoning_close = g_strdup(known_marks[i].close);
        }
}

/* Ends of turns */

/* The control token at the beginning of a text, but for white space; owned by the caller, or NULL. */
static char *
dup_leading_control(const SundogProbe *probe, const char *text)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(probe->tokenizer);
    const SundogToken *longest = NULL;
    text += strspn(text, " \n");
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        const SundogToken *token = &vocabulary->tokens[i];
        if (token->kind == SUNDOG_TOKEN_CONTROL && token->length > 0 &&
            g_str_has_prefix(text, token->text) &&
            (longest == NULL || token->length > longest->length))
            longest = token;
    }
    return longest != NULL ? g_strdup(longest->text) : NULL;
}

static void
detect_turn_end(SundogOutputSyntax *syntax, const SundogProbe *probe)
{
    g_autofree char *text =
        sundog_probe_render(probe,
                            "{\"role\": \"assistant\", \"content\": \"" CONTENT
                            "\"}, {\"role\": \"user\", \"content\": \"" REASONING "\"}",
                            false);
    const char *content = text != NULL ? strstr(text, CONTENT) : NULL;
    if (content != NULL)
        syntax->turn_end = dup_leading_control(probe, content + strlen(CONTENT));
}

/* What follows the last mark of a call when its result comes. */
static void
detect_call_end(SundogOutputSyntax *syntax, const SundogProbe *probe)
{
    g_autofree char *call = sundog_probe_print_call(probe, NAME, IDENTIFIER);
    g_autofree char *messages = g_strdup_printf(
        "{\"role\": \"assistant\", \"content\": %s, \"tool_calls\": [%s]}, {\"role\": \"tool\", "
        "\"name\": \"" NAME "\", \"tool_call_id\": \"" IDENTIFIER "\", \"content\": \"" CONTENT
        "\"}",
        probe->null_content ? "null" : "\"\"", call);
    g_autofree char *text = sundog_probe_render(probe, messages, true);
    const char *begin = text != NULL ? strstr(text, VALUE) : NULL;
    const char *last = begin != NULL ? strstr(begin, OTHER_VALUE) : NULL;
    const char *const marks[] = {syntax->value_close, syntax->call_close, syntax->section_close};
    if (last == NULL || syntax->by_prompt)
        return;
    last += strlen(OTHER_VALUE);
    if (syntax->form == SUNDOG_CALL_OBJECT || syntax->form == SUNDOG_CALL_NAMED ||
        syntax->form == SUNDOG_CALL_BRACED)
        last += strspn(last, " }");
    if (syntax->is_list)
        last += strspn(last, "]");
    for (size_t i = 0; i < G_N_ELEMENTS(marks); i++) {
        const char *mark = marks[i] != NULL && *marks[i] != '\0' ? strstr(last, marks[i]) : NULL;
        last = mark != NULL ? mark + strlen(marks[i]) : last;
    }
    syntax->call_end = dup_leading_control(probe, last);
}

/* For a template that knows no calls: the form that most models have seen, explained by chat.c. */
static void
set_prompt_form(SundogOutputSyntax *syntax)
{
    syntax->form = SUNDOG_CALL_OBJECT;
    syntax->by_prompt = true;
    syntax->section_open = g_strdup("");
    syntax->section_close = g_strdup("");
    syntax->call_open = g_strdup("<tool_call>");
    syntax->call_close = g_strdup("</tool_call>");
    syntax->name_key = g_strdup("name");
    syntax->arguments_key = g_strdup("arguments");
}

static bool
has_control(const SundogTokenizer *tokenizer, const char *text)
{
    uint32_t token = sundog_tokenizer_find(tokenizer, text, strlen(text));
    return token != SUNDOG_TOKEN_NONE &&
           sundog_tokenizer_get_vocabulary(tokenizer)->tokens[token].kind == SUNDOG_TOKEN_CONTROL;
}

SundogOutputSyntax *
sundog_output_syntax_detect(const char *source, const SundogTokenizer *tokenizer)
{
    SundogOutputSyntax *syntax = g_new0(SundogOutputSyntax, 1);
    g_autoptr(SundogTemplate) chat_template = sundog_template_new(source, NULL);
    if (chat_template == NULL)
        return syntax;
    SundogProbe probe;
    sundog_probe_init(&probe, chat_template, tokenizer);
    if (has_control(tokenizer, "<|channel|>") && has_control(tokenizer, "<|message|>")) {
        syntax->form = SUNDOG_CALL_HARMONY;
        g_free(sundog_probe_find_call(&probe));
        syntax->text_arguments = probe.text_arguments;
        syntax->null_content = probe.null_content;
    } else {
        detect_reasoning(syntax, &probe, source);
        sundog_output_detect_calls(syntax, &probe);
        if (syntax->form == SUNDOG_CALL_NONE)
            set_prompt_form(syntax);
        detect_turn_end(syntax, &probe);
        detect_call_end(syntax, &probe);
    }
    sundog_probe_clear(&probe);
    return syntax;
}
