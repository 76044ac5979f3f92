/* What /openapi.json says holds: each route and method is there, and each field of a body is read, with its
 * type and its range. */

#include "engine/server/routes.h"
#include "tests/server/fixture.h"

#include <string.h>

/* The description names every route, and what it says of methods holds. */
static void
test_openapi(Fixture *fixture, gconstpointer data)
{
    static const struct {
        const char *path, *method;
    } routes[] = {
#define X(path, method, handler, access, body, reply, purpose) {path, method},
        SUNDOG_ROUTES(X)
#undef X
    };
    g_autoptr(Reply) reply = client_get(fixture->harness->port, "/openapi.json");
    g_assert_cmpuint(reply->status, ==, 200);
    g_autoptr(JsonObject) object = reply_get_object(reply);
    JsonObject *paths = json_object_get_object_member(object, "paths");
    for (size_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        g_auto(GStrv) parts = g_strsplit(routes[i].path, "*", 2);
        g_autofree char *path = g_strjoinv("{id}", parts);
        g_autofree char *method = g_ascii_strdown(routes[i].method, -1);
        g_assert_true(json_object_has_member(paths, path));
        g_assert_true(json_object_has_member(json_object_get_object_member(paths, path), method));
        g_autoptr(Reply) wrong =
            client_send(fixture->harness->port, "PUT", routes[i].path, NULL, "{}");
        g_assert_cmpuint(wrong->status, ==, 405);
        if (i > 0) /* found by the first that fits, so the order is one to be kept */
            g_assert_cmpint(strcmp(routes[i - 1].path, routes[i].path), <=, 0);
    }
}

/* A body that is right, as far as the fields go that must be there. */
static char *
dup_body(const char *path, const char *key, const char *value)
{
    static const struct {
        const char *key, *value;
    } usual[] = {
        {"documents", "[\"a\"]"},      {"query", "\"a\""},
        {"content", "\"a\""},          {"core", "\"tiny\""},
        {"destination", "\"second\""}, {"input", "\"Hi\""},
        {"kind", "\"fit\""},           {"messages", "[{\"role\":\"user\",\"content\":\"Hi\"}]"},
        {"model", "\"tiny\""},         {"prompt", "\"Hi\""},
        {"source", "\"tiny\""},        {"tokens", "[72]"}};
    GString *body = g_string_new("{");
    for (size_t i = 0; i < G_N_ELEMENTS(usual); i++)
        if (strcmp(usual[i].key, key) != 0)
            g_string_append_printf(body, "\"%s\":%s,", usual[i].key, usual[i].value);
    g_string_append_printf(body, "\"%s\":%s}", key, value);
    /* Only a job of its kind reads the names that go with it. */
    const char *kind = strcmp(key, "source") == 0 || strcmp(key, "name") == 0 ? "\"pull\""
                       : strcmp(key, "model") == 0                            ? "\"prepare\""
                                                                              : NULL;
    if (strcmp(path, "/sundog/v1/jobs") == 0 && kind)
        g_string_replace(body, "\"fit\"", kind, 1);
    return g_string_free(body, false);
}

static void
assert_refused(uint16_t port, const char *path, const char *method, const char *key,
               const char *value)
{
    g_autofree char *body = dup_body(path, key, value);
    g_autofree char *named = g_strdup_printf("“%s”", key);
    g_autoptr(Reply) reply = client_send(port, method, path, NULL, body);
    if (reply->status != 400 || !strstr(reply->body, named))
        g_test_message("%s %s -> %s%s", path, body, reply->head, reply->body);
    g_assert_cmpuint(reply->status, ==, 400);
    g_assert_nonnull(strstr(reply->body, named));
}

/* Of a type that the field has not. */
static const char *
find_wrong_value(JsonArray *types)
{
    bool takes_number = false, takes_text = false;
    for (guint i = 0; i < json_array_get_length(types); i++) {
        const char *type = json_array_get_string_element(types, i);
        takes_number |= strcmp(type, "number") == 0 || strcmp(type, "integer") == 0;
        takes_text |= strcmp(type, "string") == 0;
    }
    return !takes_number ? "5" : takes_text ? "true" : "\"x\"";
}

static void
check_field(uint16_t port, const char *path, const char *method, const char *key,
            JsonObject *schema)
{
    JsonNode *type = json_object_get_member(schema, "type");
    if (!JSON_NODE_HOLDS_ARRAY(type)) { /* an object that is described too */
        assert_refused(port, path, method, key, "5");
        return;
    }
    assert_refused(port, path, method, key, find_wrong_value(json_node_get_array(type)));
    if (!json_object_has_member(schema, "maximum"))
        return;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_dtostr(text, sizeof text, json_object_get_double_member(schema, "maximum") * 2);
    assert_refused(port, path, method, key, text);
}

static void
test_fields(Fixture *fixture, gconstpointer data)
{
    static const struct {
        const char *path, *method;
    } routes[] = {
#define X(path, method, handler, access, body, reply, purpose) {path, method},
        SUNDOG_ROUTES(X)
#undef X
    };
    g_autoptr(Reply) reply = client_get(fixture->harness->port, "/openapi.json");
    g_autoptr(JsonObject) object = reply_get_object(reply);
    JsonObject *paths = json_object_get_object_member(object, "paths");
    guint n_fields = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(routes); i++) {
        g_autofree char *method = g_ascii_strdown(routes[i].method, -1);
        JsonObject *path = json_object_has_member(paths, routes[i].path)
                               ? json_object_get_object_member(paths, routes[i].path)
                               : NULL;
        JsonObject *operation = path ? json_object_get_object_member(path, method) : NULL;
        if (!operation || !json_object_has_member(operation, "requestBody"))
            continue;
        JsonObject *body = json_object_get_object_member(operation, "requestBody");
        JsonObject *content = json_object_get_object_member(body, "content");
        JsonObject *json = json_object_get_object_member(content, "application/json");
        JsonObject *schema = json_object_get_object_member(json, "schema");
        JsonObjectIter iter;
        const char *key;
        JsonNode *node;
        json_object_iter_init(&iter, json_object_get_object_member(schema, "properties"));
        for (; json_object_iter_next(&iter, &key, &node); n_fields++)
            check_field(fixture->harness->port, routes[i].path, routes[i].method, key,
                        json_node_get_object(node));
    }
    g_assert_cmpuint(n_fields, >, 200);
}

/* No field is declared that no body has. */
static void
test_declared(void)
{
#define X(name, n_required, ...) __VA_ARGS__,
    static const SundogField used[] = {SUNDOG_BODIES(X)};
#undef X
    for (SundogField field = 0; field < SUNDOG_N_FIELDS; field++) {
        size_t i = 0;
        while (i < G_N_ELEMENTS(used) && used[i] != field)
            i++;
        g_test_message("%s", sundog_field_get_row(field)->key);
        g_assert_cmpuint(i, <, G_N_ELEMENTS(used));
    }
}

int
main(int argc, char **argv)
{
    harness_init(&argc, &argv);
    fixture_add("/description/routes", test_openapi);
    fixture_add("/description/fields", test_fields);
    g_test_add_func("/description/declared", test_declared);
    return g_test_run();
}
