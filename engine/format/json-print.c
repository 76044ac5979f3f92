/*
 * Printing JSON. json-glib's own generator writes 1e+20 as "1e+20.0", which no parser takes (its
 * version 1.6 adds ".0" wherever it sees no point), and NaN as it is; so the printing is done here.
 */

#include "engine/format/json.h"

#include <math.h>
#include <string.h>

#define INDENT "  "

typedef struct {
    GString *text;
    bool pretty;
    unsigned depth;
} Printer;

static void print_node(Printer *printer, JsonNode *node);

static void
new_line(Printer *printer)
{
    if (!printer->pretty)
        return;
    g_string_append_c(printer->text, '\n');
    for (unsigned i = 0; i < printer->depth; i++)
        g_string_append(printer->text, INDENT);
}

static void
print_char(GString *text, char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *found = c != '\0' ? strchr(plain, c) : NULL;
    if (found != NULL)
        g_string_append_printf(text, "\\%c", letters[found - plain]);
    else if ((unsigned char)c < 0x20)
        g_string_append_printf(text, "\\u%04x", (unsigned)c);
    else
        g_string_append_c(text, c);
}

static void
print_string(Printer *printer, const char *string)
{
    g_autofree char *valid =
        g_utf8_validate(string, -1, NULL) ? NULL : g_utf8_make_valid(string, -1);
    g_string_append_c(printer->text, '"');
    for (const char *c = valid != NULL ? valid : string; *c != '\0'; c++)
        print_char(printer->text, *c);
    g_string_append_c(printer->text, '"');
}

/* The shortest of a double's usual spellings that reads back as the same number, and as a double. */
static void
print_double(Printer *printer, double value)
{
    static const char *const formats[] = {"%.15g", "%.16g", "%.17g"};
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    if (!isfinite(value)) {
        g_string_append(printer->text, "null");
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_ascii_formatd(number, sizeof number, formats[i], value);
        if (g_ascii_strtod(number, NULL) == value)
            break;
    }
    g_string_append(printer->text, number);
    if (strpbrk(number, ".e") == NULL)
        g_string_append(printer->text, ".0");
}

static void
print_value(Printer *printer, JsonNode *node)
{
    switch (json_node_get_value_type(node)) {
    case G_TYPE_STRING:
        print_string(printer, json_node_get_string(node));
        break;
    case G_TYPE_BOOLEAN:
        g_string_append(printer->text, json_node_get_boolean(node) ? "true" : "false");
        break;
    case G_TYPE_DOUBLE:
        print_double(printer, json_node_get_double(node));
        break;
    default:
        g_string_append_printf(printer->text, "%" G_GINT64_FORMAT, json_node_get_int(node));
        break;
    }
}

/* Before an element: what divides it from the one before. */
static void
begin_element(Printer *printer, bool is_first)
{
    if (!is_first)
        g_string_append_c(printer->text, ',');
    new_line(printer);
}

static void
print_array(Printer *printer, JsonArray *array)
{
    guint n = json_array_get_length(array);
    g_string_append_c(printer->text, '[');
    printer->depth++;
    for (guint i = 0; i < n; i++) {
        begin_element(printer, i == 0);
        print_node(printer, json_array_get_element(array, i));
    }
    printer->depth--;
    if (n > 0)
        new_line(printer);
    g_string_append_c(printer->text, ']');
}

static void
print_object(Printer *printer, JsonObject *object)
{
    JsonObjectIter iter;
    const char *name;
    JsonNode *node;
    bool is_first = true;
    g_string_append_c(printer->text, '{');
    printer->depth++;
    json_object_iter_init_ordered(&iter, object);
    while (json_object_iter_next_ordered(&iter, &name, &node)) {
        begin_element(printer, is_first);
        print_string(printer, name);
        g_string_append(printer->text, printer->pretty ? ": " : ":");
        print_node(printer, node);
        is_first = false;
    }
    printer->depth--;
    if (!is_first)
        new_line(printer);
    g_string_append_c(printer->text, '}');
}

static void
print_node(Printer *printer, JsonNode *node)
{
    switch (json_node_get_node_type(node)) {
    case JSON_NODE_OBJECT:
        print_object(printer, json_node_get_object(node));
        break;
    case JSON_NODE_ARRAY:
        print_array(printer, json_node_get_array(node));
        break;
    case JSON_NODE_VALUE:
        print_value(printer, node);
        break;
    case JSON_NODE_NULL:
        g_string_append(printer->text, "null");
        break;
    }
}

char *
sundog_json_print(JsonNode *node, bool pretty)
{
    Printer printer = {.text = g_string_new(NULL), .pretty = pretty};
    print_node(&printer, node);
    return g_string_free(printer.text, FALSE);
}
