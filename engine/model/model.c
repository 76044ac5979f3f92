/* A model opened from a GGUF file or a folder: joins dimensions, tensors and vocabulary, which their own
 * files read and check. */

#include "engine/model/model.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/model/dimensions.h"
#include "engine/model/gguf-vocabulary.h"
#include "engine/model/hf-folder.h"
#include "engine/model/sampling-advice.h"
#include "engine/model/source.h"
#include "engine/model/tensors.h"
#include <string.h>

struct SundogModel {
    char *path;
    char *fallback_name;
    SundogGguf *gguf; /* one of the two */
    SundogHfFolder *folder;
    SundogSource *source; /* NULL where only the vocabulary was opened from a folder */
    bool has_tensors;
    SundogModelDimensions dimensions;
    SundogTensors tensors;
    SundogVocabulary *vocabulary;
    char *chat_template; /* or NULL */
    GMutex sha256_mutex;
    char *sha256; /* NULL until first asked for */
};

/* The file's name without its ending, or the folder's, for a model that does not name itself. */
static char *
dup_fallback_name(const char *path, bool is_folder)
{
    g_autofree char *base = g_path_get_basename(path);
    char *suffix = strrchr(base, '.');
    if (!is_folder && suffix != NULL && suffix != base)
        *suffix = '\0';
    return g_utf8_make_valid(base, -1);
}

/* As Qwen's makers trained their rerankers, of whose folders only the later ones state it. */
static const char causal_pair_template[] =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and "
    "the "
    "Instruct provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n"
    "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that "
    "answer "
    "the query\n<Query>: {query}\n<Document>: {document}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n";

const char *
sundog_model_get_pair_template(const SundogModel *model)
{
    size_t n_bytes = 0;
    bool is_pair = model->dimensions.pooled.purpose == SUNDOG_PURPOSE_RERANK &&
                   model->dimensions.pooled.pooling == SUNDOG_POOLING_LAST;
    const char *text =
        is_pair && model->gguf != NULL
            ? sundog_gguf_get_string(model->gguf, "tokenizer.chat_template.rerank", &n_bytes)
            : NULL;
    if (text != NULL && g_utf8_validate_len(text, n_bytes, NULL))
        return text;
    return is_pair ? causal_pair_template : NULL;
}

static void
add_prompt(JsonObject *texts, const char *name, JsonNode *value, gpointer data)
{
    JsonObject *prompts = data;
    const char *text = sundog_json_get_text(value);
    if (text != NULL)
        json_object_set_string_member(prompts, name, text);
}

JsonObject *
sundog_model_dup_prompts(const SundogModel *model, const char **usual)
{
    g_autoptr(JsonObject) all =
        model->folder != NULL ? sundog_hf_folder_dup_prompts(model->folder) : NULL;
    JsonObject *texts = all != NULL ? sundog_json_get_object(all, "prompts") : NULL;
    *usual = NULL;
    if (texts == NULL)
        return NULL;
    JsonObject *prompts = json_object_new();
    json_object_foreach_member(texts, add_prompt, prompts);
    const char *name = sundog_json_get_string(all, "default_prompt_name", "");
    g_autoptr(GList) names = json_object_get_members(prompts);
    for (GList *l = names; l != NULL; l = l->next)
        if (strcmp(l->data, name) == 0)
            *usual = l->data;
    return prompts;
}

static bool
read_chat_template(SundogModel *model, GError **error)
{
    size_t n_bytes;
    if (model->folder != NULL)
        return sundog_hf_folder_dup_template(model->folder, &model->chat_template, error);
    const char *text = sundog_gguf_get_string(model->gguf, "tokenizer.chat_template", &n_bytes);
    if (text == NULL || g_utf8_validate_len(text, n_bytes, NULL)) {
        model->chat_template = g_strdup(text);
        return true;
    }
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "tokenizer.chat_template is not UTF-8 without NUL");
    return false;
}

static bool
read_vocabulary(SundogModel *model, GError **error)
{
    model->vocabulary = model->folder != NULL
                            ? sundog_hf_folder_dup_vocabulary(model->folder, model->source, error)
                            : sundog_gguf_dup_vocabulary(model->gguf, error);
    return model->vocabulary != NULL && read_chat_template(model, error);
}

/* The vocabulary, the file's own count and the embedding must agree, since each bounds another. */
static bool
check_vocabulary_size(const SundogModel *model, GError **error)
{
    g_autofree char *key = sundog_source_dup_key(model->source, "vocab_size");
    uint64_t n_expected = 0;
    if (!sundog_source_get_uint(model->source, "vocab_size", &n_expected) ||
        n_expected == model->dimensions.n_vocabulary)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "%s is %" G_GUINT64_FORMAT ", expected the number of tokens, %u", key, n_expected,
                model->dimensions.n_vocabulary);
    return false;
}

static bool
read_whole(SundogModel *model, GError **error)
{
    model->source = model->folder != NULL ? sundog_hf_folder_new_source(model->folder, error)
                                          : sundog_source_new_for_gguf(model->gguf);
    if (model->source == NULL ||
        !sundog_dimensions_read(&model->dimensions, model->source, model->fallback_name, error) ||
        !read_vocabulary(model, error))
        return false;
    model->dimensions.n_vocabulary = model->vocabulary->n_tokens;
    if (!check_vocabulary_size(model, error))
        return false;
    model->has_tensors =
        sundog_tensors_read(&model->tensors, &model->dimensions, model->source, error);
    return model->has_tensors;
}

/* Takes the file or the folder, also on failure. */
static SundogModel *
new_model(SundogGguf *gguf, SundogHfFolder *folder, const char *path,
          bool (*read)(SundogModel *, GError **), GError **error)
{
    if (gguf == NULL && folder == NULL)
        return NULL;
    g_autoptr(SundogModel) model = g_new0(SundogModel, 1);
    g_mutex_init(&model->sha256_mutex);
    model->gguf = gguf;
    model->folder = folder;
    model->path = g_strdup(path);
    model->fallback_name = dup_fallback_name(path, folder != NULL);
    if (read(model, error))
        return g_steal_pointer(&model);
    g_prefix_error(error, "%s: ", path);
    return NULL;
}

static SundogModel *
open_folder(const char *path, bool (*read)(SundogModel *, GError **), GError **error)
{
    SundogHfFolder *folder = sundog_hf_folder_open(path, read == read_whole, error);
    if (folder == NULL)
        g_prefix_error(error, "%s: ", path);
    return new_model(NULL, folder, path, read, error);
}

static SundogModel *
open_path(const char *path, bool (*read)(SundogModel *, GError **), GError **error)
{
    return g_file_test(path, G_FILE_TEST_IS_DIR)
               ? open_folder(path, read, error)
               : new_model(sundog_gguf_open(path, error), NULL, path, read, error);
}

SundogModel *
sundog_model_open(const char *path, GError **error)
{
    return open_path(path, read_whole, error);
}

SundogModel *
sundog_model_open_vocabulary(const char *path, GError **error)
{
    return open_path(path, read_vocabulary, error);
}

SundogModel *
sundog_model_new_from_bytes(GBytes *bytes, const char *name, GError **error)
{
    return new_model(sundog_gguf_new_from_bytes(bytes, name, error), NULL, name, read_whole, error);
}

void
sundog_model_free(SundogModel *model)
{
    if (model == NULL)
        return;
    sundog_tensors_clear(&model->tensors);
    sundog_dimensions_clear(&model->dimensions);
    sundog_vocabulary_free(model->vocabulary);
    sundog_source_free(model->source);
    sundog_gguf_free(model->gguf);
    sundog_hf_folder_free(model->folder);
    g_free(model->chat_template);
    g_mutex_clear(&model->sha256_mutex);
    g_free(model->sha256);
    g_free(model->fallback_name);
    g_free(model->path);
    g_free(model);
}

const SundogModelDimensions *
sundog_model_get_dimensions(const SundogModel *model)
{
    return model->has_tensors ? &model->dimensions : NULL;
}

const SundogVocabulary *
sundog_model_get_vocabulary(const SundogModel *model)
{
    return model->vocabulary;
}

const char *
sundog_model_get_chat_template(const SundogModel *model)
{
    return model->chat_template;
}

const char *
sundog_model_get_path(const SundogModel *model)
{
    return model->path;
}

const char *
sundog_model_get_sha256(SundogModel *model, GCancellable *cancellable, GError **error)
{
    g_mutex_lock(&model->sha256_mutex);
    if (model->sha256 == NULL)
        model->sha256 = model->folder != NULL
                            ? sundog_hf_folder_dup_sha256(model->folder, cancellable, error)
                            : sundog_gguf_dup_sha256(model->gguf, cancellable, error);
    g_mutex_unlock(&model->sha256_mutex);
    return model->sha256;
}

JsonObject *
sundog_model_dup_sampling(const SundogModel *model)
{
    return model->folder != NULL ? sundog_hf_folder_dup_sampling(model->folder)
                                 : sundog_sampling_advice_of_gguf(model->gguf);
}

uint64_t
sundog_model_get_file_bytes(const SundogModel *model)
{
    return model->folder != NULL ? sundog_hf_folder_get_bytes(model->folder)
                                 : sundog_gguf_get_file_bytes(model->gguf);
}

const SundogTensor *
sundog_model_get_tensor(const SundogModel *model, SundogTensorRole role, uint32_t layer)
{
    return sundog_tensors_get(&model->tensors, role, layer);
}
