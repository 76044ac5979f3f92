/*
 * Settings in config.json: {"version": 1, "settings": {KEY: value}}. Only what differs from the
 * default is written, so that a better default reaches everyone. Keys that this version does not know
 * are kept, since a newer version may have written them.
 */

#include "engine/library/config.h"

#include "engine/format/error.h"
#include "engine/format/json.h"
#include "engine/library/library.h"
#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MAX_FILE_BYTES (1u << 20)

typedef enum { INTEGER, BOOLEAN, TEXT, SECRET } Kind;

typedef struct {
    const char *key;
    Kind kind;
    const char *fallback;
    int64_t lowest;
    int64_t highest;
    const char *meaning;
} Setting;

static const Setting settings[] = {
#define X(name, key, kind, fallback, lowest, highest, meaning) \
    {key, kind, fallback, lowest, highest, meaning},
    SUNDOG_CONFIG_KEYS(X)
#undef X
};

struct SundogConfig {
    JsonObject *values; /* the member "settings" of the file */
};

static const Setting *
find_setting(const char *key)
{
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        if (strcmp(settings[i].key, key) == 0)
            return &settings[i];
    return NULL;
}

#define fail(error, ...) \
    sundog_error_set(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID, __VA_ARGS__)

static bool
check_integer(const Setting *setting, JsonNode *node, GError **error)
{
    if (json_node_get_value_type(node) != G_TYPE_INT64)
        return fail(error, "%s must be a whole number", setting->key);
    int64_t value = json_node_get_int(node);
    if (value < setting->lowest || value > setting->highest)
        return fail(error,
                    "%s is %" G_GINT64_FORMAT ", allowed are %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT,
                    setting->key, value, setting->lowest, setting->highest);
    return true;
}

/* Texts end up in headers and addresses: no control characters, and no spaces inside a secret. */
static bool
check_text(const Setting *setting, JsonNode *node, GError **error)
{
    if (json_node_get_value_type(node) != G_TYPE_STRING)
        return fail(error, "%s must be a text", setting->key);
    const char *value = json_node_get_string(node);
    for (const char *byte = value; *byte; byte++) {
        if (g_ascii_iscntrl(*byte))
            return fail(error, "%s must not hold control characters", setting->key);
        if (setting->kind == SECRET && !g_ascii_isgraph(*byte))
            return fail(error, "%s must be of printable ASCII without spaces", setting->key);
    }
    if (strcmp(setting->key, "server.address") != 0)
        return true;
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(value);
    return address || fail(error, "%s is “%s”, which is no IP address", setting->key, value);
}

static bool
check_value(const Setting *setting, JsonNode *node, GError **error)
{
    switch (setting->kind) {
    case INTEGER:
        return check_integer(setting, node, error);
    case BOOLEAN:
        return json_node_get_value_type(node) == G_TYPE_BOOLEAN ||
               fail(error, "%s must be true or false", setting->key);
    default:
        return check_text(setting, node, error);
    }
}

static bool
check_values(JsonObject *values, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
        JsonNode *node = json_object_get_member(values, settings[i].key);
        if (node && !check_value(&settings[i], node, error))
            return false;
    }
    return true;
}

/* A file of an earlier schema is kept beside the one that will be written over it. Version 0 is a file
 * without a version, as a person writes it by hand; its settings read the same. */
static void
migrate(const char *path, const char *text, size_t n_bytes, int64_t version)
{
    if (version >= SUNDOG_CONFIG_VERSION)
        return;
    g_autofree char *kept = g_strdup_printf("%s.v%" G_GINT64_FORMAT, path, version);
    if (!g_file_test(kept, G_FILE_TEST_EXISTS))
        g_file_set_contents_full(kept, text, (gssize)n_bytes, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
                                 NULL);
}

static JsonObject *
read_root(JsonNode *root, int64_t *version, GError **error)
{
    if (!JSON_NODE_HOLDS_OBJECT(root)) {
        fail(error, "it holds no object");
        return NULL;
    }
    JsonObject *object = json_node_get_object(root);
    *version = json_object_get_int_member_with_default(object, "version", 0);
    if (*version > SUNDOG_CONFIG_VERSION || *version < 0) {
        fail(error, "it has version %" G_GINT64_FORMAT ", this program reads up to %d", *version,
             SUNDOG_CONFIG_VERSION);
        return NULL;
    }
    JsonNode *values = json_object_get_member(object, "settings");
    if (values && !JSON_NODE_HOLDS_OBJECT(values)) {
        fail(error, "its “settings” are no object");
        return NULL;
    }
    return values ? json_object_ref(json_node_get_object(values)) : json_object_new();
}

static JsonObject *
read_values(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t n_bytes = 0;
    g_autoptr(GError) read_error = NULL;
    if (!g_file_get_contents(path, &text, &n_bytes, &read_error)) {
        if (g_error_matches(read_error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
            return json_object_new();
        g_propagate_error(error, g_steal_pointer(&read_error));
        return NULL;
    }
    if (n_bytes > MAX_FILE_BYTES) {
        fail(error, "it has %zu bytes, at most %u are read", n_bytes, MAX_FILE_BYTES);
        return NULL;
    }
    g_autoptr(JsonNode) root = sundog_json_parse(text, n_bytes, error);
    int64_t version = 0;
    JsonObject *values = root ? read_root(root, &version, error) : NULL;
    if (values && !check_values(values, error))
        g_clear_pointer(&values, json_object_unref);
    if (values)
        migrate(path, text, n_bytes, version);
    return values;
}

SundogConfig *
sundog_config_open(GError **error)
{
    const char *path = sundog_paths_get_config_file();
    JsonObject *values = read_values(path, error);
    if (!values) {
        g_prefix_error(error,
                       "The settings in %s cannot be read (the file is kept as it is): ", path);
        return NULL;
    }
    SundogConfig *config = g_new0(SundogConfig, 1);
    config->values = values;
    return config;
}

void
sundog_config_free(SundogConfig *config)
{
    if (!config)
        return;
    json_object_unref(config->values);
    g_free(config);
}

int64_t
sundog_config_get_integer(const SundogConfig *config, const char *key)
{
    const Setting *setting = find_setting(key);
    g_return_val_if_fail(config && setting && setting->kind == INTEGER, 0);
    return json_object_get_int_member_with_default(config->values, key,
                                                   g_ascii_strtoll(setting->fallback, NULL, 10));
}

bool
sundog_config_get_boolean(const SundogConfig *config, const char *key)
{
    const Setting *setting = find_setting(key);
    g_return_val_if_fail(config && setting && setting->kind == BOOLEAN, false);
    return json_object_get_boolean_member_with_default(config->values, key,
                                                       strcmp(setting->fallback, "true") == 0);
}

const char *
sundog_config_get_text(const SundogConfig *config, const char *key)
{
    const Setting *setting = find_setting(key);
    g_return_val_if_fail(config && setting && (setting->kind == TEXT || setting->kind == SECRET),
                         NULL);
    return json_object_get_string_member_with_default(config->values, key, setting->fallback);
}

/* From text as a person types it to a checked value. */
static JsonNode *
parse_value(const Setting *setting, const char *text, GError **error)
{
    g_autoptr(JsonNode) node = json_node_new(JSON_NODE_VALUE);
    int64_t number = 0;
    switch (setting->kind) {
    case INTEGER:
        if (!g_ascii_string_to_signed(text, 10, setting->lowest, setting->highest, &number, NULL)) {
            fail(error,
                 "%s cannot be “%s”: it is a whole number from %" G_GINT64_FORMAT
                 " to %" G_GINT64_FORMAT,
                 setting->key, text, setting->lowest, setting->highest);
            return NULL;
        }
        json_node_set_int(node, number);
        break;
    case BOOLEAN:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
            fail(error, "%s cannot be “%s”: it is true or false", setting->key, text);
            return NULL;
        }
        json_node_set_boolean(node, strcmp(text, "true") == 0);
        break;
    default:
        if (!g_utf8_validate(text, -1, NULL)) {
            fail(error, "%s must be valid UTF-8", setting->key);
            return NULL;
        }
        json_node_set_string(node, text);
    }
    return check_value(setting, node, error) ? g_steal_pointer(&node) : NULL;
}

static bool
write_values(const char *path, JsonObject *values, GError **error)
{
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    JsonObject *object = json_object_new();
    json_object_set_int_member(object, "version", SUNDOG_CONFIG_VERSION);
    json_object_set_object_member(object, "settings", json_object_ref(values));
    json_node_take_object(root, object);
    g_autofree char *text = sundog_json_print(root, true);
    return g_file_set_contents_full(
        path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, 0600, error);
}

/* App and server may change different settings at one time: the file is read again under a lock, and
 * only the one key is changed in it. */
static bool
change_file(SundogConfig *config, const char *key, JsonNode *value, GError **error)
{
    const char *path = sundog_paths_get_config_file();
    g_autofree char *lock_path = g_strconcat(path, ".lock", NULL);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock >= 0)
        flock(lock, LOCK_EX);
    JsonObject *values = read_values(path, error);
    bool written = false;
    if (values) {
        json_object_remove_member(values, key);
        if (value)
            json_object_set_member(values, key, json_node_copy(value));
        written = write_values(path, values, error);
    }
    if (lock >= 0)
        close(lock);
    if (written) {
        json_object_unref(config->values);
        config->values = g_steal_pointer(&values);
    }
    g_clear_pointer(&values, json_object_unref);
    return written;
}

bool
sundog_config_set(SundogConfig *config, const char *key, const char *value, GError **error)
{
    g_return_val_if_fail(config && key, false);
    const Setting *setting = find_setting(key);
    if (!setting) {
        g_autoptr(GString) known = g_string_new(NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
            g_string_append_printf(known, "%s%s", i ? ", " : "", settings[i].key);
        return fail(error, "There is no setting “%s”; there are: %s", key, known->str);
    }
    if (!value)
        return change_file(config, key, NULL, error);
    g_autoptr(JsonNode) node = parse_value(setting, value, error);
    return node && change_file(config, key, node, error);
}

static JsonNode *
dup_default(const Setting *setting)
{
    JsonNode *node = json_node_new(JSON_NODE_VALUE);
    if (setting->kind == INTEGER)
        json_node_set_int(node, g_ascii_strtoll(setting->fallback, NULL, 10));
    else if (setting->kind == BOOLEAN)
        json_node_set_boolean(node, strcmp(setting->fallback, "true") == 0);
    else
        json_node_set_string(node, setting->fallback);
    return node;
}

static JsonObject *
describe_setting(const SundogConfig *config, const Setting *setting)
{
    JsonObject *object = json_object_new();
    json_object_set_string_member(object, "key", setting->key);
    if (setting->kind == SECRET) {
        json_object_set_null_member(object, "value");
        json_object_set_boolean_member(object, "is_set",
                                       *sundog_config_get_text(config, setting->key));
    } else {
        JsonNode *value = json_object_get_member(config->values, setting->key);
        json_object_set_member(object, "value",
                               value ? json_node_copy(value) : dup_default(setting));
    }
    json_object_set_member(object, "default", dup_default(setting));
    json_object_set_string_member(object, "meaning", setting->meaning);
    return object;
}

JsonNode *
sundog_config_describe(const SundogConfig *config)
{
    g_return_val_if_fail(config, NULL);
    JsonArray *list = json_array_new();
    for (size_t i = 0; i < G_N_ELEMENTS(settings); i++)
        json_array_add_object_element(list, describe_setting(config, &settings[i]));
    JsonNode *node = json_node_new(JSON_NODE_ARRAY);
    json_node_take_array(node, list);
    return node;
}
