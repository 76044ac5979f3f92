/*
 * What stands between the words of rendered calls is their syntax: before the name, between name and
 * arguments, behind them, and, of two calls, between the first's end and the second's name, which tells
 * what belongs to each call and what to all of them.
 */

#include "engine/text/output/output-probe.h"

#include "engine/format/json.h"
#include "engine/text/output/output-parser.h"
#include <string.h>

#define MAX_CLOSE_BYTES 100

/* Pieces of text */

static size_t
count_common_prefix(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != '\0' && a[n] == b[n])
        n++;
    return n;
}

static size_t
count_common_suffix(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t n = 0;
    while (n < n_a && n < n_b && a[n_a - 1 - n] == b[n_b - 1 - n])
        n++;
    return n;
}

/* The longest common end of both, from where a mark begins in it. */
static size_t
count_shared_open(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t n = count_common_suffix(a, n_a, b, n_b);
    while (n > 0 && strchr("<[", a[n_a - n]) == NULL)
        n--;
    return n;
}

/* The longest common beginning, up to where a mark ends in it. */
static size_t
count_shared_close(const char *a, const char *b)
{
    size_t n = count_common_prefix(a, b);
    while (n < strlen(a) && n > 0 && strchr(">]}", a[n - 1]) == NULL)
        n--;
    return n;
}

/* Splits what stands before a call and behind it into what is every call's and what is there once.
 * between: from the first call's end to the second's name, or NULL where two are not rendered. */
static void
set_marks(SundogOutputSyntax *syntax, const char *before, size_t n_before, const char *behind,
          const char *between)
{
    size_t n_open = n_before, n_close = strlen(behind);
    if (between != NULL && count_common_suffix(before, n_before, between, strlen(between)) <
                               n_before) /* not all of it is there each time */
        n_open = count_shared_open(before, n_before, between, strlen(between));
    if (between != NULL)
        n_close = count_shared_close(behind, between);
    syntax->section_open = sundog_probe_dup_stripped(before, n_before - n_open);
    syntax->call_open = sundog_probe_dup_stripped(before + n_before - n_open, n_open);
    syntax->call_close = sundog_probe_dup_stripped(behind, n_close);
    syntax->section_close = sundog_probe_dup_stripped(behind + n_close, strlen(behind + n_close));
    /* Whatever is longer goes on about other things. */
    if (strlen(syntax->section_close) > MAX_CLOSE_BYTES)
        syntax->section_close[strcspn(syntax->section_close, "\n")] = '\0';
}

/* Where JSON that begins here ends; NULL where it is none. */
static const char *
find_json_end(const char *text)
{
    unsigned depth = 0;
    bool quoted = false;
    for (; *text != '\0'; text++)
        if (quoted && *text == '\\' && text[1] != '\0')
            text++;
        else if (*text == '"')
            quoted = !quoted;
        else if (!quoted && strchr("{[", *text) != NULL)
            depth++;
        else if (!quoted && strchr("}]", *text) != NULL && (depth == 0 || --depth == 0))
            return text + 1;
    return NULL;
}

/* What a template writes behind calls is behind any answer too, and no part of the syntax. */
static void
cut_end(const SundogProbe *probe, char *text)
{
    if (probe->end != NULL && g_str_has_suffix(text, probe->end))
        text[strlen(text) - strlen(probe->end)] = '\0';
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(probe->tokenizer);
    for (uint32_t i = 0; i < vocabulary->n_ends; i++) {
        const char *spelling = vocabulary->tokens[vocabulary->ends[i]].text;
        char *end = *spelling != '\0' ? strstr(text, spelling) : NULL;
        if (end != NULL)
            *end = '\0';
    }
}

/* The forms */

/* The members of an object that are the name and the arguments. */
static bool
find_keys(SundogOutputSyntax *syntax, const char *text, size_t n_bytes)
{
    g_autoptr(JsonNode) node = sundog_json_parse(text, n_bytes, NULL);
    if (node == NULL || !JSON_NODE_HOLDS_OBJECT(node))
        return false;
    JsonObjectIter iter;
    const char *key;
    JsonNode *member;
    json_object_iter_init(&iter, json_node_get_object(node));
    while (json_object_iter_next(&iter, &key, &member)) {
        if (json_node_get_value_type(member) == G_TYPE_STRING &&
            strcmp(json_node_get_string(member), NAME) == 0)
            syntax->name_key = g_strdup(key);
        if (JSON_NODE_HOLDS_OBJECT(member) &&
            json_object_has_member(json_node_get_object(member), KEY))
            syntax->arguments_key = g_strdup(key);
    }
    return syntax->name_key != NULL && syntax->arguments_key != NULL;
}

/* The innermost brace that opens before a place. */
static const char *
find_brace(const char *text, const char *place)
{
    while (place > text && *place != '{')
        place--;
    return *place == '{' ? place : NULL;
}

static bool
detect_object(SundogOutputSyntax *syntax, const char *one, const char *two)
{
    const char *begin = find_brace(one, strstr(one, NAME));
    const char *end = begin != NULL ? find_json_end(begin) : NULL;
    if (end == NULL || !find_keys(syntax, begin, (size_t)(end - begin)))
        return false;
    const char *first = two != NULL ? find_brace(two, strstr(two, NAME)) : NULL;
    const char *first_end = first != NULL ? find_json_end(first) : NULL;
    const char *second = first_end != NULL ? strstr(first_end, SECOND_NAME) : NULL;
    g_autofree char *between =
        second != NULL ? g_strndup(first_end, (gsize)(find_brace(two, second) - first_end)) : NULL;
    size_t n_before = (size_t)(begin - one);
    set_marks(syntax, one, n_before, end, between);
    /* Brackets and commas are JSON's, and come with any white space. */
    syntax->is_list =
        g_str_has_suffix(syntax->section_open, "[") && g_str_has_prefix(syntax->section_close, "]");
    if (syntax->is_list) {
        syntax->section_open[strlen(syntax->section_open) - 1] = '\0';
        g_strchomp(syntax->section_open);
        memmove(syntax->section_close, syntax->section_close + 1, strlen(syntax->section_close));
        g_strchug(syntax->section_close);
    }
    syntax->form = SUNDOG_CALL_OBJECT;
    return true;
}

/* The name's mark: digits of an index and an identifier are not part of it. */
static void
set_name_close(SundogOutputSyntax *syntax, const char *text, size_t n_bytes)
{
    g_autofree char *mark = g_strndup(text, n_bytes);
    const char *identifier = strstr(mark, IDENTIFIER);
    syntax->has_index = g_str_has_prefix(mark, ":0");
    const char *begin = syntax->has_index ? mark + strlen(":0") : mark;
    if (identifier != NULL) {
        syntax->name_close = sundog_probe_dup_stripped(begin, (size_t)(identifier - begin));
        syntax->extra_close = g_strstrip(g_strdup(identifier + strlen(IDENTIFIER)));
    } else {
        syntax->name_close = g_strstrip(g_strdup(begin));
        syntax->extra_close = g_strdup("");
    }
}

/* Calls that are a JSON list of objects with one member, the name: [{"NAME": {…}}, …] */
static void
set_list_marks(SundogOutputSyntax *syntax, const char *before, size_t n_before, const char *behind)
{
    static const char open[] = "[{\"";
    size_t n_open = strlen(open);
    if (n_before < n_open || memcmp(before + n_before - n_open, open, n_open) != 0 ||
        !g_str_has_prefix(behind, "}]"))
        return;
    g_free(syntax->section_open);
    g_free(syntax->section_close);
    g_free(syntax->call_open);
    g_free(syntax->call_close);
    syntax->section_open = sundog_probe_dup_stripped(before, n_before - n_open);
    syntax->section_close = g_strstrip(g_strdup(behind + strlen("}]")));
    syntax->call_open = g_strdup("{\"");
    syntax->call_close = g_strdup("}");
    syntax->is_list = true;
}

static bool
detect_named(SundogOutputSyntax *syntax, const char *one, const char *two)
{
    const char *name = strstr(one, NAME), *behind_name = name + strlen(NAME);
    const char *arguments = strchr(behind_name, '{');
    const char *end = arguments != NULL ? find_json_end(arguments) : NULL;
    g_autoptr(JsonNode) node =
        end != NULL ? sundog_json_parse(arguments, (size_t)(end - arguments), NULL) : NULL;
    if (node == NULL || !json_object_has_member(json_node_get_object(node), KEY))
        return false;
    const char *first = two != NULL ? strchr(strstr(two, NAME), '{') : NULL;
    const char *first_end = first != NULL ? find_json_end(first) : NULL;
    const char *second = first_end != NULL ? strstr(first_end, SECOND_NAME) : NULL;
    g_autofree char *between =
        second != NULL ? g_strndup(first_end, (gsize)(second - first_end)) : NULL;
    set_marks(syntax, one, (size_t)(name - one), end, between);
    set_list_marks(syntax, one, (size_t)(name - one), end);
    set_name_close(syntax, behind_name, (size_t)(arguments - behind_name));
    syntax->form = SUNDOG_CALL_NAMED;
    return true;
}

static bool
detect_tagged(SundogOutputSyntax *syntax, const char *one, const char *two)
{
    const char *name = strstr(one, NAME), *behind_name = name + strlen(NAME);
    const char *key = strstr(behind_name, KEY), *value = key ? strstr(key, VALUE) : NULL;
    const char *other = value ? strstr(value, OTHER_KEY) : NULL;
    const char *last = other ? strstr(other, OTHER_VALUE) : NULL;
    /* Marks that hold a key's own name cannot be said here. */
    if (last == NULL || g_strstr_len(value, other - value, KEY) != NULL)
        return false;
    const char *behind_value = value + strlen(VALUE), *behind_last = last + strlen(OTHER_VALUE);
    size_t n_head = (size_t)(key - behind_name);
    size_t n_key =
        count_shared_open(behind_name, n_head, behind_value, (size_t)(other - behind_value));
    g_autofree char *gap = g_strndup(behind_value, (gsize)(other - behind_value));
    size_t n_close = count_shared_close(behind_last, gap);
    syntax->name_close = sundog_probe_dup_stripped(behind_name, n_head - n_key);
    syntax->key_open = sundog_probe_dup_stripped(key - n_key, n_key);
    syntax->text_open =
        sundog_probe_dup_stripped(key + strlen(KEY), (size_t)(value - key) - strlen(KEY));
    syntax->value_open = sundog_probe_dup_stripped(other + strlen(OTHER_KEY),
                                                   (size_t)(last - other) - strlen(OTHER_KEY));
    syntax->value_close = sundog_probe_dup_stripped(behind_last, n_close);
    const char *first = two != NULL ? strstr(two, OTHER_VALUE) : NULL;
    const char *second = first != NULL ? strstr(first, SECOND_NAME) : NULL;
    const char *begin = first != NULL ? first + strlen(OTHER_VALUE) + n_close : NULL;
    g_autofree char *between =
        second != NULL && begin <= second ? g_strndup(begin, (gsize)(second - begin)) : NULL;
    set_marks(syntax, one, (size_t)(name - one), behind_last + n_close, between);
    syntax->form = SUNDOG_CALL_TAGGED;
    return *syntax->key_open != '\0' && *syntax->text_open != '\0' && *syntax->value_close != '\0';
}

static bool
detect_pythonic(SundogOutputSyntax *syntax, const char *one)
{
    const char *name = strstr(one, NAME "(" KEY "="), *end = name ? strchr(name, ')') : NULL;
    if (end == NULL || name == one || name[-1] != '[' || end[1] != ']')
        return false;
    syntax->section_open = sundog_probe_dup_stripped(one, (size_t)(name - 1 - one));
    syntax->section_close = g_strstrip(g_strdup(end + 2));
    syntax->call_open = g_strdup("");
    syntax->call_close = g_strdup("");
    syntax->form = SUNDOG_CALL_PYTHONIC;
    return true;
}

static bool
detect_braced(SundogOutputSyntax *syntax, const char *one, const char *two)
{
    const char *name = strstr(one, NAME "{" KEY ":");
    const char *mark = name != NULL ? name + strlen(NAME "{" KEY ":") : NULL;
    const char *value = mark != NULL ? strstr(mark, VALUE) : NULL;
    if (value == NULL || value == mark)
        return false;
    g_autofree char *quote = g_strndup(mark, (gsize)(value - mark));
    g_autofree char *rest = g_strconcat(quote, "," OTHER_KEY ":" OTHER_VALUE "}", NULL);
    if (!g_str_has_prefix(value + strlen(VALUE), rest))
        return false;
    const char *first = two != NULL ? strstr(two, OTHER_VALUE "}") : NULL;
    const char *begin = first != NULL ? first + strlen(OTHER_VALUE "}") : NULL;
    const char *second = begin != NULL ? strstr(begin, SECOND_NAME) : NULL;
    g_autofree char *between = second != NULL ? g_strndup(begin, (gsize)(second - begin)) : NULL;
    set_marks(syntax, one, (size_t)(name - one), value + strlen(VALUE) + strlen(rest), between);
    syntax->text_open = g_steal_pointer(&quote);
    syntax->form = SUNDOG_CALL_BRACED;
    return *syntax->call_open != '\0';
}

static void
clear_calls(SundogOutputSyntax *syntax)
{
    char **const texts[] = {&syntax->section_open, &syntax->section_close, &syntax->call_open,
                            &syntax->call_close,   &syntax->name_key,      &syntax->arguments_key,
                            &syntax->name_close,   &syntax->extra_close,   &syntax->key_open,
                            &syntax->text_open,    &syntax->value_open,    &syntax->value_close};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_clear_pointer(texts[i], g_free);
    syntax->form = SUNDOG_CALL_NONE;
    syntax->is_list = syntax->has_index = syntax->has_cdata = false;
}

/* Behind what begins an answer, which never ends within a mark, and behind reasoning where the template
 * writes any. */
static const char *
skip_begin(const SundogProbe *probe, const SundogOutputSyntax *syntax, const char *text)
{
    size_t n = probe->begin != NULL ? count_common_prefix(text, probe->begin) : 0;
    for (size_t i = n; i > 0 && text[i - 1] != '>'; i--)
        if (text[i - 1] == '<')
            n = i - 1;
    text += n;
    const char *name = strstr(text, NAME);
    const char *close = syntax->reasoning_close != NULL && name != NULL
                            ? g_strstr_len(text, name - text, syntax->reasoning_close)
                            : NULL;
    return close != NULL ? close + strlen(syntax->reasoning_close) : text;
}

/* Whether calls can be told from prose, by marks that are the same each time. */
static bool
is_marked(const SundogOutputSyntax *syntax)
{
    const char *const marks[] = {syntax->section_open, syntax->call_open, syntax->name_close};
    for (size_t i = 0; i < G_N_ELEMENTS(marks); i++)
        if (strstr(marks[i], IDENTIFIER) != NULL || strstr(marks[i], NAME) != NULL)
            return false;
    return *syntax->section_open != '\0' || *syntax->call_open != '\0';
}

/* What a parser hears of the one call. */
typedef struct {
    GString *name;
    GString *arguments;
    unsigned n_calls;
} Heard;

static void
on_call(unsigned index, const char *name, void *data)
{
    Heard *heard = data;
    g_string_assign(heard->name, name);
    heard->n_calls++;
}

static void
on_arguments(unsigned index, const char *text, size_t n_bytes, void *data)
{
    g_string_append_len(((Heard *)data)->arguments, text, (gssize)n_bytes);
}

/* Whether the syntax reads what the template wrote: one that does not is none, whatever stands there. */
static bool
reads_back(const SundogOutputSyntax *syntax, const char *text)
{
    static const SundogOutputCalls calls = {.call = on_call, .arguments = on_arguments};
    g_autoptr(GString) name = g_string_new(NULL);
    g_autoptr(GString) arguments = g_string_new(NULL);
    g_autoptr(JsonNode) tools = sundog_json_parse(TOOLS, strlen(TOOLS), NULL);
    const SundogOutputOptions options = {
        .reasons = true, .takes_calls = true, .tools = json_node_get_array(tools)};
    Heard heard = {name, arguments, 0};
    g_autoptr(SundogOutputParser) parser =
        sundog_output_parser_new(syntax, &options, &calls, &heard);
    sundog_output_parser_feed(parser, text, strlen(text));
    sundog_output_parser_finish(parser, true);
    g_autoptr(JsonNode) got = sundog_json_parse(arguments->str, arguments->len, NULL);
    g_autoptr(JsonNode) wanted = sundog_json_parse(ARGUMENTS, strlen(ARGUMENTS), NULL);
    return heard.n_calls == 1 && strcmp(name->str, NAME) == 0 && got != NULL &&
           json_node_equal(got, wanted);
}

/* Whether texts with marks of their own stand as they are, between two marks for that. */
static bool
writes_cdata(const SundogProbe *probe)
{
    g_autofree char *text = sundog_probe_render(
        probe,
        "{\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"id\": \"" IDENTIFIER
        "\", \"type\": \"function\", \"function\": {\"name\": \"" NAME "\", \"arguments\": {\"" KEY
        "\": \"" VALUE " < \\n&\"}}}]}",
        true);
    return text != NULL && strstr(text, "<![CDATA[" VALUE " < \n&]]>") != NULL;
}

void
sundog_output_detect_calls(SundogOutputSyntax *syntax, SundogProbe *probe)
{
    g_autofree char *one = sundog_probe_find_call(probe);
    if (one == NULL)
        return;
    syntax->text_arguments = probe->text_arguments;
    syntax->null_content = probe->null_content;
    g_autofree char *two = sundog_probe_render_calls(probe, true);
    if (two != NULL && (strstr(two, NAME) == NULL || strstr(two, SECOND_NAME) == NULL))
        g_clear_pointer(&two, g_free);
    const char *begin = skip_begin(probe, syntax, one);
    char *name = strstr(begin, NAME);
    if (name == NULL)
        return;
    cut_end(probe, name);
    if (detect_object(syntax, begin, two) && reads_back(syntax, begin))
        return;
    clear_calls(syntax);
    if (detect_braced(syntax, begin, two) && reads_back(syntax, begin))
        return;
    clear_calls(syntax);
    if ((detect_pythonic(syntax, begin) ||
         (detect_named(syntax, begin, two) && is_marked(syntax))) &&
        reads_back(syntax, begin))
        return;
    clear_calls(syntax);
    if (!detect_tagged(syntax, begin, two) || !is_marked(syntax) || !reads_back(syntax, begin))
        clear_calls(syntax);
    syntax->has_cdata = syntax->form == SUNDOG_CALL_TAGGED && writes_cdata(probe);
}
