/* Any answer under any syntax: it ends, and says the same whole and in two pieces. */

#include "engine/text/output/output-parser.h"

#include <string.h>

const char *const fuzz_seeds[] = {
    "0I see <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": [1, \"}\"]}}\n</tool_call> "
    "<think>x",
    "1<tool_call>\n<function=f>\n<parameter=k>\nv\n</parameter>\n</function>\n</tool_call>",
    "2<calls><call>f<sep>{\"a\": 1}</call><call>g<sep>{}</call></calls>done",
    "3<|tool|>[f(a='x, y', b=[1, True], c={'d': None}), g()]<|end|>",
    "4<|channel|>analysis<|message|>x<|end|><|start|>assistant to=functions.f<|channel|>commentary"
    "<|message|>{\"a\": 1}",
    "5{\"name\": \"f\", \"parameters\": {}}",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#define T(text) ((char *)(text))

static const SundogOutputSyntax syntaxes[] = {
    {.form = SUNDOG_CALL_OBJECT,
     .reasoning_open = T("<think>"),
     .reasoning_close = T("</think>"),
     .section_open = T(""),
     .section_close = T(""),
     .call_open = T("<tool_call>"),
     .call_close = T("</tool_call>"),
     .name_key = T("name"),
     .arguments_key = T("arguments")},
    {.form = SUNDOG_CALL_TAGGED,
     .section_open = T(""),
     .section_close = T(""),
     .call_open = T("<tool_call>\n<function="),
     .call_close = T("</function>\n</tool_call>"),
     .name_close = T(">"),
     .key_open = T("<parameter="),
     .text_open = T(">"),
     .value_open = T(">"),
     .value_close = T("</parameter>")},
    {.form = SUNDOG_CALL_NAMED,
     .section_open = T("<calls>"),
     .section_close = T("</calls>"),
     .call_open = T("<call>"),
     .call_close = T("</call>"),
     .name_close = T("<sep>"),
     .extra_close = T("")},
    {.form = SUNDOG_CALL_PYTHONIC,
     .section_open = T("<|tool|>"),
     .section_close = T("<|end|>"),
     .call_open = T(""),
     .call_close = T("")},
    {.form = SUNDOG_CALL_HARMONY},
    {.form = SUNDOG_CALL_BRACED,
     .section_open = T(""),
     .section_close = T(""),
     .call_open = T("<|tool_call>call:"),
     .call_close = T("<tool_call|>"),
     .text_open = T("<|\"|>")},
    {.form = SUNDOG_CALL_TAGGED, /* marks that begin with others, or hold them */
     .reasoning_open = T("<|sep|>"),
     .reasoning_close = T("<|end|>think<|sep|>"),
     .section_open = T("<|open|>tools<|sep|>"),
     .section_close = T("<|end|>tools<|sep|>"),
     .call_open = T("<|open|>tools"),
     .call_close = T("<|end|>"),
     .name_close = T("<|sep|>"),
     .key_open = T("<|open|>"),
     .text_open = T("=<|sep|>"),
     .value_open = T("="),
     .value_close = T("<|end|>value")},
    {.form = SUNDOG_CALL_OBJECT,
     .section_open = T(""),
     .section_close = T(""),
     .call_open = T(""),
     .call_close = T(""),
     .name_key = T("name"),
     .arguments_key = T("parameters")},
};

static void
hear(char kind, const char *text, size_t n_bytes, void *data)
{
    GString **heard = data;
    GString *into = heard[kind == 'c' ? 0 : kind == 'r' ? 1 : 2];
    g_assert(n_bytes > 0);
    g_string_append_len(into, text, (gssize)n_bytes);
}

static void
on_content(const char *text, size_t n_bytes, void *data)
{
    hear('c', text, n_bytes, data);
}

static void
on_reasoning(const char *text, size_t n_bytes, void *data)
{
    hear('r', text, n_bytes, data);
}

static void
on_call(unsigned index, const char *name, void *data)
{
    hear('a', name, strlen(name) + 1, data);
}

static void
on_arguments(unsigned index, const char *text, size_t n_bytes, void *data)
{
    hear('a', text, n_bytes, data);
}

static char *
parse(const SundogOutputSyntax *syntax, const char *text, size_t cut, bool whole)
{
    static const SundogOutputCalls calls = {on_content, on_reasoning, on_call, on_arguments};
    GString *heard[3] = {g_string_new(NULL), g_string_new("|"), g_string_new("|")};
    SundogOutputOptions options = {.reasons = true, .takes_calls = true};
    SundogOutputParser *parser = sundog_output_parser_new(syntax, &options, &calls, heard);
    sundog_output_parser_feed(parser, text, cut);
    sundog_output_parser_feed(parser, text + cut, strlen(text) - cut);
    sundog_output_parser_finish(parser, whole);
    sundog_output_parser_free(parser);
    for (int i = 1; i < 3; i++) {
        g_string_append_len(heard[0], heard[i]->str, (gssize)heard[i]->len);
        g_string_free(heard[i], TRUE);
    }
    for (gsize i = 0; i < heard[0]->len; i++)
        if (heard[0]->str[i] == '\0')
            heard[0]->str[i] = ' ';
    return g_string_free(heard[0], FALSE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 2 || n_bytes > 4096)
        return 0;
    g_autofree char *raw = g_strndup((const char *)data + 1, n_bytes - 1);
    g_autofree char *text = g_utf8_make_valid(raw, -1);
    const SundogOutputSyntax *syntax = &syntaxes[data[0] % G_N_ELEMENTS(syntaxes)];
    bool whole = data[0] & 0x40;
    g_autofree char *expected = parse(syntax, text, strlen(text), whole);
    const char *cut = g_utf8_offset_to_pointer(text, g_utf8_strlen(text, -1) * (data[1] % 16) / 16);
    g_autofree char *heard = parse(syntax, text, (size_t)(cut - text), whole);
    g_assert_cmpstr(heard, ==, expected);
    return 0;
}
