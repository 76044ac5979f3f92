/* From messages to tokens: odd messages, system turns, BOS, and forged turns. */

#include "engine/format/json.h"
#include "engine/text/chat.h"
#include "tests/text/vocabularies.h"

#include <string.h>

#define CHATML                                                                           \
    "{% for m in messages %}<|begin|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}" \
    "{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
#define NO_SYSTEM                                                                             \
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system') }}{% " \
    "endif %}"                                                                                \
    "{{ m.role }}:{{ m.content }};{% endfor %}"
#define IGNORES_SYSTEM \
    "{% for m in messages if m.role != 'system' %}{{ m.role }}:{{ m.content }};{% endfor %}"

static SundogTokenizer *tokenizer;

static GArray *
encode(const char *source, const char *messages, const char *extra, char **text, GError **error)
{
    g_autoptr(SundogTemplate) chat_template = sundog_template_new(source, NULL);
    g_autoptr(JsonNode) list = sundog_json_parse(messages, strlen(messages), NULL);
    g_autoptr(JsonNode) more = extra != NULL ? sundog_json_parse(extra, strlen(extra), NULL) : NULL;
    SundogChat chat = {
        .messages = json_node_get_array(list),
        .add_generation_prompt = true,
        .extra = more != NULL ? json_node_get_object(more) : NULL,
    };
    g_autoptr(SundogRendering) rendering = NULL;
    GArray *tokens = sundog_chat_encode(chat_template, tokenizer, &chat, &rendering, error);
    g_assert_true((tokens != NULL) == (rendering != NULL));
    if (text != NULL && rendering != NULL)
        *text = g_strdup(sundog_rendering_get_text(rendering, NULL));
    return tokens;
}

static void
check_text(const char *source, const char *messages, const char *extra, const char *expected)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    g_autoptr(GArray) tokens = encode(source, messages, extra, &text, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(text, ==, expected);
}

static unsigned
count(const GArray *tokens, const char *spelling)
{
    unsigned n = 0;
    uint32_t token = test_find(tokenizer, spelling);
    for (unsigned i = 0; i < tokens->len; i++)
        n += g_array_index(tokens, uint32_t, i) == token;
    return n;
}

static void
test_content(void)
{
    static const char *const user = "<|begin|>user\nab<|end|>\n<|begin|>assistant\n";
    check_text(CHATML, "[{\"role\": \"user\", \"content\": \"ab\"}]", NULL, user);
    check_text(CHATML,
               "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}, "
               "{\"type\": \"text\", \"text\": \"b\"}]}]",
               NULL, user);
    static const char *const empties[] = {"\"content\": null, ", "", "\"content\": \"\", ",
                                          "\"content\": [], "};
    for (size_t i = 0; i < G_N_ELEMENTS(empties); i++) {
        g_autofree char *messages =
            g_strdup_printf("[{\"role\": \"assistant\", %s\"tool_calls\": []}]", empties[i]);
        check_text(CHATML, messages, NULL, "<|begin|>assistant\n<|end|>\n<|begin|>assistant\n");
    }
}

static void
test_system(void)
{
    static const char *const both =
        "[{\"role\": \"system\", \"content\": \"S\"}, {\"role\": \"user\", \"content\": \"U\"},"
        " {\"role\": \"assistant\", \"content\": \"A\"}]";
    check_text(NO_SYSTEM, both, NULL, "user:S\n\nU;assistant:A;");
    check_text(IGNORES_SYSTEM, both, NULL, "user:S\n\nU;assistant:A;");
    check_text(NO_SYSTEM, "[{\"role\": \"system\", \"content\": \"S\"}]", NULL, "user:S;");
    check_text(
        NO_SYSTEM,
        "[{\"role\": \"developer\", \"content\": \"D\"}, {\"role\": \"user\", \"content\": \"U\"}]",
        NULL, "user:D\n\nU;");
    check_text("{% for m in messages %}{{ m.role }}:{{ m.content|tojson }};{% endfor %}",
               "[{\"role\": \"developer\", \"content\": \"a\\\"b\"}]", NULL, "system:\"a\\\"b\";");
    check_text(
        IGNORES_SYSTEM,
        "[{\"role\": \"system\", \"content\": \"\"}, {\"role\": \"user\", \"content\": \"U\"}]",
        NULL, "user:U;");
}

static void
test_shapes(void)
{
    static const char *const rows[][2] = {
        {"[]", "messages: expected at least one message"},
        {"[1]", "messages[0]: expected an object"},
        {"[{\"role\": \"user\", \"content\": \"\"}, {}]",
         "messages[1].role: expected a string such as \"user\""},
        {"[{\"role\": 1}]", "messages[0].role: expected a string such as \"user\""},
        {"[{\"role\": \"user\", \"content\": 7}]",
         "messages[0].content: expected a string, null or a list of parts"},
        {"[{\"role\": \"user\", \"content\": [\"a\"]}]",
         "messages[0].content[0]: expected an object"},
        {"[{\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}]",
         "messages[0].content[0].text: expected a string"},
        {"[{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]",
         "messages[0].content[0].type: this model takes parts of type \"text\", not \"image_url\""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(encode(CHATML, rows[i][0], NULL, NULL, &error));
        g_assert_error(error, SUNDOG_TEMPLATE_ERROR, SUNDOG_TEMPLATE_ERROR_MESSAGES);
        g_assert_cmpstr(error->message, ==, rows[i][1]);
    }
}

static void
test_own_error_is_told(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(encode("{{ raise_exception('Never') }}",
                         "[{\"role\": \"system\", \"content\": \"S\"}]", NULL, NULL, &error));
    g_assert_error(error, SUNDOG_TEMPLATE_ERROR, SUNDOG_TEMPLATE_ERROR_RAISED);
    g_assert_cmpstr(error->message, ==, "Never");
}

/* T1: BOS once, whether the template writes it or leaves it to the tokenizer. */
static void
test_bos(void)
{
    static const char *const user = "[{\"role\": \"user\", \"content\": \"<|begin|>\"}]";
    static const char *const sources[] = {"{{ bos_token }}{{ messages[0].content }}",
                                          "{{ messages[0].content }}"};
    for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
        g_autoptr(GArray) tokens = encode(sources[i], user, NULL, NULL, NULL);
        g_assert_cmpuint(count(tokens, "<|begin|>"), ==, 1);
        g_assert_cmpuint(g_array_index(tokens, uint32_t, 0), ==, test_find(tokenizer, "<|begin|>"));
        g_assert_cmpuint(tokens->len, >, 2);
    }
}

/* T3: every control token in every place that a client writes, and not one is made. */
static void
test_forged_turns(void)
{
    g_autofree char *forged = NULL;
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++)
        if (vocabulary->tokens[i].kind == SUNDOG_TOKEN_CONTROL)
            g_string_append(text, vocabulary->tokens[i].text);
    forged = g_string_free(text, FALSE);
    g_autofree char *messages = g_strdup_printf(
        "[{\"role\": \"system\", \"content\": \"%s\"}, {\"role\": \"user\", \"content\": \"%s\"},"
        " {\"role\": \"%s\", \"content\": [{\"type\": \"text\", \"text\": \"%s\"}], \"name\": "
        "\"%s\"}]",
        forged, forged, forged, forged, forged);
    g_autofree char *extra =
        g_strdup_printf("{\"bos_token\": \"%s\", \"mine_token\": \"%s\", \"other\": \"%s\"}",
                        forged, forged, forged);
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) tokens =
        encode("{% for m in messages %}<|begin|>{{ m.role }}{{ m.content|trim }}{{ m.name }}"
               "{{ m|tojson }}<|end|>{% endfor %}{{ other }}{{ mine_token }}",
               messages, extra, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(count(tokens, "<|begin|>"), ==, 3);
    g_assert_cmpuint(count(tokens, "<|end|>"), ==, 3);
    g_assert_cmpuint(count(tokens, "<|end|>|"), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    SundogVocabulary *vocabulary = test_new_vocabulary("gpt-2");
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++)
        if (strcmp(vocabulary->tokens[i].text, "<|begin|>") == 0)
            vocabulary->bos = i;
    vocabulary->add_bos = true;
    tokenizer = sundog_tokenizer_new(vocabulary, NULL);
    g_assert_nonnull(tokenizer);
    g_test_add_func("/chat/content", test_content);
    g_test_add_func("/chat/system", test_system);
    g_test_add_func("/chat/shapes", test_shapes);
    g_test_add_func("/chat/own-error-is-told", test_own_error_is_told);
    g_test_add_func("/chat/bos", test_bos);
    g_test_add_func("/chat/forged-turns", test_forged_turns);
    int status = g_test_run();
    sundog_tokenizer_free(tokenizer);
    return status;
}
