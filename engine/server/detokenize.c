/* POST /detokenize: {"tokens": […]} -> {"content"} */

#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/routes.h"
#include "engine/server/service.h"

static bool
append_tokens(GByteArray *bytes, JsonArray *tokens, const SundogCoreText *core,
              SundogApiError **error)
{
    const SundogVocabulary *vocabulary = sundog_tokenizer_get_vocabulary(core->tokenizer);
    for (guint i = 0; i < json_array_get_length(tokens); i++) {
        JsonNode *node = json_array_get_element(tokens, i);
        int64_t token =
            json_node_get_value_type(node) == G_TYPE_INT64 ? json_node_get_int(node) : -1;
        if (token < 0 || token >= vocabulary->n_tokens) {
            g_autofree char *n_text = g_strdup_printf("%u", vocabulary->n_tokens);
            g_autofree char *text = g_strdup_printf("element %u is no token below %s", i, n_text);
            return sundog_api_error_set(error, SUNDOG_API_ERROR_INVALID_VALUE, "tokens", "tokens",
                                        text, NULL);
        }
        sundog_tokenizer_append_bytes(core->tokenizer, (uint32_t)token, true, bytes);
    }
    return true;
}

void
sundog_detokenize(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    JsonArray *tokens = NULL;
    const char *model = NULL;
    g_autoptr(SundogCoreText) core = NULL;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!object)
        return;
    if (sundog_field_read_array(object, SUNDOG_FIELD_TOKENS, &tokens, &error) &&
        sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, &error) && !tokens)
        sundog_api_error_set(&error, SUNDOG_API_ERROR_MISSING, "tokens", "tokens", NULL);
    if (!error)
        core = sundog_server_dup_core(exchange, model, &error);
    if (error || !append_tokens(bytes, tokens, core, &error)) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    g_autofree char *text =
        g_utf8_make_valid(bytes->len ? (const char *)bytes->data : "", bytes->len);
    g_autoptr(GString) json = g_string_new("{\"content\":");
    sundog_json_text_append(json, text);
    g_string_append_c(json, '}');
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "application/json", json->str, json->len);
}
