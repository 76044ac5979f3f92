/* Calls as JSON objects: arguments are given on as they come, as soon as the name is known. */

#include "engine/text/output/output-private.h"

#include "engine/format/json.h"

#include <string.h>

/* More than this before a name is no call. */
#define MAX_MEMBER_BYTES 65536

/* Goes on through JSON by one byte; true where a value ends with it, or, where `is_end`, before it. */
static bool
scan_byte(SundogJsonScan *scan, char byte, bool *is_end)
{
    *is_end = false;
    if (scan->quoted) {
        if (scan->escaped)
            scan->escaped = false;
        else if (byte == '\\')
            scan->escaped = true;
        else if (byte == '"')
            scan->quoted = false;
        return !scan->quoted && scan->depth == 0;
    }
    if (scan->depth == 0 && scan->begun && strchr(",}] \t\r\n", byte) != NULL) {
        *is_end = true;
        return true;
    }
    scan->begun = true;
    if (byte == '"')
        scan->quoted = true;
    else if (byte == '{' || byte == '[')
        scan->depth++;
    else if (byte == '}' || byte == ']')
        return scan->depth > 0 && --scan->depth == 0;
    return false;
}

bool
sundog_output_stream_json(SundogOutputParser *parser, GString *instead)
{
    size_t n = 0;
    bool ended = false, is_before = false;
    while (n < parser->held->len && !ended) {
        ended = scan_byte(&parser->scan, parser->held->str[n], &is_before);
        n += !is_before;
    }
    g_autofree char *text = g_strndup(parser->held->str, n);
    sundog_output_take(parser, n);
    if (instead != NULL)
        g_string_append_len(instead, text, (gssize)n);
    else
        sundog_output_give_arguments(parser, text, n);
    return ended;
}

/* JSON's text of a string, decoded; owned by the caller, NULL where it is none. */
static char *
decode(const char *text, size_t n_bytes)
{
    g_autoptr(JsonNode) node = sundog_json_parse(text, n_bytes, NULL);
    return node != NULL && json_node_get_value_type(node) == G_TYPE_STRING
               ? json_node_dup_string(node)
               : NULL;
}

/* `value` holds a key and, behind a zero byte, what its value has been so far. */
static const char *
get_key(const SundogOutputParser *parser)
{
    return parser->value->str;
}

static bool
is_arguments(const SundogOutputParser *parser, const char *key)
{
    return strcmp(key, parser->syntax->arguments_key) == 0 || strcmp(key, "arguments") == 0 ||
           strcmp(key, "parameters") == 0;
}

/* Arguments that came before the name, or as a text of JSON. */
static void
give_kept(SundogOutputParser *parser, const char *text, size_t n_bytes)
{
    g_autofree char *plain = decode(text, n_bytes);
    sundog_output_give_arguments(parser, plain != NULL ? plain : text,
                                 plain != NULL ? strlen(plain) : n_bytes);
}

static bool
end_object(SundogOutputParser *parser)
{
    sundog_output_take(parser, 1);
    if (parser->name == NULL) {
        sundog_output_revert(parser);
        return true;
    }
    if (!parser->had_arguments)
        sundog_output_give_arguments(parser, "{}", 2);
    parser->state = SUNDOG_OUTPUT_CALL_END;
    return true;
}

/* Between members: the opening brace, a comma, a key with its colon, or the end. */
static bool
step_between(SundogOutputParser *parser)
{
    sundog_output_skip_space(parser, "");
    const char *held = parser->held->str;
    if (*held == '\0')
        return false;
    if (!parser->had_member && parser->scan.depth == 0 && *held == '{') {
        sundog_output_take(parser, 1);
        parser->scan.depth = 1; /* inside */
        return true;
    }
    if (parser->scan.depth == 1 && *held == '}')
        return end_object(parser);
    if (parser->had_member && *held == ',') {
        sundog_output_take(parser, 1);
        return true;
    }
    if (parser->scan.depth != 1 || *held != '"') {
        if (parser->name == NULL)
            sundog_output_revert(parser);
        else
            parser->state = SUNDOG_OUTPUT_CALL_END;
        return true;
    }
    const char *end = held + 1;
    while (*end != '\0' && *end != '"')
        end += *end == '\\' && end[1] != '\0' ? 2 : 1;
    const char *colon = *end == '"' ? end + 1 + strspn(end + 1, " \t\r\n") : "";
    if (*colon == '\0')
        return false;
    g_autofree char *key = decode(held, (size_t)(end + 1 - held));
    g_string_assign(parser->value, key != NULL ? key : "");
    g_string_append_c(parser->value, '\0');
    sundog_output_take(parser, (size_t)(colon - held) + (*colon == ':'));
    parser->had_member = true;
    parser->scan = (SundogJsonScan){0};
    parser->state = SUNDOG_OUTPUT_MEMBER;
    return true;
}

/* A member's value is over: what it means. */
static bool
end_member(SundogOutputParser *parser)
{
    size_t n_key = strlen(get_key(parser)) + 1;
    const char *text = parser->value->str + n_key;
    size_t n = parser->value->len - n_key;
    parser->state = SUNDOG_OUTPUT_OBJECT;
    parser->scan = (SundogJsonScan){.depth = 1};
    if (strcmp(get_key(parser), parser->syntax->name_key) == 0 && parser->name == NULL) {
        g_autofree char *name = decode(text, n);
        if (name == NULL || *name == '\0' ||
            (parser->is_bare && !sundog_output_is_tool(parser, name))) {
            sundog_output_revert(parser);
            return true;
        }
        sundog_output_begin_call(parser, name);
        give_kept(parser, parser->early->str, parser->early->len);
    } else if (n > 0 && is_arguments(parser, get_key(parser))) {
        if (parser->name != NULL)
            give_kept(parser, text, n);
        else
            g_string_append_len(parser->early, text, (gssize)n);
    }
    return true;
}

static bool
step_member(SundogOutputParser *parser)
{
    if (!parser->scan.begun) {
        sundog_output_skip_space(parser, "");
        if (parser->held->len == 0)
            return false;
    }
    bool streams = parser->name != NULL && is_arguments(parser, get_key(parser)) &&
                   (parser->scan.begun ? parser->value->len == strlen(get_key(parser)) + 1
                                       : parser->held->str[0] == '{');
    if (!sundog_output_stream_json(parser, streams ? NULL : parser->value)) {
        if (parser->name == NULL && parser->raw->len > MAX_MEMBER_BYTES)
            sundog_output_revert(parser);
        return parser->state != SUNDOG_OUTPUT_MEMBER;
    }
    return end_member(parser);
}

bool
sundog_output_step_object(SundogOutputParser *parser)
{
    return parser->state == SUNDOG_OUTPUT_MEMBER ? step_member(parser) : step_between(parser);
}
