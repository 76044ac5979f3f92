/*
 * A schema, an expression or a grammar (by the first byte): whatever it is, compiling ends in an
 * automaton or an error, what comes out of the wire is taken, and a short walk under its masks goes on
 * or may end.
 */

#include "engine/format/json.h"
#include "engine/schedule/matcher.h"
#include "engine/text/constraint/constraint.h"

#include <string.h>

const char *const fuzz_seeds[] = {
    "s{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"^[a-z]{2,3}$\"}"
    ","
    "\"b\":{\"$ref\":\"#/$defs/x\"}},\"required\":[\"a\"],\"$defs\":{\"x\":{\"anyOf\":[{\"type\":"
    "\"integer\",\"minimum\":3,\"maximum\":41},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},"
    "\"maxItems\":3}]}}}",
    "s{\"allOf\":[{\"type\":[\"number\",\"null\"],\"minimum\":-1.5},{\"exclusiveMaximum\":2.25}]}",
    "s{\"oneOf\":[{\"const\":{\"a\":1}},{\"enum\":[1,\"x\"]}],\"additionalProperties\":true}",
    "p^(a|b[^c-e]\\d){2,5}?\\u00e9*(?:x|)$",
    "groot ::= (\"a\" | b){2,} [^x-z\\n]* #c\nb ::= \"(\" root? \")\" | .\n",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static SundogMaskTrie *
get_trie(void)
{
    static SundogMaskTrie *trie;
    if (!trie) {
        uint8_t bytes[255];
        uint32_t ends[255];
        for (unsigned i = 0; i < 255; i++) {
            bytes[i] = (uint8_t)i;
            ends[i] = i + 1;
        }
        trie = sundog_mask_trie_new(ends, 255, bytes, 255);
    }
    return trie;
}

static SundogAutomaton *
compile(char kind, const char *text, GError **error)
{
    if (kind == 'p')
        return sundog_constraint_new_pattern(text, error);
    if (kind == 'g')
        return sundog_constraint_new_gbnf(text, error);
    g_autoptr(JsonNode) schema = sundog_json_parse(text, strlen(text), error);
    return schema != NULL ? sundog_constraint_new_schema(schema, error) : NULL;
}

static void
walk(SundogMatcher *matcher)
{
    uint32_t tokens[24];
    SundogMatch match;
    sundog_match_init(&match, matcher);
    for (uint32_t n = 0; n < G_N_ELEMENTS(tokens); n++) {
        if (!sundog_match_advance(&match, tokens, n))
            break;
        const uint64_t *mask = sundog_match_get_mask(&match);
        uint32_t token = (n * 97 + 34) % 255, tried = 0;
        for (; mask != NULL && tried < 255 && !(mask[token / 64] >> token % 64 & 1); tried++)
            token = (token + 1) % 255;
        g_assert(mask == NULL || tried < 255 || sundog_match_may_end(&match));
        if (mask == NULL || tried == 255)
            break;
        tokens[n] = token;
    }
    sundog_match_clear(&match);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes == 0)
        return 0;
    g_autofree char *text = g_strndup((const char *)data + 1, n_bytes - 1);
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogAutomaton) automaton = compile((char)data[0], text, &error);
    g_assert((automaton == NULL) == (error != NULL));
    if (automaton == NULL)
        return 0;
    uint32_t n_words;
    g_autofree uint32_t *words = sundog_automaton_write(automaton, &n_words);
    SundogAutomaton *read = sundog_automaton_read(words, n_words, &error);
    g_assert_no_error(error);
    g_autoptr(SundogMatcher) matcher = sundog_matcher_new(read, get_trie());
    walk(matcher);
    return 0;
}
