/* Calls as Python writes them: name(key='text', other=[1, True]). One is taken when it is whole. */

#include "engine/text/output/output-private.h"

#include "engine/format/json.h"

#include <string.h>

#define MAX_CALL_BYTES 65536

/* Where the parenthesis that opens at `begin` closes; NULL where that has not come. */
static const char *
find_close(const char *begin)
{
    int depth = 0;
    for (const char *c = begin; *c != '\0'; c++) {
        if (*c == '"' || *c == '\'') {
            char quote = *c;
            for (c++; *c != '\0' && *c != quote; c++)
                if (*c == '\\' && c[1] != '\0')
                    c++;
            if (*c == '\0')
                return NULL;
        } else if (strchr("([{", *c) != NULL) {
            depth++;
        } else if (strchr(")]}", *c) != NULL && --depth == 0) {
            return c;
        }
    }
    return NULL;
}

/* The number in so many hexadecimal digits; false where there are not so many. */
static bool
read_hexadecimal(const char *text, size_t n_digits, gunichar *number)
{
    *number = 0;
    for (size_t i = 0; i < n_digits; i++) {
        if (!g_ascii_isxdigit(text[i]))
            return false;
        *number = *number << 4 | (gunichar)g_ascii_xdigit_value(text[i]);
    }
    return true;
}

/* A character by its number: \xNN, \uNNNN (in pairs for those beyond, as JSON has it) or \UNNNNNNNN. Returns
 * how many bytes of text were taken, or 0 where it is none of these. */
static size_t
append_numbered(GString *plain, const char *text)
{
    size_t n_digits = *text == 'x' ? 2 : *text == 'u' ? 4 : *text == 'U' ? 8 : 0;
    gunichar number, second;
    if (n_digits == 0 || !read_hexadecimal(text + 1, n_digits, &number))
        return 0;
    size_t n_taken = n_digits + 1;
    if (number >= 0xD800 && number < 0xDC00 && text[5] == '\\' && text[6] == 'u' &&
        read_hexadecimal(text + 7, 4, &second) && second >= 0xDC00 && second < 0xE000) {
        number = 0x10000 + ((number - 0xD800) << 10) + (second - 0xDC00);
        n_taken += 6;
    }
    g_string_append_unichar(plain, g_unichar_validate(number) && number > 0 ? number : 0xFFFD);
    return n_taken;
}

/* A quoted text as JSON has it; returns what follows it. */
static const char *
append_text(GString *json, const char *text, const char *end)
{
    static const char letters[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    char quote = *text;
    g_autoptr(GString) plain = g_string_new(NULL);
    for (text++; text < end && *text != quote; text++) {
        size_t n_taken = *text == '\\' ? append_numbered(plain, text + 1) : 0;
        if (n_taken > 0) {
            text += n_taken;
            continue;
        }
        if (*text != '\\') {
            g_string_append_c(plain, *text);
            continue;
        }
        const char *known = text[1] != '\0' ? strchr(letters, text[1]) : NULL;
        g_string_append_c(plain, known != NULL ? values[known - letters] : text[1]);
        text++;
    }
    g_autoptr(JsonNode) node = json_node_alloc();
    json_node_init_string(node, plain->str);
    g_autofree char *printed = sundog_json_print(node, false);
    g_string_append(json, printed);
    return text < end ? text + 1 : end;
}

/* Python's literals as JSON: texts in either quote, its three words, the rest as it is. */
static void
append_literal(GString *json, const char *text, const char *end)
{
    static const struct {
        const char *python;
        const char *json;
    } words[] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    while (text < end) {
        size_t i = 0;
        while (i < G_N_ELEMENTS(words) && !g_str_has_prefix(text, words[i].python))
            i++;
        if (*text == '"' || *text == '\'') {
            text = append_text(json, text, end);
        } else if (i < G_N_ELEMENTS(words)) {
            g_string_append(json, words[i].json);
            text += strlen(words[i].python);
        } else {
            g_string_append_c(json, *text++);
        }
    }
}

/* Where the present argument ends: at a comma outside of brackets and quotes, or at `end`. */
static const char *
find_argument_end(const char *text, const char *end)
{
    for (; text < end && *text != ','; text++) {
        if (strchr("([{", *text) != NULL) {
            const char *close = find_close(text);
            text = close != NULL && close < end ? close : text;
        } else if (*text == '"' || *text == '\'') {
            char quote = *text;
            for (text++; text < end && *text != quote; text++)
                text += *text == '\\';
        }
    }
    return MIN(text, end);
}

/* The arguments between two places as a JSON object; NULL where they are none. Owned by the caller. */
static char *
print_arguments(const char *text, const char *end)
{
    g_autoptr(GString) json = g_string_new("{");
    while (text < end) {
        const char *last = find_argument_end(text, end);
        const char *equals = memchr(text, '=', (size_t)(last - text));
        g_autofree char *key =
            g_strstrip(g_strndup(text, (gsize)((equals ? equals : last) - text)));
        if (equals == NULL && *key == '\0' && last == end)
            break;
        if (equals == NULL)
            return NULL;
        g_string_append_printf(json, "%s\"%s\": ", json->len > 1 ? ", " : "", key);
        append_literal(json, equals + 1 + strspn(equals + 1, " "), last);
        text = last + (last < end);
    }
    g_string_append_c(json, '}');
    g_autoptr(JsonNode) node = sundog_json_parse(json->str, json->len, NULL);
    return node != NULL ? sundog_json_print(node, false) : NULL;
}

bool
sundog_output_step_python(SundogOutputParser *parser)
{
    const char *held = parser->held->str;
    size_t n_name = strcspn(held, "( \n\t<");
    if (held[n_name] == '\0' && !parser->is_final)
        return false;
    const char *close = held[n_name] == '(' ? find_close(held + n_name) : NULL;
    if (held[n_name] == '(' && close == NULL && parser->held->len < MAX_CALL_BYTES)
        return false;
    g_autofree char *name = g_strndup(held, n_name);
    g_autofree char *arguments = close != NULL ? print_arguments(held + n_name + 1, close) : NULL;
    if (arguments == NULL)
        sundog_output_revert(parser);
    else
        sundog_output_take_call(parser, (size_t)(close + 1 - held), name, arguments);
    return true;
}
