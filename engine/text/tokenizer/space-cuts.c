/* Pairs of a byte and a space. */

#include "engine/text/tokenizer/space-cuts.h"

#include <string.h>

#define SPACE_SIGN "\xE2\x96\x81"

void
sundog_space_cuts_init(SundogSpaceCuts *cuts, const SundogVocabulary *vocabulary,
                       const SundogTokenTable *table)
{
    *cuts = (SundogSpaceCuts){0};
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        size_t n_bytes;
        const char *bytes = sundog_token_table_get(table, i, &n_bytes);
        for (size_t pos = 1; pos < n_bytes; pos++)
            if (bytes[pos] == ' ' && vocabulary->tokens[i].kind == SUNDOG_TOKEN_NORMAL)
                cuts->reaches[(uint8_t)bytes[pos - 1]] = true;
    }
    /* Runs of spaces stay whole. */
    cuts->reaches[' '] = true;
}

size_t
sundog_space_cuts_next(const SundogSpaceCuts *cuts, const char *text, size_t n_bytes)
{
    for (const char *space = text; space + 1 < text + n_bytes;) {
        space = memchr(space + 1, ' ', (size_t)(text + n_bytes - space - 1));
        if (space == NULL)
            break;
        if (!cuts->reaches[(uint8_t)space[-1]])
            return (size_t)(space - text);
    }
    return n_bytes;
}

GString *
sundog_space_cuts_prepare(const char *text, size_t n_bytes, bool add_space)
{
    const size_t sign_bytes = strlen(SPACE_SIGN);
    const char *end = text + n_bytes;
    const char *sign = memmem(text, n_bytes, SPACE_SIGN, sign_bytes);
    if (!add_space && sign == NULL)
        return NULL;
    GString *out = g_string_sized_new(n_bytes + 1);
    if (add_space)
        g_string_append_c(out, ' ');
    for (; sign != NULL; sign = memmem(text, (size_t)(end - text), SPACE_SIGN, sign_bytes)) {
        g_string_append_len(out, text, sign - text);
        g_string_append_c(out, ' ');
        text = sign + sign_bytes;
    }
    g_string_append_len(out, text, end - text);
    return out;
}
