/* Advice on sampling. Source of GGUF's keys: llama.cpp's gguf-py. */

#include "engine/model/sampling-advice.h"

#include "engine/format/json-members.h"

#include <math.h>

static const struct {
    const char *name; /* ours, and that of generation_config.json */
    const char *gguf_key;
    double max;
    bool is_whole;
} settings[] = {
    {"temperature", "general.sampling.temp", 2, false},
    {"top_k", "general.sampling.top_k", 1000, true},
    {"top_p", "general.sampling.top_p", 1, false},
    {"min_p", "general.sampling.min_p", 1, false},
};

/* One setting, where it is a number that sampling takes. */
static void
add(JsonObject **advice, size_t index, double value)
{
    if (!(value >= 0 && value <= settings[index].max))
        return;
    if (*advice == NULL)
        *advice = json_object_new();
    if (settings[index].is_whole)
        json_object_set_int_member(*advice, settings[index].name, (gint64)value);
    else
        json_object_set_double_member(*advice, settings[index].name, value);
}

JsonObject *
sundog_sampling_advice_of_gguf(const SundogGguf *gguf)
{
    JsonObject *advice = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
        double value = NAN;
        uint64_t whole;
        if (sundog_gguf_get_uint(gguf, settings[i].gguf_key, &whole))
            value = (double)whole;
        else
            sundog_gguf_get_float(gguf, settings[i].gguf_key, &value);
        /* What float32 makes of 0.7 is shown as it was meant. */
        add(&advice, i, round(value * 1e6) / 1e6);
    }
    return advice;
}

JsonObject *
sundog_sampling_advice_of_config(JsonObject *generation_config)
{
    JsonObject *advice = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        add(&advice, i, sundog_json_get_number(generation_config, settings[i].name, NAN));
    return advice;
}
