/* Output syntax: read from real templates, what they render is read back; and answers at every cut. */

#include "engine/format/json.h"
#include "engine/text/output/output-parser.h"
#include "tests/text/vocabularies.h"

#include <string.h>

#define QUESTION "Wendelstein"
#define TOOLS                                                                                     \
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"w\","       \
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\","          \
    "\"description\":\"c\"},\"days\":{\"type\":\"integer\",\"description\":\"d\"},\"code\":{"     \
    "\"type\":\"string\",\"description\":\"e\"}},\"required\":[\"city\"]}}},{\"type\":"           \
    "\"function\",\"function\":{\"name\":\"now\",\"description\":\"n\",\"parameters\":{\"type\":" \
    "\"object\",\"properties\":{\"zone\":{\"type\":\"string\",\"description\":\"z\"}},"           \
    "\"required\":[]}}}]"
#define FIRST "{\"city\": \"Plzeň 北\", \"days\": 3, \"code\": \"if a < b:\\n  x = {1}\"}"
#define SECOND "{\"zone\": \"UTC\"}"

static SundogTokenizer *tokenizer;

/* What a parser said, as one text: c(content) r(reasoning) then each call with its arguments. */
typedef struct {
    GString *content;
    GString *reasoning;
    GPtrArray *calls; /* of GString: name, a space, arguments */
} Heard;

static void
on_content(const char *text, size_t n_bytes, void *data)
{
    g_assert_cmpuint(n_bytes, >, 0);
    g_string_append_len(((Heard *)data)->content, text, (gssize)n_bytes);
}

static void
on_reasoning(const char *text, size_t n_bytes, void *data)
{
    g_assert_cmpuint(n_bytes, >, 0);
    g_string_append_len(((Heard *)data)->reasoning, text, (gssize)n_bytes);
}

static void
on_call(unsigned index, const char *name, void *data)
{
    Heard *heard = data;
    g_assert_cmpuint(index, ==, heard->calls->len);
    GString *call = g_string_new(name);
    g_string_append_c(call, ' ');
    g_ptr_array_add(heard->calls, call);
}

static void
on_arguments(unsigned index, const char *text, size_t n_bytes, void *data)
{
    Heard *heard = data;
    g_assert_cmpuint(index, ==, heard->calls->len - 1);
    g_assert_cmpuint(n_bytes, >, 0);
    g_string_append_len(g_ptr_array_index(heard->calls, index), text, (gssize)n_bytes);
}

static const SundogOutputCalls calls = {on_content, on_reasoning, on_call, on_arguments};

static void
free_string(gpointer string)
{
    g_string_free(string, TRUE);
}

/* The answer in two pieces, cut at a byte; what was heard as one text. Owned by the caller. */
static char *
parse(const SundogOutputSyntax *syntax, const SundogOutputOptions *options, const char *answer,
      size_t cut, bool whole)
{
    Heard heard = {g_string_new("c:"), g_string_new("|r:"),
                   g_ptr_array_new_with_free_func(free_string)};
    SundogOutputParser *parser = sundog_output_parser_new(syntax, options, &calls, &heard);
    sundog_output_parser_feed(parser, answer, cut);
    sundog_output_parser_feed(parser, answer + cut, strlen(answer) - cut);
    sundog_output_parser_finish(parser, whole);
    g_assert_cmpuint(sundog_output_parser_get_n_calls(parser), ==, heard.calls->len);
    sundog_output_parser_free(parser);
    g_string_append(heard.content, heard.reasoning->str);
    for (guint i = 0; i < heard.calls->len; i++)
        g_string_append_printf(heard.content, "|%s",
                               ((GString *)g_ptr_array_index(heard.calls, i))->str);
    g_string_free(heard.reasoning, TRUE);
    g_ptr_array_unref(heard.calls);
    return g_string_free(heard.content, FALSE);
}

/* The same whole, byte by byte and at every cut between characters. */
static char *
parse_all(const SundogOutputSyntax *syntax, const SundogOutputOptions *options, const char *answer,
          bool whole)
{
    char *expected = parse(syntax, options, answer, strlen(answer), whole);
    for (const char *c = answer; *c != '\0'; c = g_utf8_next_char(c)) {
        g_autofree char *heard = parse(syntax, options, answer, (size_t)(c - answer), whole);
        g_assert_cmpstr(heard, ==, expected);
    }
    return expected;
}

static JsonNode *
parse_json(const char *text)
{
    g_autoptr(GError) error = NULL;
    JsonNode *node = sundog_json_parse(text, strlen(text), &error);
    g_assert_no_error(error);
    return node;
}

/* Templates */

static char *
render(const SundogTemplate *chat_template, const char *answer)
{
    g_autofree char *text = g_strdup_printf(
        "{\"messages\": [{\"role\": \"user\", \"content\": \"" QUESTION
        "\"}%s%s], \"tools\": " TOOLS
        ", \"add_generation_prompt\": %s, \"bos_token\": \"<s>\", \"eos_token\": \"<|EOS|>\"}",
        answer ? ", " : "", answer ? answer : "", answer ? "false" : "true");
    g_autoptr(JsonNode) node = parse_json(text);
    g_autoptr(SundogRendering) rendering =
        sundog_template_render(chat_template, json_node_get_object(node), 0, NULL);
    if (rendering == NULL)
        return NULL;
    const char *found = g_strrstr(sundog_rendering_get_text(rendering, NULL), QUESTION);
    return found != NULL ? g_strdup(found + strlen(QUESTION)) : NULL;
}

static char *
print_call(const SundogOutputSyntax *syntax, const char *name, const char *arguments)
{
    g_autoptr(JsonNode) node = json_node_alloc();
    json_node_init_string(node, arguments);
    g_autofree char *text = sundog_json_print(node, false);
    return g_strdup_printf(
        "{\"id\": \"abcdefgh1\", \"type\": \"function\", \"function\": {\"name\": "
        "\"%s\", \"arguments\": %s}}",
        name, syntax->text_arguments ? text : arguments);
}

/* Whether a call that was heard is this one, whatever its spaces. */
static bool
is_call(const char *heard, const char *name, const char *arguments)
{
    g_autofree char *head = g_strconcat(name, " ", NULL);
    if (!g_str_has_prefix(heard, head))
        return false;
    const char *json = heard + strlen(head);
    g_autoptr(JsonNode) got = sundog_json_parse(json, strlen(json), NULL);
    g_autoptr(JsonNode) wanted = parse_json(arguments);
    return got != NULL && json_node_equal(got, wanted); /* some templates order members anew */
}

/* A template renders one or two calls, and its own syntax reads them back. */
static bool
reads_back(const SundogTemplate *chat_template, const SundogOutputSyntax *syntax, bool two)
{
    g_autofree char *first = print_call(syntax, "get_weather", FIRST);
    g_autofree char *second = print_call(syntax, "now", SECOND);
    g_autofree char *message = g_strdup_printf(
        "{\"role\": \"assistant\", \"content\": %s, \"tool_calls\": [%s%s%s]}",
        syntax->null_content ? "null" : "\"\"", first, two ? ", " : "", two ? second : "");
    g_autofree char *begin = render(chat_template, NULL);
    g_autofree char *answer = render(chat_template, message);
    if (answer == NULL || strstr(answer, "get_weather") == NULL)
        return two; /* one call at a time is all that some render */
    size_t n = 0;
    while (begin != NULL && answer[n] != '\0' && answer[n] == begin[n])
        n++;
    while (n > 0 && answer[n - 1] != '>' && answer[n - 1] != '\n' && answer[n - 1] != ']')
        n--;
    g_autoptr(JsonNode) tools = parse_json(TOOLS);
    const SundogOutputOptions options = {
        .reasons = true, .takes_calls = true, .tools = json_node_get_array(tools)};
    g_autofree char *heard = parse_all(syntax, &options, answer + n, true);
    g_auto(GStrv) parts = g_strsplit(heard, "|", 0);
    guint n_parts = g_strv_length(parts);
    const char *call = strstr(heard, "|get_weather ");
    const char *next = call != NULL ? strstr(call, "|now ") : NULL;
    g_autofree char *text =
        call != NULL ? g_strndup(call + 1, next ? (gsize)(next - call - 1) : strlen(call + 1))
                     : g_strdup("");
    bool good = is_call(text, "get_weather", FIRST) &&
                (!two || (next != NULL && is_call(next + 1, "now", SECOND)));
    if (!good)
        g_test_message("of %s\nheard %s (%u parts)", answer + n, heard, n_parts);
    return good;
}

/* Templates of the published ones whose calls must be understood; others may be. */
static const struct {
    const char *name;
    SundogCallForm form;
    const char *reasoning_open;
} wanted[] = {
    {"Qwen-Qwen3-0.6B", SUNDOG_CALL_OBJECT, "<think>"},
    {"Qwen-Qwen2.5-7B-Instruct", SUNDOG_CALL_OBJECT, NULL},
    {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", SUNDOG_CALL_OBJECT, NULL},
    {"Qwen3-Coder", SUNDOG_CALL_TAGGED, NULL},
    {"meta-llama-Llama-3.1-8B-Instruct", SUNDOG_CALL_OBJECT, NULL},
    {"meta-llama-Llama-3.3-70B-Instruct", SUNDOG_CALL_OBJECT, NULL},
    {"LFM2.5-8B-A1B", SUNDOG_CALL_PYTHONIC, "<think>"},
    {"mistralai-Mistral-Nemo-Instruct-2407", SUNDOG_CALL_OBJECT, NULL},
    {"Mistral-Small-3.2-24B-Instruct-2506", SUNDOG_CALL_NAMED, NULL},
    {"unsloth-mistral-Devstral-Small-2507", SUNDOG_CALL_NAMED, NULL},
    {"mistralai-Ministral-3-14B-Reasoning-2512", SUNDOG_CALL_NAMED, "[THINK]"},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", SUNDOG_CALL_NAMED, "<think>"},
    {"deepseek-ai-DeepSeek-V3.1", SUNDOG_CALL_NAMED, "<think>"},
    {"deepseek-ai-DeepSeek-V3.2", SUNDOG_CALL_TAGGED, "<think>"},
    {"deepseek-ai-DeepSeek-V4", SUNDOG_CALL_TAGGED, "<think>"},
    {"GLM-4.6", SUNDOG_CALL_TAGGED, "<think>"},
    {"GLM-4.7-Flash", SUNDOG_CALL_TAGGED, "<think>"},
    {"moonshotai-Kimi-K2", SUNDOG_CALL_NAMED, NULL},
    {"MiniMax-M1", SUNDOG_CALL_OBJECT, NULL},
    {"MiniMax-M2", SUNDOG_CALL_TAGGED, "<think>"},
    {"ibm-granite-granite-4.0", SUNDOG_CALL_OBJECT, NULL},
    {"Apriel-1.6-15b-Thinker-fixed", SUNDOG_CALL_OBJECT, NULL},
    {"Bielik-11B-v3.0-Instruct", SUNDOG_CALL_OBJECT, "<think>"},
    {"ByteDance-Seed-OSS", SUNDOG_CALL_TAGGED, "<seed:think>"},
    {"Cohere2MoE", SUNDOG_CALL_OBJECT, "<|START_THINKING|>"},
    {"CohereForAI-c4ai-command-r-plus-tool_use", SUNDOG_CALL_OBJECT, NULL},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", SUNDOG_CALL_OBJECT, "<|START_THINKING|>"},
    {"MiMo-VL", SUNDOG_CALL_OBJECT, NULL},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", SUNDOG_CALL_TAGGED, "<think>"},
    {"NVIDIA-Nemotron-Nano-v2", SUNDOG_CALL_OBJECT, "<think>"},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", SUNDOG_CALL_OBJECT, NULL},
    {"Qwen-QwQ-32B", SUNDOG_CALL_OBJECT, "<think>"},
    {"Qwen3.5-4B", SUNDOG_CALL_TAGGED, "<think>"},
    {"Reka-Edge", SUNDOG_CALL_OBJECT, "<think>"},
    {"Spark2.5", SUNDOG_CALL_TAGGED, "<think>"},
    {"StepFun3.5-Flash", SUNDOG_CALL_TAGGED, "<think>"},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", SUNDOG_CALL_NAMED, "<think>"},
    {"deepseek-ai-DeepSeek-V4-Flash-0731", SUNDOG_CALL_TAGGED, "<think>"},
    {"ibm-granite-granite-4.1", SUNDOG_CALL_OBJECT, NULL},
    {"inclusionai-ling-3.0-flash", SUNDOG_CALL_TAGGED, "<think>"},
    {"meetkai-functionary-medium-v3.1", SUNDOG_CALL_NAMED, NULL},
    {"meta-llama-Llama-3.2-3B-Instruct", SUNDOG_CALL_OBJECT, NULL},
    {"poolside-Laguna-S-2.1", SUNDOG_CALL_TAGGED, "<think>"},
    {"poolside-Laguna-XS-2.1", SUNDOG_CALL_TAGGED, "<think>"},
    {"poolside-Laguna-XS.2", SUNDOG_CALL_TAGGED, "<think>"},
    {"tencent-Hy3", SUNDOG_CALL_TAGGED, "<think:opensource>"},
    {"unsloth-Apriel-1.5", SUNDOG_CALL_OBJECT, NULL},
    {"google-gemma-4-31B-it", SUNDOG_CALL_BRACED, "<|channel>thought"},
    /* Explained by us: one that has no calls, and one whose calls are not to be told in these forms. */
    {"google-gemma-2-2b-it", SUNDOG_CALL_OBJECT, NULL},
    {"Kimi-K3", SUNDOG_CALL_OBJECT, "<|sep|>"},
};

static void
test_published(void)
{
    g_autofree char *folder = test_fetch("llama-cpp-source");
    if (folder == NULL)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        g_autofree char *path =
            g_strdup_printf("%s/models/templates/%s.jinja", folder, wanted[i].name);
        g_autofree char *source = NULL;
        g_assert_true(g_file_get_contents(path, &source, NULL, NULL));
        g_autoptr(SundogOutputSyntax) syntax = sundog_output_syntax_detect(source, tokenizer);
        g_autoptr(JsonObject) printed = sundog_output_syntax_print(syntax);
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogOutputSyntax) again = sundog_output_syntax_parse(printed, &error);
        g_assert_no_error(error);
        g_test_message("%s", wanted[i].name);
        g_assert_cmpint(again->form, ==, wanted[i].form);
        g_assert_cmpstr(again->reasoning_open, ==, wanted[i].reasoning_open);
        g_autoptr(SundogTemplate) chat_template = sundog_template_new(source, NULL);
        bool is_explained = strstr(wanted[i].name, "gemma-2") || strstr(wanted[i].name, "Kimi-K3");
        g_assert_cmpint(again->by_prompt, ==, is_explained);
        if (!again->by_prompt) {
            g_assert_true(reads_back(chat_template, again, false));
            g_assert_true(reads_back(chat_template, again, true));
        }
    }
}

/* Those whose calls are explained by us: of the first the templates render none at all, or take them from
 * variables of their own; of the others they are in none of our forms. */
static const char *const explained[] = {
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2-8B-A1B",
    "LFM2.5-Instruct",
    "fireworks-ai-llama-3-firefunction-v2",
    "google-gemma-2-2b-it",
    "ibm-granite-granite-3.3-2B-Instruct",
    "llama-cpp-deepseek-r1",
    "llama-cpp-rwkv-world",
    "microsoft-Phi-3.5-mini-instruct",

    "Kimi-K3",
    "MiniMax-M3",
    "meetkai-functionary-medium-v3.2",
    "muse-glimmer",
    "upstage-Solar-Open-100B",
    NULL,
};

/* Known by its control tokens, which this vocabulary has not. */
#define HARMONY_NAME "openai-gpt-oss-120b"

static void
check_published(const char *folder, const char *name)
{
    g_autofree char *path = g_strdup_printf("%s/%s.jinja", folder, name);
    g_autofree char *source = NULL;
    g_assert_true(g_file_get_contents(path, &source, NULL, NULL));
    g_autoptr(SundogOutputSyntax) syntax = sundog_output_syntax_detect(source, tokenizer);
    g_autoptr(SundogTemplate) chat_template = sundog_template_new(source, NULL);
    g_assert_nonnull(chat_template);
    g_test_message("%s", name);
    g_assert_cmpint(syntax->by_prompt, ==, g_strv_contains(explained, name));
    if (syntax->by_prompt)
        return;
    g_assert_true(reads_back(chat_template, syntax, false));
    if (!g_str_has_prefix(name, "GigaChat")) /* which renders the first call alone */
        g_assert_true(reads_back(chat_template, syntax, true));
}

/* All that are there, whatever their form. */
static void
test_all_published(void)
{
    g_autofree char *source = test_fetch("llama-cpp-source");
    if (source == NULL)
        return;
    g_autofree char *folder = g_build_filename(source, "models/templates", NULL);
    g_autoptr(GDir) listing = g_dir_open(folder, 0, NULL);
    const char *file;
    guint n_checked = 0;
    g_assert_nonnull(listing);
    while ((file = g_dir_read_name(listing)) != NULL) {
        g_autofree char *name = g_strdup(file);
        char *end = g_str_has_suffix(name, ".jinja") ? strstr(name, ".jinja") : NULL;
        if (end == NULL)
            continue;
        *end = '\0';
        if (strcmp(name, HARMONY_NAME) == 0)
            continue;
        check_published(folder, name);
        n_checked++;
    }
    g_assert_cmpuint(n_checked, >=, 60);
}

/* A vocabulary that has these control tokens too. */
static SundogTokenizer *
new_tokenizer_with(const char *const *controls)
{
    SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(SundogToken));
    g_array_append_vals(tokens, vocabulary->tokens, vocabulary->n_tokens);
    for (; *controls != NULL; controls++) {
        SundogToken token = {.text = g_string_chunk_insert(vocabulary->strings, *controls),
                             .length = (uint32_t)strlen(*controls),
                             .kind = SUNDOG_TOKEN_CONTROL};
        g_array_append_val(tokens, token);
    }
    g_free(vocabulary->tokens);
    vocabulary->n_tokens = tokens->len;
    vocabulary->tokens = g_memdup2(tokens->data, tokens->len * sizeof(SundogToken));
    return sundog_tokenizer_new(vocabulary, NULL);
}

/* T4: what ends a turn stands in the template, also where the vocabulary calls it no end. */
static void
test_ends(void)
{
    static const char *const controls[] = {"<|user|>",   "<|assistant|>", "<|observation|>",
                                           "<|eot_id|>", "<|im_end|>",    NULL};
    static const struct {
        const char *name, *turn_end, *call_end;
    } ends[] = {
        {"GLM-4.6", "<|user|>", "<|observation|>"},
        {"meta-llama-Llama-3.1-8B-Instruct", "<|eot_id|>", "<|eot_id|>"},
        {"Qwen3-Coder", "<|im_end|>", "<|im_end|>"},
    };
    g_autofree char *folder = test_fetch("llama-cpp-source");
    if (folder == NULL)
        return;
    g_autoptr(SundogTokenizer) own = new_tokenizer_with(controls);
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++) {
        g_autofree char *path =
            g_strdup_printf("%s/models/templates/%s.jinja", folder, ends[i].name);
        g_autofree char *source = NULL;
        g_assert_true(g_file_get_contents(path, &source, NULL, NULL));
        g_autoptr(SundogOutputSyntax) syntax = sundog_output_syntax_detect(source, own);
        g_assert_cmpstr(syntax->turn_end, ==, ends[i].turn_end);
        g_assert_cmpstr(syntax->call_end, ==, ends[i].call_end);
    }
}

/* Answers */

static const SundogOutputSyntax hermes = {.form = SUNDOG_CALL_OBJECT,
                                          .reasoning_open = (char *)"<think>",
                                          .reasoning_close = (char *)"</think>",
                                          .section_open = (char *)"",
                                          .section_close = (char *)"",
                                          .call_open = (char *)"<tool_call>",
                                          .call_close = (char *)"</tool_call>",
                                          .name_key = (char *)"name",
                                          .arguments_key = (char *)"arguments"};
static const SundogOutputSyntax bare = {.form = SUNDOG_CALL_OBJECT,
                                        .section_open = (char *)"",
                                        .section_close = (char *)"",
                                        .call_open = (char *)"",
                                        .call_close = (char *)"",
                                        .name_key = (char *)"name",
                                        .arguments_key = (char *)"parameters"};
static const SundogOutputSyntax coder = {.form = SUNDOG_CALL_TAGGED,
                                         .section_open = (char *)"",
                                         .section_close = (char *)"",
                                         .call_open = (char *)"<tool_call>\n<function=",
                                         .call_close = (char *)"</function>\n</tool_call>",
                                         .name_close = (char *)">",
                                         .key_open = (char *)"<parameter=",
                                         .text_open = (char *)">",
                                         .value_open = (char *)">",
                                         .value_close = (char *)"</parameter>"};
static const SundogOutputSyntax cdata = {.form = SUNDOG_CALL_TAGGED,
                                         .section_open = (char *)"",
                                         .section_close = (char *)"",
                                         .call_open = (char *)"<function name=\"",
                                         .call_close = (char *)"</function>",
                                         .name_close = (char *)"\">",
                                         .key_open = (char *)"<param name=\"",
                                         .text_open = (char *)"\">",
                                         .value_open = (char *)"\">",
                                         .value_close = (char *)"</param>",
                                         .has_cdata = true};
static const SundogOutputSyntax named_list = {.form = SUNDOG_CALL_NAMED,
                                              .section_open = (char *)"<|tools|>",
                                              .section_close = (char *)"<|end|>",
                                              .call_open = (char *)"{\"",
                                              .call_close = (char *)"}",
                                              .name_close = (char *)"\":",
                                              .extra_close = (char *)"",
                                              .is_list = true};
static const SundogOutputSyntax python = {.form = SUNDOG_CALL_PYTHONIC,
                                          .section_open = (char *)"<|calls|>",
                                          .section_close = (char *)"<|/calls|>",
                                          .call_open = (char *)"",
                                          .call_close = (char *)""};
/* Marks that begin with others, or hold them. */
static const SundogOutputSyntax alike = {.form = SUNDOG_CALL_TAGGED,
                                         .reasoning_open = (char *)"<|sep|>",
                                         .reasoning_close = (char *)"<|end|>think<|sep|>",
                                         .section_open = (char *)"<|open|>tools<|sep|>",
                                         .section_close = (char *)"<|end|>tools<|sep|>",
                                         .call_open = (char *)"<|open|>tools",
                                         .call_close = (char *)"<|end|>",
                                         .name_close = (char *)"<|sep|>",
                                         .key_open = (char *)"<|open|>",
                                         .text_open = (char *)"=<|sep|>",
                                         .value_open = (char *)"=",
                                         .value_close = (char *)"<|end|>value"};
static const SundogOutputSyntax braced = {.form = SUNDOG_CALL_BRACED,
                                          .section_open = (char *)"",
                                          .section_close = (char *)"",
                                          .call_open = (char *)"<|tool_call>call:",
                                          .call_close = (char *)"<tool_call|>",
                                          .text_open = (char *)"<|\"|>"};
static const SundogOutputSyntax harmony = {.form = SUNDOG_CALL_HARMONY};

#define CALL_A "<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"}]\\\"\"}}\n</tool_call>"

static const struct {
    const SundogOutputSyntax *syntax;
    SundogOutputOptions options;
    bool is_cut;
    const char *answer;
    const char *heard;
} answers[] = {
    {&hermes, {.takes_calls = true, .reasons = true}, false, "Hello.\n", "c:Hello.\n|r:"},
    {&hermes,
     {.takes_calls = true, .reasons = true},
     false,
     "<think>\nHm.\n\n</think>\n\nYes <b>.",
     "c:Yes <b>.|r:Hm."},
    {&hermes,
     {.takes_calls = true, .reasons = true, .begins_reasoning = true},
     false,
     "Hm.</think>Yes",
     "c:Yes|r:Hm."},
    {&hermes,
     {.takes_calls = true, .reasons = true, .begins_reasoning = true},
     true,
     "Hm. </thi",
     "c:|r:Hm. </thi"},
    {&hermes, {.takes_calls = true}, false, "<think>Hm.</think>", "c:<think>Hm.</think>|r:"},
    {&hermes,
     {.takes_calls = true, .reasons = true},
     false,
     "Let me see.\n" CALL_A,
     "c:Let me see.|r:|a {\"x\": \"}]\\\"\"}"},
    {&hermes,
     {.takes_calls = true},
     false,
     CALL_A "\n" CALL_A "\nDone",
     "c:Done|r:|a {\"x\": \"}]\\\"\"}|a {\"x\": \"}]\\\"\"}"},
    /* Without tools nothing is a call, and with them prose about the mark is prose. */
    {&hermes,
     {.takes_calls = false},
     false,
     "Write <tool_call> first.",
     "c:Write <tool_call> first.|r:"},
    {&hermes,
     {.takes_calls = true},
     false,
     "Write <tool_call> first, then {\"name\"…",
     "c:Write <tool_call> first, then {\"name\"…|r:"},
    {&hermes,
     {.takes_calls = true},
     false,
     "<tool_call>\n{\"nome\": 3}\n</tool_call>",
     "c:<tool_call>\n{\"nome\": 3}\n</tool_call>|r:"},
    {&alike,
     {.takes_calls = true, .reasons = true},
     false,
     "<|sep|>Hm.<|end|>think<|sep|>So<|open|>tools<|sep|><|open|>toolsa<|sep|><|open|>x=<|sep|>1"
     "<|end|>value<|end|><|end|>tools<|sep|>",
     "c:So|r:Hm.|a {\"x\": \"1\"}"},
    {&braced,
     {.takes_calls = true},
     false,
     "So<|tool_call>call:a{x:<|\"|>} \"b<|\"|>, y:[1,{k:true}],<|\"|>z<|\"|>:\"j\"}<tool_call|>"
     "<|tool_call>call:b{}<tool_call|>",
     "c:So|r:|a {\"x\":\"} \\\"b\",\"y\":[1,{\"k\":true}],\"z\":\"j\"}|b {}"},
    {&braced, {.takes_calls = true}, false, "<|tool_call>call:a(x)", "c:<|tool_call>call:a(x)|r:"},
    {&braced, {.takes_calls = true}, true, "<|tool_call>call:a{x:<|\"|>b", "c:|r:"},
    {&braced,
     {.takes_calls = true},
     false,
     "<|tool_call>call:a{x\"{\"z}<tool_call|>",
     "c:<|tool_call>call:a{x\"{\"z}<tool_call|>|r:"},
    /* Python's literals, and characters by their numbers. */
    {&python,
     {.takes_calls = true},
     false,
     "<|calls|>[a(x='it\\'s', y=[1, True, {\"k\": None}]), b()]<|/calls|>",
     "c:|r:|a {\"x\":\"it's\",\"y\":[1,true,{\"k\":null}]}|b {}"},
    {&python,
     {.takes_calls = true},
     false,
     "<|calls|>[a(x=\"\\u00e9\\x41\\ud83d\\ude00\\t\\ud83d.\")]<|/calls|>",
     "c:|r:|a {\"x\":\"éA😀\\t\ufffd.\"}"},
    /* Cut before the name, within arguments, and members in another order. */
    {&hermes, {.takes_calls = true}, true, "<tool_call>\n{\"name\": \"a", "c:|r:"},
    {&hermes,
     {.takes_calls = true},
     true,
     "<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": \"12",
     "c:|r:|a {\"x\": \"12"},
    {&hermes,
     {.takes_calls = true},
     false,
     "<tool_call>{\"id\": 1, \"arguments\": {\"x\": [1, {}]}, \"name\": \"a\"}</tool_call>",
     "c:|r:|a {\"x\": [1, {}]}"},
    {&hermes,
     {.takes_calls = true},
     false,
     "<tool_call>{\"name\": \"a\", \"arguments\": \"{\\\"x\\\": 1}\"}</tool_call>",
     "c:|r:|a {\"x\": 1}"},
    {&hermes,
     {.takes_calls = true},
     false,
     "<tool_call>{\"name\": \"a\"}</tool_call>",
     "c:|r:|a {}"},
    {&coder,
     {.takes_calls = true},
     false,
     "Well.\n<tool_call>\n<function=a>\n<parameter=n>\n12\n</parameter>\n<parameter=s>\nif a < "
     "b:\n "
     "\"x\"\n\n</parameter>\n</function>\n</tool_call>",
     "c:Well.|r:|a {\"n\": 12, \"s\": \"if a < b:\\n \\\"x\\\"\"}"},
    {&coder,
     {.takes_calls = true},
     false,
     "<tool_call>\n<function=a>\n</function>\n</tool_call>",
     "c:|r:|a {}"},
    /* What is quoted whole is taken whole: line ends at its edges, and marks within it. */
    {&cdata,
     {.takes_calls = true},
     false,
     "<function name=\"a\"><param name=\"s\"><![CDATA[\n1 < 2 </param>\n]]></param><param "
     "name=\"n\">12</param></function>",
     "c:|r:|a {\"s\": \"\\n1 < 2 </param>\\n\", \"n\": 12}"},
    {&cdata,
     {.takes_calls = true},
     false,
     "<function name=\"a\"><param name=\"s\"><![CDAT</param></function>",
     "c:|r:|a {\"s\": \"<![CDAT\"}"},
    {&named_list,
     {.takes_calls = true},
     false,
     "So.<|tools|>[{\"a\": {\"n\": 1}}, {\"a\": {\"s\": \"}]\"}}]<|end|>",
     "c:So.|r:|a {\"n\": 1}|a {\"s\": \"}]\"}"},
    {&harmony,
     {.takes_calls = true, .reasons = true},
     false,
     "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
     "c:Yes.|r:Hm."},
    {&harmony,
     {.takes_calls = true, .reasons = true},
     false,
     "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant "
     "to=functions.a<|channel|>commentary "
     "json<|message|>{\"x\": 1}",
     "c:|r:Hm.|a {\"x\": 1}"},
    {&harmony,
     {.takes_calls = true, .reasons = true},
     false,
     "<|channel|>commentary to=functions.b <|constrain|>json<|message|>{\"y\": [\"}\"]}",
     "c:|r:|b {\"y\": [\"}\"]}"},
};

static void
test_answers(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
        g_autofree char *heard = parse_all(answers[i].syntax, &answers[i].options,
                                           answers[i].answer, !answers[i].is_cut);
        g_assert_cmpstr(heard, ==, answers[i].heard);
    }
}

/* Without marks, only a tool that was given can be called, and only an answer's beginning is a call. */
static void
test_bare(void)
{
    static const struct {
        const char *answer;
        const char *heard;
    } cases[] = {
        {"{\"name\": \"now\", \"parameters\": {\"zone\": \"UTC\"}}",
         "c:|r:|now {\"zone\": \"UTC\"}"},
        {"{\"name\": \"now\", \"parameters\": {}}; {\"name\": \"now\", \"parameters\": {\"zone\": "
         "1}}",
         "c:|r:|now {}|now {\"zone\": 1}"},
        {"{\"name\": \"Ada\", \"age\": 36}", "c:{\"name\": \"Ada\", \"age\": 36}|r:"},
        {"{\"a\": {\"name\": \"now\"}}", "c:{\"a\": {\"name\": \"now\"}}|r:"},
        {"So: {\"name\": \"now\", \"parameters\": {}}",
         "c:So: {\"name\": \"now\", \"parameters\": {}}|r:"},
        {"  Yes", "c:  Yes|r:"},
        {"{", "c:{|r:"},
    };
    g_autoptr(JsonNode) tools = parse_json(TOOLS);
    const SundogOutputOptions options = {.takes_calls = true, .tools = json_node_get_array(tools)};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *heard = parse_all(&bare, &options, cases[i].answer, true);
        g_assert_cmpstr(heard, ==, cases[i].heard);
    }
}

static void
test_prompts(void)
{
    g_assert_true(sundog_output_syntax_begins_reasoning(&hermes, "…<assistant>\n<think>\n"));
    g_assert_false(sundog_output_syntax_begins_reasoning(&hermes, "…<think>\n\n</think>\n\n"));
    g_assert_false(
        sundog_output_syntax_begins_reasoning(&hermes, "say <think> twice<assistant>\n"));
    g_assert_false(sundog_output_syntax_begins_reasoning(&bare, "<think>"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
    tokenizer = sundog_tokenizer_new(vocabulary, NULL);
    g_test_add_func("/output/answers", test_answers);
    g_test_add_func("/output/bare", test_bare);
    g_test_add_func("/output/prompts", test_prompts);
    g_test_add_func("/output/published", test_published);
    g_test_add_func("/output/all-published", test_all_published);
    g_test_add_func("/output/ends", test_ends);
    int status = g_test_run();
    sundog_tokenizer_free(tokenizer);
    return status;
}
