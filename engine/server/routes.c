/* From a path to its handler. */

#include "engine/server/routes.h"

#include "engine/server/checks.h"
#include "engine/server/service.h"
#include <string.h>

typedef struct {
    const char *path;
    const char *method;
    void (*handler)(SundogExchange *exchange);
    SundogRouteAccess access;
} Route;

static const Route routes[] = {
#define X(path, method, handler, access, body, reply, purpose) \
    {path, method, handler, SUNDOG_ROUTE_FOR_##access},
    SUNDOG_ROUTES(X)
#undef X
};

/* What stands for the '*', or "" for a path without one; NULL where the path is another. */
static const char *
match(const Route *route, const char *path)
{
    size_t n_path = strlen(route->path);
    if (route->path[n_path - 1] != '*')
        return strcmp(route->path, path) == 0 ? "" : NULL;
    bool is_below = strncmp(route->path, path, n_path - 1) == 0 && path[n_path - 1];
    return is_below ? path + n_path - 1 : NULL;
}

static bool
is_method(const Route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* Finds the route, or collects the methods that the path does take. */
static const Route *
find(const char *path, const char *method, const char **argument, GString *methods)
{
    for (size_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        const char *rest = match(&routes[i], path);
        if (!rest)
            continue;
        *argument = rest;
        if (is_method(&routes[i], method))
            return &routes[i];
        g_string_append_printf(methods, "%s%s", methods->len ? ", " : "", routes[i].method);
    }
    return NULL;
}

static void
set_header(SundogExchange *exchange, const char *name, const char *value)
{
    soup_message_headers_replace(
        soup_server_message_get_response_headers(sundog_exchange_get_message(exchange)), name,
        value);
}

/* A page of an allowed origin needs these to see the answer. */
static void
allow_origin(SundogExchange *exchange, const char *origin)
{
    set_header(exchange, "Access-Control-Allow-Origin", origin);
    set_header(exchange, "Vary", "Origin");
}

static void
answer_preflight(SundogExchange *exchange, const char *methods)
{
    set_header(exchange, "Access-Control-Allow-Methods", methods);
    set_header(exchange, "Access-Control-Allow-Headers", "Authorization, Content-Type, x-api-key");
    set_header(exchange, "Access-Control-Max-Age", "600");
    sundog_exchange_reply_text(exchange, SOUP_STATUS_NO_CONTENT, "text/plain", "", 0);
}

static void
refuse_method(SundogExchange *exchange, const char *path, const char *methods, const char *method)
{
    set_header(exchange, "Allow", methods);
    sundog_exchange_fail(exchange, sundog_api_error_new(SUNDOG_API_ERROR_BAD_METHOD, NULL, path,
                                                        methods, method, NULL));
}

static void
dispatch(SundogServer *server, SundogExchange *exchange)
{
    SoupServerMessage *message = sundog_exchange_get_message(exchange);
    const char *path = sundog_exchange_get_path(exchange);
    const char *method = soup_server_message_get_method(message);
    const char *origin =
        soup_message_headers_get_one(soup_server_message_get_request_headers(message), "Origin");
    const char *argument = "";
    g_autoptr(GString) methods = g_string_new(NULL);
    const Route *route = find(path, method, &argument, methods);
    bool is_preflight = strcmp(method, "OPTIONS") == 0 && origin && methods->len;
    SundogChecks checks = {server->address, server->key, sundog_server_get_api_keys(server),
                           sundog_config_get_text(server->config, "server.origins")};
    SundogRouteAccess access = is_preflight ? SUNDOG_ROUTE_FOR_ANYONE
                               : route      ? route->access
                                            : SUNDOG_ROUTE_FOR_KEY;
    SundogApiKey *key = NULL;
    SundogApiError *error = sundog_checks_run(&checks, message, access, &key);
    sundog_exchange_set_key(exchange, key);
    if (error) {
        sundog_exchange_fail(exchange, error);
        return;
    }
    if (origin)
        allow_origin(exchange, origin);
    if (is_preflight)
        answer_preflight(exchange, methods->str);
    else if (!route && methods->len)
        refuse_method(exchange, path, methods->str, method);
    else if (!route)
        sundog_exchange_fail(exchange,
                             sundog_api_error_new(SUNDOG_API_ERROR_NOT_FOUND, NULL, path, NULL));
    if (error || !route)
        return;
    g_autofree char *decoded = g_uri_unescape_string(argument, "/");
    sundog_exchange_set_argument(exchange, decoded ? decoded : "");
    sundog_exchange_read(exchange, route->handler);
}

void
sundog_routes_dispatch(SundogServer *server, SoupServerMessage *message)
{
    g_autoptr(SundogExchange) exchange = sundog_exchange_new(server, message);
    dispatch(server, exchange);
}
