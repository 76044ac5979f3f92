/* Vocabularies of GGUF files: what is read, every source of end tokens, and what is refused. */

#include "engine/format/error.h"
#include "engine/model/gguf-vocabulary.h"
#include "engine/model/model.h"
#include "tests/model/model-fixture.h"

#include <glib/gstdio.h>
#include <string.h>

static SundogModel *
open_built(GgufBuilder *builder, GError **error)
{
    g_autoptr(GBytes) bytes = gguf_builder_build(builder);
    SundogModel *model = sundog_model_new_from_bytes(bytes, "tiny.gguf", error);
    gguf_builder_clear(builder);
    return model;
}

static void
expect_error(GgufBuilder *builder, int code, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(open_built(builder, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, code);
    if (strstr(error->message, text) == NULL)
        g_error("\"%s\" not in \"%s\"", text, error->message);
}

/* Tokens named by their texts; all but those in angle brackets are ordinary. */
static void
set_tokens(GgufBuilder *builder, const char *const *texts, uint64_t n_tokens)
{
    g_autofree int32_t *kinds = g_new(int32_t, n_tokens);
    for (uint64_t i = 0; i < n_tokens; i++)
        kinds[i] = texts[i][0] == '<' ? 3 : 1;
    gguf_builder_set_strings(builder, "tokenizer.ggml.tokens", texts, n_tokens);
    gguf_builder_set_i32s(builder, "tokenizer.ggml.token_type", kinds, n_tokens);
}

static void
test_good(void)
{
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_autoptr(SundogModel) model = open_built(&builder, NULL);
    const SundogVocabulary *vocabulary = sundog_model_get_vocabulary(model);
    g_assert_cmpint(vocabulary->kind, ==, SUNDOG_TOKENIZER_BPE);
    g_assert_cmpstr(vocabulary->pre_tokenizer, ==, "smollm");
    g_assert_cmpuint(vocabulary->n_tokens, ==, 32);
    g_assert_cmpstr(vocabulary->tokens[3].text, ==, "a");
    g_assert_cmpuint(vocabulary->tokens[0].length, ==, 5);
    g_assert_cmpint(vocabulary->tokens[0].kind, ==, SUNDOG_TOKEN_CONTROL);
    g_assert_cmpint(vocabulary->tokens[3].kind, ==, SUNDOG_TOKEN_NORMAL);
    g_assert_cmpuint(vocabulary->n_merges, ==, 2);
    g_assert_cmpstr(vocabulary->merges[1], ==, "ab c");
    g_assert_cmpuint(vocabulary->bos, ==, 1);
    g_assert_cmpuint(vocabulary->eos, ==, 2);
    g_assert_cmpuint(vocabulary->unknown, ==, SUNDOG_TOKEN_NONE);
    g_assert_cmpuint(vocabulary->n_ends, ==, 1);
    g_assert_false(vocabulary->add_bos || vocabulary->add_eos || vocabulary->ignore_merges);
}

static void
test_ends(void)
{
    /* The file's three ids disagree with each other and with a control token's spelling (T4); an
     * ordinary token that is spelled so is not one. */
    static const char *const texts[] = {"a",          "<eos-by-id>",  "<eot-by-id>", "<eom-by-id>",
                                        "<|im_end|>", "<|im_start|>", "<|eot_id|>",  "</s>"};
    static const int32_t kinds[] = {1, 3, 3, 3, 3, 3, 3, 1};
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_strings(&builder, "tokenizer.ggml.tokens", texts, 8);
    gguf_builder_set_i32s(&builder, "tokenizer.ggml.token_type", kinds, 8);
    gguf_builder_set_u32(&builder, "tokenizer.ggml.eos_token_id", 1);
    gguf_builder_set_u32(&builder, "tokenizer.ggml.eot_token_id", 2);
    gguf_builder_set_u32(&builder, "tokenizer.ggml.eom_token_id", 3);
    gguf_builder_set_u32(&builder, "llama.vocab_size", 8);
    gguf_builder_remove_tensor(&builder, "token_embd.weight");
    gguf_builder_add_tensor(&builder, "token_embd.weight", SUNDOG_GGUF_F32, 64, 8, 64 * 8 * 4);
    g_autoptr(GError) error = NULL;
    g_autoptr(SundogModel) model = open_built(&builder, &error);
    g_assert_no_error(error);
    const SundogVocabulary *vocabulary = sundog_model_get_vocabulary(model);
    static const uint32_t expected[] = {1, 2, 3, 4, 6};
    g_assert_cmpmem(vocabulary->ends, vocabulary->n_ends * sizeof(uint32_t), expected,
                    sizeof expected);
}

static void
test_bos(void)
{
    /* Llama 3's files that do not say are meant to begin with BOS; what a file says is obeyed. */
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "tokenizer.ggml.pre", "llama-bpe");
    g_autoptr(SundogModel) silent = open_built(&builder, NULL);
    g_assert_true(sundog_model_get_vocabulary(silent)->add_bos);

    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "tokenizer.ggml.pre", "llama-bpe");
    gguf_builder_set_bool(&builder, "tokenizer.ggml.add_bos_token", 0);
    g_autoptr(SundogModel) says = open_built(&builder, NULL);
    g_assert_false(sundog_model_get_vocabulary(says)->add_bos);

    model_fixture_build(&builder);
    gguf_builder_set_bool(&builder, "tokenizer.ggml.add_bos_token", 1);
    gguf_builder_remove(&builder, "tokenizer.ggml.bos_token_id");
    g_autoptr(SundogModel) none = open_built(&builder, NULL);
    g_assert_false(sundog_model_get_vocabulary(none)->add_bos);
}

static void
test_sizes(void)
{
    static const char *const texts[] = {"a", "b", "c"};
    static const int32_t kinds[] = {1, 1, 1};
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_u32(&builder, "llama.vocab_size", 31);
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID,
                 "llama.vocab_size is 31, expected the number of tokens, 32");
    model_fixture_build(&builder);
    gguf_builder_set_i32s(&builder, "tokenizer.ggml.token_type", kinds, 3);
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "token_type has 3 elements, expected 32");
    model_fixture_build(&builder);
    gguf_builder_set_i32s(&builder, "tokenizer.ggml.scores", kinds, 3);
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "scores has 3 elements, expected 32");
    model_fixture_build(&builder);
    gguf_builder_remove(&builder, "llama.vocab_size");
    set_tokens(&builder, texts, 3);
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "token_embd.weight has the shape");
    model_fixture_build(&builder);
    gguf_builder_set_strings(&builder, "tokenizer.ggml.tokens", NULL, 0);
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tokens has 0 elements, expected 1 to");
}

static void
test_ids(void)
{
    static const char *const keys[] = {
        "tokenizer.ggml.bos_token_id",     "tokenizer.ggml.eos_token_id",
        "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.padding_token_id",
        "tokenizer.ggml.eot_token_id",     "tokenizer.ggml.eom_token_id"};
    static const uint64_t values[] = {32, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(values); j++) {
            GgufBuilder builder;
            g_autofree char *text = g_strdup_printf("%s is %" G_GUINT64_FORMAT, keys[i], values[j]);
            model_fixture_build(&builder);
            gguf_builder_set_u64(&builder, keys[i], values[j]);
            expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, text);
        }
    }
}

static void
test_kinds(void)
{
    static const int32_t bad[] = {0, 7, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        int32_t kinds[32];
        GgufBuilder builder;
        for (int id = 0; id < 32; id++)
            kinds[id] = id == 17 ? bad[i] : 1;
        model_fixture_build(&builder);
        gguf_builder_set_i32s(&builder, "tokenizer.ggml.token_type", kinds, 32);
        expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "token 17 is of type ");
    }
}

static void
test_merges(void)
{
    static const char *const bad[] = {"", "a", " ", "a ", " b", "ab", "a\xff b"};
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        GgufBuilder builder;
        model_fixture_build(&builder);
        gguf_builder_set_strings(&builder, "tokenizer.ggml.merges", &bad[i], 1);
        expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tokenizer.ggml.merges: element 0");
    }
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_remove(&builder, "tokenizer.ggml.merges");
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tokenizer.ggml.merges ");
}

static void
test_texts(void)
{
    GgufBuilder builder;
    static const int32_t numbers[32];
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "tokenizer.ggml.model", "llama2");
    expect_error(&builder, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                 "tokenizer.ggml.model is \"llama2\", known are: \"bert\", \"gemma4\", \"gpt2\", "
                 "\"llama\", \"rwkv\", \"t5\"");
    model_fixture_build(&builder);
    gguf_builder_set_i32s(&builder, "tokenizer.ggml.tokens", numbers, 32);
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tokens: element 0 is not a text");
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "tokenizer.chat_template", "{{ \xff }}");
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tokenizer.chat_template is not UTF-8");
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "tokenizer.ggml.pre", "\xff");
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "tokenizer.ggml.pre is not UTF-8");
}

/* What a file means that names its kind and no more. */
static void
test_kinds_of_vocabulary(void)
{
    static const struct {
        const char *name;
        SundogTokenizerKind kind;
        bool add_bos, add_eos, add_space_prefix;
        uint32_t unknown;
    } cases[] = {
        {"llama", SUNDOG_TOKENIZER_SCORED_BPE, true, false, true, 0},
        {"t5", SUNDOG_TOKENIZER_UNIGRAM, false, true, false, 2},
        {"rwkv", SUNDOG_TOKENIZER_LONGEST, false, false, false, SUNDOG_TOKEN_NONE},
        {"gemma4", SUNDOG_TOKENIZER_CHARACTER_BPE, true, false, false, SUNDOG_TOKEN_NONE},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        GgufBuilder builder;
        model_fixture_build(&builder);
        gguf_builder_set_string(&builder, "tokenizer.ggml.model", cases[i].name);
        gguf_builder_remove(&builder, "tokenizer.ggml.add_bos_token");
        gguf_builder_remove(&builder, "tokenizer.ggml.unknown_token_id");
        g_autoptr(SundogModel) model = open_built(&builder, NULL);
        const SundogVocabulary *vocabulary = sundog_model_get_vocabulary(model);
        g_assert_cmpint(vocabulary->kind, ==, cases[i].kind);
        g_assert_true(vocabulary->add_bos == cases[i].add_bos);
        g_assert_true(vocabulary->add_eos == cases[i].add_eos);
        g_assert_true(vocabulary->add_space_prefix == cases[i].add_space_prefix);
        g_assert_cmpuint(vocabulary->unknown, ==, cases[i].unknown);
    }
}

static void
test_character_map(void)
{
    static const int32_t good[] = {4, 0, 0, 0, 0, 0, 0, 0, -1, 0};
    static const int32_t bad[] = {4, 0, 0, 256};
    GgufBuilder builder;
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "tokenizer.ggml.model", "t5");
    gguf_builder_set_i32s(&builder, "tokenizer.ggml.precompiled_charsmap", good, 10);
    g_autoptr(SundogModel) model = open_built(&builder, NULL);
    const SundogVocabulary *vocabulary = sundog_model_get_vocabulary(model);
    g_assert_cmpuint(vocabulary->n_character_map_bytes, ==, 10);
    g_assert_cmpuint(vocabulary->character_map[8], ==, 255);
    model_fixture_build(&builder);
    gguf_builder_set_string(&builder, "tokenizer.ggml.model", "t5");
    gguf_builder_set_i32s(&builder, "tokenizer.ggml.precompiled_charsmap", bad, 4);
    expect_error(&builder, SUNDOG_FORMAT_ERROR_INVALID, "element 3 is 256, expected a byte");
}

/* The vocabulary alone, of a file without anything else. */
static SundogVocabulary *
dup_vocabulary(GgufBuilder *builder)
{
    g_autoptr(GError) error = NULL;
    g_ptr_array_set_size(builder->tensors, 0);
    g_autoptr(GBytes) bytes = gguf_builder_build(builder);
    g_autoptr(SundogGguf) gguf = sundog_gguf_new_from_bytes(bytes, "words.gguf", &error);
    g_assert_no_error(error);
    SundogVocabulary *vocabulary = sundog_gguf_dup_vocabulary(gguf, &error);
    g_assert_no_error(error);
    gguf_builder_clear(builder);
    return vocabulary;
}

/* gpt-oss ends parts of an answer with what ends whole answers elsewhere. */
static void
test_end_of_parts(void)
{
    static const char *const texts[] = {"a", "<|end|>", "<|return|>", "<|call|>"};
    for (uint64_t n_tokens = 2; n_tokens <= 4; n_tokens += 2) {
        GgufBuilder builder;
        model_fixture_build(&builder);
        set_tokens(&builder, texts, n_tokens);
        gguf_builder_remove(&builder, "tokenizer.ggml.bos_token_id");
        gguf_builder_set_u32(&builder, "tokenizer.ggml.eos_token_id", n_tokens == 2 ? 1 : 2);
        g_autoptr(SundogVocabulary) vocabulary = dup_vocabulary(&builder);
        g_assert_cmpuint(vocabulary->n_ends, ==, n_tokens / 2);
        g_assert_cmpuint(vocabulary->ends[0], ==, n_tokens / 2);
    }
}

/* Phi 3's turns take the line's end behind them. */
static void
test_phi3(void)
{
    static const char *const texts[] = {"a", "<s>", "<|user|>"};
    GgufBuilder builder;
    model_fixture_build(&builder);
    set_tokens(&builder, texts, 3);
    gguf_builder_set_string(&builder, "general.architecture", "phi3");
    gguf_builder_set_string(&builder, "tokenizer.ggml.model", "llama");
    g_autoptr(SundogVocabulary) vocabulary = dup_vocabulary(&builder);
    g_assert_false(vocabulary->tokens[0].strip_right || vocabulary->tokens[1].strip_right);
    g_assert_true(vocabulary->tokens[2].strip_right);
}

static void
test_vocabulary_alone(void)
{
    /* A file without tensors or dimensions, of an architecture not known here. */
    GgufBuilder builder;
    model_fixture_build(&builder);
    g_ptr_array_set_size(builder.tensors, 0);
    gguf_builder_remove(&builder, "llama.block_count");
    gguf_builder_set_string(&builder, "general.architecture", "starcoder");
    g_autoptr(GBytes) bytes = gguf_builder_build(&builder);
    g_autofree char *folder = g_dir_make_tmp("vocabulary-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "words.gguf", NULL);
    g_autoptr(GError) error = NULL;
    g_assert_true(g_file_set_contents(path, g_bytes_get_data(bytes, NULL),
                                      (gssize)g_bytes_get_size(bytes), NULL));
    g_autoptr(SundogModel) model = sundog_model_open_vocabulary(path, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(sundog_model_get_vocabulary(model)->n_tokens, ==, 32);
    g_assert_null(sundog_model_get_dimensions(model));
    g_assert_null(sundog_model_get_tensor(model, SUNDOG_TENSOR_OUTPUT_NORM, 0));
    g_assert_null(sundog_model_open(path, &error));
    g_assert_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED);
    g_unlink(path);
    g_rmdir(folder);
    gguf_builder_clear(&builder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/model-vocabulary/good", test_good);
    g_test_add_func("/model-vocabulary/ends", test_ends);
    g_test_add_func("/model-vocabulary/bos", test_bos);
    g_test_add_func("/model-vocabulary/sizes", test_sizes);
    g_test_add_func("/model-vocabulary/ids", test_ids);
    g_test_add_func("/model-vocabulary/kinds", test_kinds);
    g_test_add_func("/model-vocabulary/merges", test_merges);
    g_test_add_func("/model-vocabulary/texts", test_texts);
    g_test_add_func("/model-vocabulary/kinds-of-vocabulary", test_kinds_of_vocabulary);
    g_test_add_func("/model-vocabulary/character-map", test_character_map);
    g_test_add_func("/model-vocabulary/end-of-parts", test_end_of_parts);
    g_test_add_func("/model-vocabulary/phi3", test_phi3);
    g_test_add_func("/model-vocabulary/alone", test_vocabulary_alone);
    return g_test_run();
}
