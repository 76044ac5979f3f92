/* LFM2's config.json, which gives the size of MLPs before it is fitted. */

#include "engine/model/hf-family.h"

#include "engine/format/json-members.h"

#include <math.h>

#define MAX_FEATURES (1u << 20)

void
sundog_hf_lfm2_read(SundogSource *source, JsonObject *config)
{
    double given = sundog_json_get_number(config, "intermediate_size", 0);
    double size = floor(sundog_json_get_number(config, "block_ff_dim", given));
    double multiple = floor(sundog_json_get_number(config, "block_multiple_of", 256));
    /* Two thirds, times a factor, up to a multiple. */
    if (sundog_json_get_bool(config, "block_auto_adjust_ff_dim", true) && multiple >= 1) {
        size = floor(2 * size / 3);
        size = floor(sundog_json_get_number(config, "block_ffn_dim_multiplier", 1) * size);
        size = multiple * ceil(size / multiple);
    }
    if (size >= 1 && size <= MAX_FEATURES)
        sundog_source_set_uint(source, "feed_forward_length", "config.json: block_ff_dim",
                               (uint64_t)size);
}
