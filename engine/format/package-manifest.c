/* Members of a package, from JSON and to it. */

#include "engine/format/package-manifest.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/format/package-folder.h"
#include "engine/format/package.h"
#include "engine/format/segment-hash.h"
#include <sodium.h>
#include <string.h>

#define MAX_MEMBERS 65536
#define MAX_MEMBER_BYTES (INT64_C(1) << 52)
#define MIN_SEGMENT_BYTES 4096
#define MAX_SEGMENT_BYTES (INT64_C(1) << 30)

#define fail(error, ...)                                                      \
    sundog_error_set(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_INVALID, \
                     SUNDOG_PACKAGE_MANIFEST ": " __VA_ARGS__)

/* A whole number from min to max. */
static bool
get_number(JsonObject *object, const char *name, int64_t min, int64_t max, uint64_t *value,
           GError **error)
{
    JsonNode *node = json_object_get_member(object, name);
    bool is_number = node != NULL && JSON_NODE_HOLDS_VALUE(node) &&
                     json_node_get_value_type(node) == G_TYPE_INT64;
    int64_t number = is_number ? json_node_get_int(node) : 0;
    if (is_number && number >= min && number <= max) {
        *value = (uint64_t)number;
        return true;
    }
    if (is_number)
        fail(error,
             "\"%s\" is %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
             name, number, min, max);
    else
        fail(error, "\"%s\" is %s, expected a whole number", name,
             node != NULL ? json_node_type_name(node) : "missing");
    return false;
}

static JsonArray *
get_array(JsonObject *object, const char *name, GError **error)
{
    JsonNode *node = json_object_get_member(object, name);
    if (node != NULL && JSON_NODE_HOLDS_ARRAY(node))
        return json_node_get_array(node);
    fail(error, "\"%s\" is %s, expected an array", name,
         node != NULL ? json_node_type_name(node) : "missing");
    return NULL;
}

static bool
parse_hash(JsonNode *node, uint8_t hash[SUNDOG_HASH_BYTES])
{
    const char *text = sundog_json_get_text(node);
    size_t n_bytes = 0;
    return text != NULL && strlen(text) == 2 * SUNDOG_HASH_BYTES &&
           sodium_hex2bin(hash, SUNDOG_HASH_BYTES, text, strlen(text), NULL, &n_bytes, NULL) == 0 &&
           n_bytes == SUNDOG_HASH_BYTES;
}

static bool
parse_hashes(SundogMember *member, JsonObject *object, GError **error)
{
    JsonArray *hashes = get_array(object, "hashes", error);
    if (hashes == NULL)
        return false;
    uint64_t n_expected =
        member->n_bytes / member->segment_bytes + (member->n_bytes % member->segment_bytes != 0);
    member->n_segments = json_array_get_length(hashes);
    if (member->n_segments != n_expected) {
        fail(error, "%s has %zu hashes, expected %" G_GUINT64_FORMAT, member->path,
             member->n_segments, n_expected);
        return false;
    }
    member->hashes = g_malloc(member->n_segments * SUNDOG_HASH_BYTES);
    for (size_t i = 0; i < member->n_segments; i++) {
        if (!parse_hash(json_array_get_element(hashes, (guint)i),
                        member->hashes + i * SUNDOG_HASH_BYTES)) {
            fail(error, "%s: hash %zu is not %d hexadecimal digits", member->path, i,
                 2 * SUNDOG_HASH_BYTES);
            return false;
        }
    }
    return true;
}

static SundogMember *
parse_member(JsonNode *node, GError **error)
{
    g_autoptr(SundogMember) member = g_new0(SundogMember, 1);
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    const char *path =
        object != NULL ? sundog_json_get_text(json_object_get_member(object, "path")) : NULL;
    if (path == NULL) {
        fail(error, "a member is not an object with a \"path\"");
        return NULL;
    }
    if (!sundog_package_check_path(path, error))
        return NULL;
    member->path = g_strdup(path);
    if (get_number(object, "bytes", 0, MAX_MEMBER_BYTES, &member->n_bytes, error) &&
        get_number(object, "segment_bytes", MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES,
                   &member->segment_bytes, error) &&
        parse_hashes(member, object, error))
        return g_steal_pointer(&member);
    g_prefix_error(error, "%s: ", path);
    return NULL;
}

static bool
add_member(SundogManifest *manifest, SundogMember *member, GError **error)
{
    g_ptr_array_add(manifest->members, member);
    if (!g_hash_table_insert(manifest->by_path, member->path, member)) {
        fail(error, "the member %s stands twice", member->path);
        return false;
    }
    /* Both counts are bounded, so the sum cannot wrap. */
    manifest->total_bytes += member->n_bytes;
    return true;
}

static bool
parse_members(SundogManifest *manifest, JsonObject *object, GError **error)
{
    JsonArray *members = get_array(object, "members", error);
    if (members == NULL)
        return false;
    guint n_members = json_array_get_length(members);
    if (n_members > MAX_MEMBERS) {
        fail(error, "%u members, expected at most %d", n_members, MAX_MEMBERS);
        return false;
    }
    for (guint i = 0; i < n_members; i++) {
        SundogMember *member = parse_member(json_array_get_element(members, i), error);
        if (member == NULL || !add_member(manifest, member, error))
            return false;
    }
    return true;
}

static bool
check_format(JsonObject *object, GError **error)
{
    uint64_t format;
    if (!get_number(object, "format", 0, G_MAXINT32, &format, error))
        return false;
    if (format == SUNDOG_PACKAGE_FORMAT)
        return true;
    g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "the core is of format %" G_GUINT64_FORMAT ", expected %d: prepare it again",
                format, SUNDOG_PACKAGE_FORMAT);
    return false;
}

SundogManifest *
sundog_manifest_parse(const char *text, size_t n_bytes, GError **error)
{
    g_autoptr(SundogManifest) manifest = g_new0(SundogManifest, 1);
    manifest->members = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_member_free);
    manifest->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    manifest->root = sundog_json_parse(text, n_bytes, error);
    if (manifest->root == NULL) {
        g_prefix_error(error, SUNDOG_PACKAGE_MANIFEST ": ");
        return NULL;
    }
    if (!JSON_NODE_HOLDS_OBJECT(manifest->root)) {
        fail(error, "%s found, expected an object", json_node_type_name(manifest->root));
        return NULL;
    }
    JsonObject *object = json_node_get_object(manifest->root);
    if (!check_format(object, error) || !parse_members(manifest, object, error))
        return NULL;
    return g_steal_pointer(&manifest);
}

void
sundog_manifest_free(SundogManifest *manifest)
{
    if (manifest == NULL)
        return;
    g_hash_table_unref(manifest->by_path);
    g_ptr_array_unref(manifest->members);
    g_clear_pointer(&manifest->root, json_node_unref);
    g_free(manifest);
}

void
sundog_member_free(SundogMember *member)
{
    if (member == NULL)
        return;
    g_free(member->path);
    g_free(member->hashes);
    g_free(member);
}

uint64_t
sundog_member_get_segment_bytes(const SundogMember *member, size_t segment)
{
    g_return_val_if_fail(segment < member->n_segments, 0);
    return MIN(member->segment_bytes, member->n_bytes - segment * member->segment_bytes);
}

static JsonArray *
dup_hashes(const SundogMember *member)
{
    JsonArray *hashes = json_array_new();
    for (size_t i = 0; i < member->n_segments; i++) {
        char text[2 * SUNDOG_HASH_BYTES + 1];
        sodium_bin2hex(text, sizeof text, member->hashes + i * SUNDOG_HASH_BYTES,
                       SUNDOG_HASH_BYTES);
        json_array_add_string_element(hashes, text);
    }
    return hashes;
}

JsonArray *
sundog_members_dup_json(GPtrArray *members)
{
    JsonArray *array = json_array_new();
    for (guint i = 0; i < members->len; i++) {
        const SundogMember *member = members->pdata[i];
        JsonObject *object = json_object_new();
        json_object_set_string_member(object, "path", member->path);
        json_object_set_int_member(object, "bytes", (gint64)member->n_bytes);
        json_object_set_int_member(object, "segment_bytes", (gint64)member->segment_bytes);
        json_object_set_array_member(object, "hashes", dup_hashes(member));
        json_array_add_object_element(array, object);
    }
    return array;
}
