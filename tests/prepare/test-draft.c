/* Programs that guess tokens ahead, against what the same layer gives in PyTorch behind a model of transformers'
 * (make-converted.py). */

#include "engine/core/step.h"
#include "tests/prepare/core-runner.h"
#include "tests/prepare/fixture.h"

#define CHUNK 33

/* Rows of the positions that the fixture keeps: [n][n_vocabulary]. */
static double
find_largest_error(JsonObject *object, const float *logits, int32_t n_tokens, uint32_t n_vocabulary)
{
    int32_t n_positions;
    g_autofree int32_t *positions = fixture_dup_numbers(object, "positions", &n_positions);
    JsonArray *rows = json_object_get_array_member(object, "draft_logits");
    g_autofree float *expected = g_new(float, n_vocabulary);
    double largest = 0;
    g_assert_cmpuint(json_array_get_length(rows), >=, 5);
    for (guint i = 0; i < json_array_get_length(rows); i++) {
        JsonArray *row = json_array_get_array_element(rows, i);
        g_assert_cmpint(positions[i], <, n_tokens);
        for (guint j = 0; j < n_vocabulary; j++)
            expected[j] = (float)json_array_get_double_element(row, j);
        largest = MAX(largest, relative_error(logits + (size_t)positions[i] * n_vocabulary,
                                              expected, n_vocabulary));
    }
    return largest;
}

/* Behind each step of the prompt, on its rows: of the last there is no token after it. */
static void
test_logits(gconstpointer name)
{
    CoreRunner runner;
    Fixture fixture;
    g_autofree char *json = g_strdup_printf("tiny/%s.json", (const char *)name);
    /* A folder of that name, or a file. */
    g_autofree char *gguf = g_strdup_printf(
        g_str_has_prefix(name, "hf-") ? "tiny/%s" : "tiny/%s.gguf", (const char *)name);
    g_autofree char *path = fixture_dup_path(gguf);
    g_autoptr(JsonNode) node = fixture_load(json);
    fixture_init(&fixture, json_node_get_object(node));
    core_runner_open(&runner, path, SUNDOG_ACTIVATIONS_F32, 2);
    int32_t n_guessed = fixture.n_tokens - 1;
    g_autofree float *logits = g_new(float, (size_t)fixture.n_tokens *runner.n_vocabulary);
    for (int32_t start = 0; start < n_guessed; start += CHUNK) {
        RunnerPart part = {.start = start,
                           .n_tokens = MIN(CHUNK, n_guessed - start),
                           .tokens = fixture.tokens + start};
        core_runner_step(&runner, &part, 1);
        part.tokens++;
        part.logits = logits + (size_t)start * runner.n_vocabulary;
        core_runner_step_of(&runner, SUNDOG_PROGRAM_DRAFT, &part, 1);
    }
    double error =
        find_largest_error(json_node_get_object(node), logits, n_guessed, runner.n_vocabulary);
    g_test_message("largest relative error %.2e", error);
    g_assert_cmpfloat(error, <, 1e-3);
    core_runner_close(&runner);
    fixture_clear(&fixture);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/draft/glm4moe", "glm4moe-draft", test_logits);
    g_test_add_data_func("/draft/folder", "hf-glm4moe-draft", test_logits);
    g_test_add_data_func("/draft/qwen3next", "qwen3next-draft", test_logits);
    g_test_add_data_func("/draft/folder/apart", "hf-qwen3next-draft", test_logits);
    return g_test_run();
}
