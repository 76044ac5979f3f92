/* Calls as members in braces with bare keys, name{key:value,…}, where texts stand between marks of their
 * own. One is taken when it is whole. */

#include "engine/text/output/output-private.h"

#include "engine/format/json.h"

#include <string.h>

#define MAX_CALL_BYTES 65536

/* What follows a text that begins here, between the marks or as JSON has it; NULL where its end has not
 * come. `text` itself where none begins. */
static const char *
skip_text(const char *text, const char *mark)
{
    if (g_str_has_prefix(text, mark)) {
        const char *close = strstr(text + strlen(mark), mark);
        return close != NULL ? close + strlen(mark) : NULL;
    }
    if (*text != '"')
        return text;
    for (text++; *text != '\0' && *text != '"'; text++)
        text += *text == '\\' && text[1] != '\0';
    return *text == '"' ? text + 1 : NULL;
}

/* Where the brace that opens at `begin` closes; NULL where that has not come. */
static const char *
find_close(const char *begin, const char *mark)
{
    int depth = 0;
    for (const char *c = begin; c != NULL && *c != '\0';) {
        const char *behind = skip_text(c, mark);
        if (behind != c) {
            c = behind;
            continue;
        }
        if (strchr("{[", *c) != NULL)
            depth++;
        else if (strchr("}]", *c) != NULL && --depth == 0)
            return c;
        c++;
    }
    return NULL;
}

static void
append_string(GString *json, const char *text, size_t n_bytes)
{
    g_autofree char *plain = g_strndup(text, n_bytes);
    g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), plain);
    g_autofree char *printed = sundog_json_print(node, false);
    g_string_append(json, printed);
}

/* A text's JSON; `behind` it goes on. */
static void
append_text(GString *json, const char *text, const char *behind, const char *mark)
{
    size_t n_mark = g_str_has_prefix(text, mark) ? strlen(mark) : 0;
    if (n_mark > 0)
        append_string(json, text + n_mark, (size_t)(behind - text) - 2 * n_mark);
    else
        g_string_append_len(json, text, behind - text);
}

/* A bracket, comma, colon or a byte of a number or word; whether a key is expected behind it. */
static bool
append_byte(GString *json, char byte, GString *containers)
{
    g_string_append_c(json, byte);
    if (byte == '{' || byte == '[')
        g_string_append_c(containers, byte);
    else if ((byte == '}' || byte == ']') && containers->len > 0)
        g_string_truncate(containers, containers->len - 1);
    bool in_object = containers->len > 0 && containers->str[containers->len - 1] == '{';
    return byte == '{' || (byte == ',' && in_object);
}

/* The arguments from brace to brace as a JSON object; NULL where they are none. Owned by the caller. A
 * key that holds quotes opens texts that end nowhere. */
static char *
print_arguments(const char *braces, const char *mark)
{
    g_autoptr(GString) json = g_string_new(NULL);
    g_autoptr(GString) containers = g_string_new(NULL);
    bool expects_key = false;
    for (const char *text = braces; *text != '\0';) {
        const char *behind = skip_text(text, mark);
        if (behind == NULL)
            return NULL;
        if (behind != text) {
            append_text(json, text, behind, mark);
            text = behind;
            expects_key = false;
        } else if (expects_key && !g_ascii_isspace(*text) && *text != '}') {
            size_t n_key = strcspn(text, ":,{}[]");
            g_autofree char *key = g_strchomp(g_strndup(text, n_key));
            append_string(json, key, strlen(key));
            text += n_key;
            expects_key = false;
        } else {
            bool is_space = g_ascii_isspace(*text);
            bool follows_key = append_byte(json, *text++, containers);
            expects_key = is_space ? expects_key : follows_key;
        }
    }
    g_autoptr(JsonNode) node = sundog_json_parse(json->str, json->len, NULL);
    return node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? sundog_json_print(node, false) : NULL;
}

bool
sundog_output_step_braced(SundogOutputParser *parser)
{
    const char *held = parser->held->str, *mark = parser->syntax->text_open;
    size_t n_name = strcspn(held, "{ \n\t<");
    if (held[n_name] == '\0' && !parser->is_final)
        return false;
    const char *close = held[n_name] == '{' ? find_close(held + n_name, mark) : NULL;
    if (held[n_name] == '{' && close == NULL && parser->held->len < MAX_CALL_BYTES)
        return false;
    g_autofree char *name = g_strndup(held, n_name);
    g_autofree char *braces =
        close != NULL ? g_strndup(held + n_name, (size_t)(close + 1 - held) - n_name) : NULL;
    g_autofree char *arguments = braces != NULL ? print_arguments(braces, mark) : NULL;
    if (arguments == NULL)
        sundog_output_revert(parser);
    else
        sundog_output_take_call(parser, (size_t)(close + 1 - held), name, arguments);
    return true;
}
