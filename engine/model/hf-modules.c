/* Modules of sentence-transformers. Source of the names: its own classes. */

#include "engine/model/hf-modules.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/model/hf-weights.h"
#include "engine/model/row-readers.h"

#include <string.h>

/* These files have some hundred bytes. */
#define MAX_BYTES (1u << 20)
/* GGUF's number for models that score. */
#define POOLING_RANK 4
#define IDENTITY "torch.nn.modules.linear.Identity"

struct SundogHfModules {
    GPtrArray *texts;    /* of GBytes: every file of JSON */
    JsonObject *pooling; /* or NULL */
    JsonObject *scores;  /* the tokens whose logits are scores, or NULL */
    SundogSafetensors *dense[SUNDOG_HF_MAX_DENSE];
    uint32_t n_dense;
};

/* Reads a file of JSON and keeps it; NULL and an error. The caller unrefs the node. */
static JsonNode *
read_json(SundogHfModules *modules, const char *path, GError **error)
{
    char *text;
    size_t n_bytes;
    if (!g_file_get_contents(path, &text, &n_bytes, error))
        return NULL;
    g_ptr_array_add(modules->texts, g_bytes_new_take(text, n_bytes));
    JsonNode *node = n_bytes <= MAX_BYTES ? sundog_json_parse_large(text, n_bytes, error) : NULL;
    if (node == NULL && error != NULL && *error == NULL)
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                    "it has %zu bytes, expected at most %u", n_bytes, MAX_BYTES);
    if (node == NULL)
        g_prefix_error(error, "%s: ", path);
    return node;
}

static JsonObject *
read_object(SundogHfModules *modules, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "config.json", NULL);
    g_autoptr(JsonNode) node = read_json(modules, path, error);
    if (node == NULL)
        return NULL;
    if (JSON_NODE_HOLDS_OBJECT(node))
        return json_node_dup_object(node);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, "%s holds no object",
                path);
    return NULL;
}

/* Two products with nothing between, as EmbeddingGemma has them. */
static bool
open_dense(SundogHfModules *modules, const char *folder, bool with_tensors, GError **error)
{
    g_autoptr(JsonObject) config = read_object(modules, folder, error);
    if (config == NULL)
        return false;
    const char *function = sundog_json_get_string(config, "activation_function", IDENTITY);
    if (strcmp(function, IDENTITY) != 0 || sundog_json_get_bool(config, "bias", false) ||
        modules->n_dense == SUNDOG_HF_MAX_DENSE) {
        g_autofree char *shown = sundog_format_quote(function, NULL);
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                                "%s: a dense layer with the function %s%s, expected at most %d "
                                "layers of " IDENTITY " without bias",
                                folder, shown,
                                sundog_json_get_bool(config, "bias", false) ? " and a bias" : "",
                                SUNDOG_HF_MAX_DENSE);
    }
    if (with_tensors)
        modules->dense[modules->n_dense] = sundog_safetensors_open(folder, error);
    modules->n_dense++;
    return !with_tensors || modules->dense[modules->n_dense - 1] != NULL;
}

static bool
open_module(SundogHfModules *modules, const char *model, JsonObject *module, bool with_tensors,
            GError **error)
{
    const char *type = sundog_json_get_string(module, "type", "");
    const char *path = sundog_json_get_string(module, "path", "");
    const char *name = strrchr(type, '.') != NULL ? strrchr(type, '.') + 1 : type;
    g_autofree char *folder = g_build_filename(model, path, NULL);
    if (strcmp(name, "Transformer") == 0 || strcmp(name, "Normalize") == 0)
        return true;
    /* Nothing outside the folder is ever read. */
    if (strchr(path, '/') != NULL || strcmp(path, "..") == 0 || path[0] == '\0')
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                "modules.json: the path of a module is no folder beside it");
    if (strcmp(name, "Dense") == 0)
        return open_dense(modules, folder, with_tensors, error);
    if (strcmp(name, "Pooling") == 0 && modules->pooling == NULL) {
        modules->pooling = read_object(modules, folder, error);
        return modules->pooling != NULL;
    }
    if (strcmp(name, "LogitScore") == 0 && modules->scores == NULL) {
        modules->scores = read_object(modules, folder, error);
        return modules->scores != NULL;
    }
    g_autofree char *shown = sundog_format_quote(type, NULL);
    return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                            "modules.json: the module %s is not known here", shown);
}

static bool
open_all(SundogHfModules *modules, const char *folder, bool with_tensors, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "modules.json", NULL);
    g_autoptr(JsonNode) node = read_json(modules, path, error);
    if (node == NULL)
        return false;
    if (!JSON_NODE_HOLDS_ARRAY(node))
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                "modules.json holds no list");
    JsonArray *list = json_node_get_array(node);
    for (guint i = 0; i < json_array_get_length(list); i++) {
        JsonObject *module = sundog_json_get_element(list, i);
        if (module == NULL)
            return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                    "modules.json: element %u is no object", i);
        if (!open_module(modules, folder, module, with_tensors, error))
            return false;
    }
    return true;
}

bool
sundog_hf_modules_open(const char *folder, bool with_tensors, SundogHfModules **modules,
                       GError **error)
{
    g_autofree char *path = g_build_filename(folder, "modules.json", NULL);
    *modules = NULL;
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return true;
    g_autoptr(SundogHfModules) opened = g_new0(SundogHfModules, 1);
    opened->texts = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    if (!open_all(opened, folder, with_tensors, error))
        return false;
    *modules = g_steal_pointer(&opened);
    return true;
}

void
sundog_hf_modules_free(SundogHfModules *modules)
{
    if (modules == NULL)
        return;
    g_ptr_array_unref(modules->texts);
    g_clear_pointer(&modules->pooling, json_object_unref);
    g_clear_pointer(&modules->scores, json_object_unref);
    for (uint32_t i = 0; i < SUNDOG_HF_MAX_DENSE; i++)
        sundog_safetensors_free(modules->dense[i]);
    g_free(modules);
}

/* Exactly one mode may be true; the numbers are GGUF's. */
static bool
read_pooling(const SundogHfModules *modules, SundogSource *source, GError **error)
{
    static const struct {
        const char *name;
        uint64_t type; /* 0: not known here */
    } modes[] = {{"pooling_mode_mean_tokens", 1},
                 {"pooling_mode_cls_token", 2},
                 {"pooling_mode_lasttoken", 3},
                 {"pooling_mode_max_tokens", 0},
                 {"pooling_mode_mean_sqrt_len_tokens", 0},
                 {"pooling_mode_weightedmean_tokens", 0}};
    uint64_t type = 0;
    uint32_t n_modes = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        if (!sundog_json_get_bool(modules->pooling, modes[i].name, false))
            continue;
        type = modes[i].type;
        n_modes++;
    }
    if (n_modes != 1 || type == 0)
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                                "modules.json: rows are pooled in %u modes, expected one: the "
                                "mean, the first token or the last",
                                n_modes);
    sundog_source_set_uint(source, "pooling_type", "modules.json: Pooling", type);
    return true;
}

/* The head's row of a token. */
static bool
find_token_row(const SundogHfModules *modules, SundogSource *source, const char *name,
               SundogSourceTensor *row, GError **error)
{
    SundogSourceTensor head;
    double token = sundog_json_get_number(modules->scores, name, -1);
    if (!sundog_source_find_tensor(source, "output.weight", &head) &&
        !sundog_source_find_tensor(source, "token_embd.weight", &head))
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                "modules.json: scores are of tokens, but the model has no head");
    if (!(token >= 0 && token < (double)head.shape[1]))
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                "modules.json: %s is %g, expected the number of a token below "
                                "%" G_GUINT64_FORMAT,
                                name, token, head.shape[1]);
    sundog_rows_slice(source, &head, (uint64_t)token, 1, row);
    return true;
}

/* A model that writes text scores by the logits of one word, or of two of which the second denies. */
static bool
read_scores(const SundogHfModules *modules, SundogSource *source, GError **error)
{
    SundogSourceTensor rows[2], both;
    size_t n_rows = sundog_json_has(modules->scores, "false_token_id") ? 2 : 1;
    if (!find_token_row(modules, source, "true_token_id", &rows[0], error) ||
        (n_rows == 2 && !find_token_row(modules, source, "false_token_id", &rows[1], error)))
        return false;
    sundog_rows_append(source, rows, n_rows, &both);
    both.name = both.own_name = "cls.output.weight";
    sundog_source_set_uint(source, "pooling_type", "modules.json: LogitScore", POOLING_RANK);
    sundog_source_add_tensor(source, &both);
    return true;
}

static bool
read_dense(SundogSource *source, const SundogSafetensors *dense, const char *name, GError **error)
{
    g_autoptr(GArray) weights = sundog_hf_weights_list(source, dense, NULL, false, error);
    for (guint i = 0; weights != NULL && i < weights->len; i++) {
        SundogSourceTensor tensor = g_array_index(weights, SundogSourceTensor, i);
        if (strcmp(tensor.own_name, "linear.weight") == 0)
            tensor.name = name;
        sundog_source_add_tensor(source, &tensor);
    }
    return weights != NULL;
}

bool
sundog_hf_modules_read(const SundogHfModules *modules, SundogSource *source, GError **error)
{
    static const char *const names[SUNDOG_HF_MAX_DENSE] = {"dense_2.weight", "dense_3.weight"};
    if (modules->pooling != NULL && !read_pooling(modules, source, error))
        return false;
    if (modules->scores != NULL && !read_scores(modules, source, error))
        return false;
    for (uint32_t i = 0; i < modules->n_dense; i++)
        if (modules->dense[i] != NULL && !read_dense(source, modules->dense[i], names[i], error))
            return false;
    return true;
}

void
sundog_hf_modules_list(const SundogHfModules *modules, GPtrArray *files)
{
    for (guint i = 0; i < modules->texts->len; i++)
        g_ptr_array_add(files, modules->texts->pdata[i]);
    for (uint32_t i = 0; i < modules->n_dense; i++)
        for (size_t k = 0; modules->dense[i] != NULL &&
                           sundog_safetensors_get_files(modules->dense[i])[k] != NULL;
             k++)
            g_ptr_array_add(files, sundog_safetensors_get_bytes(modules->dense[i], k));
}
