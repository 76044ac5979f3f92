/* Masks against what the automaton says token by token, and what they cost. */

#include "engine/schedule/matcher.h"
#include "engine/text/constraint/automaton-builder.h"
#include "engine/text/constraint/constraint.h"
#include "engine/text/tokenizer/token-bytes.h"
#include "tests/text/vocabularies.h"
#include <string.h>

#define TYPICAL                                                                                    \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":"       \
    "\"integer\"},\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":40}}," \
    "\"address\":{\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},\"city\":"  \
    "{\"type\":\"string\"}},\"required\":[\"street\",\"city\"]}},\"required\":[\"name\",\"age\","  \
    "\"tags\",\"address\"],\"additionalProperties\":false}"
#define ANSWER                                                                                     \
    "{\"name\": \"Ada Lovelace, the first programmer\", \"age\": 36, \"tags\": [\"mathematics\", " \
    "\"poetical science\", \"engines\"], \"address\": {\"street\": \"12 St James's Square\", "     \
    "\"city\": \"London, where else\"}}"

static SundogMaskTrie *
new_trie(const char *const *words, uint32_t n_words)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree uint32_t *ends = g_new(uint32_t, n_words);
    for (uint32_t i = 0; i < n_words; i++) {
        g_byte_array_append(bytes, (const uint8_t *)words[i], (guint)strlen(words[i]));
        ends[i] = bytes->len;
    }
    return sundog_mask_trie_new(ends, n_words, bytes->data, bytes->len);
}

static SundogMatcher *
new_matcher(const char *grammar, const SundogMaskTrie *trie)
{
    g_autoptr(GError) error = NULL;
    SundogAutomaton *automaton = sundog_constraint_new_gbnf(grammar, &error);
    g_assert_no_error(error);
    return sundog_matcher_new(automaton, trie);
}

static bool
allows(SundogMatch *match, uint32_t token)
{
    const uint64_t *mask = sundog_match_get_mask(match);
    g_assert_nonnull(mask);
    return mask[token / 64] >> token % 64 & 1;
}

/* Each token of the mask, and no other, is one that the match can go on with. */
static void
check_mask(SundogMatch *match, const SundogMaskTrie *trie, GArray *tokens)
{
    g_autofree uint64_t *mask = g_memdup2(sundog_match_get_mask(match),
                                          SUNDOG_MASK_WORDS(trie->n_tokens) * sizeof(uint64_t));
    for (uint32_t i = 0; i < trie->n_tokens; i++) {
        SundogMatch tried;
        sundog_match_init(&tried, match->matcher);
        g_array_append_val(tokens, i);
        bool takes =
            sundog_match_advance(&tried, (const uint32_t *)(void *)tokens->data, tokens->len);
        g_array_set_size(tokens, tokens->len - 1);
        g_assert_cmpint(mask[i / 64] >> i % 64 & 1, ==, takes);
        sundog_match_clear(&tried);
    }
}

static void
test_masks_are_what_advances(void)
{
    static const char *const words[] = {"a",
                                        "b",
                                        "ab",
                                        "ba",
                                        "aa",
                                        "(",
                                        ")",
                                        "((",
                                        "()",
                                        "))",
                                        "),(",
                                        ",",
                                        "x",
                                        "xx",
                                        "xxx",
                                        "xy",
                                        "y",
                                        "aab",
                                        "b)",
                                        "",
                                        "a",
                                        "yyy",
                                        "xxxx",
                                        "xyx",
                                        ")x",
                                        "(a",
                                        ",(",
                                        "xxxxxxxxxxxxxxxxx",
                                        "xyxyxyxyxyxyxyxy",
                                        "aabbaabbaabbaab",
                                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxy",
                                        "((((((((((((((",
                                        "ab,ab,ab,ab,ab)"};
    static const char *const grammars[] = {
        "root ::= list\nlist ::= \"(\" item (\",\" item)* \")\"\nitem ::= [ab]+ | list",
        "root ::= (\"x\" | \"xy\"){2,40} \"y\"?",
        "root ::= (\"x\" | \"xy\"){50,130} \"y\"?",
        "root ::= \"a\" root \"b\" | \"x\"",
        "root ::= p p\np ::= \"(\" p \")\" | \"\"",
        "root ::= t\nt ::= [xy] t | [ab]",
    };
    g_autoptr(SundogMaskTrie) trie = new_trie(words, G_N_ELEMENTS(words));
    g_autoptr(GRand) rand = g_rand_new_with_seed(11);
    for (size_t i = 0; i < G_N_ELEMENTS(grammars); i++) {
        g_autoptr(SundogMatcher) matcher = new_matcher(grammars[i], trie);
        for (int round = 0; round < 10; round++) {
            g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
            SundogMatch match;
            sundog_match_init(&match, matcher);
            for (int step = 0; step < 30; step++) {
                g_assert_true(sundog_match_advance(&match, (const uint32_t *)(void *)tokens->data,
                                                   tokens->len));
                check_mask(&match, trie, tokens);
                uint32_t token = (uint32_t)g_rand_int_range(rand, 0, G_N_ELEMENTS(words));
                for (uint32_t n = 0; n < G_N_ELEMENTS(words) && !allows(&match, token); n++)
                    token = (token + 1) % G_N_ELEMENTS(words);
                if (!allows(&match, token)) {
                    g_assert_true(sundog_match_may_end(&match));
                    break;
                }
                g_array_append_val(tokens, token);
            }
            sundog_match_clear(&match);
        }
    }
}

static void
test_control_tokens_are_asked_for(void)
{
    static const char *const words[] = {"a", "<call>", "\xFF<call>", "<", "call>"};
    g_autoptr(SundogMaskTrie) trie = new_trie(words, G_N_ELEMENTS(words));
    g_autoptr(SundogAutomatonBuilder) builder = sundog_automaton_builder_new();
    uint32_t start = sundog_automaton_builder_add_state(builder);
    uint32_t end = sundog_automaton_builder_add_text(builder, start, "\xFF<call>", 7);
    sundog_automaton_builder_accept(builder, sundog_automaton_builder_add_until(builder, end, "<"));
    SundogMatch match;
    g_autoptr(SundogMatcher) matcher =
        sundog_matcher_new(sundog_automaton_builder_finish(builder, start, NULL), trie);
    sundog_match_init(&match, matcher);
    g_assert_true(sundog_match_advance(&match, NULL, 0));
    for (uint32_t i = 0; i < G_N_ELEMENTS(words); i++)
        g_assert_cmpint(allows(&match, i), ==, i == 2);
    const uint32_t tokens[] = {2, 0, 3};
    g_assert_true(sundog_match_advance(&match, tokens, 1));
    g_assert_true(allows(&match, 0) && allows(&match, 3) && !allows(&match, 2));
    g_assert_true(sundog_match_advance(&match, tokens, 3));
    g_assert_true(sundog_match_may_end(&match) && !allows(&match, 0));
    sundog_match_clear(&match);
}

/* A grammar in which every text has exponentially many readings must end in a refusal or a mask, soon. */
static void
test_ambiguity_is_bounded(void)
{
    static const char *const words[] = {"a", "aa", "aaaa", "b"};
    g_autoptr(SundogMaskTrie) trie = new_trie(words, G_N_ELEMENTS(words));
    g_autoptr(SundogMatcher) matcher =
        new_matcher("root ::= a a a a a a a a \"b\"\na ::= \"a\" b \"a\" | \"\" | \"a\" a c\n"
                    "b ::= a a a | \"a\"\nc ::= a b | \"aa\" | a a",
                    trie);
    g_autofree uint32_t *tokens = g_new0(uint32_t, 400);
    SundogMatch match;
    sundog_match_init(&match, matcher);
    for (uint32_t n = 0; n < 400; n++)
        if (!sundog_match_advance(&match, tokens, n) || !sundog_match_get_mask(&match))
            break;
    sundog_match_clear(&match);
}

/* A nesting as deep as an answer is long. */
static void
test_deep_answers(void)
{
    static const char *const words[] = {"[", "]", "[[[["};
    enum { DEPTH = 60000 };
    g_autoptr(SundogMaskTrie) trie = new_trie(words, G_N_ELEMENTS(words));
    g_autoptr(SundogMatcher) matcher =
        new_matcher("root ::= \"[\" (root (\",\" root)*)? \"]\"", trie);
    g_autofree uint32_t *tokens = g_new0(uint32_t, DEPTH);
    SundogMatch match;
    sundog_match_init(&match, matcher);
    g_assert_true(sundog_match_advance(&match, tokens, DEPTH));
    g_assert_true(allows(&match, 0) && allows(&match, 1));
    sundog_match_clear(&match);
}

/* The time of masks along an answer, the first time and when all is known. */
static double
time_answer(SundogMatcher *matcher, const GArray *tokens, int64_t *worst_us)
{
    SundogMatch match;
    int64_t begin_us = g_get_monotonic_time();
    *worst_us = 0;
    sundog_match_init(&match, matcher);
    for (guint i = 0; i <= tokens->len; i++) {
        int64_t before = g_get_monotonic_time();
        g_assert_true(sundog_match_advance(&match, (const uint32_t *)(void *)tokens->data, i));
        g_assert_nonnull(sundog_match_get_mask(&match));
        if (i < tokens->len)
            g_assert_true(allows(&match, g_array_index(tokens, uint32_t, i)));
        int64_t us = g_get_monotonic_time() - before;
        *worst_us = MAX(*worst_us, us);
    }
    g_assert_true(sundog_match_may_end(&match));
    sundog_match_clear(&match);
    return (double)(g_get_monotonic_time() - begin_us) / (tokens->len + 1);
}

static void
test_time(void)
{
    static const char *const models[] = {"smollm2", "qwen2.5-coder-0.5b"};
    for (size_t i = 0; i < (g_test_perf() ? G_N_ELEMENTS(models) : 1); i++) {
        g_autofree char *path = test_fetch(models[i]);
        if (!path)
            return;
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogTokenizer) tokenizer = test_open_tokenizer(path, &error);
        g_assert_no_error(error);
        int64_t before = g_get_monotonic_time();
        g_autoptr(SundogTokenBytes) bytes = sundog_token_bytes_new(tokenizer);
        g_autoptr(SundogMaskTrie) trie = sundog_mask_trie_new(
            bytes->ends, bytes->n_tokens, bytes->bytes->data, bytes->bytes->len);
        int64_t trie_us = g_get_monotonic_time() - before;
        g_autoptr(JsonNode) schema = json_from_string(TYPICAL, NULL);
        before = g_get_monotonic_time();
        SundogAutomaton *automaton = sundog_constraint_new_schema(schema, &error);
        g_assert_no_error(error);
        int64_t compile_us = g_get_monotonic_time() - before;
        g_autoptr(SundogMatcher) matcher = sundog_matcher_new(automaton, trie);
        g_autoptr(GArray) tokens =
            test_encode(tokenizer, ANSWER, strlen(ANSWER), SUNDOG_TOKENIZE_PLAIN);
        int64_t worst_us, worst_again_us;
        double first = time_answer(matcher, tokens, &worst_us);
        double again = time_answer(matcher, tokens, &worst_again_us);
        g_test_message("%s: %u tokens, trie %.1f ms (%u nodes), schema %.2f ms; an answer of %u "
                       "tokens, us a token: first %.1f (worst %" G_GINT64_FORMAT
                       "), then %.2f (worst %" G_GINT64_FORMAT ")",
                       models[i], bytes->n_tokens, (double)trie_us / 1000,
                       trie->walks[0].n_nodes + trie->walks[1].n_nodes, (double)compile_us / 1000,
                       tokens->len, first, worst_us, again, worst_again_us);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/matcher/masks-are-what-advances", test_masks_are_what_advances);
    g_test_add_func("/matcher/control-tokens", test_control_tokens_are_asked_for);
    g_test_add_func("/matcher/ambiguity", test_ambiguity_is_bounded);
    g_test_add_func("/matcher/deep", test_deep_answers);
    g_test_add_func("/matcher/time", test_time);
    return g_test_run();
}
