/* Keys of clients. */

#include "engine/library/api-keys.h"

#include "engine/format/error.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/library/library.h"
#include "engine/library/paths.h"
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION 1
#define MAX_FILE_BYTES (1u << 20)
#define MAX_LIMIT 1e12
#define SECRET_BYTES 32
/* So that a person, and a scanner of published files, sees what it is. */
#define PREFIX "sundog-"

struct SundogApiKeys {
    GPtrArray *all;     /* SundogApiKey */
    struct stat status; /* of the file when it was read; zeroes: there was none */
};

#define fail(error, ...) \
    sundog_error_set(error, SUNDOG_LIBRARY_ERROR, SUNDOG_LIBRARY_ERROR_INVALID, __VA_ARGS__)

/* One key */

SundogApiKey *
sundog_api_key_ref(SundogApiKey *key)
{
    return g_rc_box_acquire(key);
}

static void
clear_key(void *data)
{
    SundogApiKey *key = data;
    g_free(key->name);
    g_free(key->hash);
    g_free(key->created);
    g_strfreev(key->models);
}

void
sundog_api_key_unref(SundogApiKey *key)
{
    if (key)
        g_rc_box_release_full(key, clear_key);
}

bool
sundog_api_key_allows_model(const SundogApiKey *key, const char *model)
{
    return !key->models[0] || g_strv_contains((const char *const *)key->models, model);
}

static char *
dup_hash(const char *secret)
{
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, secret, -1);
}

char *
sundog_api_keys_dup_random(GError **error)
{
    uint8_t bytes[SECRET_BYTES];
    char text[2 * SECRET_BYTES];
    if (sodium_init() < 0) {
        fail(error, "libsodium finds no source of randomness");
        return NULL;
    }
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2base64(text, sizeof text, bytes, sizeof bytes,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return g_strconcat(PREFIX, text, NULL);
}

/* Reading */

static int64_t
get_limit(JsonObject *object, const char *name)
{
    return (int64_t)CLAMP(sundog_json_get_number(object, name, 0), 0, MAX_LIMIT);
}

static char **
dup_models(JsonObject *object)
{
    JsonArray *array = sundog_json_get_array(object, "models");
    GPtrArray *models = g_ptr_array_new();
    for (guint i = 0; array && i < json_array_get_length(array); i++) {
        const char *model = sundog_json_get_text(json_array_get_element(array, i));
        if (model)
            g_ptr_array_add(models, g_strdup(model));
    }
    g_ptr_array_add(models, NULL);
    return (char **)g_ptr_array_free(models, false);
}

static SundogApiKey *
read_key(JsonObject *object, GError **error)
{
    const char *name = sundog_json_get_string(object, "name", "");
    const char *hash = sundog_json_get_string(object, "hash", "");
    if (!sundog_library_name_is_valid(name) || strlen(hash) != 64) {
        fail(error, "a key has no name or no hash");
        return NULL;
    }
    SundogApiKey *key = g_rc_box_new0(SundogApiKey);
    *key = (SundogApiKey){.name = g_strdup(name),
                          .hash = g_strdup(hash),
                          .created = g_strdup(sundog_json_get_string(object, "created", "")),
                          .requests_per_minute = get_limit(object, "requests_per_minute"),
                          .tokens_per_minute = get_limit(object, "tokens_per_minute"),
                          .concurrent_requests = get_limit(object, "concurrent_requests"),
                          .models = dup_models(object)};
    return key;
}

static bool
read_all(SundogApiKeys *keys, const char *text, size_t n_bytes, GError **error)
{
    g_autoptr(JsonNode) root = sundog_json_parse(text, n_bytes, error);
    if (!root)
        return false;
    JsonObject *object = JSON_NODE_HOLDS_OBJECT(root) ? json_node_get_object(root) : NULL;
    JsonArray *array = sundog_json_get_array(object, "keys");
    if (!array || sundog_json_get_number(object, "version", 0) != VERSION)
        return fail(error, "it has no list of keys of version %d", VERSION);
    for (guint i = 0; i < json_array_get_length(array); i++) {
        SundogApiKey *key = read_key(sundog_json_get_element(array, i), error);
        if (!key)
            return false;
        g_ptr_array_add(keys->all, key);
    }
    return true;
}

static bool
read_file(SundogApiKeys *keys, const char *path, GError **error)
{
    g_autofree char *text = NULL;
    size_t n_bytes = 0;
    g_autoptr(GError) reason = NULL;
    if (stat(path, &keys->status) != 0)
        keys->status = (struct stat){0};
    if (!g_file_get_contents(path, &text, &n_bytes, &reason)) {
        if (g_error_matches(reason, G_FILE_ERROR, G_FILE_ERROR_NOENT))
            return true;
        g_propagate_error(error, g_steal_pointer(&reason));
        return false;
    }
    if (n_bytes > MAX_FILE_BYTES)
        return fail(error, "it has %zu bytes, at most %u are read", n_bytes, MAX_FILE_BYTES);
    return read_all(keys, text, n_bytes, error);
}

static void
unref_key(void *key)
{
    sundog_api_key_unref(key);
}

SundogApiKeys *
sundog_api_keys_open(GError **error)
{
    const char *path = sundog_paths_get_api_keys_file();
    g_autoptr(SundogApiKeys) keys = g_new0(SundogApiKeys, 1);
    keys->all = g_ptr_array_new_with_free_func(unref_key);
    if (!read_file(keys, path, error)) {
        g_prefix_error(error, "The keys in %s cannot be read (the file is kept as it is): ", path);
        return NULL;
    }
    return g_steal_pointer(&keys);
}

void
sundog_api_keys_free(SundogApiKeys *keys)
{
    if (!keys)
        return;
    g_ptr_array_unref(keys->all);
    g_free(keys);
}

const GPtrArray *
sundog_api_keys_get_all(const SundogApiKeys *keys)
{
    return keys->all;
}

/* Compared are hashes, of which a wrong guess tells nothing. */
SundogApiKey *
sundog_api_keys_find(const SundogApiKeys *keys, const char *secret)
{
    g_autofree char *hash = dup_hash(secret);
    for (guint i = 0; i < keys->all->len; i++) {
        SundogApiKey *key = keys->all->pdata[i];
        if (strcmp(key->hash, hash) == 0)
            return key;
    }
    return NULL;
}

bool
sundog_api_keys_is_stale(const SundogApiKeys *keys)
{
    struct stat status;
    if (stat(sundog_paths_get_api_keys_file(), &status) != 0)
        status = (struct stat){0};
    const struct stat *read = &keys->status;
    return status.st_ino != read->st_ino || status.st_size != read->st_size ||
           status.st_mtim.tv_sec != read->st_mtim.tv_sec ||
           status.st_mtim.tv_nsec != read->st_mtim.tv_nsec;
}

/* Changing */

JsonObject *
sundog_api_key_describe(const SundogApiKey *key)
{
    JsonObject *object = json_object_new();
    JsonArray *models = json_array_new();
    for (char **model = key->models; *model; model++)
        json_array_add_string_element(models, *model);
    json_object_set_string_member(object, "name", key->name);
    json_object_set_string_member(object, "created", key->created);
    json_object_set_int_member(object, "requests_per_minute", key->requests_per_minute);
    json_object_set_int_member(object, "tokens_per_minute", key->tokens_per_minute);
    json_object_set_int_member(object, "concurrent_requests", key->concurrent_requests);
    json_object_set_array_member(object, "models", models);
    return object;
}

static bool
write_file(const SundogApiKeys *keys, GError **error)
{
    g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
    JsonObject *object = json_object_new();
    JsonArray *array = json_array_new();
    for (guint i = 0; i < keys->all->len; i++) {
        const SundogApiKey *key = keys->all->pdata[i];
        JsonObject *described = sundog_api_key_describe(key);
        json_object_set_string_member(described, "hash", key->hash);
        json_array_add_object_element(array, described);
    }
    json_object_set_int_member(object, "version", VERSION);
    json_object_set_array_member(object, "keys", array);
    json_node_take_object(root, object);
    g_autofree char *text = sundog_json_print(root, true);
    return g_file_set_contents_full(sundog_paths_get_api_keys_file(), text, -1,
                                    G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE,
                                    0600, error);
}

static bool
find_name(const SundogApiKeys *keys, const char *name, guint *index)
{
    for (*index = 0; *index < keys->all->len; (*index)++)
        if (strcmp(((const SundogApiKey *)keys->all->pdata[*index])->name, name) == 0)
            return true;
    return false;
}

static int
lock(void)
{
    g_autofree char *path = g_strconcat(sundog_paths_get_api_keys_file(), ".lock", NULL);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0)
        flock(file, LOCK_EX);
    return file;
}

static void
unlock(int file)
{
    if (file >= 0)
        close(file);
}

static SundogApiKey *
make_key(const SundogApiKey *limits, const char *secret)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    SundogApiKey *key = g_rc_box_new0(SundogApiKey);
    *key = *limits;
    key->name = g_strdup(limits->name);
    key->hash = dup_hash(secret);
    key->created = g_date_time_format_iso8601(now);
    key->models = limits->models ? g_strdupv(limits->models) : g_new0(char *, 1);
    return key;
}

static bool
add(const SundogApiKey *limits, const char *secret, GError **error)
{
    guint index;
    g_autoptr(SundogApiKeys) keys = sundog_api_keys_open(error);
    if (!keys)
        return false;
    if (find_name(keys, limits->name, &index))
        return fail(error, "There is a key “%s” already: remove it first, or take another name",
                    limits->name);
    g_ptr_array_add(keys->all, make_key(limits, secret));
    return write_file(keys, error);
}

char *
sundog_api_keys_add(const SundogApiKey *limits, GError **error)
{
    if (!limits->name || !sundog_library_name_is_valid(limits->name)) {
        fail(error, "“%s” is no name for a key: take letters, digits and -._", limits->name);
        return NULL;
    }
    g_autofree char *secret = sundog_api_keys_dup_random(error);
    if (!secret)
        return NULL;
    int file = lock();
    bool is_added = add(limits, secret, error);
    unlock(file);
    return is_added ? g_steal_pointer(&secret) : NULL;
}

static bool
remove_key(const char *name, GError **error)
{
    guint index;
    g_autoptr(SundogApiKeys) keys = sundog_api_keys_open(error);
    if (!keys)
        return false;
    if (!find_name(keys, name, &index))
        return fail(error, "There is no key “%s”: `sundog key list` shows what there is", name);
    g_ptr_array_remove_index(keys->all, index);
    return write_file(keys, error);
}

bool
sundog_api_keys_remove(const char *name, GError **error)
{
    int file = lock();
    bool is_removed = remove_key(name, error);
    unlock(file);
    return is_removed;
}
