/* Llama 4's config.json: what is switched off. */

#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

void
sundog_hf_llama4_read(SundogSource *source, JsonObject *config)
{
    /* A size that is null, rather than left out, is no limit. */
    if (json_object_has_member(config, "attention_chunk_size") &&
        json_object_get_null_member(config, "attention_chunk_size"))
        sundog_source_set_uint(source, "attention.chunk_size", "config.json: attention_chunk_size",
                               0);
    if (!sundog_json_get_bool(config, "attn_temperature_tuning", true))
        sundog_source_set_float(source, "attention.temperature_scale",
                                "config.json: attn_temperature_tuning", 0);
}
