/*
 * Folders of safetensors as models: what a good one gives, and folders whose texts or tensors are damaged
 * or hostile (reports A5, A6, A9, A10 in this format). Each must give an error that names the thing,
 * within a second.
 */

#include "engine/format/error.h"
#include "engine/format/json.h"
#include "engine/model/model.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *const files[] = {"config.json", "generation_config.json", "model.safetensors",
                                    "tokenizer.json"};

typedef struct {
    char *folder; /* a copy of the fixture, "tiny" */
} Fixture;

static char *
dup_path(const Fixture *fixture, const char *name)
{
    return g_build_filename(fixture->folder, name, NULL);
}

static void
put(const Fixture *fixture, const char *name, const char *text, gssize n_bytes)
{
    g_autofree char *path = dup_path(fixture, name);
    g_assert_true(g_file_set_contents(path, text, n_bytes, NULL));
}

/* A file of the fixture as it is in the source. */
static char *
dup_original(const char *name, size_t *n_bytes)
{
    char *text = NULL;
    g_autofree char *path = g_build_filename(g_getenv("SUNDOG_SOURCE"), "tests", "prepare", "tiny",
                                             "hf-llama-f32", name, NULL);
    g_assert_true(g_file_get_contents(path, &text, n_bytes, NULL));
    return text;
}

static void
restore(const Fixture *fixture, const char *name)
{
    size_t n_bytes;
    g_autofree char *text = dup_original(name, &n_bytes);
    put(fixture, name, text, (gssize)n_bytes);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    g_autofree char *above = g_dir_make_tmp("model-XXXXXX", NULL);
    fixture->folder = g_build_filename(above, "Tiny-0.1", NULL);
    g_assert_cmpint(g_mkdir(fixture->folder, 0700), ==, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        restore(fixture, files[i]);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    g_autofree char *above = g_path_get_dirname(fixture->folder);
    g_autoptr(GDir) dir = g_dir_open(fixture->folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
        g_autofree char *path = dup_path(fixture, name);
        g_unlink(path);
    }
    g_rmdir(fixture->folder);
    g_rmdir(above);
    g_free(fixture->folder);
}

/* The error's text is the caller's. */
static char *
dup_error(const Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    clock_t begin = clock();
    g_assert_null(sundog_model_open(fixture->folder, &error));
    g_assert_cmpint(clock() - begin, <, CLOCKS_PER_SEC);
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    return g_strdup(error->message);
}

static void
expect_error(const Fixture *fixture, const char *text)
{
    g_autofree char *message = dup_error(fixture);
    if (strstr(message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, message);
}

/* config.json with one member replaced by a value in JSON; '.' leads into an object. */
static void
put_config(const Fixture *fixture, const char *name, const char *value)
{
    size_t n_bytes;
    g_autofree char *text = dup_original("config.json", &n_bytes);
    g_autoptr(JsonNode) original = sundog_json_parse(text, n_bytes, NULL);
    g_autoptr(JsonNode) root = json_from_string("{}", NULL);
    g_autoptr(JsonObject) object = json_node_dup_object(original);
    g_auto(GStrv) parts = g_strsplit(name, ".", 2);
    JsonObject *holder =
        parts[1] != NULL ? json_object_get_object_member(object, parts[0]) : object;
    json_object_set_member(holder, parts[1] != NULL ? parts[1] : parts[0],
                           json_from_string(value, NULL));
    json_node_set_object(root, object);
    g_autofree char *changed = sundog_json_print(root, false);
    put(fixture, "config.json", changed, -1);
}

static void
test_good(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    put(fixture, "chat_template.jinja", "{{ messages }}", -1);
    g_autoptr(SundogModel) model = sundog_model_open(fixture->folder, &error);
    g_assert_no_error(error);
    const SundogModelDimensions *dimensions = sundog_model_get_dimensions(model);
    g_assert_cmpstr(dimensions->name, ==, "Tiny-0.1");
    g_assert_cmpstr(dimensions->architecture, ==, "llama");
    g_assert_false(dimensions->rope.interleaved);
    g_assert_cmpuint(dimensions->n_vocabulary, ==, 67);
    g_assert_cmpuint(sundog_model_get_vocabulary(model)->n_tokens, ==, 67);
    g_assert_cmpstr(sundog_model_get_chat_template(model), ==, "{{ messages }}");
    uint64_t n_bytes = strlen("{{ messages }}");
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    static const char *const order[] = {"config.json", "generation_config.json", "tokenizer.json",
                                        "model.safetensors"};
    g_checksum_update(checksum, (const guchar *)"{{ messages }}", (gssize)n_bytes);
    for (size_t i = 0; i < G_N_ELEMENTS(order); i++) {
        size_t length;
        g_autofree char *text = dup_original(order[i], &length);
        g_checksum_update(checksum, (const guchar *)text, (gssize)length);
        n_bytes += length;
    }
    g_assert_cmpuint(sundog_model_get_file_bytes(model), ==, n_bytes);
    g_assert_cmpstr(sundog_model_get_sha256(model, NULL, NULL), ==,
                    g_checksum_get_string(checksum));
}

/* The template in each of the places that publishers have used. */
static void
test_templates(Fixture *fixture, gconstpointer data)
{
    static const struct {
        const char *file;
        const char *text;
        const char *expected;
    } cases[] = {
        {"tokenizer_config.json", "{\"chat_template\":\"one\"}", "one"},
        {"tokenizer_config.json",
         "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"no\"},"
         "{\"name\":\"default\",\"template\":\"two\"}]}",
         "two"},
        {"tokenizer_config.json", "{\"chat_template\":7}", NULL},
        {"chat_template.json", "{\"chat_template\":\"three\"}", "three"},
        {"chat_template.jinja", "four", "four"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        put(fixture, cases[i].file, cases[i].text, -1);
        g_autoptr(SundogModel) model = sundog_model_open(fixture->folder, NULL);
        g_assert_cmpstr(sundog_model_get_chat_template(model), ==, cases[i].expected);
    }
    put(fixture, "chat_template.jinja", "a\0b", 3);
    expect_error(fixture, "chat_template.jinja is not UTF-8 without NUL");
}

/* A10: every number at nothing, at its ends and beyond, and things that are no numbers. */
static void
test_numbers(Fixture *fixture, gconstpointer data)
{
    static const char *const names[] = {"hidden_size",
                                        "intermediate_size",
                                        "num_hidden_layers",
                                        "num_attention_heads",
                                        "num_key_value_heads",
                                        "head_dim",
                                        "max_position_embeddings",
                                        "rms_norm_eps",
                                        "vocab_size",
                                        "rope_parameters.rope_theta",
                                        "rope_parameters.factor",
                                        "rope_parameters.original_max_position_embeddings"};
    static const char *const values[] = {"0",     "-1",    "4294967296", "9223372036854775807",
                                         "1e300", "\"x\"", "[1]",        "{}"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        for (size_t k = 0; k < G_N_ELEMENTS(values); k++) {
            /* What is far away for a size is only odd for a rotation. */
            bool may_pass = g_str_has_prefix(names[i], "rope_parameters.") && k >= 2 && k <= 4;
            put_config(fixture, names[i], values[k]);
            g_autoptr(GError) error = NULL;
            g_autoptr(SundogModel) model = sundog_model_open(fixture->folder, &error);
            if (model != NULL && !may_pass)
                g_error("%s: %s was taken", names[i], values[k]);
        }
    }
    put_config(fixture, "hidden_size", "0");
    expect_error(fixture, "config.json: hidden_size is 0, expected a number from 1");
    put_config(fixture, "num_hidden_layers", "100000");
    expect_error(fixture, "config.json: num_hidden_layers is 100000, expected");
    put_config(fixture, "rms_norm_eps", "\"x\"");
    expect_error(fixture, "config.json: rms_norm_eps is not a real number");
    put_config(fixture, "max_position_embeddings", "null");
    expect_error(fixture, "context_length is missing");
}

/* transformers writes a number beyond 64 bits where a tokenizer has no limit of its own. */
static void
test_large_numbers(Fixture *fixture, gconstpointer data)
{
    put(fixture, "tokenizer_config.json",
        "{\"model_max_length\":1000000000000000019884624838656,\"eos_token\":\"<|end|>\","
        "\"other\":[-9223372036854775809,9223372036854775807,12345678901234567890.5,1e19]}",
        -1);
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogModel) model = sundog_model_open(fixture->folder, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sundog_model_get_vocabulary(model)->eos, !=, SUNDOG_TOKEN_NONE);
}

/* Advice within its range is taken, what is not is left. */
static void
test_sampling(Fixture *fixture, gconstpointer data)
{
    put(fixture, "generation_config.json",
        "{\"temperature\":0.6,\"top_k\":20,\"top_p\":1.5,\"min_p\":\"x\",\"eos_token_id\":[0]}",
        -1);
    g_autoptr(SundogModel) model = sundog_model_open(fixture->folder, NULL);
    g_autoptr(JsonObject) advice = sundog_model_dup_sampling(model);
    g_assert_cmpuint(json_object_get_size(advice), ==, 2);
    g_assert_cmpfloat(json_object_get_double_member(advice, "temperature"), ==, 0.6);
    g_assert_cmpint(json_object_get_int_member(advice, "top_k"), ==, 20);
    restore(fixture, "generation_config.json");
    g_autoptr(SundogModel) silent = sundog_model_open(fixture->folder, NULL);
    g_assert_null(sundog_model_dup_sampling(silent));
}

/* What would make the model compute something else is refused by its name. */
static void
test_settings(Fixture *fixture, gconstpointer data)
{
    put_config(fixture, "architectures", "[\"FooForCausalLM\"]");
    expect_error(fixture, "architectures is \"FooForCausalLM\", known are: ");
    put_config(fixture, "architectures", "[]");
    expect_error(fixture, "architectures is missing, known are: ");
    put_config(fixture, "hidden_act", "\"relu\"");
    expect_error(fixture, "hidden_act is \"relu\", expected \"silu\"");
    put_config(fixture, "rope_parameters.rope_type", "\"spiral\"");
    expect_error(fixture, "rotary scaling \"spiral\" is not known here");
    put_config(fixture, "rope_parameters.low_freq_factor", "null");
    expect_error(fixture, "low_freq_factor is no number above 0");
    put_config(fixture, "clip_qkv", "8.0");
    expect_error(fixture, "clip_qkv is \"8.0\", expected null");
    put_config(fixture, "decoder_sparse_step", "2");
    expect_error(fixture, "decoder_sparse_step is \"2\", expected 1");
    put_config(fixture, "vocab_size", "66");
    expect_error(fixture, "model.embed_tokens.weight has the shape [24, 67, 1, 1]");
}

/* Texts that are not there, are no files, or are no JSON. */
static void
test_texts(Fixture *fixture, gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = dup_path(fixture, files[i]);
        bool is_optional = strcmp(files[i], "generation_config.json") == 0;
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_autoptr(SundogModel) model = sundog_model_open(fixture->folder, NULL);
        g_assert_true((model != NULL) == is_optional);
        g_assert_cmpint(mkfifo(path, 0600), ==, 0);
        expect_error(fixture, "regular file");
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_cmpint(g_mkdir(path, 0700), ==, 0);
        expect_error(fixture, "regular file");
        g_assert_cmpint(g_rmdir(path), ==, 0);
        put(fixture, files[i], "", 0);
        g_autofree char *empty = dup_error(fixture);
        g_autofree char *open = g_strnfill(100000, '[');
        put(fixture, files[i], open, -1);
        g_autofree char *nested = dup_error(fixture);
        restore(fixture, files[i]);
    }
    g_autofree char *config = dup_path(fixture, "config.json");
    g_unlink(config);
    expect_error(fixture, "the folder holds no config.json");
}

/* The tensors' file with one text of its header replaced by another of the same length. */
static void
put_tensors(const Fixture *fixture, const char *from, const char *to)
{
    size_t n_bytes;
    g_autofree char *file = dup_original("model.safetensors", &n_bytes);
    char *place = memmem(file, n_bytes, from, strlen(from));
    g_assert_nonnull(place);
    g_assert_cmpuint(strlen(from), ==, strlen(to));
    memcpy(place, to, strlen(to));
    put(fixture, "model.safetensors", file, (gssize)n_bytes);
}

/* A layer that guesses may hold what is not known here, or experts that the model itself has not. */
static void
test_draft_layer(Fixture *fixture, gconstpointer data)
{
    static const char *const names[][2] = {
        {"layers.1.mlp.up_proj.weight", "layers.2.experts.7.w.weight"},
        {"layers.1.post_attention_layernorm.weight\"",
         "layers.2.mlp.experts.7.gate_proj.weight\" "}};
    put_config(fixture, "num_nextn_predict_layers", "1");
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        put_tensors(fixture, names[i][0], names[i][1]);
        g_autoptr(GError) error = NULL;
        g_autoptr(SundogModel) model = sundog_model_open(fixture->folder, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(sundog_model_get_dimensions(model)->n_draft_layers, ==, 1);
    }
}

static void
test_tensors(Fixture *fixture, gconstpointer data)
{
    put_tensors(fixture, "\"model.norm.weight\"", "\"model.morm.weight\"");
    expect_error(fixture, "the tensor model.morm.weight has no role");
    put_tensors(fixture, "layers.1.mlp.up_proj.weight", "layers.9.mlp.up_proj.weight");
    expect_error(fixture, "the tensor model.layers.9.mlp.up_proj.weight has no role");
    put_tensors(fixture, "layers.1.mlp.up_proj.weight", "layers.0.mlp.up_proj.weight");
    expect_error(fixture, "the tensor model.layers.0.mlp.up_proj.weight stands twice");
    put_tensors(fixture, "\"dtype\":\"F32\"", "\"dtype\":\"I32\"");
    expect_error(fixture, "is of I32, expected F32, F16 or BF16");
    put_tensors(fixture, "[67,24]", "[24,67]");
    expect_error(fixture, "has the shape [67, 24, 1, 1], expected [24, 67, 1, 1]");
    put_tensors(fixture, "[24,40]", "[40,24]");
    expect_error(fixture, "down_proj.weight has the shape");
    put_tensors(fixture, "0.mlp.up_proj.weight", "0.mlp.up_proj.qweigh");
    expect_error(fixture, "has no role");
}

/* A file cut anywhere is an error and nothing else. */
static void
test_cut(Fixture *fixture, gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        size_t n_bytes;
        g_autofree char *text = dup_original(files[i], &n_bytes);
        size_t step = MAX(n_bytes / 40, 1);
        for (size_t n = 0; n + 2 < n_bytes; n += step) {
            put(fixture, files[i], text, (gssize)n);
            g_autofree char *message = dup_error(fixture);
        }
        restore(fixture, files[i]);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    static const struct {
        const char *path;
        void (*test)(Fixture *, gconstpointer);
    } tests[] = {{"/hf-folder/good", test_good},
                 {"/hf-folder/templates", test_templates},
                 {"/hf-folder/a10/numbers", test_numbers},
                 {"/hf-folder/large-numbers", test_large_numbers},
                 {"/hf-folder/sampling", test_sampling},
                 {"/hf-folder/settings", test_settings},
                 {"/hf-folder/a5/texts", test_texts},
                 {"/hf-folder/a9/tensors", test_tensors},
                 {"/hf-folder/draft-layer", test_draft_layer},
                 {"/hf-folder/a9/cut", test_cut}};
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].test, tear_down);
    return g_test_run();
}
