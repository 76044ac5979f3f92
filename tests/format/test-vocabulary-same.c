/* Two vocabularies are the same where every id means the same text. */

#include "engine/format/vocabulary.h"

#include "engine/format/error.h"
#include <string.h>

/* Tokens of these texts, and n_unused ones behind them. */
static SundogVocabulary *
make_vocabulary(const char *const *texts, uint32_t n_unused)
{
    SundogVocabulary *vocabulary = sundog_vocabulary_new();
    uint32_t n_texts = g_strv_length((char **)texts);
    vocabulary->n_tokens = n_texts + n_unused;
    vocabulary->tokens = g_new0(SundogToken, vocabulary->n_tokens);
    for (uint32_t i = 0; i < vocabulary->n_tokens; i++) {
        const char *text = i < n_texts ? texts[i] : "[PAD]";
        vocabulary->tokens[i] =
            (SundogToken){.text = g_string_chunk_insert(vocabulary->strings, text),
                          .length = (uint32_t)strlen(text),
                          .kind = i < n_texts ? SUNDOG_TOKEN_NORMAL : SUNDOG_TOKEN_UNUSED};
    }
    return vocabulary;
}

static void
check(const char *const *first, uint32_t n_first_unused, const char *const *second,
      uint32_t n_second_unused, const char *words)
{
    g_autoptr(SundogVocabulary) one = make_vocabulary(first, n_first_unused);
    g_autoptr(SundogVocabulary) other = make_vocabulary(second, n_second_unused);
    for (int i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;
        bool same = sundog_vocabulary_check_same(i ? one : other, i ? other : one, &error);
        g_assert_cmpint(same, ==, words == NULL);
        if (words) {
            g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID);
            g_assert_nonnull(strstr(error->message, words));
        }
    }
}

static void
test_same(void)
{
    const char *const abc[] = {"a", "b", "c", NULL}, *const abx[] = {"a", "b", "x", NULL};
    const char *const ab[] = {"a", "b", NULL}, *const abcd[] = {"a", "b", "cd", NULL};
    check(abc, 0, abc, 0, NULL);
    check(abc, 2, abc, 5, NULL);
    check(abc, 0, abx, 0, "token 2");
    check(abc, 0, abcd, 0, "token 2");
    check(abc, 0, ab, 0, "token 2");
    check(abc, 0, ab, 1, "token 2");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vocabulary/same", test_same);
    return g_test_run();
}
