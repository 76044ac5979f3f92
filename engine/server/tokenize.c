/* POST /tokenize: {"content", "add_special", "with_pieces"} -> {"tokens"} */

#include "engine/server/completion-request.h"
#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/routes.h"

/* A piece is text, or the list of its bytes where it is none. */
static void
append_piece(GString *json, const SundogCoreText *core, uint32_t token)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    sundog_tokenizer_append_bytes(core->tokenizer, token, true, bytes);
    g_string_append_printf(json, "{\"id\":%u,\"piece\":", token);
    if (g_utf8_validate((const char *)bytes->data, bytes->len, NULL)) {
        sundog_json_text_append_n(json, (const char *)bytes->data, bytes->len);
    } else {
        g_string_append_c(json, '[');
        for (guint i = 0; i < bytes->len; i++)
            g_string_append_printf(json, "%s%u", i ? "," : "", bytes->data[i]);
        g_string_append_c(json, ']');
    }
    g_string_append_c(json, '}');
}

static void
reply_tokens(SundogExchange *exchange, const SundogCompletionRequest *request,
             const SundogEncoded *encoded, bool with_pieces)
{
    g_autoptr(GString) json = g_string_new("{\"tokens\":[");
    for (guint i = 0; i < encoded->tokens->len; i++) {
        uint32_t token = g_array_index(encoded->tokens, uint32_t, i);
        g_string_append(json, i ? "," : "");
        if (with_pieces)
            append_piece(json, request->core, token);
        else
            g_string_append_printf(json, "%u", token);
    }
    g_string_append(json, "]}");
    sundog_exchange_reply_text(exchange, SOUP_STATUS_OK, "application/json", json->str, json->len);
}

static void
reply(SundogExchange *exchange, const SundogCompletionRequest *request,
      const SundogEncoded *encoded)
{
    reply_tokens(exchange, request, encoded, false);
}

static void
reply_with_pieces(SundogExchange *exchange, const SundogCompletionRequest *request,
                  const SundogEncoded *encoded)
{
    reply_tokens(exchange, request, encoded, true);
}

static bool
read_text(SundogPrompt *prompt, JsonObject *object, SundogApiError **error)
{
    const char *content = NULL;
    bool add_special = false, parse_special = true;
    if (!sundog_field_read_text(object, SUNDOG_FIELD_CONTENT, &content, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_ADD_SPECIAL, &add_special, error) ||
        !sundog_field_read_boolean(object, SUNDOG_FIELD_PARSE_SPECIAL, &parse_special, error))
        return false;
    if (!content)
        return sundog_api_error_set(error, SUNDOG_API_ERROR_MISSING, "content", "content", NULL);
    prompt->text = g_strdup(content);
    prompt->flags =
        (parse_special ? SUNDOG_TOKENIZE_SPECIAL : 0) | (add_special ? SUNDOG_TOKENIZE_ADD : 0);
    return true;
}

void
sundog_tokenize(SundogExchange *exchange)
{
    JsonObject *object = sundog_exchange_get_object(exchange);
    SundogApiError *error = NULL;
    const char *model = NULL;
    bool with_pieces = false;
    g_autoptr(SundogCompletionRequest) request = NULL;
    if (!object)
        return;
    if (sundog_field_read_text(object, SUNDOG_FIELD_MODEL, &model, &error) &&
        sundog_field_read_boolean(object, SUNDOG_FIELD_WITH_PIECES, &with_pieces, &error) &&
        (request = sundog_completion_request_new_for(exchange, model, &error)) &&
        read_text(&request->prompt, object, &error))
        sundog_completion_request_encode(g_steal_pointer(&request), exchange,
                                         with_pieces ? reply_with_pieces : reply);
    else
        sundog_exchange_fail(exchange, error);
}
