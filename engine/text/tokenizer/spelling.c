/* From spellings to bytes. */

#include "engine/text/tokenizer/spelling.h"

#include "engine/text/tokenizer/byte-letters.h"

#include <string.h>

#define SPACE_SIGN "\xE2\x96\x81"
#define SPACE_SIGN_BYTES 3

SundogSpelling
sundog_spelling_of(SundogTokenizerKind kind)
{
    switch (kind) {
    case SUNDOG_TOKENIZER_BPE:
        return SUNDOG_SPELLING_LETTERS;
    case SUNDOG_TOKENIZER_LONGEST:
        return SUNDOG_SPELLING_ESCAPES;
    default:
        return SUNDOG_SPELLING_SPACES;
    }
}

static void
append_spaces(const char *text, size_t n_bytes, GByteArray *bytes)
{
    const char *end = text + n_bytes;
    for (const char *sign;
         (sign = memmem(text, (size_t)(end - text), SPACE_SIGN, SPACE_SIGN_BYTES)) != NULL;
         text = sign + SPACE_SIGN_BYTES) {
        g_byte_array_append(bytes, (const uint8_t *)text, (guint)(sign - text));
        g_byte_array_append(bytes, (const uint8_t *)" ", 1);
    }
    g_byte_array_append(bytes, (const uint8_t *)text, (guint)(end - text));
}

/* The byte that the escape behind a backslash stands for; length: how much of the text it takes. */
static bool
read_escape(const char *text, size_t n_bytes, uint8_t *byte, size_t *length)
{
    static const char names[] = "ntr";
    static const char bytes[] = "\n\t\r";
    if (n_bytes == 0)
        return false;
    *length = 1;
    const char *name = memchr(names, text[0], strlen(names));
    *byte = (uint8_t)(name != NULL ? bytes[name - names] : text[0]);
    if (text[0] != 'x')
        return true;
    if (n_bytes < 3 || !g_ascii_isxdigit(text[1]) || !g_ascii_isxdigit(text[2]))
        return false;
    *length = 3;
    *byte = (uint8_t)(g_ascii_xdigit_value(text[1]) << 4 | g_ascii_xdigit_value(text[2]));
    return true;
}

static bool
append_escapes(const char *text, size_t n_bytes, GByteArray *bytes)
{
    guint before = bytes->len;
    for (size_t pos = 0; pos < n_bytes;) {
        size_t length = 0;
        uint8_t byte = (uint8_t)text[pos++];
        if (byte == '\\' && !read_escape(text + pos, n_bytes - pos, &byte, &length)) {
            g_byte_array_set_size(bytes, before);
            return false;
        }
        g_byte_array_append(bytes, &byte, 1);
        pos += length;
    }
    return true;
}

bool
sundog_spelling_append(SundogSpelling spelling, const char *text, size_t n_bytes, GByteArray *bytes)
{
    switch (spelling) {
    case SUNDOG_SPELLING_LETTERS:
        return sundog_byte_letters_append(text, n_bytes, bytes);
    case SUNDOG_SPELLING_ESCAPES:
        return append_escapes(text, n_bytes, bytes);
    default:
        append_spaces(text, n_bytes, bytes);
        return true;
    }
}
