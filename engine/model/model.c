/* A model opened from a GGUF file: joins dimensions, tensors and vocabulary, which their own files
 * read and check. */

#include "engine/model/model.h"

#include "engine/format/error.h"
#include "engine/model/dimensions.h"
#include "engine/model/gguf-vocabulary.h"
#include "engine/model/source.h"
#include "engine/model/tensors.h"
#include <string.h>

struct SundogModel {
    char *path;
    char *fallback_name;
    SundogGguf *gguf;
    SundogSource *source;
    bool has_tensors;
    SundogModelDimensions dimensions;
    SundogTensors tensors;
    SundogVocabulary *vocabulary;
    const char *chat_template; /* borrowed from the file, or NULL */
    GMutex sha256_mutex;
    char *sha256; /* NULL until first asked for */
};

/* The file's name without its ending, for a model that does not name itself. */
static char *
dup_fallback_name(const char *path)
{
    g_autofree char *base = g_path_get_basename(path);
    char *suffix = strrchr(base, '.');
    if (suffix != NULL && suffix != base)
        *suffix = '\0';
    return g_utf8_make_valid(base, -1);
}

static bool
read_chat_template(SundogModel *model, GError **error)
{
    size_t n_bytes;
    model->chat_template = sundog_gguf_get_string(model->gguf, "tokenizer.chat_template", &n_bytes);
    if (model->chat_template == NULL || g_utf8_validate_len(model->chat_template, n_bytes, NULL))
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                "tokenizer.chat_template is not UTF-8 without NUL");
    return false;
}

static bool
read_vocabulary(SundogModel *model, GError **error)
{
    model->vocabulary = sundog_gguf_dup_vocabulary(model->gguf, error);
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
    if (!sundog_dimensions_read(&model->dimensions, model->source, model->fallback_name, error) ||
        !read_vocabulary(model, error))
        return false;
    model->dimensions.n_vocabulary = model->vocabulary->n_tokens;
    if (!check_vocabulary_size(model, error))
        return false;
    model->has_tensors =
        sundog_tensors_read(&model->tensors, &model->dimensions, model->source, error);
    return model->has_tensors;
}

/* Takes the file, also on failure. */
static SundogModel *
new_model(SundogGguf *gguf, const char *path, bool (*read)(SundogModel *, GError **),
          GError **error)
{
    if (gguf == NULL)
        return NULL;
    g_autoptr(SundogModel) model = g_new0(SundogModel, 1);
    g_mutex_init(&model->sha256_mutex);
    model->gguf = gguf;
    model->source = sundog_source_new_for_gguf(gguf);
    model->path = g_strdup(path);
    model->fallback_name = dup_fallback_name(path);
    if (read(model, error))
        return g_steal_pointer(&model);
    g_prefix_error(error, "%s: ", path);
    return NULL;
}

SundogModel *
sundog_model_open(const char *path, GError **error)
{
    return new_model(sundog_gguf_open(path, error), path, read_whole, error);
}

SundogModel *
sundog_model_open_vocabulary(const char *path, GError **error)
{
    return new_model(sundog_gguf_open(path, error), path, read_vocabulary, error);
}

SundogModel *
sundog_model_new_from_bytes(GBytes *bytes, const char *name, GError **error)
{
    return new_model(sundog_gguf_new_from_bytes(bytes, name, error), name, read_whole, error);
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
        model->sha256 = sundog_gguf_dup_sha256(model->gguf, cancellable, error);
    g_mutex_unlock(&model->sha256_mutex);
    return model->sha256;
}

const SundogTensor *
sundog_model_get_tensor(const SundogModel *model, SundogTensorRole role, uint32_t layer)
{
    return sundog_tensors_get(&model->tensors, role, layer);
}
