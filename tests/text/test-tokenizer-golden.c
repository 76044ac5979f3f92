/*
 * The tokenizers of the starter model and of Gemma 3 against the reference's tokens in
 * tests/fixtures/tokenizer, from one thread, from several at once, and with every control token written out in a message.
 */

#include "tests/text/vocabularies.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define N_THREADS 4

typedef struct {
    char *text;
    size_t n_bytes;
    char *ids;
} Golden;

static SundogTokenizer *tokenizer;
static GArray *goldens; /* of Golden */

static void
clear_golden(void *data)
{
    Golden *golden = data;
    g_free(golden->text);
    g_free(golden->ids);
}

/* Strings of JSON may hold NUL characters, which json-glib ends them at: those lines are left out. */
static void
add_golden(const char *line)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonNode) node = json_from_string(line, &error);
    g_assert_no_error(error);
    JsonArray *pair = json_node_get_array(node);
    JsonArray *ids = json_array_get_array_element(pair, 1);
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (guint i = 0; i < json_array_get_length(ids); i++) {
        uint32_t token = (uint32_t)json_array_get_int_element(ids, i);
        g_array_append_val(tokens, token);
    }
    const char *text = json_array_get_string_element(pair, 0);
    Golden golden = {g_strdup(text), strlen(text), test_dup_ids(tokens)};
    g_array_append_val(goldens, golden);
}

static void
load_goldens(const char *name, guint n_at_least)
{
    g_autofree char *file_name = g_strconcat(name, ".jsonl", NULL);
    g_autofree char *path =
        g_build_filename(g_getenv("SUNDOG_SOURCE") != NULL ? g_getenv("SUNDOG_SOURCE") : ".",
                         "tests/fixtures/tokenizer", file_name, NULL);
    g_autofree char *file = NULL;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &file, NULL, &error);
    g_assert_no_error(error);
    g_auto(GStrv) lines = g_strsplit(file, "\n", -1);
    goldens = g_array_new(FALSE, FALSE, sizeof(Golden));
    g_array_set_clear_func(goldens, clear_golden);
    for (size_t i = 0; lines[i] != NULL; i++)
        if (lines[i][0] != '\0' && strstr(lines[i], "\\u0000") == NULL)
            add_golden(lines[i]);
    g_assert_cmpuint(goldens->len, >=, n_at_least);
}

/* Returns how many texts differ. */
static unsigned
count_differences(const SundogTokenizer *shared)
{
    unsigned n_different = 0;
    for (guint i = 0; i < goldens->len; i++) {
        const Golden *golden = &g_array_index(goldens, Golden, i);
        g_autoptr(GArray) tokens =
            test_encode(shared, golden->text, golden->n_bytes, SUNDOG_TOKENIZE_PLAIN);
        g_autofree char *ids = test_dup_ids(tokens);
        if (strcmp(ids, golden->ids) != 0) {
            n_different++;
            g_test_message("%s: [%s], expected [%s]", golden->text, ids, golden->ids);
        }
    }
    return n_different;
}

static bool
open_all(const char *model, const char *name, guint n_at_least)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = test_fetch(model);
    if (path == NULL)
        return false;
    tokenizer = test_open_tokenizer(path, &error);
    g_assert_no_error(error);
    load_goldens(name, n_at_least);
    return true;
}

static void
close_all(void)
{
    g_clear_pointer(&tokenizer, sundog_tokenizer_free);
    g_clear_pointer(&goldens, g_array_unref);
}

static bool
open_starter(void)
{
    return open_all("smollm2", "smollm2", 1000);
}

/* Once more, now that it is known which words are tokens. */
static void
check_twice(void)
{
    g_assert_cmpuint(count_differences(tokenizer), ==, 0);
    g_assert_cmpuint(count_differences(tokenizer), ==, 0);
    close_all();
}

static void
test_golden(void)
{
    if (open_starter())
        check_twice();
}

static void
test_golden_pieces(void)
{
    if (open_all("gemma3-270m", "gemma3", 400))
        check_twice();
}

static void *
count_in_thread(void *data)
{
    return GUINT_TO_POINTER(count_differences(data));
}

static void
test_threads(void)
{
    if (!open_starter())
        return;
    GThread *workers[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++)
        workers[i] = g_thread_new("tokenizer", count_in_thread, tokenizer);
    for (size_t i = 0; i < N_THREADS; i++)
        g_assert_cmpuint(GPOINTER_TO_UINT(g_thread_join(workers[i])), ==, 0);
    close_all();
}

static void
test_control_tokens_in_a_message(void)
{
    if (!open_starter())
        return;
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(tokenizer);
    unsigned n_checked = 0;
    for (uint32_t id = 0; id < vocabulary->n_tokens; id++) {
        const SundogToken *token = &vocabulary->tokens[id];
        if (token->kind != SUNDOG_TOKEN_CONTROL)
            continue;
        g_autoptr(GArray) tokens =
            test_encode(tokenizer, token->text, token->length, SUNDOG_TOKENIZE_PLAIN);
        for (guint i = 0; i < tokens->len; i++)
            g_assert_cmpint(vocabulary->tokens[g_array_index(tokens, uint32_t, i)].kind, ==,
                            SUNDOG_TOKEN_NORMAL);
        g_autoptr(GArray) special =
            test_encode(tokenizer, token->text, token->length, SUNDOG_TOKENIZE_SPECIAL);
        g_assert_cmpuint(special->len, ==, 1);
        g_assert_cmpuint(g_array_index(special, uint32_t, 0), ==, id);
        n_checked++;
    }
    g_assert_cmpuint(n_checked, ==, 17);
    close_all();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tokenizer/golden", test_golden);
    g_test_add_func("/tokenizer/golden-pieces", test_golden_pieces);
    g_test_add_func("/tokenizer/threads", test_threads);
    g_test_add_func("/tokenizer/control-tokens-in-a-message", test_control_tokens_in_a_message);
    return g_test_run();
}
