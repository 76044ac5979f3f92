#include "tests/prepare/fixture.h"

char *
fixture_dup_path(const char *name)
{
    return g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", name, NULL);
}

JsonNode *
fixture_load(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autofree char *path = fixture_dup_path(name);
    json_parser_load_from_file(parser, path, &error);
    g_assert_no_error(error);
    return json_parser_steal_root(parser);
}

int32_t *
fixture_dup_numbers(JsonObject *object, const char *name, int32_t *n)
{
    JsonArray *array = json_object_get_array_member(object, name);
    *n = (int32_t)json_array_get_length(array);
    int32_t *numbers = g_new(int32_t, *n);
    for (int32_t i = 0; i < *n; i++)
        numbers[i] = (int32_t)json_array_get_int_element(array, (guint)i);
    return numbers;
}

void
fixture_init(Fixture *fixture, JsonObject *object)
{
    JsonArray *rows = json_object_get_array_member(object, "logits");
    fixture->tokens = fixture_dup_numbers(object, "tokens", &fixture->n_tokens);
    fixture->greedy = fixture_dup_numbers(object, "greedy", &fixture->n_greedy);
    fixture->n_logit_rows = (int32_t)json_array_get_length(rows);
    fixture->n_logit_columns =
        (int32_t)json_array_get_length(json_array_get_array_element(rows, 0));
    fixture->logits = g_new(float, (size_t)fixture->n_logit_rows *(size_t)fixture->n_logit_columns);
    for (int32_t r = 0; r < fixture->n_logit_rows; r++) {
        JsonArray *row = json_array_get_array_element(rows, (guint)r);
        for (int32_t c = 0; c < fixture->n_logit_columns; c++)
            fixture->logits[r * fixture->n_logit_columns + c] =
                (float)json_array_get_double_element(row, (guint)c);
    }
}

void
fixture_clear(Fixture *fixture)
{
    g_free(fixture->tokens);
    g_free(fixture->greedy);
    g_free(fixture->logits);
}
