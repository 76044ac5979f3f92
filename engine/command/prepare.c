/* sundog prepare MODEL: makes a core of a model. */

#include "engine/prepare/prepare.h"

#include "engine/command/command.h"
#include "engine/command/interrupt.h"
#include "engine/command/library-words.h"
#include "engine/command/terminal.h"
#include <string.h>

static char *target = NULL;
static char *activations = NULL;
static char *weights = NULL;
static char *cache = NULL;
static char *output = NULL;
static gint64 max_context = 0;
static JsonArray *quantized; /* what was told of matrices, for JSON */

static const GOptionEntry options[] = {
    {"target", 0, 0, G_OPTION_ARG_STRING, &target,
     "what it will run on: host (the default), or an NVIDIA GPU such as sm_90a", "TARGET"},
    {"activations", 0, 0, G_OPTION_ARG_STRING, &activations,
     "int8 (the default, fast) or exact: f32 on the host, bf16 on a GPU", "KIND"},
    {"weights", 0, 0, G_OPTION_ARG_STRING, &weights,
     "q8, q4 or fp8: quantize matrices of floats; as they are by default", "KIND"},
    {"cache", 0, 0, G_OPTION_ARG_STRING, &cache,
     "q8: keep keys and values in 8 bits, in 56 % of the memory; floats by default", "KIND"},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "name in the library, or a folder's path",
     "CORE"},
    {"context", 0, 0, G_OPTION_ARG_INT64, &max_context,
     "longest context in tokens; 0: the model's own", "N"},
    {NULL},
};

static void
on_progress(const char *phase, double fraction, void *data)
{
    sundog_terminal_progress(phase, data, fraction);
}

/* One matrix that was quantized. */
static void
on_quantized(const char *tensor, const char *from, const char *to, double relative_error,
             void *data)
{
    if (sundog_command_json) {
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "tensor", tensor);
        json_object_set_string_member(object, "from", from);
        json_object_set_string_member(object, "to", to);
        json_object_set_double_member(object, "relative_error", relative_error);
        json_array_add_object_element(quantized, object);
        return;
    }
    sundog_terminal_progress_end();
    sundog_terminal_note("%s: %s to %s, relative error %.4f", tensor, from, to, relative_error);
}

/* "SmolLM2 135M.Q4_1.gguf" gives "smollm2-135m.q4_1": a name that the library takes. */
static char *
dup_name_of_file(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    if (g_str_has_suffix(base, ".gguf"))
        base[strlen(base) - strlen(".gguf")] = '\0';
    char *name = g_ascii_strdown(base, -1);
    g_strcanon(name, "abcdefghijklmnopqrstuvwxyz0123456789._-", '-');
    return name;
}

static bool
is_path(const char *text)
{
    return strchr(text, '/') != NULL || g_str_has_suffix(text, ".core");
}

/* The core's name for its manifest, and the folder where it goes. */
static char *
dup_core_name(const SundogLibraryEntry *model, const SundogPrepareOptions *prepare)
{
    bool exact = prepare->activations == SUNDOG_ACTIVATIONS_F32;
    g_autofree char *base = NULL;
    if (output != NULL && is_path(output)) {
        base = g_path_get_basename(output);
        if (g_str_has_suffix(base, ".core"))
            base[strlen(base) - strlen(".core")] = '\0';
        return g_steal_pointer(&base);
    }
    if (output != NULL)
        return g_strdup(output);
    const char *suffix = exact && weights == NULL ? "f32" : weights;
    base = model->info != NULL ? g_strdup(model->name) : dup_name_of_file(model->path);
    g_autofree char *variant =
        suffix != NULL ? g_strconcat(base, ":", suffix, NULL) : g_strdup(base);
    if (strcmp(prepare->target, "host") != 0)
        return g_strconcat(variant, "@", prepare->target, NULL);
    return g_steal_pointer(&variant);
}

static void
tell_estimate(const SundogModel *model, const SundogPrepareEstimate *estimate)
{
    g_autofree char *core = sundog_terminal_dup_size(estimate->core_bytes);
    g_autofree char *memory = sundog_terminal_dup_size(estimate->memory_bytes);
    sundog_terminal_note("Preparing %s: %s on disk, %s of memory when it runs.",
                         sundog_model_get_dimensions(model)->name, core, memory);
}

static void
tell_done(const char *name, const char *folder, bool is_for_text, double seconds)
{
    if (!sundog_command_json && is_for_text) {
        sundog_terminal_note("Prepared %s in %.1f s. Try it: sundog run %s -p \"Hello\"", name,
                             seconds, output != NULL ? output : name);
        return;
    }
    if (!sundog_command_json) {
        sundog_terminal_note("Prepared %s in %.1f s. It does not write text: sundog serve answers "
                             "/v1/embeddings and /v1/rerank",
                             name, seconds);
        return;
    }
    JsonObject *object = json_object_new();
    json_object_set_boolean_member(object, "done", TRUE);
    json_object_set_string_member(object, "name", name);
    json_object_set_string_member(object, "path", folder);
    json_object_set_double_member(object, "seconds", seconds);
    if (weights != NULL)
        json_object_set_array_member(object, "quantized", json_array_ref(quantized));
    sundog_terminal_print_json(object);
}

static SundogWeights
find_weights(const char *text)
{
    return strcmp(text, "q8") == 0    ? SUNDOG_WEIGHTS_Q8
           : strcmp(text, "q4") == 0  ? SUNDOG_WEIGHTS_Q4
           : strcmp(text, "fp8") == 0 ? SUNDOG_WEIGHTS_F8
                                      : SUNDOG_WEIGHTS_KEEP;
}

static bool
read_options(SundogPrepareOptions *prepare, GError **error)
{
    bool is_host = target == NULL || strcmp(target, "host") == 0;
    const char *exact = is_host ? SUNDOG_CORE_ACTIVATIONS_F32 : SUNDOG_CORE_ACTIVATIONS_BF16;
    if (!is_host && !g_str_has_prefix(target, "sm_"))
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--target is host or a GPU's architecture such as sm_90a, not \"%s\"", target);
    else if (activations != NULL && strcmp(activations, SUNDOG_CORE_ACTIVATIONS_INT8) != 0 &&
             strcmp(activations, exact) != 0)
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--activations %s int8 or %s, not \"%s\"", is_host ? "is" : "on a GPU is",
                    exact, activations);
    else if (weights != NULL && find_weights(weights) == SUNDOG_WEIGHTS_KEEP)
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--weights is q8, q4 or fp8, not \"%s\"", weights);
    else if (cache != NULL && strcmp(cache, "q8") != 0)
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "--cache is q8, not \"%s\"",
                    cache);
    else if (max_context < 0 || max_context > G_MAXINT32)
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--context is 0 to %d, not %" G_GINT64_FORMAT, G_MAXINT32, max_context);
    else {
        prepare->activations =
            g_strcmp0(activations, exact) == 0 ? SUNDOG_ACTIVATIONS_F32 : SUNDOG_ACTIVATIONS_INT8;
        if (weights != NULL)
            prepare->weights = find_weights(weights);
        if (cache != NULL)
            prepare->cache = SUNDOG_CACHE_Q8;
        prepare->max_context = (uint32_t)max_context;
        prepare->target = target != NULL ? target : "host";
        return true;
    }
    return false;
}

/* The profile of the makers, where the catalogue knows the model; owned by the caller. */
static JsonObject *
dup_sampling(const SundogLibraryEntry *entry)
{
    g_autoptr(SundogCatalogue) catalogue = sundog_catalogue_open(NULL, NULL);
    const SundogCatalogueEntry *known =
        catalogue != NULL ? sundog_catalogue_find(catalogue, entry->name) : NULL;
    JsonNode *node = known != NULL ? json_object_get_member(known->json, "sampling") : NULL;
    return node != NULL && JSON_NODE_HOLDS_OBJECT(node) ? json_node_dup_object(node) : NULL;
}

static bool
prepare_model(const char *word, SundogPrepareOptions *prepare, GError **error)
{
    gint64 start = g_get_monotonic_time();
    g_autoptr(SundogLibrary) library = sundog_library_open(error);
    g_autoptr(SundogLibraryEntry) entry =
        library ? sundog_words_find_model(library, word, error) : NULL;
    g_autoptr(SundogModel) model = entry ? sundog_model_open(entry->path, error) : NULL;
    if (model == NULL)
        return false;
    g_autofree char *name = dup_core_name(entry, prepare);
    bool named = output == NULL || !is_path(output);
    if (named && !sundog_library_name_is_valid(name)) {
        g_set_error(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID,
                    "\"%s\" cannot be a core's name: give one with -o NAME", name);
        return false;
    }
    g_autofree char *folder =
        named ? sundog_library_dup_core_folder(library, name) : g_strdup(output);
    g_autoptr(JsonObject) profile = dup_sampling(entry);
    prepare->name = name;
    prepare->sampling = profile;
    SundogPrepareEstimate estimate;
    if (!sundog_prepare_estimate(model, prepare, &estimate, error))
        return false;
    tell_estimate(model, &estimate);
    if (!sundog_prepare(model, folder, sundog_library_get_keyring(library), prepare, error))
        return false;
    sundog_terminal_progress_end();
    bool is_for_text =
        sundog_model_get_dimensions(model)->pooled.purpose == SUNDOG_PURPOSE_GENERATE;
    tell_done(name, folder, is_for_text, (double)(g_get_monotonic_time() - start) / 1e6);
    return true;
}

static int
run(char **words, unsigned n_words)
{
    SundogPrepareOptions prepare = {
        .target = "host",
        .progress = on_progress,
        .quantized = on_quantized,
        .data = (void *)"Preparing",
        .cancellable = sundog_interrupt_get_cancellable(),
    };
    g_autoptr(GError) error = NULL;
    quantized = json_array_new();
    if (!read_options(&prepare, &error)) {
        sundog_terminal_error("%s", error->message);
        return SUNDOG_EXIT_USAGE;
    }
    if (!prepare_model(words[0], &prepare, &error))
        return sundog_terminal_fail(error);
    return SUNDOG_EXIT_OK;
}

const SundogCommand sundog_command_prepare = {
    .name = "prepare",
    .summary = "make a core of a model, once",
    .parameters = "MODEL [-o CORE]",
    .help =
        "Makes a core of a model: its programs, memory plan, weights laid out for this kind of\n"
        "machine, tokenizer and chat template, signed by this installation's key. MODEL is a name\n"
        "in the library (`sundog list`), or the path of a GGUF file or of a folder with "
        "config.json\n"
        "and safetensors. What it will cost is told first; Ctrl+C stops it and leaves nothing\n"
        "behind.\n\n"
        "  sundog prepare smollm2-135m-instruct\n"
        "  sundog prepare ~/model.gguf --activations f32 -o exact\n"
        "  sundog prepare ~/folder --weights q4",
    .options = options,
    .has_json = true,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
