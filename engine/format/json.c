/*
 * JSON from outside, judged by one scan of our own before json-glib builds a tree: it recurses
 * without a bound, takes comments and trailing commas, and stops at a NUL. What this scan lets
 * through is RFC 8259 nested at most SUNDOG_JSON_MAX_DEPTH deep. The scan keeps its nesting in an
 * array, so it does not recurse either.
 */

#include "engine/format/json.h"

#include "engine/format/error.h"
#include <math.h>
#include <string.h>

typedef struct {
    char closer; /* The bracket that ends this level. */
    unsigned n_members;
} Level;

typedef struct {
    const char *text;
    const char *at;
    const char *end;
    unsigned depth;
    unsigned max_members; /* of one object */
    Level levels[SUNDOG_JSON_MAX_DEPTH];
    GError *error;
} Scan;

static bool fail(Scan *scan, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Columns count characters, as editors do. What follows `at` may be invalid; what precedes is not. */
static bool
fail(Scan *scan, const char *format, ...)
{
    unsigned line = 1, column = 1;
    for (const char *byte = scan->text; byte < scan->at; byte++)
        if (*byte == '\n')
            line++, column = 1;
        else if (((unsigned char)*byte & 0xc0) != 0x80)
            column++;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(&scan->error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "JSON, line %u, column %u: %s", line, column, text);
    return false;
}

/* Says what stands at the scan, printable whatever it is. */
static bool
fail_expected(Scan *scan, const char *expected)
{
    if (scan->at == scan->end)
        return fail(scan, "%s expected, the text ends", expected);
    if (g_ascii_isprint(*scan->at))
        return fail(scan, "%s expected, '%c' found", expected, *scan->at);
    gunichar c = g_utf8_get_char_validated(scan->at, scan->end - scan->at);
    return fail(scan, "%s expected, U+%04X found", expected, c);
}

static char
peek(const Scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool
take(Scan *scan, char c)
{
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static void
skip_space(Scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) != NULL && *scan->at != '\0')
        scan->at++;
}

static unsigned
skip_digits(Scan *scan)
{
    const char *start = scan->at;
    while (g_ascii_isdigit(peek(scan)))
        scan->at++;
    return (unsigned)(scan->at - start);
}

static bool
scan_code_unit(Scan *scan, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        if (!g_ascii_isxdigit(peek(scan)))
            return fail_expected(scan, "a hexadecimal digit");
        *unit = *unit << 4 | (unsigned)g_ascii_xdigit_value(*scan->at++);
    }
    return true;
}

/* json-glib would make invalid UTF-8 of half a pair, and cut a string at U+0000. */
static bool
scan_unicode_escape(Scan *scan)
{
    unsigned high, low;
    if (!scan_code_unit(scan, &high))
        return false;
    if (high == 0)
        return fail(scan, "the character U+0000 is not taken");
    if ((high & 0xf800) != 0xd800)
        return true;
    if ((high & 0xfc00) == 0xd800 && take(scan, '\\') && take(scan, 'u') &&
        scan_code_unit(scan, &low) && (low & 0xfc00) == 0xdc00)
        return true;
    return scan->error == NULL
               ? fail(scan, "half of a pair of code units, \\u%04x, stands alone", high)
               : false;
}

static bool
scan_escape(Scan *scan)
{
    if (take(scan, 'u'))
        return scan_unicode_escape(scan);
    if (scan->at == scan->end || *scan->at == '\0' || strchr("\"\\/bfnrt", *scan->at) == NULL)
        return fail_expected(scan, "an escape of JSON");
    scan->at++;
    return true;
}

static bool
scan_string(Scan *scan)
{
    if (!take(scan, '"'))
        return fail_expected(scan, "a string");
    while (!take(scan, '"')) {
        if (scan->at == scan->end)
            return fail_expected(scan, "'\"'");
        if ((unsigned char)*scan->at < 0x20)
            return fail_expected(scan, "a character above U+001F");
        if (take(scan, '\\')) {
            if (!scan_escape(scan))
                return false;
        } else {
            scan->at++;
        }
    }
    return true;
}

/* json-glib wraps whole numbers round at 64 bits and makes infinities of others; both would be taken
 * for what the sender meant. */
static bool
check_magnitude(Scan *scan, const char *start, bool is_whole)
{
    g_autofree char *text = g_strndup(start, (size_t)(scan->at - start));
    if (is_whole ? g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, NULL, NULL)
                 : isfinite(g_ascii_strtod(text, NULL)))
        return true;
    scan->at = start;
    return fail(scan, "the number is too large");
}

static bool
scan_number(Scan *scan)
{
    const char *start = scan->at;
    bool is_whole = true;
    take(scan, '-');
    if (!take(scan, '0') && skip_digits(scan) == 0)
        return fail_expected(scan, "a digit");
    if (take(scan, '.')) {
        is_whole = false;
        if (skip_digits(scan) == 0)
            return fail_expected(scan, "a digit");
    }
    if (take(scan, 'e') || take(scan, 'E')) {
        is_whole = false;
        if (!take(scan, '+'))
            take(scan, '-');
        if (skip_digits(scan) == 0)
            return fail_expected(scan, "a digit");
    }
    return check_magnitude(scan, start, is_whole);
}

static bool
scan_word(Scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(scan->end - scan->at) >= length && memcmp(scan->at, words[i], length) == 0) {
            scan->at += length;
            return true;
        }
    }
    return fail_expected(scan, "a value");
}

static bool
scan_key(Scan *scan)
{
    skip_space(scan);
    if (++scan->levels[scan->depth - 1].n_members > scan->max_members)
        return fail(scan, "an object with more than %u members", scan->max_members);
    if (!scan_string(scan))
        return false;
    skip_space(scan);
    return take(scan, ':') || fail_expected(scan, "':'");
}

/* After a bracket opened: *empty tells whether it closed at once, else the next value stands here. */
static bool
scan_open(Scan *scan, bool *empty)
{
    if (scan->depth == SUNDOG_JSON_MAX_DEPTH)
        return fail(scan, "nested deeper than %d levels", SUNDOG_JSON_MAX_DEPTH);
    char closer = *scan->at++ == '{' ? '}' : ']';
    skip_space(scan);
    *empty = take(scan, closer);
    if (*empty)
        return true;
    scan->levels[scan->depth++] = (Level){.closer = closer};
    return closer == ']' || scan_key(scan);
}

/* After a value: closes levels until a comma promises another value, or all are closed. */
static bool
scan_close(Scan *scan)
{
    while (scan->depth > 0) {
        char closer = scan->levels[scan->depth - 1].closer;
        skip_space(scan);
        if (take(scan, ','))
            return closer == ']' || scan_key(scan);
        if (!take(scan, closer))
            return fail_expected(scan, closer == ']' ? "',' or ']'" : "',' or '}'");
        scan->depth--;
    }
    return true;
}

static bool
scan_value(Scan *scan)
{
    do {
        bool empty = true;
        skip_space(scan);
        char c = peek(scan);
        bool scanned = c == '{' || c == '['             ? scan_open(scan, &empty)
                       : c == '"'                       ? scan_string(scan)
                       : c == '-' || g_ascii_isdigit(c) ? scan_number(scan)
                                                        : scan_word(scan);
        if (!scanned || (empty && !scan_close(scan)))
            return false;
    } while (scan->depth > 0);
    return true;
}

static bool
scan_whole(Scan *scan)
{
    if (!scan_value(scan))
        return false;
    skip_space(scan);
    return scan->at == scan->end || fail_expected(scan, "the end of the text");
}

static bool
scan_text(Scan *scan)
{
    size_t n_bytes = (size_t)(scan->end - scan->text);
    if (g_utf8_validate_len(scan->text, n_bytes, &scan->at)) {
        scan->at = scan->text;
        return scan_whole(scan);
    }
    return *scan->at == '\0'
               ? fail(scan, "a NUL byte, which JSON does not have")
               : fail(scan, "the byte 0x%02x is not UTF-8", (unsigned)(unsigned char)*scan->at);
}

JsonNode *
sundog_json_parse(const char *text, size_t n_bytes, GError **error)
{
    g_return_val_if_fail(text != NULL || n_bytes == 0, NULL);
    text = text != NULL ? text : "";
    Scan scan = {.text = text, .end = text + n_bytes, .max_members = SUNDOG_JSON_MAX_MEMBERS};
    if (!scan_text(&scan)) {
        g_propagate_error(error, scan.error);
        return NULL;
    }
    g_autoptr(JsonParser) parser = json_parser_new_immutable();
    g_autoptr(GError) local = NULL;
    if (!json_parser_load_from_data(parser, text, (gssize)n_bytes, &local)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "JSON: %s",
                    local->message);
        return NULL;
    }
    return json_parser_steal_root(parser);
}

/* The text between a key's quotes, which the scan has found good; owned by the caller. */
static char *
dup_key(const char *quoted, size_t n_bytes)
{
    if (memchr(quoted, '\\', n_bytes) == NULL)
        return g_strndup(quoted + 1, n_bytes - 2);
    g_autoptr(JsonNode) node = sundog_json_parse(quoted, n_bytes, NULL);
    return g_strdup(json_node_get_string(node));
}

/* One member at the walk, which stands on its key. */
static bool
take_member(Scan *walk, SundogJsonMember take_it, void *data, GError **error)
{
    const char *quoted = walk->at;
    scan_string(walk);
    g_autofree char *name = dup_key(quoted, (size_t)(walk->at - quoted));
    skip_space(walk);
    take(walk, ':');
    skip_space(walk);
    const char *value = walk->at;
    scan_value(walk);
    const char *end = walk->at;
    skip_space(walk);
    return take_it(name, value, (size_t)(end - value), data, error);
}

bool
sundog_json_for_each_member(const char *text, size_t n_bytes, SundogJsonMember take_it, void *data,
                            GError **error)
{
    Scan scan = {.text = text, .end = text + n_bytes, .max_members = G_MAXUINT};
    if (!scan_text(&scan)) {
        g_propagate_error(error, scan.error);
        return false;
    }
    Scan walk = {.text = text, .at = text, .end = text + n_bytes, .max_members = G_MAXUINT};
    skip_space(&walk);
    if (!take(&walk, '{')) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "JSON: an object expected, '%c' found", *walk.at);
        return false;
    }
    skip_space(&walk);
    while (!take(&walk, '}')) {
        if (!take_member(&walk, take_it, data, error))
            return false;
        take(&walk, ',');
        skip_space(&walk);
    }
    return true;
}
