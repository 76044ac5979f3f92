/* core.json from hostile bytes. */

#include "engine/core/manifest.h"
#include "engine/format/json.h"
#include "tests/core/core-builder.h"

#include <string.h>

void fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

void
fuzz_make_seeds(void (*add)(const void *data, size_t n_bytes))
{
    CoreBuilder builder;
    core_builder_init(&builder);
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), builder.manifest);
    g_autofree char *text = sundog_json_print(node, false);
    add(text, strlen(text));
    core_builder_clear(&builder);
}

static void
check_weights(const SundogCoreManifest *manifest)
{
    uint64_t begin = 0;
    for (guint i = 0; i < manifest->weights->len; i++) {
        const SundogCoreWeight *weight = &g_array_index(manifest->weights, SundogCoreWeight, i);
        g_assert_cmpuint(weight->offset, >=, begin);
        begin = weight->offset + weight->n_bytes;
        g_assert_true(sundog_core_manifest_find_weight(manifest, weight->name) == weight);
    }
    g_assert_cmpuint(begin, <=, manifest->info.weight_bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    g_auto(SundogCoreManifest) manifest = {0};
    g_autoptr(JsonNode) root = sundog_json_parse((const char *)data, n_bytes, NULL);
    if (root == NULL || !JSON_NODE_HOLDS_OBJECT(root))
        return 0;
    if (sundog_core_manifest_parse(&manifest, json_node_get_object(root), &error))
        check_weights(&manifest);
    else
        g_assert_nonnull(error);
    return 0;
}
