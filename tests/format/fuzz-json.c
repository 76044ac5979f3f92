/* JSON from outside: whatever the scan lets through, json-glib must take and print. */

#include "engine/format/json.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

const char *const fuzz_seeds[] = {
    "{\"model\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"\\u00e4\\ud83e\\udd8a\"}],"
    "\"stream\":true,\"temperature\":0.5,\"seed\":-12,\"stop\":null}",
    "[[[[[[[[[[]]]]]]]]]]",
    "[1e5,-0.0,9223372036854775807,\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",false]",
    "\"text\"",
    "{\"model_max_length\":1000000000000000019884624838656,\"n\":-9223372036854775809}",
    NULL,
};

/* What was taken once is taken again after printing, and prints the same. */
static void
check_stable(JsonNode *node)
{
    g_autofree char *text = sundog_json_print(node, false);
    JsonNode *again = sundog_json_parse(text, strlen(text), NULL);
    g_assert_nonnull(again);
    g_autofree char *text_again = sundog_json_print(again, false);
    g_assert_cmpstr(text, ==, text_again);
    json_node_unref(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    g_autoptr(GError) error = NULL;
    JsonNode *node = sundog_json_parse((const char *)data, n_bytes, &error);
    g_autoptr(JsonNode) large = sundog_json_parse_large((const char *)data, n_bytes, NULL);
    g_assert_true(node == NULL || large != NULL);
    g_assert_true((node == NULL) == (error != NULL));
    if (node == NULL) {
        g_assert_true(g_utf8_validate(error->message, -1, NULL));
        return 0;
    }
    check_stable(node);
    json_node_unref(node);
    return 0;
}
