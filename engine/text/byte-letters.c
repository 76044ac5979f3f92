/* From the letters of a byte-level vocabulary to bytes. */

#include "engine/text/byte-letters.h"

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

bool
sundog_byte_letters_append(const char *spelling, size_t n_bytes, GByteArray *bytes)
{
    guint before = bytes->len;
    for (size_t pos = 0; pos < n_bytes;) {
        uint32_t letter = 0;
        size_t length = sundog_utf8_decode(spelling + pos, n_bytes - pos, &letter);
        int byte = length != 0 ? byte_of_letter(letter) : -1;
        if (byte < 0) {
            g_byte_array_set_size(bytes, before);
            return false;
        }
        uint8_t value = (uint8_t)byte;
        g_byte_array_append(bytes, &value, 1);
        pos += length;
    }
    return true;
}
