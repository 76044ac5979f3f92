/* Weights of a safetensors folder: plain tensors, and the parts of quantized ones brought together. */

#include "engine/model/hf-weights.h"

#include "engine/format/error.h"
#include "engine/format/name-table.h"
#include "engine/model/quantized.h"

/* Parts that see or hear, which are not read. */
static const char *const other_prefixes[] = {
    "vision_tower.",      "model.vision_tower.",    "visual.",
    "model.visual.",      "multi_modal_projector.", "model.multi_modal_projector.",
    "audio_tower.",       "model.audio_tower.",     "model.embed_vision.",
    "model.embed_audio.", "vision_model.",          "model.vision_model.",
};

static bool
is_other(const char *name, bool guesses)
{
    if (!guesses && g_str_has_prefix(name, "mtp."))
        return true;
    for (size_t i = 0; i < G_N_ELEMENTS(other_prefixes); i++)
        if (g_str_has_prefix(name, other_prefixes[i]))
            return true;
    return false;
}

/* Older files of GPT-NeoX keep what hides later tokens, as truths. */
static bool
is_mask(const SundogSafetensor *tensor)
{
    return g_str_has_suffix(tensor->name, ".attention.bias") &&
           (tensor->dtype == SUNDOG_SAFETENSORS_U8 || tensor->dtype == SUNDOG_SAFETENSORS_BOOL);
}

/* GGUF's number for elements that it has too; false for others. */
static bool
get_type(SundogSafetensorsDtype dtype, uint32_t *type)
{
    switch (dtype) {
    case SUNDOG_SAFETENSORS_F32:
        *type = SUNDOG_GGUF_F32;
        return true;
    case SUNDOG_SAFETENSORS_F16:
        *type = SUNDOG_GGUF_F16;
        return true;
    case SUNDOG_SAFETENSORS_BF16:
        *type = SUNDOG_GGUF_BF16;
        return true;
    default:
        return false;
    }
}

/* The shape in GGUF's order. */
static bool
set_shape(SundogSourceTensor *tensor, const SundogSafetensor *found, GError **error)
{
    if (found->rank > G_N_ELEMENTS(tensor->shape) || found->n_values == 0) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tensor %s has %s, expected 1 to 4 dimensions with values", found->name,
                    found->n_values == 0 ? "no values" : "more dimensions");
        return false;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(tensor->shape); i++)
        tensor->shape[i] = i < found->rank ? found->shape[found->rank - 1 - i] : 1;
    return true;
}

static bool
add_plain(GArray *weights, const SundogSafetensor *found, GError **error)
{
    SundogSourceTensor tensor = {.name = found->name,
                                 .own_name = found->name,
                                 .n_bytes = found->n_bytes,
                                 .data = found->data};
    if (!set_shape(&tensor, found, error))
        return false;
    if (!get_type(found->dtype, &tensor.type)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                    "tensor %s is of %s, expected F32, F16 or BF16", found->name,
                    sundog_safetensors_dtype_name(found->dtype));
        return false;
    }
    g_array_append_val(weights, tensor);
    return true;
}

/* --- Quantized ---------------------------------------------------------------------------------- */

/* The modules that have a part which a plain weight has not; the name is the module's. */
static GHashTable *
find_modules(const SundogSafetensors *tensors, bool guesses)
{
    GHashTable *modules = sundog_name_table_new(g_free);
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        const char *name = sundog_safetensors_get_tensor(tensors, i)->name;
        size_t n_bytes;
        SundogQuantizedPart part = sundog_quantized_parse(name, &n_bytes);
        if (part == SUNDOG_N_PARTS || part == SUNDOG_PART_WEIGHT || is_other(name, guesses))
            continue;
        g_autofree char *module_name = g_strndup(name, n_bytes);
        if (g_hash_table_contains(modules, module_name))
            continue;
        SundogQuantizedModule *module = g_new0(SundogQuantizedModule, 1);
        module->name = module_name;
        g_hash_table_insert(modules, g_steal_pointer(&module_name), module);
    }
    return modules;
}

/* The module that a tensor is a part of, or NULL. */
static SundogQuantizedModule *
take_part(GHashTable *modules, const SundogSafetensor *tensor)
{
    size_t n_bytes;
    SundogQuantizedPart part = sundog_quantized_parse(tensor->name, &n_bytes);
    if (part == SUNDOG_N_PARTS)
        return NULL;
    g_autofree char *name = g_strndup(tensor->name, n_bytes);
    SundogQuantizedModule *module = g_hash_table_lookup(modules, name);
    if (module != NULL)
        module->parts[part] = tensor;
    return module;
}

/* gpt-oss names its blocks without ".weight", as its plain tensors are. */
static char *
dup_weight_name(const SundogQuantizedModule *module)
{
    bool is_blocks = module->parts[SUNDOG_PART_BLOCKS] != NULL;
    return g_strconcat(module->name, is_blocks ? "" : ".weight", NULL);
}

static bool
add_quantized(GArray *weights, SundogSource *source, GHashTable *modules, JsonObject *quantization,
              GError **error)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, modules);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        SundogQuantizedModule *module = value;
        SundogSourceTensor tensor;
        /* The reader keeps the module, whose name must outlive the table. */
        module->name = sundog_source_own(source, g_strdup(module->name), g_free);
        if (!sundog_quantized_read(source, module, quantization, &tensor, error))
            return false;
        tensor.name = tensor.own_name = sundog_source_own(source, dup_weight_name(module), g_free);
        g_array_append_val(weights, tensor);
    }
    return true;
}

GArray *
sundog_hf_weights_list(SundogSource *source, const SundogSafetensors *tensors,
                       JsonObject *quantization, bool guesses, GError **error)
{
    g_autoptr(GArray) weights = g_array_new(FALSE, FALSE, sizeof(SundogSourceTensor));
    g_autoptr(GHashTable) modules = find_modules(tensors, guesses);
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        const SundogSafetensor *tensor = sundog_safetensors_get_tensor(tensors, i);
        if (!is_other(tensor->name, guesses) && !is_mask(tensor) &&
            take_part(modules, tensor) == NULL && !sundog_quantized_is_beside(tensor->name) &&
            !add_plain(weights, tensor, error))
            return NULL;
    }
    return add_quantized(weights, source, modules, quantization, error) ? g_steal_pointer(&weights)
                                                                        : NULL;
}
