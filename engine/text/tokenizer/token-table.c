/* Tokens to bytes in one block, bytes to tokens through one open-addressed table. */

#include "engine/text/tokenizer/token-table.h"

#include <string.h>

/* An entry of the table. The hash is kept beside the token so that a probe that fails does not touch
 * the token's bytes. */
typedef struct {
    uint32_t hash;
    uint32_t token; /* SUNDOG_TOKEN_NONE where the slot is free */
} Slot;

struct SundogTokenTable {
    SundogSpelling spelling;
    GByteArray *bytes;
    size_t *offsets; /* [n_tokens + 1] into bytes */
    Slot *slots;     /* [slot_mask + 1] */
    uint32_t slot_mask;
    size_t longest; /* bytes of the longest token that can be found */
};

/* Eight bytes at a time, as words are short and this runs once for each. */
static uint32_t
hash_bytes(const char *bytes, size_t n_bytes)
{
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t hash = n_bytes * factor;
    for (size_t pos = 0; pos < n_bytes; pos += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + pos, MIN(n_bytes - pos, sizeof word));
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

const char *
sundog_token_table_get(const SundogTokenTable *table, uint32_t token, size_t *n_bytes)
{
    *n_bytes = table->offsets[token + 1] - table->offsets[token];
    return (const char *)table->bytes->data + table->offsets[token];
}

/* The slot that holds these bytes, or the free one where they would go. */
static Slot *
probe(const SundogTokenTable *table, const char *bytes, size_t n_bytes, uint32_t hash)
{
    for (uint32_t i = hash & table->slot_mask;; i = (i + 1) & table->slot_mask) {
        Slot *slot = &table->slots[i];
        if (slot->token == SUNDOG_TOKEN_NONE)
            return slot;
        if (slot->hash != hash)
            continue;
        size_t n_found;
        const char *found = sundog_token_table_get(table, slot->token, &n_found);
        if (n_found == n_bytes && memcmp(found, bytes, n_bytes) == 0)
            return slot;
    }
}

uint32_t
sundog_token_table_find(const SundogTokenTable *table, const char *bytes, size_t n_bytes)
{
    if (n_bytes == 0 || n_bytes > table->longest)
        return SUNDOG_TOKEN_NONE;
    return probe(table, bytes, n_bytes, hash_bytes(bytes, n_bytes))->token;
}

uint32_t
sundog_token_table_find_spelled(const SundogTokenTable *table, const char *text, size_t n_bytes)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!sundog_spelling_append(table->spelling, text, n_bytes, bytes))
        return SUNDOG_TOKEN_NONE;
    return sundog_token_table_find(table, (const char *)bytes->data, bytes->len);
}

/* "<0x0A>" is how a byte token spells its byte. */
static bool
append_byte_token(const SundogToken *token, GByteArray *bytes)
{
    if (token->length != 6 || memcmp(token->text, "<0x", 3) != 0 || token->text[5] != '>')
        return false;
    int high = g_ascii_xdigit_value(token->text[3]);
    int low = g_ascii_xdigit_value(token->text[4]);
    if (high < 0 || low < 0)
        return false;
    uint8_t byte = (uint8_t)(high << 4 | low);
    g_byte_array_append(bytes, &byte, 1);
    return true;
}

/* Normal tokens are spelled as their kind of vocabulary spells; the others, and what is no such
 * spelling, stand for their own text. Returns whether text may become the token, which is so for the
 * first kind. */
static bool
append_token(const SundogToken *token, SundogSpelling spelling, GByteArray *bytes)
{
    bool spelled = token->kind == SUNDOG_TOKEN_NORMAL &&
                   sundog_spelling_append(spelling, token->text, token->length, bytes);
    bool byte = token->kind == SUNDOG_TOKEN_BYTE && append_byte_token(token, bytes);
    if (!spelled && !byte)
        g_byte_array_append(bytes, (const uint8_t *)token->text, token->length);
    return spelled;
}

/* Of two tokens with the same bytes the first is found. */
static void
insert(SundogTokenTable *table, uint32_t token)
{
    size_t n_bytes;
    const char *bytes = sundog_token_table_get(table, token, &n_bytes);
    if (n_bytes == 0)
        return;
    uint32_t hash = hash_bytes(bytes, n_bytes);
    Slot *slot = probe(table, bytes, n_bytes, hash);
    if (slot->token == SUNDOG_TOKEN_NONE)
        *slot = (Slot){.hash = hash, .token = token};
    table->longest = MAX(table->longest, n_bytes);
}

static void
new_slots(SundogTokenTable *table, uint32_t n_tokens)
{
    uint64_t n_slots = 16;
    while (n_slots < (uint64_t)n_tokens * 2)
        n_slots *= 2;
    table->slots = g_new(Slot, n_slots);
    memset(table->slots, 0xFF, n_slots * sizeof(Slot));
    table->slot_mask = (uint32_t)(n_slots - 1);
}

SundogTokenTable *
sundog_token_table_new(const SundogVocabulary *vocabulary, SundogSpelling spelling)
{
    SundogTokenTable *table = g_new0(SundogTokenTable, 1);
    table->bytes = g_byte_array_new();
    table->spelling = spelling;
    table->offsets = g_new0(size_t, (size_t)vocabulary->n_tokens + 1);
    new_slots(table, vocabulary->n_tokens);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        bool from_text = append_token(&vocabulary->tokens[i], spelling, table->bytes);
        table->offsets[i + 1] = table->bytes->len;
        if (from_text)
            insert(table, i);
    }
    return table;
}

void
sundog_token_table_free(SundogTokenTable *table)
{
    if (table == NULL)
        return;
    g_byte_array_unref(table->bytes);
    g_free(table->offsets);
    g_free(table->slots);
    g_free(table);
}
