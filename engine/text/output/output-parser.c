/* Content, reasoning, and the marks between them; calls by their forms in the other files. */

#include "engine/text/output/output-private.h"

#include <string.h>

#define MAX_NAME_BYTES 256

SundogOutputParser *
sundog_output_parser_new(const SundogOutputSyntax *syntax, const SundogOutputOptions *options,
                         const SundogOutputCalls *calls, void *data)
{
    SundogOutputParser *parser = g_new0(SundogOutputParser, 1);
    parser->syntax = syntax;
    parser->options = *options;
    if (parser->options.tools != NULL)
        json_array_ref(parser->options.tools);
    parser->calls = *calls;
    parser->data = data;
    parser->held = g_string_new(NULL);
    parser->raw = g_string_new(NULL);
    parser->value = g_string_new(NULL);
    parser->early = g_string_new(NULL);
    parser->begins = true;
    if (syntax->form == SUNDOG_CALL_HARMONY)
        parser->state = SUNDOG_OUTPUT_HEADER;
    else if (options->begins_reasoning && options->reasons)
        parser->state = SUNDOG_OUTPUT_REASONING;
    parser->trims = parser->state == SUNDOG_OUTPUT_REASONING;
    return parser;
}

void
sundog_output_parser_free(SundogOutputParser *parser)
{
    if (parser == NULL)
        return;
    g_clear_pointer(&parser->options.tools, json_array_unref);
    g_string_free(parser->held, TRUE);
    g_string_free(parser->raw, TRUE);
    g_string_free(parser->value, TRUE);
    g_string_free(parser->early, TRUE);
    g_free(parser->name);
    g_free(parser);
}

unsigned
sundog_output_parser_get_n_calls(const SundogOutputParser *parser)
{
    return parser->n_calls;
}

bool
sundog_output_syntax_begins_reasoning(const SundogOutputSyntax *syntax, const char *prompt)
{
    const char *open =
        syntax->reasoning_open != NULL ? g_strrstr(prompt, syntax->reasoning_open) : NULL;
    return open != NULL && strstr(open, syntax->reasoning_close) == NULL &&
           strspn(open + strlen(syntax->reasoning_open), " \n") ==
               strlen(open + strlen(syntax->reasoning_open));
}

/* Marks in what is held */

bool
sundog_output_starts_with(const SundogOutputParser *parser, const char *mark)
{
    return *mark != '\0' && g_str_has_prefix(parser->held->str, mark);
}

bool
sundog_output_may_start_with(const SundogOutputParser *parser, const char *mark)
{
    return *mark != '\0' && !parser->is_final && parser->held->len < strlen(mark) &&
           strncmp(mark, parser->held->str, parser->held->len) == 0;
}

gssize
sundog_output_find(const SundogOutputParser *parser, const char *mark)
{
    const char *found = mark != NULL && *mark != '\0' ? strstr(parser->held->str, mark) : NULL;
    return found != NULL ? found - parser->held->str : -1;
}

bool
sundog_output_find_first(const SundogOutputParser *parser, const char *const *marks, size_t n_marks,
                         size_t *which, size_t *first)
{
    *which = n_marks;
    for (size_t i = 0; i < n_marks; i++) {
        gssize at = sundog_output_find(parser, marks[i]);
        if (at >= 0 && (*which == n_marks || (size_t)at < *first)) {
            *first = (size_t)at;
            *which = i;
        }
    }
    for (size_t i = 0; i < n_marks && *which < n_marks && !parser->is_final; i++) {
        size_t n_partial = sundog_output_count_partial(parser, marks[i]);
        size_t begin = parser->held->len - n_partial;
        if (n_partial > 0 && (begin < *first || (begin == *first && i < *which)))
            return false;
    }
    return true;
}

size_t
sundog_output_count_partial(const SundogOutputParser *parser, const char *mark)
{
    size_t n = mark != NULL && *mark != '\0' ? MIN(strlen(mark) - 1, parser->held->len) : 0;
    if (parser->is_final)
        return 0;
    while (n > 0 && strncmp(mark, parser->held->str + parser->held->len - n, n) != 0)
        n--;
    return n;
}

void
sundog_output_take(SundogOutputParser *parser, size_t n_bytes)
{
    bool in_call = parser->state >= SUNDOG_OUTPUT_SECTION && parser->name == NULL &&
                   parser->state != SUNDOG_OUTPUT_HEADER;
    if (in_call)
        g_string_append_len(parser->raw, parser->held->str, (gssize)n_bytes);
    g_string_erase(parser->held, 0, (gssize)n_bytes);
}

void
sundog_output_skip_space(SundogOutputParser *parser, const char *more)
{
    size_t n = 0;
    while (n < parser->held->len &&
           (g_ascii_isspace(parser->held->str[n]) || strchr(more, parser->held->str[n]) != NULL))
        n++;
    if (n > 0)
        sundog_output_take(parser, n);
}

/* Content and reasoning */

static void
give(SundogOutputParser *parser, const char *text, size_t n_bytes)
{
    bool reasons = parser->state == SUNDOG_OUTPUT_REASONING;
    while (parser->trims && n_bytes > 0 && g_ascii_isspace(*text)) {
        text++;
        n_bytes--;
    }
    if (n_bytes == 0)
        return;
    parser->trims = false;
    if (reasons && parser->calls.reasoning != NULL)
        parser->calls.reasoning(text, n_bytes, parser->data);
    else if (!reasons && parser->calls.content != NULL)
        parser->calls.content(text, n_bytes, parser->data);
}

static size_t
count_before_space(const char *text, size_t n_bytes)
{
    while (n_bytes > 0 && g_ascii_isspace(text[n_bytes - 1]))
        n_bytes--;
    return n_bytes;
}

/* Gives what stands before a mark, without white space at its end, and takes both. */
static void
give_until(SundogOutputParser *parser, size_t n_bytes, const char *mark)
{
    give(parser, parser->held->str, count_before_space(parser->held->str, n_bytes));
    g_string_erase(parser->held, 0, (gssize)(n_bytes + strlen(mark)));
    parser->begins = false;
}

/* Gives all that can be no beginning of one of the marks, nor white space before it. */
static bool
give_settled(SundogOutputParser *parser, const char *const *marks, size_t n_marks)
{
    size_t n_held = 0;
    for (size_t i = 0; i < n_marks; i++)
        n_held = MAX(n_held, sundog_output_count_partial(parser, marks[i]));
    size_t n = parser->held->len - n_held;
    if (!parser->is_final)
        n = count_before_space(parser->held->str, n);
    give(parser, parser->held->str, n);
    for (size_t i = 0; i < n && parser->begins; i++)
        parser->begins = g_ascii_isspace(parser->held->str[i]);
    g_string_erase(parser->held, 0, (gssize)n);
    return false;
}

/* raw: what was taken so far, which is content if no call comes. */
static void
begin_section(SundogOutputParser *parser, const char *raw)
{
    parser->state = SUNDOG_OUTPUT_SECTION;
    parser->n_in_section = 0;
    g_string_assign(parser->raw, raw);
}

/* An object without any mark, which only an answer's beginning can be. */
static bool
is_bare_form(const SundogOutputParser *parser)
{
    const SundogOutputSyntax *syntax = parser->syntax;
    return parser->options.takes_calls && syntax->form == SUNDOG_CALL_OBJECT &&
           *syntax->section_open == '\0' && *syntax->call_open == '\0';
}

static bool
step_bare(SundogOutputParser *parser)
{
    size_t n = strspn(parser->held->str, " \t\r\n");
    if (n == parser->held->len || parser->held->str[n] != '{')
        return false;
    begin_section(parser, "");
    sundog_output_take(parser, n);
    parser->is_bare = true;
    sundog_output_open_call(parser);
    return true;
}

static bool
step_content(SundogOutputParser *parser)
{
    const SundogOutputSyntax *syntax = parser->syntax;
    bool calls = parser->options.takes_calls && syntax->form != SUNDOG_CALL_NONE;
    const char *marks[] = {parser->options.reasons ? syntax->reasoning_open : NULL,
                           parser->options.reasons ? syntax->reasoning_close : NULL,
                           calls ? syntax->section_open : NULL, calls ? syntax->call_open : NULL};
    size_t which, first;
    if (parser->begins && is_bare_form(parser)) {
        if (step_bare(parser))
            return true;
        if (!parser->is_final && strspn(parser->held->str, " \t\r\n") == parser->held->len)
            return false;
    }
    bool is_settled = sundog_output_find_first(parser, marks, G_N_ELEMENTS(marks), &which, &first);
    if (!is_settled || which == G_N_ELEMENTS(marks))
        return give_settled(parser, marks, G_N_ELEMENTS(marks));
    size_t n_text = count_before_space(parser->held->str, first);
    g_autofree char *raw =
        g_strndup(parser->held->str + n_text, first - n_text + strlen(marks[which]));
    give_until(parser, first, marks[which]);
    parser->trims = true;
    if (which == 0) {
        parser->state = SUNDOG_OUTPUT_REASONING;
    } else if (which >= 2) {
        begin_section(parser, raw);
        if (which == 3)
            sundog_output_open_call(parser);
    }
    return true;
}

static bool
step_reasoning(SundogOutputParser *parser)
{
    const char *marks[] = {parser->syntax->reasoning_close};
    if (parser->syntax->form == SUNDOG_CALL_HARMONY)
        marks[0] = "<|end|>";
    gssize at = sundog_output_find(parser, marks[0]);
    if (at < 0)
        return give_settled(parser, marks, 1);
    give_until(parser, (size_t)at, marks[0]);
    parser->state =
        parser->syntax->form == SUNDOG_CALL_HARMONY ? SUNDOG_OUTPUT_HEADER : SUNDOG_OUTPUT_CONTENT;
    parser->trims = true;
    return true;
}

/* Calls */

static void
end_section(SundogOutputParser *parser)
{
    parser->state = SUNDOG_OUTPUT_CONTENT;
    parser->trims = true;
    parser->begins = false;
    parser->is_bare = false;
    g_string_truncate(parser->raw, 0);
}

void
sundog_output_revert(SundogOutputParser *parser)
{
    g_autofree char *text = g_strdup(parser->raw->str);
    size_t n = parser->raw->len;
    end_section(parser);
    parser->trims = false;
    give(parser, text, n);
}

bool
sundog_output_is_tool(const SundogOutputParser *parser, const char *name)
{
    JsonArray *tools = parser->options.tools;
    for (guint i = 0; tools != NULL && i < json_array_get_length(tools); i++) {
        JsonNode *node = json_array_get_element(tools, i);
        JsonObject *tool = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
        JsonNode *function = tool != NULL ? json_object_get_member(tool, "function") : NULL;
        if (function == NULL || !JSON_NODE_HOLDS_OBJECT(function))
            continue;
        JsonNode *known = json_object_get_member(json_node_get_object(function), "name");
        if (known != NULL && g_strcmp0(json_node_get_string(known), name) == 0)
            return true;
    }
    return false;
}

void
sundog_output_begin_call(SundogOutputParser *parser, const char *name)
{
    g_free(parser->name);
    parser->name = g_strdup(name);
    parser->had_arguments = false;
    parser->n_in_section++;
    g_string_truncate(parser->raw, 0);
    if (parser->calls.call != NULL)
        parser->calls.call(parser->n_calls, name, parser->data);
    parser->n_calls++;
}

void
sundog_output_give_arguments(SundogOutputParser *parser, const char *text, size_t n_bytes)
{
    if (n_bytes == 0)
        return;
    parser->had_arguments = true;
    if (parser->calls.arguments != NULL)
        parser->calls.arguments(parser->n_calls - 1, text, n_bytes, parser->data);
}

void
sundog_output_take_call(SundogOutputParser *parser, size_t n_bytes, const char *name,
                        const char *arguments)
{
    sundog_output_take(parser, n_bytes);
    sundog_output_begin_call(parser, name);
    sundog_output_give_arguments(parser, arguments, strlen(arguments));
    parser->state = SUNDOG_OUTPUT_CALL_END;
}

void
sundog_output_open_call(SundogOutputParser *parser)
{
    g_clear_pointer(&parser->name, g_free);
    parser->scan = (SundogJsonScan){0};
    parser->had_member = parser->had_arguments = false;
    g_string_truncate(parser->value, 0);
    g_string_truncate(parser->early, 0);
    parser->state = parser->syntax->form == SUNDOG_CALL_OBJECT     ? SUNDOG_OUTPUT_OBJECT
                    : parser->syntax->form == SUNDOG_CALL_PYTHONIC ? SUNDOG_OUTPUT_PYTHON
                    : parser->syntax->form == SUNDOG_CALL_BRACED   ? SUNDOG_OUTPUT_BRACED
                                                                   : SUNDOG_OUTPUT_NAME;
}

/* Whether a call without an opening mark of its own begins here. */
static bool
begins_call(const SundogOutputParser *parser)
{
    char first = parser->held->str[0];
    if (*parser->syntax->call_open != '\0')
        return false;
    return parser->syntax->form == SUNDOG_CALL_OBJECT ? first == '{'
                                                      : g_ascii_isalpha(first) || first == '_';
}

static bool
step_section(SundogOutputParser *parser)
{
    const SundogOutputSyntax *syntax = parser->syntax;
    bool is_list = syntax->is_list || syntax->form == SUNDOG_CALL_PYTHONIC;
    const char *marks[] = {syntax->section_open, syntax->call_open, syntax->section_close};
    sundog_output_skip_space(parser, is_list ? "[]," : parser->is_bare ? ";," : "");
    if (parser->held->len == 0)
        return false;
    if (begins_call(parser)) {
        sundog_output_open_call(parser);
        return true;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(marks); i++) {
        if (sundog_output_may_start_with(parser, marks[i]))
            return false;
        if (!sundog_output_starts_with(parser, marks[i]))
            continue;
        sundog_output_take(parser, strlen(marks[i]));
        if (i == 1)
            sundog_output_open_call(parser);
        else if (i == 2 && parser->n_in_section > 0)
            end_section(parser);
        return true;
    }
    if (parser->n_in_section == 0)
        sundog_output_revert(parser);
    else
        end_section(parser);
    return true;
}

static bool
is_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (!g_ascii_isalnum(*c) && strchr("_-.:/", *c) == NULL)
            return false;
    return *name != '\0';
}

/* Without the number that some write behind it. */
static void
cut_index(char *name)
{
    char *colon = strrchr(name, ':');
    if (colon != NULL && colon[1] != '\0' && strspn(colon + 1, "0123456789") == strlen(colon + 1))
        *colon = '\0';
}

static bool
step_name(SundogOutputParser *parser)
{
    const SundogOutputSyntax *syntax = parser->syntax;
    bool tagged = syntax->form == SUNDOG_CALL_TAGGED;
    const char *marks[] = {syntax->name_close, tagged ? syntax->key_open : NULL,
                           tagged ? syntax->call_close : NULL};
    size_t which, end = 0;
    if (!sundog_output_find_first(parser, marks, G_N_ELEMENTS(marks), &which, &end))
        return false;
    if (which == G_N_ELEMENTS(marks)) {
        if (!parser->is_final && parser->held->len <= MAX_NAME_BYTES)
            return false;
        sundog_output_revert(parser);
        return true;
    }
    g_autofree char *name = g_strstrip(g_strndup(parser->held->str, end));
    if (syntax->has_index)
        cut_index(name);
    if (!is_name(name)) {
        sundog_output_revert(parser);
        return true;
    }
    sundog_output_take(parser, end + (which == 0 ? strlen(marks[0]) : 0));
    sundog_output_begin_call(parser, name);
    parser->state = tagged                         ? SUNDOG_OUTPUT_KEYS
                    : *syntax->extra_close != '\0' ? SUNDOG_OUTPUT_EXTRA
                                                   : SUNDOG_OUTPUT_JSON;
    return true;
}

static bool
step_extra(SundogOutputParser *parser)
{
    gssize at = sundog_output_find(parser, parser->syntax->extra_close);
    if (at < 0)
        return false;
    sundog_output_take(parser, (size_t)at + strlen(parser->syntax->extra_close));
    parser->state = SUNDOG_OUTPUT_JSON;
    return true;
}

static bool
step_json(SundogOutputParser *parser)
{
    if (!parser->scan.begun) {
        sundog_output_skip_space(parser, "");
        if (parser->held->len == 0)
            return false;
        if (parser->held->str[0] != '{') { /* a call without arguments */
            sundog_output_give_arguments(parser, "{}", 2);
            parser->state = SUNDOG_OUTPUT_CALL_END;
            return true;
        }
    }
    if (!sundog_output_stream_json(parser, NULL))
        return false;
    parser->state = SUNDOG_OUTPUT_CALL_END;
    return true;
}

static bool
step_call_end(SundogOutputParser *parser)
{
    const char *close = parser->syntax->call_close;
    if (parser->syntax->form == SUNDOG_CALL_HARMONY) {
        parser->state = SUNDOG_OUTPUT_HEADER;
        return true;
    }
    sundog_output_skip_space(parser, "");
    if (sundog_output_starts_with(parser, close))
        sundog_output_take(parser, strlen(close));
    else if (parser->held->len == 0 || sundog_output_may_start_with(parser, close))
        return false;
    g_clear_pointer(&parser->name, g_free);
    parser->state = SUNDOG_OUTPUT_SECTION;
    return true;
}

/* Harmony: <|channel|>NAME … to=functions.NAME …<|message|>BODY<|end|>, where the header's words come in
 * any order. */
static bool
step_header(SundogOutputParser *parser)
{
    static const char to[] = "to=functions.";
    gssize at = sundog_output_find(parser, "<|message|>");
    if (at < 0)
        return false;
    g_autofree char *header = g_strndup(parser->held->str, (gsize)at);
    g_string_erase(parser->held, 0, at + (gssize)strlen("<|message|>"));
    const char *recipient = strstr(header, to);
    bool analyses = strstr(header, "<|channel|>analysis") != NULL;
    parser->trims = true;
    if (recipient != NULL && parser->options.takes_calls) {
        const char *begin = recipient + strlen(to);
        g_autofree char *name = g_strndup(begin, strcspn(begin, " <\n"));
        parser->scan = (SundogJsonScan){0};
        sundog_output_begin_call(parser, name);
        parser->state = SUNDOG_OUTPUT_JSON;
    } else {
        parser->state = analyses ? SUNDOG_OUTPUT_REASONING : SUNDOG_OUTPUT_CONTENT;
    }
    return true;
}

static bool
step_harmony_content(SundogOutputParser *parser)
{
    const char *const marks[] = {"<|end|>"};
    gssize at = sundog_output_find(parser, marks[0]);
    if (at < 0)
        return give_settled(parser, marks, 1);
    give_until(parser, (size_t)at, marks[0]);
    parser->state = SUNDOG_OUTPUT_HEADER;
    return true;
}

static bool
step(SundogOutputParser *parser)
{
    switch (parser->state) {
    case SUNDOG_OUTPUT_CONTENT:
        return parser->syntax->form == SUNDOG_CALL_HARMONY ? step_harmony_content(parser)
                                                           : step_content(parser);
    case SUNDOG_OUTPUT_REASONING:
        return step_reasoning(parser);
    case SUNDOG_OUTPUT_SECTION:
        return step_section(parser);
    case SUNDOG_OUTPUT_NAME:
        return step_name(parser);
    case SUNDOG_OUTPUT_EXTRA:
        return step_extra(parser);
    case SUNDOG_OUTPUT_JSON:
        return step_json(parser);
    case SUNDOG_OUTPUT_OBJECT:
    case SUNDOG_OUTPUT_MEMBER:
        return sundog_output_step_object(parser);
    case SUNDOG_OUTPUT_KEYS:
    case SUNDOG_OUTPUT_KEY:
    case SUNDOG_OUTPUT_TEXT_VALUE:
    case SUNDOG_OUTPUT_VALUE:
        return sundog_output_step_tagged(parser);
    case SUNDOG_OUTPUT_PYTHON:
        return sundog_output_step_python(parser);
    case SUNDOG_OUTPUT_BRACED:
        return sundog_output_step_braced(parser);
    case SUNDOG_OUTPUT_CALL_END:
        return step_call_end(parser);
    case SUNDOG_OUTPUT_HEADER:
        return step_header(parser);
    }
    return false;
}

void
sundog_output_parser_feed(SundogOutputParser *parser, const char *text, size_t n_bytes)
{
    g_string_append_len(parser->held, text, (gssize)n_bytes);
    while (parser->held->len > 0 && step(parser))
        continue;
}

void
sundog_output_parser_finish(SundogOutputParser *parser, bool whole)
{
    parser->is_final = true;
    while (parser->held->len > 0 && step(parser))
        continue;
    bool is_open = parser->state >= SUNDOG_OUTPUT_SECTION && parser->name == NULL &&
                   parser->state != SUNDOG_OUTPUT_HEADER &&
                   !(parser->state == SUNDOG_OUTPUT_SECTION && parser->n_in_section > 0);
    if (is_open && whole) {
        g_string_append_len(parser->raw, parser->held->str, (gssize)parser->held->len);
        g_string_truncate(parser->held, 0);
        sundog_output_revert(parser);
    }
}
