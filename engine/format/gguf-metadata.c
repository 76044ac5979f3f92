/*
 * Metadata of a GGUF file. Numbers stay in the mapping; strings in arrays are indexed, since a
 * vocabulary is read by number.
 */

#include "engine/format/gguf-private.h"

#include "engine/format/error.h"
#include <stdlib.h>
#include <string.h>

enum {
    VALUE_U8,
    VALUE_I8,
    VALUE_U16,
    VALUE_I16,
    VALUE_U32,
    VALUE_I32,
    VALUE_F32,
    VALUE_BOOL,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_U64,
    VALUE_I64,
    VALUE_F64,
    N_VALUE_TYPES,
};

/* Bytes of a number; a string's are its length field, the least it takes. */
static const uint8_t value_bytes[N_VALUE_TYPES] = {
    [VALUE_U8] = 1,  [VALUE_I8] = 1,  [VALUE_U16] = 2,  [VALUE_I16] = 2,    [VALUE_U32] = 4,
    [VALUE_I32] = 4, [VALUE_F32] = 4, [VALUE_BOOL] = 1, [VALUE_STRING] = 8, [VALUE_ARRAY] = 12,
    [VALUE_U64] = 8, [VALUE_I64] = 8, [VALUE_F64] = 8,
};

typedef struct {
    uint32_t type; /* of the value, or of an array's elements */
    bool is_array;
    uint64_t count;      /* elements; 1 for a scalar */
    const uint8_t *data; /* borrowed: the first element, or a string's bytes */
    uint64_t *offsets;   /* [count] of an array of strings: where each begins, from `data` */
    char *text;          /* a scalar string again, NUL-terminated */
} Value;

void
sundog_gguf_value_free(gpointer data)
{
    Value *value = data;
    g_free(value->offsets);
    g_free(value->text);
    g_free(value);
}

static const char *
read_string(SundogReader *reader, uint64_t *n_bytes)
{
    *n_bytes = sundog_reader_u64(reader);
    return (const char *)sundog_reader_bytes(reader, *n_bytes);
}

char *
sundog_gguf_dup_name(SundogReader *reader, const char *what)
{
    uint64_t n_bytes;
    const char *text = read_string(reader, &n_bytes);
    if (text == NULL)
        return NULL;
    if (sundog_name_is_good(text, n_bytes))
        return g_strndup(text, n_bytes);
    sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                       "%s of %" G_GUINT64_FORMAT
                       " bytes, expected 1 to %d bytes of UTF-8 without control characters",
                       what, n_bytes, SUNDOG_NAME_MAX_BYTES);
    return NULL;
}

static void
read_string_elements(SundogReader *reader, Value *value)
{
    value->offsets = g_new(uint64_t, value->count);
    for (uint64_t i = 0; i < value->count; i++) {
        uint64_t n_bytes;
        value->offsets[i] = reader->pos - (size_t)(value->data - reader->data);
        if (read_string(reader, &n_bytes) == NULL)
            return;
    }
}

static void
check_bools(SundogReader *reader, const Value *value, const char *key)
{
    for (uint64_t i = 0; i < value->count; i++) {
        if (value->data[i] > 1)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "%s: a truth value is %u, expected 0 or 1", key, value->data[i]);
    }
}

static void
read_array(SundogReader *reader, Value *value, const char *key)
{
    value->is_array = true;
    value->type = sundog_reader_u32(reader);
    if (value->type >= N_VALUE_TYPES || value->type == VALUE_ARRAY) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "%s: array of type %u, expected a type below %d and no array", key,
                           value->type, N_VALUE_TYPES);
        return;
    }
    value->count = sundog_reader_count(reader, value_bytes[value->type]);
    value->data = sundog_reader_bytes(reader, 0);
    if (!sundog_reader_ok(reader))
        return;
    if (value->type == VALUE_STRING)
        read_string_elements(reader, value);
    else
        sundog_reader_bytes(reader, value->count * value_bytes[value->type]);
}

static void
read_value(SundogReader *reader, Value *value, const char *key)
{
    value->type = sundog_reader_u32(reader);
    value->count = 1;
    if (value->type >= N_VALUE_TYPES) {
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "%s: value of type %u, expected a type below %d", key, value->type,
                           N_VALUE_TYPES);
    } else if (value->type == VALUE_ARRAY) {
        read_array(reader, value, key);
    } else if (value->type == VALUE_STRING) {
        uint64_t n_bytes;
        value->data = (const uint8_t *)read_string(reader, &n_bytes);
        if (value->data != NULL)
            value->text = g_strndup((const char *)value->data, n_bytes);
        value->count = n_bytes;
    } else {
        value->data = sundog_reader_bytes(reader, value_bytes[value->type]);
    }
    if (sundog_reader_ok(reader) && value->type == VALUE_BOOL)
        check_bools(reader, value, key);
}

void
sundog_gguf_read_values(SundogReader *reader, SundogGguf *gguf, uint64_t n_keys)
{
    for (uint64_t i = 0; i < n_keys && sundog_reader_ok(reader); i++) {
        g_autofree char *key = sundog_gguf_dup_name(reader, "a metadata key");
        if (key == NULL)
            return;
        Value *value = g_new0(Value, 1);
        read_value(reader, value, key);
        if (g_hash_table_contains(gguf->values, key))
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "the metadata key %s stands twice", key);
        g_hash_table_replace(gguf->values, g_steal_pointer(&key), value);
    }
}

static const Value *
find_value(const SundogGguf *gguf, const char *key, bool is_array)
{
    const Value *value = g_hash_table_lookup(gguf->values, key);
    return value != NULL && value->is_array == is_array ? value : NULL;
}

static bool
is_integer(uint32_t type)
{
    return type <= VALUE_I32 || type == VALUE_U64 || type == VALUE_I64;
}

/* An integer's bits, sign-extended. */
static int64_t
get_integer(const Value *value, uint64_t index)
{
    SundogReader reader;
    size_t n_bytes = value_bytes[value->type];
    sundog_reader_init(&reader, value->data + index * n_bytes, n_bytes, "GGUF value");
    switch (value->type) {
    case VALUE_U8:
        return sundog_reader_u8(&reader);
    case VALUE_I8:
        return (int8_t)sundog_reader_u8(&reader);
    case VALUE_U16:
        return sundog_reader_u16(&reader);
    case VALUE_I16:
        return (int16_t)sundog_reader_u16(&reader);
    case VALUE_U32:
        return sundog_reader_u32(&reader);
    case VALUE_I32:
        return (int32_t)sundog_reader_u32(&reader);
    default:
        return (int64_t)sundog_reader_u64(&reader);
    }
}

static double
get_real(const Value *value, uint64_t index)
{
    SundogReader reader;
    size_t n_bytes = value_bytes[value->type];
    sundog_reader_init(&reader, value->data + index * n_bytes, n_bytes, "GGUF value");
    return value->type == VALUE_F32 ? (double)sundog_reader_f32(&reader)
                                    : sundog_reader_f64(&reader);
}

static int
compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **
sundog_gguf_dup_keys(const SundogGguf *gguf)
{
    guint n;
    const char **keys = (const char **)g_hash_table_get_keys_as_array(gguf->values, &n);
    qsort(keys, n, sizeof(*keys), compare_keys);
    return keys;
}

bool
sundog_gguf_has(const SundogGguf *gguf, const char *key)
{
    return g_hash_table_contains(gguf->values, key);
}

bool
sundog_gguf_get_uint(const SundogGguf *gguf, const char *key, uint64_t *value)
{
    const Value *found = find_value(gguf, key, false);
    if (found == NULL || !is_integer(found->type))
        return false;
    int64_t number = get_integer(found, 0);
    if (number < 0 && found->type != VALUE_U64)
        return false;
    *value = (uint64_t)number;
    return true;
}

bool
sundog_gguf_get_float(const SundogGguf *gguf, const char *key, double *value)
{
    const Value *found = find_value(gguf, key, false);
    if (found == NULL || (found->type != VALUE_F32 && found->type != VALUE_F64))
        return false;
    *value = get_real(found, 0);
    return true;
}

bool
sundog_gguf_get_bool(const SundogGguf *gguf, const char *key, bool *value)
{
    const Value *found = find_value(gguf, key, false);
    if (found == NULL || found->type != VALUE_BOOL)
        return false;
    *value = found->data[0] != 0;
    return true;
}

const char *
sundog_gguf_get_string(const SundogGguf *gguf, const char *key, size_t *n_bytes)
{
    const Value *found = find_value(gguf, key, false);
    if (found == NULL || found->type != VALUE_STRING)
        return NULL;
    if (n_bytes != NULL)
        *n_bytes = found->count;
    return found->text;
}

uint64_t
sundog_gguf_get_array_length(const SundogGguf *gguf, const char *key)
{
    const Value *found = find_value(gguf, key, true);
    return found != NULL ? found->count : 0;
}

const char *
sundog_gguf_get_array_string(const SundogGguf *gguf, const char *key, uint64_t index,
                             size_t *n_bytes)
{
    const Value *found = find_value(gguf, key, true);
    if (found == NULL || found->type != VALUE_STRING || index >= found->count)
        return NULL;
    SundogReader reader;
    sundog_reader_init(&reader, found->data + found->offsets[index], sizeof(uint64_t),
                       "GGUF string");
    *n_bytes = sundog_reader_u64(&reader);
    return (const char *)found->data + found->offsets[index] + sizeof(uint64_t);
}

bool
sundog_gguf_get_array_number(const SundogGguf *gguf, const char *key, uint64_t index, double *value)
{
    const Value *found = find_value(gguf, key, true);
    if (found == NULL || index >= found->count || found->type == VALUE_STRING)
        return false;
    if (found->type == VALUE_F32 || found->type == VALUE_F64)
        *value = get_real(found, index);
    else if (found->type == VALUE_BOOL)
        *value = found->data[index];
    else if (found->type == VALUE_U64)
        *value = (double)(uint64_t)get_integer(found, index);
    else
        *value = (double)get_integer(found, index);
    return true;
}
