/* From the letters of a byte-level vocabulary to bytes. */

#include "engine/text/tokenizer/byte-letters.h"

#include "engine/text/utf8.h"

/* The bytes that do not print: 0x00 to 0x20, 0x7F to 0xA0, and the soft hyphen. */
#define N_LOW 0x21
#define N_MIDDLE 0x22
#define SOFT_HYPHEN 0xAD

/* The byte a code point stands for, or -1. */
static int
byte_of_letter(uint32_t letter)
{
    bool prints = (letter > 0x20 && letter < 0x7F) ||
                  (letter > 0xA0 && letter <= 0xFF && letter != SOFT_HYPHEN);
    if (prints)
        return (int)letter;
    if (letter < 0x100 || letter > 0x100 + N_LOW + N_MIDDLE)
        return -1;
    uint32_t index = letter - 0x100;
    if (index < N_LOW)
        return (int)index;
    if (index < N_LOW + N_MIDDLE)
        return (int)(0x7F + index - N_LOW);
    return SOFT_HYPHEN;
}

/* The byte of the letter at the beginning of the spelling and the letter's length, or -1. */
static int
read_letter(const char *spelling, size_t n_bytes, size_t *length)
{
    uint32_t letter = (uint8_t)spelling[0];
    *length = letter < 0x80 ? 1 : sundog_utf8_decode(spelling, n_bytes, &letter);
    return *length != 0 ? byte_of_letter(letter) : -1;
}

bool
sundog_byte_letters_append(const char *spelling, size_t n_bytes, GByteArray *bytes)
{
    guint before = bytes->len;
    guint n_letters = 0;
    size_t length;
    /* A letter takes a byte or more, so that there is room for all before the first is known. */
    g_byte_array_set_size(bytes, before + (guint)n_bytes);
    for (size_t pos = 0; pos < n_bytes; pos += length) {
        int byte = read_letter(spelling + pos, n_bytes - pos, &length);
        if (byte < 0) {
            g_byte_array_set_size(bytes, before);
            return false;
        }
        bytes->data[before + n_letters++] = (uint8_t)byte;
    }
    g_byte_array_set_size(bytes, before + n_letters);
    return true;
}
