/* GET /openapi.json: OpenAPI 3.1, made of the table of routes. Bodies are described as far as all of them
 * are alike: what each field means is the respective API's own matter. */

#include "engine/format/json.h"
#include "engine/server/routes.h"
#include <string.h>

typedef struct {
    const char *path, *method, *purpose;
    bool needs_key;
} Described;

static const Described routes[] = {
#define X(path, method, handler, needs_key, purpose) {path, method, purpose, needs_key},
    SUNDOG_ROUTES(X)
#undef X
};

static JsonNode *
parse(const char *text)
{
    JsonNode *node = sundog_json_parse(text, strlen(text), NULL);
    g_assert(node);
    return node;
}

static JsonObject *
describe_operation(const Described *route)
{
    JsonObject *operation = json_object_new();
    json_object_set_string_member(operation, "summary", route->purpose);
    if (strcmp(route->method, "POST") == 0 || strcmp(route->method, "PATCH") == 0)
        json_object_set_member(
            operation, "requestBody",
            parse("{\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\"}}}}"));
    if (g_str_has_suffix(route->path, "*"))
        json_object_set_member(operation, "parameters",
                               parse("[{\"name\":\"id\",\"in\":\"path\",\"required\":true,"
                                     "\"schema\":{\"type\":\"string\"}}]"));
    json_object_set_member(
        operation, "responses",
        parse("{\"200\":{\"description\":\"done\"},"
              "\"4XX\":{\"description\":\"the request is wrong: the text says how\"},"
              "\"5XX\":{\"description\":\"the server cannot, now or at all\"}}"));
    if (!route->needs_key)
        json_object_set_array_member(operation, "security", json_array_new());
    return operation;
}

static JsonObject *
describe_paths(void)
{
    JsonObject *paths = json_object_new();
    for (size_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        size_t n_path = strlen(routes[i].path);
        bool has_rest = routes[i].path[n_path - 1] == '*';
        g_autofree char *path = has_rest
                                    ? g_strdup_printf("%.*s{id}", (int)n_path - 1, routes[i].path)
                                    : g_strdup(routes[i].path);
        g_autofree char *method = g_ascii_strdown(routes[i].method, -1);
        if (!json_object_has_member(paths, path))
            json_object_set_object_member(paths, path, json_object_new());
        json_object_set_object_member(json_object_get_object_member(paths, path), method,
                                      describe_operation(&routes[i]));
    }
    return paths;
}

void
sundog_openapi(SundogExchange *exchange)
{
    JsonObject *info = json_object_new();
    json_object_set_string_member(info, "title", "Sundog");
    json_object_set_string_member(info, "version", SUNDOG_VERSION);
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "openapi", "3.1.0");
    json_object_set_object_member(object, "info", info);
    json_object_set_object_member(object, "paths", describe_paths());
    json_object_set_member(object, "components",
                           parse("{\"securitySchemes\":{\"key\":{\"type\":\"http\","
                                 "\"scheme\":\"bearer\"}}}"));
    json_object_set_member(object, "security", parse("[{\"key\":[]}]"));
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}
