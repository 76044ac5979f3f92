/* GET /openapi.json: OpenAPI 3.1, made of the tables of routes, bodies and fields. What stands within a
 * field that is an object or a list is the respective API's own matter. */

#include "engine/format/json.h"
#include "engine/server/fields.h"
#include "engine/server/json-text.h"
#include "engine/server/routes.h"
#include <string.h>

typedef struct {
    const char *path, *method, *purpose;
    SundogRouteAccess access;
    SundogBody body;
    SundogReply reply;
} Described;

static const Described routes[] = {
#define X(path, method, handler, access, body, reply, purpose) \
    {path, method, purpose, SUNDOG_ROUTE_FOR_##access, SUNDOG_BODY_##body, SUNDOG_REPLY_##reply},
    SUNDOG_ROUTES(X)
#undef X
};

#define X(name, n_required, ...) static const SundogField fields_of_##name[] = {__VA_ARGS__};
SUNDOG_BODIES(X)
#undef X

static const struct {
    const char *name;
    const SundogField *fields;
    size_t n_fields;
    size_t n_required;
} bodies[SUNDOG_N_BODIES] = {
#define X(name, n_required, ...) \
    [SUNDOG_BODY_##name] = {#name, fields_of_##name, G_N_ELEMENTS(fields_of_##name), n_required},
    SUNDOG_BODIES(X)
#undef X
};

static const struct {
    unsigned status;
    const char *types, *members;
} replies[] = {
#define X(name, status, types, members) {status, types, members},
    SUNDOG_REPLIES(X)
#undef X
};

static const char *const type_names[] = {
#define X(name, types) types,
    SUNDOG_FIELD_TYPES(X)
#undef X
};

/* Of fields whose type says too little. */
static const struct {
    SundogField field;
    const char *json;
} examples[] = {
    {SUNDOG_FIELD_DRY_SEQUENCE_BREAKERS, "[\"\\n\"]"},
    {SUNDOG_FIELD_INCLUDE, "[\"message.output_text.logprobs\"]"},
    {SUNDOG_FIELD_INPUT, "\"What is a sundog?\""},
    {SUNDOG_FIELD_MESSAGES, "[{\"role\":\"user\",\"content\":\"What is a sundog?\"}]"},
    {SUNDOG_FIELD_PROMPT_OR_TOKENS, "\"A sundog is\""},
    {SUNDOG_FIELD_STOP, "[\".\"]"},
    {SUNDOG_FIELD_TOKENS, "[1,2,3]"},
    {SUNDOG_FIELD_TOOLS, "[]"},
};

static void
append_number(GString *json, const char *key, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(json, ",\"%s\":%s", key,
                           g_ascii_formatd(text, sizeof text, "%.17g", value));
}

/* The field's schema; null stands for a field that is not there. */
static void
append_field(GString *json, SundogField field)
{
    const SundogFieldRow *row = sundog_field_get_row(field);
    g_string_append_printf(json, "{\"type\":[%s,\"null\"],\"description\":", type_names[row->type]);
    sundog_json_text_append(json, row->meaning);
    if (row->lowest < row->highest) {
        append_number(json, "minimum", row->lowest);
        append_number(json, "maximum", row->highest);
    }
    if (!isnan(row->fallback) && row->type == SUNDOG_FIELD_TYPE_BOOLEAN)
        g_string_append_printf(json, ",\"default\":%s", row->fallback != 0 ? "true" : "false");
    else if (!isnan(row->fallback))
        append_number(json, "default", row->fallback);
    for (size_t i = 0; i < G_N_ELEMENTS(examples); i++)
        if (examples[i].field == field)
            g_string_append_printf(json, ",\"examples\":[%s]", examples[i].json);
    g_string_append_c(json, '}');
}

static void
append_body(GString *json, SundogBody body)
{
    g_string_append(json, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < bodies[body].n_fields; i++) {
        SundogField field = bodies[body].fields[i];
        const SundogFieldRow *row = sundog_field_get_row(field);
        g_string_append_printf(json, "%s\"%s\":", i ? "," : "", row->key);
        if (field == SUNDOG_FIELD_OPTIONS)
            append_body(json, SUNDOG_BODY_LINES_OPTIONS);
        else
            append_field(json, field);
    }
    g_string_append(json, "},\"required\":[");
    for (size_t i = 0; i < bodies[body].n_required; i++)
        g_string_append_printf(json, "%s\"%s\"", i ? "," : "",
                               sundog_field_get_row(bodies[body].fields[i])->key);
    g_string_append(json, "]}");
}

/* Of "key:type key?:type …". */
static void
append_members(GString *json, const char *members)
{
    g_auto(GStrv) each = g_strsplit(members, " ", -1);
    g_autoptr(GString) required = g_string_new(NULL);
    g_string_append(json, "{\"type\":\"object\",\"properties\":{");
    for (guint i = 0; each[i]; i++) {
        g_auto(GStrv) parts = g_strsplit(each[i], ":", 2);
        size_t n_key = strcspn(parts[0], "?");
        g_string_append_printf(json, "%s\"%.*s\":{\"type\":\"%s\"}", i ? "," : "", (int)n_key,
                               parts[0], parts[1]);
        if (!parts[0][n_key])
            g_string_append_printf(required, "%s\"%s\"", required->len ? "," : "", parts[0]);
    }
    g_string_append_printf(json, "},\"required\":[%s]}", required->str);
}

static void
append_reply(GString *json, SundogReply reply, unsigned status)
{
    g_auto(GStrv) types = g_strsplit(replies[reply].types, " ", -1);
    g_string_append_printf(json, "\"%u\":{\"description\":\"done\",\"content\":{", status);
    for (guint i = 0; types[i]; i++) {
        g_string_append_printf(json, "%s\"%s\":{", i ? "," : "", types[i]);
        if (i == 0 && *replies[reply].members) {
            g_string_append(json, "\"schema\":");
            append_members(json, replies[reply].members);
        }
        g_string_append_c(json, '}');
    }
    g_string_append(json, "}}");
}

/* Ollama's clients read an error as a text, the others as an object. */
static void
append_replies(GString *json, const Described *route)
{
    bool is_text = sundog_dialect_of_path(route->path) == SUNDOG_DIALECT_OLLAMA;
    const char *error = is_text ? "text" : "object";
    g_string_append(json, "\"responses\":{");
    append_reply(json, route->reply, replies[route->reply].status);
    if (route->reply == SUNDOG_REPLY_HEALTH) { /* says why it is not ready, in the same form */
        g_string_append_c(json, ',');
        append_reply(json, route->reply, SOUP_STATUS_SERVICE_UNAVAILABLE);
    }
    g_string_append_printf(json,
                           ",\"4XX\":{\"$ref\":\"#/components/responses/%s\"},"
                           "\"5XX\":{\"$ref\":\"#/components/responses/%s\"}}",
                           error, error);
}

/* What comes with the query, for methods without a body. */
static void
append_query(GString *json, SundogBody body)
{
    for (size_t i = 0; i < bodies[body].n_fields; i++) {
        const SundogFieldRow *row = sundog_field_get_row(bodies[body].fields[i]);
        g_string_append_printf(
            json, "%s{\"name\":\"%s\",\"in\":\"query\",\"schema\":", i ? "," : "", row->key);
        append_field(json, bodies[body].fields[i]);
        g_string_append_c(json, '}');
    }
}

static char *
print_operation(const Described *route)
{
    bool has_query = strcmp(route->method, "GET") == 0;
    GString *json = g_string_new("{\"summary\":");
    sundog_json_text_append(json, route->purpose);
    if (!has_query && (route->body || strcmp(route->method, "DELETE") != 0)) {
        g_string_append(json, ",\"requestBody\":{\"content\":{\"application/json\":{\"schema\":");
        append_body(json, route->body);
        g_string_append(json, "}}}");
    }
    g_string_append(json, ",\"parameters\":[");
    if (g_str_has_suffix(route->path, "*"))
        g_string_append(json, "{\"name\":\"id\",\"in\":\"path\",\"required\":true,\"schema\":"
                              "{\"type\":\"string\"}}");
    if (has_query)
        append_query(json, route->body);
    g_string_append(json, "],");
    append_replies(json, route);
    g_string_append(json, route->access != SUNDOG_ROUTE_FOR_ANYONE ? "}" : ",\"security\":[]}");
    return g_string_free(json, false);
}

static JsonNode *
parse(const char *text)
{
    JsonNode *node = sundog_json_parse(text, strlen(text), NULL);
    g_assert(node);
    return node;
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
        g_autofree char *operation = print_operation(&routes[i]);
        if (!json_object_has_member(paths, path))
            json_object_set_object_member(paths, path, json_object_new());
        json_object_set_member(json_object_get_object_member(paths, path), method,
                               parse(operation));
    }
    return paths;
}

static const char components[] =
    "{\"securitySchemes\":{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"}},\"responses\":{"
    "\"text\":{\"description\":\"the text says what is wrong\",\"content\":{\"application/json\":{"
    "\"schema\":{\"type\":\"object\",\"properties\":{\"error\":{\"type\":\"string\"}},"
    "\"required\":[\"error\"]}}}},"
    "\"object\":{\"description\":\"the text says what is wrong\",\"content\":{"
    "\"application/json\":{\"schema\":{\"type\":\"object\",\"properties\":{\"error\":{"
    "\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"
    "\"required\":[\"message\",\"type\"]}},\"required\":[\"error\"]}}}}}}";

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
    json_object_set_member(object, "components", parse(components));
    json_object_set_member(object, "security", parse("[{\"key\":[]}]"));
    sundog_exchange_reply_object(exchange, SOUP_STATUS_OK, object);
}
