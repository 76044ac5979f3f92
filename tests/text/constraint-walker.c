/*
 * Reads one JSON object a line, {"schema" | "gbnf" | "pattern" | "choice": …}, and for each writes one:
 * {"error": text}, or {"texts": […]} of random answers that the constraint's masks led to.
 *
 *     constraint-walker SEED N_WALKS [MODEL.gguf] < lines
 *
 * Without a model the vocabulary is one token a byte and some longer ones. A walk prefers to end: at
 * every other token, one is taken that is short and closes something.
 */

#include "engine/format/json.h"
#include "engine/schedule/matcher.h"
#include "engine/text/constraint/constraint.h"
#include "engine/text/tokenizer/token-bytes.h"
#include "tests/text/vocabularies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TOKENS 600

static SundogMaskTrie *
open_trie(const char *gguf)
{
    static const char *const words[] = {
        "{\"",   "\": ", "\": \"",       "\",\n",   "\"}",  "\"]",  "}}",    "},",
        "  ",    "\n  ", "true",         "false",   "null", "name", "the",   " and",
        "12",    "3.5",  "-1",           "e",       "é",    "北",   "\\u00", "\\n",
        "2024-", "T1",   "@example.com", "http://", "[{\"", "\"a\""};
    if (gguf != NULL) {
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogTokenizer) tokenizer = test_open_tokenizer(gguf, &error);
        g_assert_no_error(error);
        g_autoptr(SundogTokenBytes) tokens = sundog_token_bytes_new(tokenizer);
        return sundog_mask_trie_new(tokens->ends, tokens->n_tokens, tokens->bytes->data,
                                    tokens->bytes->len);
    }
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (unsigned i = 0; i < 255; i++) {
        uint8_t byte = (uint8_t)i;
        g_byte_array_append(bytes, &byte, 1);
        g_array_append_val(ends, bytes->len);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        g_byte_array_append(bytes, (const uint8_t *)words[i], (guint)strlen(words[i]));
        g_array_append_val(ends, bytes->len);
    }
    return sundog_mask_trie_new((const uint32_t *)(void *)ends->data, ends->len, bytes->data,
                                bytes->len);
}

static SundogAutomaton *
compile(JsonObject *line, GError **error)
{
    if (json_object_has_member(line, "schema"))
        return sundog_constraint_new_schema(json_object_get_member(line, "schema"), error);
    if (json_object_has_member(line, "gbnf"))
        return sundog_constraint_new_gbnf(json_object_get_string_member(line, "gbnf"), error);
    if (json_object_has_member(line, "pattern"))
        return sundog_constraint_new_pattern(json_object_get_string_member(line, "pattern"), error);
    if (!json_object_has_member(line, "choice"))
        return sundog_constraint_new_json_object();
    g_autoptr(GPtrArray) texts = g_ptr_array_new();
    JsonArray *list = json_object_get_array_member(line, "choice");
    for (guint i = 0; i < json_array_get_length(list); i++)
        g_ptr_array_add(texts, (char *)json_array_get_string_element(list, i));
    return sundog_constraint_new_choice((const char *const *)texts->pdata, texts->len, error);
}

static bool
closes(const SundogMaskTrie *trie, uint32_t token)
{
    uint32_t n_bytes;
    const uint8_t *bytes = sundog_mask_trie_get_bytes(trie, token, &n_bytes);
    return n_bytes <= 2 && strchr("\"]}", bytes[0]) != NULL && bytes[0] != '\0';
}

/* A token of the mask; SUNDOG_MASK_NO_TOKEN where it is empty. */
static uint32_t
choose(GRand *rand, const SundogMaskTrie *trie, const uint64_t *mask, GArray *allowed,
       GArray *closing)
{
    g_array_set_size(allowed, 0);
    g_array_set_size(closing, 0);
    for (uint32_t i = 0; i < trie->n_tokens; i++) {
        if (!(mask[i / 64] >> i % 64 & 1))
            continue;
        g_array_append_val(allowed, i);
        if (closes(trie, i))
            g_array_append_val(closing, i);
    }
    GArray *from = closing->len > 0 && g_rand_boolean(rand) ? closing : allowed;
    return from->len > 0
               ? g_array_index(from, uint32_t, (guint)g_rand_int_range(rand, 0, (gint32)from->len))
               : SUNDOG_MASK_NO_TOKEN;
}

/* The answer, or NULL where it did not end in time; owned by the caller. */
static GString *
walk(GRand *rand, SundogMatcher *matcher, const SundogMaskTrie *trie)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GArray) allowed = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GArray) closing = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    SundogMatch match;
    bool ended = false;
    sundog_match_init(&match, matcher);
    while (tokens->len < MAX_TOKENS && !ended) {
        bool advanced =
            sundog_match_advance(&match, (const uint32_t *)(void *)tokens->data, tokens->len);
        g_assert_true(advanced);
        const uint64_t *mask = sundog_match_get_mask(&match);
        g_assert_nonnull(mask);
        uint32_t token = choose(rand, trie, mask, allowed, closing);
        ended = sundog_match_may_end(&match) &&
                (token == SUNDOG_MASK_NO_TOKEN || g_rand_int_range(rand, 0, 3) == 0);
        if (ended)
            break;
        if (token == SUNDOG_MASK_NO_TOKEN)
            g_error("no token is allowed behind “%s”", text->str);
        uint32_t n_bytes;
        const uint8_t *bytes = sundog_mask_trie_get_bytes(trie, token, &n_bytes);
        g_string_append_len(text, (const char *)bytes, n_bytes);
        g_array_append_val(tokens, token);
    }
    sundog_match_clear(&match);
    return ended ? g_steal_pointer(&text) : NULL;
}

static void
answer(JsonObject *line, const SundogMaskTrie *trie, uint32_t seed, int n_walks)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonObject) answer = json_object_new();
    SundogAutomaton *automaton = compile(line, &error);
    if (automaton == NULL) {
        json_object_set_string_member(answer, "error", error->message);
    } else {
        /* As it comes out of the wire. */
        uint32_t n_words;
        g_autofree uint32_t *words = sundog_automaton_write(automaton, &n_words);
        sundog_automaton_free(automaton);
        automaton = sundog_automaton_read(words, n_words, &error);
        g_assert_no_error(error);
        g_autoptr(SundogMatcher) matcher = sundog_matcher_new(automaton, trie);
        g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
        JsonArray *texts = json_array_new();
        for (int i = 0; i < n_walks; i++) {
            GString *text = walk(rand, matcher, trie);
            if (text != NULL)
                json_array_add_string_element(texts, text->str);
            if (text != NULL)
                g_string_free(text, TRUE);
        }
        json_object_set_array_member(answer, "texts", texts);
    }
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
    json_node_set_object(node, answer);
    g_autofree char *printed = sundog_json_print(node, false);
    puts(printed);
}

int
main(int argc, char **argv)
{
    g_assert_cmpint(argc, >=, 3);
    g_autoptr(SundogMaskTrie) trie = open_trie(argc > 3 ? argv[3] : NULL);
    g_autofree char *line = NULL;
    size_t n_line = 0;
    for (ssize_t n; (n = getline(&line, &n_line, stdin)) > 0;) {
        g_autoptr(GError) error = NULL;
        g_autoptr(JsonNode) node = sundog_json_parse(line, (size_t)n, &error);
        g_assert_no_error(error);
        answer(json_node_get_object(node), trie, (uint32_t)atoi(argv[1]), atoi(argv[2]));
    }
    return 0;
}
