/* A folder's files: opened, parsed as JSON where they are, and hashed. */

#include "engine/model/hf-folder.h"

#include "engine/format/error.h"
#include "engine/format/hash.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/format/safetensors.h"
#include "engine/model/hf-config.h"
#include "engine/model/hf-latent.h"
#include "engine/model/hf-modules.h"
#include "engine/model/hf-tensors.h"
#include "engine/model/hf-vocabulary.h"
#include "engine/model/sampling-advice.h"

#include <string.h>
#include <sys/stat.h>

/* The largest published tokenizer.json has some 40 megabytes. */
#define MAX_TEXT_BYTES (256u << 20)
#define MAX_DRAFT_LAYERS 16

/* The texts of a folder, in the order of their names. X(PLACE, name, required) */
#define TEXTS(X)                                           \
    X(TEMPLATE_JINJA, "chat_template.jinja", false)        \
    X(TEMPLATE_JSON, "chat_template.json", false)          \
    X(CONFIG, "config.json", true)                         \
    X(PROMPTS, "config_sentence_transformers.json", false) \
    X(GENERATION, "generation_config.json", false)         \
    X(TOKENIZER, "tokenizer.json", false)                  \
    X(PIECES, "tokenizer.model", false)                    \
    X(TOKENIZER_CONFIG, "tokenizer_config.json", false)

enum {
#define X(place, name, required) place,
    TEXTS(X)
#undef X
        N_TEXTS
};

static const struct {
    const char *name;
    bool is_required;
} texts[] = {
#define X(place, name, required) {name, required},
    TEXTS(X)
#undef X
};

struct SundogHfFolder {
    char *path;
    GBytes *texts[N_TEXTS];     /* NULL where the folder has no such file */
    JsonNode *config;           /* an object */
    SundogSafetensors *tensors; /* NULL where they were not wanted */
    SundogHfModules *modules;   /* or NULL */
};

static GBytes *
read_text(const char *folder, const char *name, bool is_required, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *text;
    size_t n_bytes;
    struct stat status;
    if (stat(path, &status) != 0 && is_required) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO,
                    "the folder holds no %s, which a model beside safetensors has", name);
        return NULL;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > MAX_TEXT_BYTES) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s is no regular file of at most %u bytes", name, MAX_TEXT_BYTES);
        return NULL;
    }
    return g_file_get_contents(path, &text, &n_bytes, error) ? g_bytes_new_take(text, n_bytes)
                                                             : NULL;
}

static bool
read_texts(SundogHfFolder *folder, GError **error)
{
    for (size_t i = 0; i < N_TEXTS; i++) {
        g_autofree char *path = g_build_filename(folder->path, texts[i].name, NULL);
        bool is_missing = !texts[i].is_required && !g_file_test(path, G_FILE_TEST_EXISTS);
        /* Where both are there, they say the same. */
        if (is_missing || (i == PIECES && folder->texts[TOKENIZER] != NULL))
            continue;
        folder->texts[i] = read_text(folder->path, texts[i].name, texts[i].is_required, error);
        if (folder->texts[i] == NULL)
            return false;
    }
    return folder->texts[TOKENIZER] != NULL || folder->texts[PIECES] != NULL ||
           sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO,
                            "the folder holds no tokenizer.json and no tokenizer.model, of which "
                            "a model beside safetensors has one");
}

/* A text that must hold an object. */
static JsonNode *
parse(const SundogHfFolder *folder, size_t place, GError **error)
{
    size_t n_bytes;
    const char *text = g_bytes_get_data(folder->texts[place], &n_bytes);
    g_autoptr(JsonNode) node = sundog_json_parse_large(text, n_bytes, error);
    if (node == NULL) {
        g_prefix_error(error, "%s: ", texts[place].name);
        return NULL;
    }
    if (JSON_NODE_HOLDS_OBJECT(node))
        return g_steal_pointer(&node);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "%s holds no object",
                texts[place].name);
    return NULL;
}

SundogHfFolder *
sundog_hf_folder_open(const char *path, bool with_tensors, GError **error)
{
    g_autoptr(SundogHfFolder) folder = g_new0(SundogHfFolder, 1);
    folder->path = g_strdup(path);
    if (!read_texts(folder, error))
        return NULL;
    folder->config = parse(folder, CONFIG, error);
    if (folder->config == NULL ||
        !sundog_hf_modules_open(path, with_tensors, &folder->modules, error))
        return NULL;
    if (with_tensors)
        folder->tensors = sundog_safetensors_open(path, error);
    return !with_tensors || folder->tensors != NULL ? g_steal_pointer(&folder) : NULL;
}

void
sundog_hf_folder_free(SundogHfFolder *folder)
{
    if (folder == NULL)
        return;
    for (size_t i = 0; i < N_TEXTS; i++)
        g_clear_pointer(&folder->texts[i], g_bytes_unref);
    g_clear_pointer(&folder->config, json_node_unref);
    sundog_safetensors_free(folder->tensors);
    sundog_hf_modules_free(folder->modules);
    g_free(folder->path);
    g_free(folder);
}

/* --- Settings and tensors ----------------------------------------------------------------------- */

/* transformers and MLX name it differently, and models that see and hear have it in either place. */
static JsonObject *
find_quantization(JsonObject *config)
{
    static const char *const names[] = {"quantization_config", "quantization"};
    JsonObject *places[] = {config, sundog_hf_config_get_text(config)};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        for (size_t k = 0; k < G_N_ELEMENTS(names); k++) {
            JsonObject *found = sundog_json_get_object(places[i], names[k]);
            if (found != NULL)
                return found;
        }
    }
    return NULL;
}

/* GGUF counts the layers behind the last, which guess tokens, among all. */
static uint64_t
count_draft_layers(SundogSource *source, const SundogHfFolder *folder, JsonObject *text,
                   const SundogHfFamily *family, uint64_t n_layers)
{
    static const char own_name[] = "config.json: num_nextn_predict_layers";
    double n = sundog_json_get_number(text, "num_nextn_predict_layers", 0);
    if (family->guesses_apart && sundog_safetensors_find(folder->tensors, "mtp.fc.weight") != NULL)
        n = 1;
    if (!(n >= 1 && n <= MAX_DRAFT_LAYERS) || n_layers == 0)
        return 0;
    sundog_source_set_uint(source, "block_count", own_name, n_layers + (uint64_t)n);
    sundog_source_set_uint(source, "nextn_predict_layers", own_name, (uint64_t)n);
    return (uint64_t)n;
}

static bool
fill(SundogSource *source, const SundogHfFolder *folder, const SundogHfFamily *family,
     GError **error)
{
    JsonObject *config = json_node_get_object(folder->config);
    JsonObject *text = sundog_hf_config_get_text(config);
    SundogHfTensorOptions options = {
        .family = family,
        .tensors = folder->tensors,
        .quantization = find_quantization(config),
        .is_tied = sundog_json_get_bool(config, "tie_word_embeddings", false) ||
                   sundog_json_get_bool(text, "tie_word_embeddings", false)};
    if (!sundog_hf_config_read(source, family, config, error) ||
        !sundog_hf_latent_read(source, text, &options.groups, error) ||
        (family->read_groups != NULL && !family->read_groups(text, &options.groups, error)))
        return false;
    sundog_source_get_uint(source, "expert_count", &options.n_experts);
    sundog_source_get_uint(source, "block_count", &options.n_layers);
    if (sundog_source_get_uint(source, "altup.num_inputs", &options.n_further_streams) &&
        options.n_further_streams > 0)
        options.n_further_streams--;
    options.n_predicting_layers =
        count_draft_layers(source, folder, text, family, options.n_layers);
    return sundog_hf_tensors_read(source, &options, error) &&
           (folder->modules == NULL || sundog_hf_modules_read(folder->modules, source, error));
}

SundogSource *
sundog_hf_folder_new_source(const SundogHfFolder *folder, GError **error)
{
    const SundogHfFamily *family =
        sundog_hf_config_find_family(json_node_get_object(folder->config), error);
    if (family == NULL)
        return NULL;
    g_autoptr(SundogSource) source = sundog_source_new(family->architecture);
    return fill(source, folder, family, error) ? g_steal_pointer(&source) : NULL;
}

/* --- Text --------------------------------------------------------------------------------------- */

SundogVocabulary *
sundog_hf_folder_dup_vocabulary(const SundogHfFolder *folder, const SundogSource *source,
                                GError **error)
{
    JsonObject *config = json_node_get_object(folder->config);
    double n_rows = 0;
    if (source == NULL || !sundog_source_get_float(source, "vocab_size", &n_rows))
        sundog_json_get_double(sundog_hf_config_get_text(config), "vocab_size", &n_rows);
    const SundogHfVocabularyFiles files = {.tokenizer = folder->texts[TOKENIZER],
                                           .pieces = folder->texts[PIECES],
                                           .tokenizer_config = folder->texts[TOKENIZER_CONFIG],
                                           .generation_config = folder->texts[GENERATION],
                                           .config = folder->texts[CONFIG]};
    return sundog_hf_vocabulary_read(&files, n_rows, error);
}

/* A template, or the one of several that is for plain chats. */
static const char *
find_template(JsonObject *object)
{
    JsonArray *several = sundog_json_get_array(object, "chat_template");
    for (guint i = 0; several != NULL && i < json_array_get_length(several); i++) {
        JsonObject *one = sundog_json_get_element(several, i);
        if (strcmp(sundog_json_get_string(one, "name", ""), "default") == 0)
            return sundog_json_get_string(one, "template", NULL);
    }
    return sundog_json_get_string(object, "chat_template", NULL);
}

bool
sundog_hf_folder_dup_template(const SundogHfFolder *folder, char **template, GError **error)
{
    static const size_t places[] = {TEMPLATE_JSON, TOKENIZER_CONFIG};
    *template = NULL;
    if (folder->texts[TEMPLATE_JINJA] != NULL) {
        size_t n_bytes;
        const char *text = g_bytes_get_data(folder->texts[TEMPLATE_JINJA], &n_bytes);
        if (g_utf8_validate_len(text, n_bytes, NULL)) {
            *template = g_strndup(text, n_bytes);
            return true;
        }
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "chat_template.jinja is not UTF-8 without NUL");
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(places) && *template == NULL; i++) {
        if (folder->texts[places[i]] == NULL)
            continue;
        g_autoptr(JsonNode) node = parse(folder, places[i], error);
        if (node == NULL)
            return false;
        *template = g_strdup(find_template(json_node_get_object(node)));
    }
    return true;
}

JsonObject *
sundog_hf_folder_dup_sampling(const SundogHfFolder *folder)
{
    if (folder->texts[GENERATION] == NULL)
        return NULL;
    g_autoptr(JsonNode) node = parse(folder, GENERATION, NULL);
    return node != NULL ? sundog_sampling_advice_of_config(json_node_get_object(node)) : NULL;
}

JsonObject *
sundog_hf_folder_dup_prompts(const SundogHfFolder *folder)
{
    g_autoptr(JsonNode) node = folder->texts[PROMPTS] != NULL ? parse(folder, PROMPTS, NULL) : NULL;
    return node != NULL ? json_node_dup_object(node) : NULL;
}

/* --- The files as a whole ----------------------------------------------------------------------- */

/* All files that were opened; borrowed. */
static GPtrArray *
list_files(const SundogHfFolder *folder)
{
    GPtrArray *files = g_ptr_array_new();
    for (size_t i = 0; i < N_TEXTS; i++)
        if (folder->texts[i] != NULL)
            g_ptr_array_add(files, folder->texts[i]);
    for (size_t i = 0;
         folder->tensors != NULL && sundog_safetensors_get_files(folder->tensors)[i] != NULL; i++)
        g_ptr_array_add(files, sundog_safetensors_get_bytes(folder->tensors, i));
    if (folder->modules != NULL)
        sundog_hf_modules_list(folder->modules, files);
    return files;
}

uint64_t
sundog_hf_folder_get_bytes(const SundogHfFolder *folder)
{
    g_autoptr(GPtrArray) files = list_files(folder);
    return sundog_hash_count_bytes((GBytes *const *)files->pdata, files->len);
}

char *
sundog_hf_folder_dup_sha256(const SundogHfFolder *folder, GCancellable *cancellable, GError **error)
{
    g_autoptr(GPtrArray) files = list_files(folder);
    return sundog_hash_dup_sha256((GBytes *const *)files->pdata, files->len, cancellable, error);
}
