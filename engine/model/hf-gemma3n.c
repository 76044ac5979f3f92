/* Gemma 3n's config.json says how sparse the gates of a layer are, and how many tokens have an input a layer. */

#include "engine/model/hf-config.h"
#include "engine/model/hf-family.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"

#include <math.h>

#define MAX_STEPS 100
/* Some way beyond any published model. */
#define MAX_WITHOUT_INPUT 65536

/* Deviations above the mean of a normal distribution below which a share of its values lies, by Newton's
 * method, which comes near from the mean on; 0 for a share that is none. */
static double
find_quantile(double share)
{
    double x = 0, step = 1;
    if (!(share > 0 && share < 1))
        return 0;
    for (int i = 0; i < MAX_STEPS && fabs(step) > 1e-12; i++) {
        double density = exp(-x * x / 2) / sqrt(2 * G_PI);
        step = (erfc(-x / G_SQRT2) / 2 - share) / density;
        x -= step;
    }
    return x;
}

/* A share a layer, or one for all. */
static double
get_share(JsonObject *config, guint layer)
{
    JsonArray *list = sundog_json_get_array(config, "activation_sparsity_pattern");
    if (list == NULL)
        return sundog_json_get_number(config, "activation_sparsity_pattern", 0);
    JsonNode *node =
        layer < json_array_get_length(list) ? json_array_get_element(list, layer) : NULL;
    return node != NULL && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_double(node) : 0;
}

void
sundog_hf_gemma3n_read(SundogSource *source, JsonObject *config)
{
    uint64_t n_layers = 0;
    g_autoptr(JsonArray) scales = json_array_new();
    if (!sundog_hf_config_get_size(config, "num_hidden_layers", &n_layers, NULL))
        return;
    for (guint i = 0; i < n_layers; i++)
        json_array_add_double_element(scales, find_quantile(get_share(config, i)));
    g_autoptr(JsonNode) node = json_node_init_array(json_node_alloc(), scales);
    sundog_source_set(source, "activation_sparsity_scale",
                      "config.json: activation_sparsity_pattern", node);
}

/* Tokens that stand for what is seen and heard have no input of their own a layer. */
bool
sundog_hf_gemma3n_groups(JsonObject *config, SundogHfGroups *groups, GError **error)
{
    uint64_t n_tokens, n_with_input;
    if (!sundog_hf_config_get_size(config, "vocab_size", &n_tokens, error) ||
        !sundog_hf_config_get_size(config, "vocab_size_per_layer_input", &n_with_input, error))
        return false;
    if (n_with_input > n_tokens || n_tokens - n_with_input > MAX_WITHOUT_INPUT)
        return sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID,
                                "config.json: vocab_size_per_layer_input is %" G_GUINT64_FORMAT
                                ", expected at most %d fewer than vocab_size, %" G_GUINT64_FORMAT,
                                n_with_input, MAX_WITHOUT_INPUT, n_tokens);
    *groups = (SundogHfGroups){.n_groups = 1, .parts = {n_with_input, n_tokens - n_with_input}};
    return true;
}
