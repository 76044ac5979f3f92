/* The starter model's own file: what is in it, and how long it takes to open. */

#include "engine/model/model.h"
#include <time.h>

/* Three times what was measured, since the tests share their machine; a square anywhere in the
 * vocabulary of 49,152 tokens would take seconds. */
#define MAX_OPEN_US 60000

static char *
dup_path_or_skip(void)
{
    const char *cache = g_getenv("SUNDOG_TEST_CACHE");
    char *path = g_build_filename(cache != NULL ? cache : ".", "smollm2.gguf", NULL);
    if (g_file_test(path, G_FILE_TEST_EXISTS))
        return path;
    g_test_skip("the starter model is not in the test cache: tests/run fetches it");
    g_free(path);
    return NULL;
}

static void
test_contents(void)
{
    g_autofree char *path = dup_path_or_skip();
    if (path == NULL)
        return;
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogModel) model = sundog_model_open(path, &error);
    g_assert_no_error(error);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    g_assert_cmpuint(dimensions->n_layers, ==, 30);
    g_assert_cmpuint(dimensions->hidden_size, ==, 576);
    g_assert_cmpuint(dimensions->mlp_size, ==, 1536);
    g_assert_cmpuint(dimensions->n_heads, ==, 9);
    g_assert_cmpuint(dimensions->n_kv_heads, ==, 3);
    g_assert_cmpuint(dimensions->head_dim, ==, 64);
    g_assert_cmpuint(dimensions->n_parameters, ==, 134515008);
    g_assert_cmpfloat(dimensions->rope.base, ==, 100000);
    const SundogVocabulary *vocabulary = sundog_model_get_vocabulary(model);
    g_assert_cmpuint(vocabulary->n_tokens, ==, 49152);
    g_assert_cmpuint(vocabulary->n_merges, ==, 48900);
    g_assert_cmpuint(vocabulary->n_ends, ==, 2);
    g_assert_cmpstr(vocabulary->tokens[vocabulary->ends[0]].text, ==, "<|im_end|>");
    g_assert_cmpstr(vocabulary->tokens[vocabulary->ends[1]].text, ==, "<|endoftext|>");
    g_assert_cmpuint(sundog_model_get_tensor(model, SUNDOG_TENSOR_MLP_DOWN, 29)->type, ==,
                     SUNDOG_GGUF_Q4_1);
    g_assert_null(sundog_model_get_tensor(model, SUNDOG_TENSOR_OUTPUT, 0));
    g_assert_cmpstr(sundog_model_get_sha256(model, NULL, NULL), ==,
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53");
}

static void
test_time(void)
{
    g_autofree char *path = dup_path_or_skip();
    if (path == NULL)
        return;
    gint64 best_us = G_MAXINT64;
    for (int i = 0; i < 5; i++) {
        clock_t begin = clock();
        g_autoptr(SundogModel) model = sundog_model_open(path, NULL);
        g_assert_nonnull(model);
        gint64 us = (gint64)(clock() - begin) * G_USEC_PER_SEC / CLOCKS_PER_SEC;
        best_us = MIN(best_us, us);
    }
    g_test_message("opened in %" G_GINT64_FORMAT " us", best_us);
    g_assert_cmpint(best_us, <, MAX_OPEN_US);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/smollm2/contents", test_contents);
    g_test_add_func("/smollm2/time", test_time);
    return g_test_run();
}
