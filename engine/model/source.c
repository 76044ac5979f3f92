/* A source over a GGUF file, and one that holds what another file's reader put into it. */

#include "engine/model/source.h"

#include "engine/format/name-table.h"

#include <string.h>

/* Longer texts are not shown to people. */
#define MAX_LABEL_BYTES 256

typedef struct {
    char *own_name;
    JsonNode *value;
} Setting;

/* A piece of memory that goes with the source. */
typedef struct {
    void *memory;
    GDestroyNotify free_memory;
} Owned;

struct SundogSource {
    const SundogGguf *gguf;   /* NULL where the tables below hold everything */
    const char *architecture; /* borrowed */
    GHashTable *settings;     /* name -> Setting */
    GArray *tensors;          /* of SundogSourceTensor */
    GHashTable *index;        /* name -> place in `tensors` and 1 */
    GArray *owned;            /* of Owned */
    GHashTable *asked;        /* names of settings that have been asked about */
};

static const char *
get_text(const SundogGguf *gguf, const char *key)
{
    size_t n_bytes;
    const char *text = sundog_gguf_get_string(gguf, key, &n_bytes);
    return text != NULL && n_bytes > 0 && g_utf8_validate_len(text, n_bytes, NULL) ? text : NULL;
}

/* A text to be shown, on terminals too: short and without control characters, else NULL. */
static const char *
get_label(const SundogSource *source, const char *key)
{
    const char *text = get_text(source->gguf, key);
    for (const char *c = text; text != NULL && *c != '\0'; c++)
        if (g_ascii_iscntrl(*c) || c - text == MAX_LABEL_BYTES)
            return NULL;
    return text;
}

static void
owned_clear(gpointer data)
{
    Owned *owned = data;
    owned->free_memory(owned->memory);
}

/* What sources of all kinds have. */
static SundogSource *
source_new(void)
{
    SundogSource *source = g_new0(SundogSource, 1);
    source->asked = sundog_name_table_new(NULL);
    source->owned = g_array_new(FALSE, FALSE, sizeof(Owned));
    g_array_set_clear_func(source->owned, owned_clear);
    return source;
}

SundogSource *
sundog_source_new_for_gguf(const SundogGguf *gguf)
{
    SundogSource *source = source_new();
    source->gguf = gguf;
    source->architecture = get_text(gguf, "general.architecture");
    return source;
}

static void
setting_free(gpointer data)
{
    Setting *setting = data;
    g_free(setting->own_name);
    json_node_unref(setting->value);
    g_free(setting);
}

SundogSource *
sundog_source_new(const char *architecture)
{
    SundogSource *source = source_new();
    source->architecture = architecture;
    source->settings = sundog_name_table_new(setting_free);
    source->tensors = g_array_new(FALSE, FALSE, sizeof(SundogSourceTensor));
    source->index = sundog_name_table_new(NULL);
    return source;
}

void
sundog_source_free(SundogSource *source)
{
    if (source == NULL)
        return;
    g_clear_pointer(&source->settings, g_hash_table_unref);
    g_clear_pointer(&source->asked, g_hash_table_unref);
    g_clear_pointer(&source->index, g_hash_table_unref);
    g_clear_pointer(&source->tensors, g_array_unref);
    g_clear_pointer(&source->owned, g_array_unref);
    g_free(source);
}

/* --- Filling ------------------------------------------------------------------------------------ */

void
sundog_source_set(SundogSource *source, const char *name, const char *own_name, JsonNode *value)
{
    Setting *setting = g_new0(Setting, 1);
    *setting = (Setting){.own_name = g_strdup(own_name), .value = json_node_copy(value)};
    g_hash_table_replace(source->settings, g_strdup(name), setting);
}

void
sundog_source_set_uint(SundogSource *source, const char *name, const char *own_name, uint64_t value)
{
    g_autoptr(JsonNode) node = json_node_init_int(json_node_alloc(), (gint64)value);
    sundog_source_set(source, name, own_name, node);
}

void
sundog_source_set_float(SundogSource *source, const char *name, const char *own_name, double value)
{
    g_autoptr(JsonNode) node = json_node_init_double(json_node_alloc(), value);
    sundog_source_set(source, name, own_name, node);
}

void
sundog_source_set_text(SundogSource *source, const char *name, const char *own_name,
                       const char *value)
{
    g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), value);
    sundog_source_set(source, name, own_name, node);
}

void
sundog_source_unset(SundogSource *source, const char *name)
{
    g_hash_table_remove(source->settings, name);
}

bool
sundog_source_add_tensor(SundogSource *source, const SundogSourceTensor *tensor)
{
    if (g_hash_table_contains(source->index, tensor->name))
        return false;
    g_array_append_val(source->tensors, *tensor);
    g_hash_table_insert(source->index, g_strdup(tensor->name),
                        GSIZE_TO_POINTER((gsize)source->tensors->len));
    return true;
}

void *
sundog_source_own(SundogSource *source, void *memory, GDestroyNotify free_memory)
{
    Owned owned = {memory, free_memory};
    g_array_append_val(source->owned, owned);
    return memory;
}

/* --- Asking ------------------------------------------------------------------------------------- */

static const Setting *
find_setting(const SundogSource *source, const char *name)
{
    return g_hash_table_lookup(source->settings, name);
}

/* The value where it is one of that kind, else NULL. */
static JsonNode *
find_value(const SundogSource *source, const char *name, GType type)
{
    const Setting *setting = find_setting(source, name);
    return setting != NULL && JSON_NODE_HOLDS_VALUE(setting->value) &&
                   json_node_get_value_type(setting->value) == type
               ? setting->value
               : NULL;
}

static JsonArray *
find_array(const SundogSource *source, const char *name)
{
    const Setting *setting = find_setting(source, name);
    return setting != NULL && JSON_NODE_HOLDS_ARRAY(setting->value)
               ? json_node_get_array(setting->value)
               : NULL;
}

bool
sundog_source_is_gguf(const SundogSource *source)
{
    return source->gguf != NULL;
}

const char *
sundog_source_get_architecture(const SundogSource *source)
{
    return source->architecture;
}

char *
sundog_source_dup_key(const SundogSource *source, const char *name)
{
    if (source->gguf != NULL)
        return g_strconcat(source->architecture, ".", name, NULL);
    const Setting *setting = find_setting(source, name);
    return g_strdup(setting != NULL ? setting->own_name : name);
}

static void
ask(const SundogSource *source, const char *name)
{
    if (!g_hash_table_contains(source->asked, name))
        g_hash_table_add(source->asked, g_strdup(name));
}

bool
sundog_source_has(const SundogSource *source, const char *name)
{
    ask(source, name);
    if (source->gguf == NULL)
        return find_setting(source, name) != NULL;
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_has(source->gguf, key);
}

bool
sundog_source_get_uint(const SundogSource *source, const char *name, uint64_t *value)
{
    ask(source, name);
    if (source->gguf == NULL) {
        JsonNode *node = find_value(source, name, G_TYPE_INT64);
        if (node == NULL || json_node_get_int(node) < 0)
            return false;
        *value = (uint64_t)json_node_get_int(node);
        return true;
    }
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_uint(source->gguf, key, value);
}

bool
sundog_source_get_float(const SundogSource *source, const char *name, double *value)
{
    ask(source, name);
    if (source->gguf == NULL) {
        JsonNode *whole = find_value(source, name, G_TYPE_INT64);
        JsonNode *node = whole != NULL ? whole : find_value(source, name, G_TYPE_DOUBLE);
        if (node != NULL)
            *value = json_node_get_double(node);
        return node != NULL;
    }
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_float(source->gguf, key, value);
}

bool
sundog_source_get_bool(const SundogSource *source, const char *name, bool *value)
{
    ask(source, name);
    if (source->gguf == NULL) {
        JsonNode *node = find_value(source, name, G_TYPE_BOOLEAN);
        if (node != NULL)
            *value = json_node_get_boolean(node);
        return node != NULL;
    }
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_bool(source->gguf, key, value);
}

const char *
sundog_source_get_text(const SundogSource *source, const char *name)
{
    ask(source, name);
    if (source->gguf == NULL) {
        JsonNode *node = find_value(source, name, G_TYPE_STRING);
        return node != NULL ? json_node_get_string(node) : NULL;
    }
    g_autofree char *key = sundog_source_dup_key(source, name);
    return get_text(source->gguf, key);
}

uint64_t
sundog_source_get_array_length(const SundogSource *source, const char *name)
{
    ask(source, name);
    if (source->gguf == NULL) {
        JsonArray *array = find_array(source, name);
        return array != NULL ? json_array_get_length(array) : 0;
    }
    g_autofree char *key = sundog_source_dup_key(source, name);
    return sundog_gguf_get_array_length(source->gguf, key);
}

bool
sundog_source_get_array_number(const SundogSource *source, const char *name, uint64_t index,
                               double *value)
{
    ask(source, name);
    if (source->gguf != NULL) {
        g_autofree char *key = sundog_source_dup_key(source, name);
        return sundog_gguf_get_array_number(source->gguf, key, index, value);
    }
    JsonArray *array = find_array(source, name);
    if (array == NULL || index >= json_array_get_length(array))
        return false;
    JsonNode *node = json_array_get_element(array, (guint)index);
    GType type = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_INVALID;
    if (type == G_TYPE_BOOLEAN)
        *value = json_node_get_boolean(node);
    else if (type == G_TYPE_INT64 || type == G_TYPE_DOUBLE)
        *value = json_node_get_double(node);
    else
        return false;
    return true;
}

/* A setting that is off changes nothing, whoever does not know it. */
static bool
is_off(const SundogSource *source, const char *name)
{
    double number = 1;
    bool truth = true;
    return (sundog_source_get_float(source, name, &number) && number == 0) ||
           (sundog_source_get_bool(source, name, &truth) && !truth);
}

static char *
dup_unasked_key(const SundogSource *source)
{
    g_autofree char *prefix = g_strconcat(source->architecture, ".", NULL);
    g_autofree const char **keys = sundog_gguf_dup_keys(source->gguf);
    for (size_t i = 0; keys[i] != NULL; i++) {
        const char *name = keys[i] + strlen(prefix);
        if (g_str_has_prefix(keys[i], prefix) && !g_hash_table_contains(source->asked, name) &&
            !is_off(source, name))
            return g_strdup(keys[i]);
    }
    return NULL;
}

char *
sundog_source_dup_unasked(const SundogSource *source)
{
    GHashTableIter iter;
    gpointer name;
    gpointer setting;
    if (source->gguf != NULL)
        return dup_unasked_key(source);
    g_hash_table_iter_init(&iter, source->settings);
    while (g_hash_table_iter_next(&iter, &name, &setting))
        if (!g_hash_table_contains(source->asked, name) && !is_off(source, name))
            return g_strdup(((Setting *)setting)->own_name);
    return NULL;
}

const char *
sundog_source_get_title(const SundogSource *source)
{
    return source->gguf != NULL ? get_label(source, "general.name") : NULL;
}

const char *
sundog_source_get_licence(const SundogSource *source)
{
    return source->gguf != NULL ? get_label(source, "general.license") : NULL;
}

static void
describe(const SundogGgufTensor *found, SundogSourceTensor *tensor)
{
    *tensor = (SundogSourceTensor){
        .name = found->name,
        .own_name = found->name,
        .type = found->type,
        .n_bytes = found->n_bytes,
        .data = found->data,
    };
    memcpy(tensor->shape, found->shape, sizeof tensor->shape);
}

size_t
sundog_source_get_n_tensors(const SundogSource *source)
{
    return source->gguf != NULL ? sundog_gguf_get_n_tensors(source->gguf) : source->tensors->len;
}

void
sundog_source_get_tensor(const SundogSource *source, size_t index, SundogSourceTensor *tensor)
{
    if (source->gguf != NULL)
        describe(sundog_gguf_get_tensor(source->gguf, index), tensor);
    else
        *tensor = g_array_index(source->tensors, SundogSourceTensor, index);
}

bool
sundog_source_find_tensor(const SundogSource *source, const char *name, SundogSourceTensor *tensor)
{
    if (source->gguf == NULL) {
        gsize place = GPOINTER_TO_SIZE(g_hash_table_lookup(source->index, name));
        if (place != 0)
            sundog_source_get_tensor(source, place - 1, tensor);
        return place != 0;
    }
    const SundogGgufTensor *found = sundog_gguf_find_tensor(source->gguf, name);
    if (found != NULL)
        describe(found, tensor);
    return found != NULL;
}
