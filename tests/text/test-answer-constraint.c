/* What a model may write where a call is required, in the syntax of real templates: random answers under
 * the masks are read back as calls whose arguments are what the tools' schemas ask for. */

#include "engine/format/json.h"
#include "engine/schedule/matcher.h"
#include "engine/text/output/answer-constraint.h"
#include "engine/text/output/output-parser.h"
#include "engine/text/tokenizer/token-bytes.h"
#include "tests/text/vocabularies.h"

#include <string.h>

#define MAX_TOKENS 4000
#define N_WALKS 6
#define TOOLS                                                                                      \
    "[{\"type\":\"function\",\"function\":{\"name\":\"look\",\"parameters\":{\"type\":\"object\"," \
    "\"properties\":{\"at\":{\"type\":\"string\",\"maxLength\":9},\"n\":{\"type\":\"integer\","    \
    "\"minimum\":1,\"maximum\":40},\"unit\":{\"enum\":[\"mile\",\"metre\"]}},\"required\":["       \
    "\"at\",\"n\"],\"additionalProperties\":false}}},{\"type\":\"function\",\"function\":{"        \
    "\"name\":\"now\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]"

static SundogTokenizer *tokenizer;
static SundogMaskTrie *trie;

typedef struct {
    GPtrArray *names;     /* char * */
    GPtrArray *arguments; /* GString * */
    GString *content;
} Heard;

static void
on_content(const char *text, size_t n_bytes, void *data)
{
    g_string_append_len(((Heard *)data)->content, text, (gssize)n_bytes);
}

static void
on_call(unsigned index, const char *name, void *data)
{
    Heard *heard = data;
    g_ptr_array_add(heard->names, g_strdup(name));
    g_ptr_array_add(heard->arguments, g_string_new(NULL));
}

static void
on_arguments(unsigned index, const char *text, size_t n_bytes, void *data)
{
    g_string_append_len(((Heard *)data)->arguments->pdata[index], text, (gssize)n_bytes);
}

static void
free_string(gpointer string)
{
    g_string_free(string, TRUE);
}

static void
check_arguments(const char *name, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = sundog_json_parse(text, strlen(text), &error);
    g_assert_no_error(error);
    JsonObject *object = json_node_get_object(node);
    if (strcmp(name, "now") == 0) {
        g_assert_cmpuint(json_object_get_size(object), ==, 0);
        return;
    }
    g_assert_cmpstr(name, ==, "look");
    int64_t n = json_object_get_int_member(object, "n");
    g_assert_true(n >= 1 && n <= 40);
    g_assert_nonnull(json_object_get_string_member(object, "at"));
    if (json_object_has_member(object, "unit")) {
        const char *unit = json_object_get_string_member(object, "unit");
        g_assert_true(strcmp(unit, "mile") == 0 || strcmp(unit, "metre") == 0);
    }
}

/* A token of the mask: mostly one that brings the end nearer, as a model would. */
static uint32_t
choose(GRand *rand, const uint64_t *mask)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GArray) marks = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < trie->n_tokens; i++) {
        if (!(mask[i / 64] >> i % 64 & 1))
            continue;
        uint32_t n_bytes;
        const uint8_t *bytes = sundog_mask_trie_get_bytes(trie, i, &n_bytes);
        g_array_append_val(all, i);
        if (strchr("</>\"}]arg_vlueptcionk:fl", bytes[0]) != NULL)
            g_array_append_val(marks, i);
    }
    GArray *from = marks->len > 0 && g_rand_int_range(rand, 0, 8) > 0 ? marks : all;
    return from->len == 0
               ? SUNDOG_MASK_NO_TOKEN
               : g_array_index(from, uint32_t, (guint)g_rand_int_range(rand, 0, (gint32)from->len));
}

/* NULL where the walk has not ended in time; owned by the caller. */
static GString *
walk(SundogMatcher *matcher, GRand *rand)
{
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GString) text = g_string_new(NULL);
    SundogMatch match;
    bool ended = false;
    sundog_match_init(&match, matcher);
    while (!ended && tokens->len < MAX_TOKENS) {
        bool advanced =
            sundog_match_advance(&match, (const uint32_t *)(void *)tokens->data, tokens->len);
        g_assert_true(advanced);
        ended = sundog_match_may_end(&match) && g_rand_boolean(rand);
        uint32_t token = ended ? SUNDOG_MASK_NO_TOKEN : choose(rand, sundog_match_get_mask(&match));
        if (token == SUNDOG_MASK_NO_TOKEN) {
            g_assert_true(sundog_match_may_end(&match));
            ended = true;
            continue;
        }
        uint32_t n_bytes;
        const uint8_t *bytes = sundog_mask_trie_get_bytes(trie, token, &n_bytes);
        bool is_control = bytes[0] == SUNDOG_AUTOMATON_CONTROL_BYTE;
        g_string_append_len(text, (const char *)bytes + is_control, n_bytes - is_control);
        g_array_append_val(tokens, token);
    }
    sundog_match_clear(&match);
    return ended ? g_steal_pointer(&text) : NULL;
}

static void
check_answer(const SundogOutputSyntax *syntax, JsonArray *tools, const char *text)
{
    static const SundogOutputCalls calls = {on_content, NULL, on_call, on_arguments};
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) arguments = g_ptr_array_new_with_free_func(free_string);
    g_autoptr(GString) content = g_string_new(NULL);
    Heard heard = {names, arguments, content};
    const SundogOutputOptions options = {.reasons = true, .takes_calls = true, .tools = tools};
    g_autoptr(SundogOutputParser) parser =
        sundog_output_parser_new(syntax, &options, &calls, &heard);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    sundog_output_parser_feed(parser, valid, strlen(valid));
    sundog_output_parser_finish(parser, true);
    if (names->len == 0 || content->len > 0)
        g_error("“%s” is heard as %u calls and the content “%s”", text, names->len, content->str);
    for (guint i = 0; i < names->len; i++)
        check_arguments(names->pdata[i], ((GString *)arguments->pdata[i])->str);
}

/* Returns how many walks ended. */
static guint
check_syntax(const SundogOutputSyntax *syntax, bool reasons)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) tools = sundog_json_parse(TOOLS, strlen(TOOLS), NULL);
    const SundogAnswerConstraint wanted = {.tokenizer = tokenizer,
                                           .syntax = syntax,
                                           .reasons = reasons,
                                           .calls = true,
                                           .tools = json_node_get_array(tools),
                                           .is_parallel = true};
    SundogAutomaton *automaton = sundog_answer_constraint_new(&wanted, &error);
    g_assert_no_error(error);
    g_autoptr(SundogMatcher) matcher = sundog_matcher_new(automaton, trie);
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    guint n_ended = 0;
    for (int i = 0; i < N_WALKS; i++) {
        GString *text = walk(matcher, rand);
        if (text == NULL)
            continue;
        check_answer(syntax, json_node_get_array(tools), text->str);
        g_string_free(text, TRUE);
        n_ended++;
    }
    return n_ended;
}

static void
test_published(void)
{
    static const char *const names[] = {"Qwen-Qwen3-0.6B",
                                        "Qwen3-Coder",
                                        "meta-llama-Llama-3.1-8B-Instruct",
                                        "mistralai-Mistral-Nemo-Instruct-2407",
                                        "Mistral-Small-3.2-24B-Instruct-2506",
                                        "unsloth-mistral-Devstral-Small-2507",
                                        "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
                                        "deepseek-ai-DeepSeek-V3.1",
                                        "deepseek-ai-DeepSeek-V3.2",
                                        "GLM-4.6",
                                        "moonshotai-Kimi-K2",
                                        "Kimi-K2-Thinking",
                                        "Apertus-8B-Instruct",
                                        "openbmb-MiniCPM5-1B",
                                        "LFM2.5-8B-A1B",
                                        "google-gemma-4-31B-it",
                                        "MiniMax-M1",
                                        "MiniMax-M2",
                                        "google-gemma-2-2b-it"};
    g_autofree char *folder = test_fetch("llama-cpp-source");
    if (folder == NULL)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strdup_printf("%s/models/templates/%s.jinja", folder, names[i]);
        g_autofree char *source = NULL;
        g_assert_true(g_file_get_contents(path, &source, NULL, NULL));
        g_autoptr(SundogOutputSyntax) syntax = sundog_output_syntax_detect(source, tokenizer);
        g_test_message("%s", names[i]);
        g_assert_cmpuint(check_syntax(syntax, false), >, 0);
    }
}

static void
test_harmony(void)
{
    const SundogOutputSyntax harmony = {.form = SUNDOG_CALL_HARMONY};
    g_assert_cmpuint(check_syntax(&harmony, false), >, 0);
}

/* The marks of several templates as control tokens, which masks then ask for as such. */
static SundogVocabulary *
new_vocabulary(void)
{
    static const char *const controls[] = {"[TOOL_CALLS]",
                                           "[ARGS]",
                                           "<|tool_calls_section_begin|>",
                                           "<|tool_call_begin|>",
                                           "<|tool_call_end|>",
                                           "<|tool_call_argument_begin|>",
                                           "<｜tool▁sep｜>",
                                           "<|channel|>",
                                           "<|message|>",
                                           "<|constrain|>"};
    SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(SundogToken));
    g_array_append_vals(tokens, vocabulary->tokens, vocabulary->n_tokens);
    for (size_t i = 0; i < G_N_ELEMENTS(controls); i++) {
        SundogToken token = {.text = g_string_chunk_insert(vocabulary->strings, controls[i]),
                             .length = (uint32_t)strlen(controls[i]),
                             .kind = SUNDOG_TOKEN_CONTROL};
        g_array_append_val(tokens, token);
    }
    g_free(vocabulary->tokens);
    vocabulary->n_tokens = tokens->len;
    vocabulary->tokens = g_memdup2(tokens->data, tokens->len * sizeof(SundogToken));
    return vocabulary;
}

static void
use(SundogVocabulary *vocabulary)
{
    g_clear_pointer(&trie, sundog_mask_trie_free);
    g_clear_pointer(&tokenizer, sundog_tokenizer_free);
    tokenizer = sundog_tokenizer_new(vocabulary, NULL);
    g_autoptr(SundogTokenBytes) bytes = sundog_token_bytes_new(tokenizer);
    trie =
        sundog_mask_trie_new(bytes->ends, bytes->n_tokens, bytes->bytes->data, bytes->bytes->len);
}

static void
test_control_tokens(void)
{
    static const char *const names[] = {"unsloth-mistral-Devstral-Small-2507", "moonshotai-Kimi-K2",
                                        "deepseek-ai-DeepSeek-V3.1"};
    const SundogOutputSyntax harmony = {.form = SUNDOG_CALL_HARMONY};
    g_autofree char *folder = test_fetch("llama-cpp-source");
    if (folder == NULL)
        return;
    use(new_vocabulary());
    g_assert_cmpuint(check_syntax(&harmony, false), >, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_strdup_printf("%s/models/templates/%s.jinja", folder, names[i]);
        g_autofree char *source = NULL;
        g_assert_true(g_file_get_contents(path, &source, NULL, NULL));
        /* Read without the channels' tokens, which would make any template one of Harmony's. */
        g_autoptr(SundogTokenizer) plain = sundog_tokenizer_new(test_new_vocabulary("gpt-2"), NULL);
        g_autoptr(SundogOutputSyntax) syntax = sundog_output_syntax_detect(source, plain);
        g_assert_cmpuint(check_syntax(syntax, false), >, 0);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    use(test_new_vocabulary("gpt-2"));
    g_test_add_func("/answer-constraint/published", test_published);
    g_test_add_func("/answer-constraint/harmony", test_harmony);
    g_test_add_func("/answer-constraint/control-tokens", test_control_tokens);
    int status = g_test_run();
    sundog_mask_trie_free(trie);
    sundog_tokenizer_free(tokenizer);
    return status;
}
