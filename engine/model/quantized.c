/* Which kind of quantization a module is of. */

#include "engine/model/quantized-readers.h"

#include "engine/format/error.h"

#include <string.h>

static const char *const suffixes[] = {
#define X(part, suffix) suffix,
    SUNDOG_QUANTIZED_PARTS(X)
#undef X
};

SundogQuantizedPart
sundog_quantized_parse(const char *name, size_t *n_module_bytes)
{
    for (unsigned part = 0; part < SUNDOG_N_PARTS; part++) {
        if (g_str_has_suffix(name, suffixes[part])) {
            *n_module_bytes = strlen(name) - strlen(suffixes[part]);
            return (SundogQuantizedPart)part;
        }
    }
    *n_module_bytes = strlen(name);
    return SUNDOG_N_PARTS;
}

bool
sundog_quantized_is_beside(const char *name)
{
    static const char *const beside[] = {
        ".input_scale", ".input_global_scale", ".output_scale",    ".k_scale", ".v_scale",
        ".q_scale",     ".activation_scale",   ".input_zero_point"};
    for (size_t i = 0; i < G_N_ELEMENTS(beside); i++)
        if (g_str_has_suffix(name, beside[i]))
            return true;
    return false;
}

typedef bool (*Reader)(SundogSource *source, const SundogQuantizedModule *module,
                       JsonObject *quantization, SundogSourceTensor *tensor, GError **error);

static bool
is_of(const SundogSafetensor *part, SundogSafetensorsDtype dtype)
{
    return part != NULL && part->dtype == dtype;
}

/* NULL where the parts are of no kind known here. */
static Reader
find_reader(const SundogQuantizedModule *module)
{
    const SundogSafetensor *const *parts = module->parts;
    const SundogSafetensor *weight = parts[SUNDOG_PART_WEIGHT];
    if (parts[SUNDOG_PART_QWEIGHT] != NULL)
        return sundog_quantized_read_gptq;
    if (parts[SUNDOG_PART_NF4_STATE] != NULL || parts[SUNDOG_PART_FP4_STATE] != NULL)
        return sundog_quantized_read_bnb;
    if (parts[SUNDOG_PART_BLOCKS] != NULL)
        return sundog_quantized_read_mxfp4;
    if (parts[SUNDOG_PART_GLOBAL_SCALE] != NULL || parts[SUNDOG_PART_SCALE_2] != NULL)
        return sundog_quantized_read_nvfp4;
    if (is_of(parts[SUNDOG_PART_PACKED], SUNDOG_SAFETENSORS_U8))
        return sundog_quantized_read_mxfp4;
    if (parts[SUNDOG_PART_PACKED] != NULL || is_of(weight, SUNDOG_SAFETENSORS_I8))
        return sundog_quantized_read_compressed;
    if (is_of(weight, SUNDOG_SAFETENSORS_F8_E4M3) || is_of(weight, SUNDOG_SAFETENSORS_F8_E5M2))
        return sundog_quantized_read_fp8;
    if (is_of(weight, SUNDOG_SAFETENSORS_U32))
        return parts[SUNDOG_PART_BIASES] != NULL ? sundog_quantized_read_mlx
                                                 : sundog_quantized_read_mxfp4;
    return NULL;
}

bool
sundog_quantized_read(SundogSource *source, const SundogQuantizedModule *module,
                      JsonObject *quantization, SundogSourceTensor *tensor, GError **error)
{
    Reader reader = find_reader(module);
    for (size_t part = 0; part < SUNDOG_N_PARTS; part++)
        if (module->parts[part] != NULL && module->parts[part]->n_values == 0)
            return sundog_quantized_refuse(module, "a matrix with values", error);
    if (reader != NULL)
        return reader(source, module, quantization, tensor, error);
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "%s is quantized in a way that is not known here; known are GPTQ, AWQ, "
                "compressed-tensors, MLX, fp8, mxfp8, mxfp4, nvfp4 and bitsandbytes' nf4 and fp4",
                module->name);
    return false;
}
