/* Characters are looked up in pages of 256, of which only those in use exist. */

#include "engine/text/tokenizer/symbols.h"

#include "engine/text/utf8.h"

#include <string.h>

#define PAGE_CHARACTERS 256
#define N_PAGES (0x110000 / PAGE_CHARACTERS)

struct SundogSymbols {
    const SundogTokenTable *table;
    uint32_t n_tokens;
    uint32_t unknown;
    uint32_t bytes[256]; /* the tokens of single bytes, or SUNDOG_TOKEN_NONE */
    uint32_t **pages;    /* [N_PAGES] of symbols by code point, NULL where bytes are symbols */
    GArray *added;       /* of uint32_t: the code point of each symbol that is no token */
};

static SundogSymbols *
new_empty(const SundogVocabulary *vocabulary, const SundogTokenTable *table)
{
    SundogSymbols *symbols = g_new0(SundogSymbols, 1);
    symbols->table = table;
    symbols->n_tokens = vocabulary->n_tokens;
    symbols->unknown = vocabulary->unknown;
    symbols->added = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    memset(symbols->bytes, 0xFF, sizeof symbols->bytes);
    return symbols;
}

SundogSymbols *
sundog_symbols_new_of_bytes(const SundogVocabulary *vocabulary, const SundogTokenTable *table)
{
    SundogSymbols *symbols = new_empty(vocabulary, table);
    for (size_t i = 0; i < 256; i++) {
        char byte = (char)i;
        symbols->bytes[i] = sundog_token_table_find(table, &byte, 1);
    }
    return symbols;
}

/* The place of a character's symbol; its page is made where it is missing. */
static uint32_t *
get_place(SundogSymbols *symbols, uint32_t code_point)
{
    uint32_t **page = &symbols->pages[code_point / PAGE_CHARACTERS];
    if (*page == NULL) {
        *page = g_new(uint32_t, PAGE_CHARACTERS);
        memset(*page, 0xFF, PAGE_CHARACTERS * sizeof(uint32_t));
    }
    return &(*page)[code_point % PAGE_CHARACTERS];
}

static void
add_character(SundogSymbols *symbols, const char *text, size_t n_bytes, uint32_t code_point)
{
    uint32_t *place = get_place(symbols, code_point);
    if (*place != SUNDOG_TOKEN_NONE)
        return;
    *place = sundog_token_table_find(symbols->table, text, n_bytes);
    if (*place != SUNDOG_TOKEN_NONE)
        return;
    *place = symbols->n_tokens + symbols->added->len;
    g_array_append_val(symbols->added, code_point);
}

static void
add_characters_of(SundogSymbols *symbols, uint32_t token)
{
    size_t n_bytes, length;
    uint32_t code_point;
    const char *bytes = sundog_token_table_get(symbols->table, token, &n_bytes);
    if (sundog_token_table_find(symbols->table, bytes, n_bytes) != token)
        return;
    for (size_t pos = 0; pos < n_bytes; pos += length) {
        length = sundog_utf8_decode(bytes + pos, n_bytes - pos, &code_point);
        if (length == 0)
            return;
        add_character(symbols, bytes + pos, length, code_point);
    }
}

SundogSymbols *
sundog_symbols_new_of_characters(const SundogVocabulary *vocabulary, const SundogTokenTable *table)
{
    SundogSymbols *symbols = new_empty(vocabulary, table);
    symbols->pages = g_new0(uint32_t *, N_PAGES);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        size_t n_bytes;
        const char *bytes = sundog_token_table_get(table, i, &n_bytes);
        if (vocabulary->tokens[i].kind == SUNDOG_TOKEN_BYTE && n_bytes == 1)
            symbols->bytes[(uint8_t)bytes[0]] = i;
        else if (n_bytes != 0)
            add_characters_of(symbols, i);
    }
    return symbols;
}

void
sundog_symbols_free(SundogSymbols *symbols)
{
    if (symbols == NULL)
        return;
    for (size_t i = 0; symbols->pages != NULL && i < N_PAGES; i++)
        g_free(symbols->pages[i]);
    g_free(symbols->pages);
    g_array_unref(symbols->added);
    g_free(symbols);
}

/* The symbol of a whole character, or SUNDOG_TOKEN_NONE. */
static uint32_t
get_character(const SundogSymbols *symbols, uint32_t code_point)
{
    const uint32_t *page = symbols->pages[code_point / PAGE_CHARACTERS];
    return page == NULL ? SUNDOG_TOKEN_NONE : page[code_point % PAGE_CHARACTERS];
}

/* A character without a symbol, or a byte of none: its bytes' tokens, else the unknown one. */
static size_t
split_unknown(const SundogSymbols *symbols, const char *text, size_t n_bytes, uint32_t *split)
{
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        split[n] = symbols->bytes[(uint8_t)text[i]];
        n += split[n] != SUNDOG_TOKEN_NONE;
    }
    if (n == n_bytes)
        return n;
    split[0] = symbols->unknown;
    return symbols->unknown != SUNDOG_TOKEN_NONE ? 1 : 0;
}

static size_t
split_characters(const SundogSymbols *symbols, const char *word, size_t n_bytes, uint32_t *split)
{
    size_t n = 0;
    size_t length;
    for (size_t pos = 0; pos < n_bytes; pos += length) {
        uint32_t code_point = (uint8_t)word[pos];
        length = code_point < 0x80 ? 1 : sundog_utf8_decode(word + pos, n_bytes - pos, &code_point);
        uint32_t symbol = length != 0 ? get_character(symbols, code_point) : SUNDOG_TOKEN_NONE;
        length = MAX(length, 1);
        if (symbol != SUNDOG_TOKEN_NONE)
            split[n++] = symbol;
        else
            n += split_unknown(symbols, word + pos, length, split + n);
    }
    return n;
}

size_t
sundog_symbols_split(const SundogSymbols *symbols, const char *word, size_t n_bytes,
                     uint32_t *split)
{
    if (symbols->pages != NULL)
        return split_characters(symbols, word, n_bytes, split);
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        split[n] = symbols->bytes[(uint8_t)word[i]];
        n += split[n] != SUNDOG_TOKEN_NONE;
    }
    return n;
}

uint32_t
sundog_symbols_find(const SundogSymbols *symbols, const char *text, size_t n_bytes)
{
    uint32_t code_point;
    if (symbols->pages != NULL && sundog_utf8_decode(text, n_bytes, &code_point) == n_bytes)
        return get_character(symbols, code_point);
    return sundog_token_table_find(symbols->table, text, n_bytes);
}

static void
append_token(const SundogSymbols *symbols, uint32_t token, GArray *tokens)
{
    if (token == symbols->unknown && tokens->len != 0 &&
        g_array_index(tokens, uint32_t, tokens->len - 1) == token)
        return;
    g_array_append_val(tokens, token);
}

static void
append_added(const SundogSymbols *symbols, uint32_t symbol, GArray *tokens)
{
    char text[6];
    uint32_t split[6];
    uint32_t code_point = g_array_index(symbols->added, uint32_t, symbol - symbols->n_tokens);
    size_t n_bytes = (size_t)g_unichar_to_utf8(code_point, text);
    size_t n = split_unknown(symbols, text, n_bytes, split);
    for (size_t i = 0; i < n; i++)
        append_token(symbols, split[i], tokens);
}

void
sundog_symbols_append(const SundogSymbols *symbols, const uint32_t *left, size_t n_left,
                      GArray *tokens)
{
    if (symbols->pages == NULL) {
        g_array_append_vals(tokens, left, (guint)n_left);
        return;
    }
    for (size_t i = 0; i < n_left; i++)
        if (left[i] < symbols->n_tokens)
            append_token(symbols, left[i], tokens);
        else
            append_added(symbols, left[i], tokens);
}
