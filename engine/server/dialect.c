/* Dialects: errors and streams. */

#include "engine/server/dialect.h"

#include "engine/server/json-text.h"
#include <string.h>

static const struct {
    const char *stream_type;
    const char *ping;
} rows[] = {
#define X(name, type, ping) {type, ping},
    SUNDOG_DIALECTS(X)
#undef X
};

/* Anthropic's names of errors, by status. */
static const struct {
    unsigned status;
    const char *type;
} anthropic_types[] = {{401, "authentication_error"},
                       {403, "permission_error"},
                       {404, "not_found_error"},
                       {413, "request_too_large"},
                       {429, "rate_limit_error"}};

SundogDialect
sundog_dialect_of_path(const char *path)
{
    if (g_str_has_prefix(path, "/v1/messages"))
        return SUNDOG_DIALECT_ANTHROPIC;
    bool is_ollama = g_str_has_prefix(path, "/api/") && !g_str_has_prefix(path, "/api/v0/");
    return is_ollama ? SUNDOG_DIALECT_OLLAMA : SUNDOG_DIALECT_OPENAI;
}

SundogDialect
sundog_dialect_of(SoupServerMessage *message)
{
    GUri *uri = soup_server_message_get_uri(message);
    const char *path = uri ? g_uri_get_path(uri) : "";
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    bool is_anthropic = soup_message_headers_get_one(headers, "anthropic-version");
    return is_anthropic ? SUNDOG_DIALECT_ANTHROPIC : sundog_dialect_of_path(path);
}

const char *
sundog_dialect_get_stream_type(SundogDialect dialect)
{
    return rows[dialect].stream_type;
}

const char *
sundog_dialect_get_ping(SundogDialect dialect)
{
    return rows[dialect].ping;
}

static char *
print_openai(const SundogApiError *error)
{
    GString *json = g_string_new("{\"error\":{\"message\":");
    sundog_json_text_append(json, error->text);
    g_string_append_printf(json, ",\"type\":\"%s\",\"param\":", sundog_api_error_get_type(error));
    if (error->param)
        sundog_json_text_append(json, error->param);
    else
        g_string_append(json, "null");
    g_string_append_printf(json, ",\"code\":\"%s\"}}", sundog_api_error_get_code(error));
    return g_string_free(json, false);
}

static const char *
get_anthropic_type(const SundogApiError *error)
{
    unsigned status = sundog_api_error_get_status(error);
    for (size_t i = 0; i < G_N_ELEMENTS(anthropic_types); i++)
        if (anthropic_types[i].status == status)
            return anthropic_types[i].type;
    return status < 500 ? "invalid_request_error" : "api_error";
}

static char *
print_anthropic(const SundogApiError *error)
{
    GString *json = g_string_new(NULL);
    g_string_printf(json, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":",
                    get_anthropic_type(error));
    sundog_json_text_append(json, error->text);
    g_string_append(json, "}}");
    return g_string_free(json, false);
}

static char *
print_ollama(const SundogApiError *error)
{
    GString *json = g_string_new("{\"error\":");
    sundog_json_text_append(json, error->text);
    g_string_append_c(json, '}');
    return g_string_free(json, false);
}

char *
sundog_dialect_print_error(SundogDialect dialect, const SundogApiError *error)
{
    switch (dialect) {
    case SUNDOG_DIALECT_ANTHROPIC:
        return print_anthropic(error);
    case SUNDOG_DIALECT_OLLAMA:
        return print_ollama(error);
    default:
        return print_openai(error);
    }
}

char *
sundog_dialect_print_last_event(SundogDialect dialect, const SundogApiError *error)
{
    g_autofree char *text = sundog_dialect_print_error(dialect, error);
    switch (dialect) {
    case SUNDOG_DIALECT_ANTHROPIC:
        return g_strdup_printf("event: error\ndata: %s\n\n", text);
    case SUNDOG_DIALECT_OLLAMA:
        return g_strdup_printf("%s\n", text);
    default:
        return g_strdup_printf("data: %s\n\ndata: [DONE]\n\n", text);
    }
}
