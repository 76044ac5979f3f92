/* Weights of a safetensors folder. */

#include "engine/model/hf-weights.h"

#include "engine/format/error.h"

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

GArray *
sundog_hf_weights_list(SundogSource *source, const SundogSafetensors *tensors, GError **error)
{
    g_autoptr(GArray) weights = g_array_new(FALSE, FALSE, sizeof(SundogSourceTensor));
    for (size_t i = 0; i < sundog_safetensors_get_n_tensors(tensors); i++) {
        if (!add_plain(weights, sundog_safetensors_get_tensor(tensors, i), error))
            return NULL;
    }
    return g_steal_pointer(&weights);
}
