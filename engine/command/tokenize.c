/* sundog tokenize FILE|CORE: tokens of the text on standard input. */

#include "engine/command/command.h"
#include "engine/command/terminal.h"
#include "engine/library/library.h"
#include "engine/model/model.h"
#include "engine/server/core-text.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static gboolean no_special = FALSE;
static gboolean add = FALSE;

static const GOptionEntry options[] = {
    {"no-special", 0, 0, G_OPTION_ARG_NONE, &no_special,
     "make no control tokens of their texts, as for a message", NULL},
    {"add", 0, 0, G_OPTION_ARG_NONE, &add,
     "add the tokens of beginning and end that the vocabulary asks for", NULL},
    {NULL},
};

/* Where the tokens come from: the text side of a core, or a tokenizer made of a model's vocabulary. */
typedef struct {
    SundogCoreText *core;
    SundogTokenizer *own;
} Source;

static const SundogTokenizer *
get_tokenizer(const Source *source)
{
    return source->core != NULL ? source->core->tokenizer : source->own;
}

/* A second copy of a model's vocabulary, since the model keeps its own. */
static SundogVocabulary *
read_file_vocabulary(const char *path, GError **error)
{
    g_autoptr(SundogModel) model = sundog_model_open_vocabulary(path, error);
    if (model == NULL)
        return NULL;
    SundogWriter writer;
    sundog_writer_init(&writer);
    sundog_vocabulary_write(sundog_model_get_vocabulary(model), &writer);
    g_autoptr(GBytes) bytes = sundog_writer_steal(&writer);
    SundogReader reader;
    sundog_reader_init(&reader, g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes),
                       "vocabulary");
    g_autoptr(SundogVocabulary) vocabulary = sundog_vocabulary_read(&reader);
    return sundog_reader_finish(&reader, error) ? g_steal_pointer(&vocabulary) : NULL;
}

static bool
open_source(Source *source, const char *word, GError **error)
{
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    if (library == NULL)
        return false;
    g_autoptr(SundogLibraryEntry) core = sundog_library_find_core(library, word, NULL);
    if (core != NULL) {
        source->core = sundog_core_text_open(core, sundog_library_get_keyring(library), error);
        return source->core != NULL;
    }
    g_autoptr(SundogLibraryEntry) model = sundog_library_find_model(library, word, error);
    SundogVocabulary *vocabulary = model != NULL ? read_file_vocabulary(model->path, error) : NULL;
    source->own = vocabulary != NULL ? sundog_tokenizer_new(vocabulary, error) : NULL;
    return source->own != NULL;
}

static bool
read_input(GByteArray *text, GError **error)
{
    uint8_t buffer[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, buffer, sizeof buffer)) > 0)
        g_byte_array_append(text, buffer, (guint)n);
    if (n < 0)
        g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "standard input cannot be read");
    return n == 0;
}

static void
print_tokens(const SundogTokenizer *tokenizer, const GArray *tokens)
{
    if (sundog_command_json) {
        JsonArray *array = json_array_sized_new(tokens->len);
        for (guint i = 0; i < tokens->len; i++)
            json_array_add_int_element(array, g_array_index(tokens, uint32_t, i));
        JsonObject *object = json_object_new();
        json_object_set_array_member(object, "tokens", array);
        sundog_terminal_print_json(object);
        return;
    }
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint i = 0; i < tokens->len; i++) {
        uint32_t token = g_array_index(tokens, uint32_t, i);
        g_byte_array_set_size(bytes, 0);
        sundog_tokenizer_append_bytes(tokenizer, token, true, bytes);
        g_byte_array_append(bytes, (const uint8_t *)"", 1);
        g_autofree char *valid = g_utf8_make_valid((const char *)bytes->data, bytes->len - 1);
        g_autofree char *shown = g_strescape(valid, NULL);
        printf("%7u  \"%s\"\n", token, shown);
    }
}

static int
tokenize(const SundogTokenizer *tokenizer)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) text = g_byte_array_new();
    if (!read_input(text, &error))
        return sundog_terminal_fail(error);
    g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    SundogTokenizeFlags flags = (no_special ? SUNDOG_TOKENIZE_PLAIN : SUNDOG_TOKENIZE_SPECIAL) |
                                (add ? SUNDOG_TOKENIZE_ADD : SUNDOG_TOKENIZE_PLAIN);
    sundog_tokenizer_encode(tokenizer, (const char *)text->data, text->len, flags, tokens);
    print_tokens(tokenizer, tokens);
    return SUNDOG_EXIT_OK;
}

static int
run(char **words, unsigned n_words)
{
    g_autoptr(GError) error = NULL;
    Source source = {0};
    int status = open_source(&source, words[0], &error) ? tokenize(get_tokenizer(&source))
                                                        : sundog_terminal_fail(error);
    sundog_core_text_unref(source.core);
    sundog_tokenizer_free(source.own);
    return status;
}

const SundogCommand sundog_command_tokenize = {
    .name = "tokenize",
    .summary = "show the tokens of a text",
    .parameters = "FILE|CORE [--no-special]",
    .help =
        "Cuts the text on standard input into tokens, with the vocabulary of a core, a model or a\n"
        "GGUF file, also one that holds nothing but a vocabulary.\n\n"
        "  echo Hello | sundog tokenize smollm2-135m-instruct --json",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
