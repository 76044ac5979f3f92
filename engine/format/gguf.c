/*
 * The GGUF reader. A file is, all little-endian:
 *   "GGUF", u32 version (2 and 3 are alike), u64 number of tensors, u64 number of keys
 *   for each key: string name, u32 type, value
 *   for each tensor: string name, u32 rank, u64 extent[rank], u32 type, u64 offset in the data
 *   zeros up to the alignment, then the tensors' data
 * where a string is a u64 length and bytes, and an array a u32 element type, a u64 count, elements.
 *
 * Everything is read once, in order. Arrays stay in the mapping; strings in them are indexed, since
 * a vocabulary is read by number.
 */

#include "engine/format/gguf.h"

#include "engine/format/error.h"
#include "engine/format/reader.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Far beyond any model; they keep a hostile directory from costing more memory than its file. */
#define MAX_KEYS 65536
#define MAX_TENSORS 262144
#define MAX_NAME_BYTES 65535

#define DEFAULT_ALIGNMENT 32
#define MAX_ALIGNMENT (1u << 20)

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

struct SundogGguf {
    GBytes *bytes;
    const uint8_t *data; /* The tensors' part of the file. */
    uint64_t data_bytes;
    uint32_t alignment;
    GHashTable *values; /* key (owned) -> Value (owned) */
    SundogGgufTensor *tensors;
    size_t n_tensors;
    GHashTable *tensor_index; /* name (owned) -> SundogGgufTensor */
};

static void
value_free(gpointer data)
{
    Value *value = data;
    g_free(value->offsets);
    g_free(value->text);
    g_free(value);
}

/* --- Reading ----------------------------------------------------------------------------------- */

static const char *
read_string(SundogReader *reader, uint64_t *n_bytes)
{
    *n_bytes = sundog_reader_u64(reader);
    return (const char *)sundog_reader_bytes(reader, *n_bytes);
}

/* Names are shown to people and used as keys: text, not empty, without control characters. */
static char *
dup_name(SundogReader *reader, const char *what)
{
    uint64_t n_bytes;
    const char *text = read_string(reader, &n_bytes);
    if (text == NULL)
        return NULL;
    bool good =
        n_bytes > 0 && n_bytes <= MAX_NAME_BYTES && g_utf8_validate_len(text, n_bytes, NULL);
    for (uint64_t i = 0; good && i < n_bytes; i++)
        good = !g_ascii_iscntrl(text[i]);
    if (good)
        return g_strndup(text, n_bytes);
    sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                       "%s of %" G_GUINT64_FORMAT
                       " bytes, expected 1 to %d bytes of UTF-8 without control characters",
                       what, n_bytes, MAX_NAME_BYTES);
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

static void
read_values(SundogReader *reader, SundogGguf *gguf, uint64_t n_keys)
{
    for (uint64_t i = 0; i < n_keys && sundog_reader_ok(reader); i++) {
        g_autofree char *key = dup_name(reader, "a metadata key");
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

static void
read_alignment(SundogReader *reader, SundogGguf *gguf)
{
    uint64_t alignment = DEFAULT_ALIGNMENT;
    const char *key = "general.alignment";
    if (sundog_gguf_has(gguf, key) && !sundog_gguf_get_uint(gguf, key, &alignment))
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "%s is not a positive number", key);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > MAX_ALIGNMENT)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "%s is %" G_GUINT64_FORMAT ", expected a power of two up to %u", key,
                           alignment, MAX_ALIGNMENT);
    gguf->alignment = (uint32_t)alignment;
}

/* A type's values and bytes a block; false for numbers that are not in the list. */
static bool
get_block(uint32_t type, uint64_t *n_values, uint64_t *n_bytes)
{
    switch (type) {
#define X(name, number, values, bytes) \
    case number:                       \
        *n_values = values;            \
        *n_bytes = bytes;              \
        return true;
        SUNDOG_GGUF_TYPES(X)
#undef X
    }
    return false;
}

static bool
read_shape(SundogReader *reader, SundogGgufTensor *tensor, uint64_t *n_values)
{
    tensor->rank = sundog_reader_u32(reader);
    if (sundog_reader_ok(reader) && (tensor->rank < 1 || tensor->rank > 4))
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "tensor %s has rank %u, expected 1 to 4", tensor->name, tensor->rank);
    *n_values = 1;
    for (uint32_t i = 0; i < 4 && sundog_reader_ok(reader); i++) {
        tensor->shape[i] = i < tensor->rank ? sundog_reader_u64(reader) : 1;
        if (!sundog_reader_ok(reader))
            break;
        if (tensor->shape[i] == 0)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "tensor %s has extent 0 in dimension %u", tensor->name, i);
        if (__builtin_mul_overflow(*n_values, tensor->shape[i], n_values) || *n_values > G_MAXINT64)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "tensor %s has more than 2^63 values", tensor->name);
    }
    return sundog_reader_ok(reader);
}

static void
set_bytes(SundogReader *reader, SundogGgufTensor *tensor, uint64_t n_values)
{
    uint64_t block_values, block_bytes;
    if (!get_block(tensor->type, &block_values, &block_bytes))
        return;
    if (tensor->shape[0] % block_values != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "tensor %s has rows of %" G_GUINT64_FORMAT
                           " values, expected a multiple of %" G_GUINT64_FORMAT " for %s",
                           tensor->name, tensor->shape[0], block_values,
                           sundog_gguf_type_name(tensor->type));
    if (__builtin_mul_overflow(n_values / block_values, block_bytes, &tensor->n_bytes))
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "tensor %s has more than 2^64 bytes", tensor->name);
}

/* The data's place is known only after the directory: `data` holds the offset until then. */
static void
read_tensor(SundogReader *reader, SundogGguf *gguf, SundogGgufTensor *tensor, uint64_t *offset)
{
    uint64_t n_values;
    g_autofree char *name = dup_name(reader, "a tensor's name");
    if (name == NULL)
        return;
    tensor->name = name;
    if (!read_shape(reader, tensor, &n_values))
        return;
    tensor->type = sundog_reader_u32(reader);
    *offset = sundog_reader_u64(reader);
    set_bytes(reader, tensor, n_values);
    if (*offset % gguf->alignment != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "tensor %s begins at %" G_GUINT64_FORMAT
                           " of the data, expected a multiple of %u",
                           name, *offset, gguf->alignment);
    if (g_hash_table_contains(gguf->tensor_index, name))
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "the tensor %s stands twice", name);
    else
        g_hash_table_insert(gguf->tensor_index, g_steal_pointer(&name), tensor);
}

static void
place_tensor(SundogReader *reader, const SundogGguf *gguf, SundogGgufTensor *tensor,
             uint64_t offset)
{
    if (offset > gguf->data_bytes || tensor->n_bytes > gguf->data_bytes - offset)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_TRUNCATED,
                           "tensor %s has %" G_GUINT64_FORMAT " bytes at %" G_GUINT64_FORMAT
                           " of the data, which has %" G_GUINT64_FORMAT,
                           tensor->name, tensor->n_bytes, offset, gguf->data_bytes);
    else if (tensor->n_bytes > 0)
        tensor->data = gguf->data + offset;
}

static void
read_tensors(SundogReader *reader, SundogGguf *gguf, uint64_t n_tensors)
{
    g_autofree uint64_t *offsets = g_new0(uint64_t, n_tensors);
    gguf->tensors = g_new0(SundogGgufTensor, n_tensors);
    for (; gguf->n_tensors < n_tensors && sundog_reader_ok(reader); gguf->n_tensors++)
        read_tensor(reader, gguf, &gguf->tensors[gguf->n_tensors], &offsets[gguf->n_tensors]);
    /* A file of metadata alone may end without the padding. */
    if (n_tensors > 0)
        sundog_reader_align(reader, gguf->alignment);
    gguf->data_bytes = sundog_reader_left(reader);
    gguf->data = sundog_reader_bytes(reader, gguf->data_bytes);
    for (size_t i = 0; i < n_tensors && sundog_reader_ok(reader); i++)
        place_tensor(reader, gguf, &gguf->tensors[i], offsets[i]);
}

static int
compare_places(const void *a, const void *b)
{
    const uint8_t *left = (*(const SundogGgufTensor *const *)a)->data;
    const uint8_t *right = (*(const SundogGgufTensor *const *)b)->data;
    return left < right ? -1 : left > right;
}

/* No writer lets tensors share bytes: where they do, the directory is damaged. */
static void
check_overlaps(SundogReader *reader, const SundogGguf *gguf)
{
    g_autofree const SundogGgufTensor **sorted = g_new(const SundogGgufTensor *, gguf->n_tensors);
    size_t n = 0;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        if (gguf->tensors[i].data != NULL)
            sorted[n++] = &gguf->tensors[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_places);
    for (size_t i = 1; i < n; i++) {
        if (sorted[i - 1]->data + sorted[i - 1]->n_bytes > sorted[i]->data)
            sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                               "the tensors %s and %s share bytes", sorted[i - 1]->name,
                               sorted[i]->name);
    }
}

static void
read_version(SundogReader *reader)
{
    const uint8_t *magic = sundog_reader_bytes(reader, 4);
    if (magic != NULL && memcmp(magic, "GGUF", 4) != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "begins with %02x %02x %02x %02x, expected \"GGUF\"", magic[0], magic[1],
                           magic[2], magic[3]);
    uint32_t version = sundog_reader_u32(reader);
    if (GUINT32_SWAP_LE_BE(version) <= 3 && version > 3)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "written for big-endian machines, expected little-endian");
    if (version != 2 && version != 3)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                           "GGUF version %u, expected 2 or 3", version);
}

static uint64_t
read_directory_count(SundogReader *reader, const char *what, uint64_t max)
{
    uint64_t count = sundog_reader_u64(reader);
    if (count > max)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "%" G_GUINT64_FORMAT " %s, expected at most %" G_GUINT64_FORMAT, count,
                           what, max);
    return sundog_reader_ok(reader) ? count : 0;
}

static void
read_file(SundogReader *reader, SundogGguf *gguf)
{
    read_version(reader);
    uint64_t n_tensors = read_directory_count(reader, "tensors", MAX_TENSORS);
    uint64_t n_keys = read_directory_count(reader, "metadata keys", MAX_KEYS);
    read_values(reader, gguf, n_keys);
    if (!sundog_reader_ok(reader))
        return;
    read_alignment(reader, gguf);
    read_tensors(reader, gguf, n_tensors);
    if (sundog_reader_ok(reader))
        check_overlaps(reader, gguf);
}

/* --- Opening ------------------------------------------------------------------------------------ */

SundogGguf *
sundog_gguf_new_from_bytes(GBytes *bytes, const char *name, GError **error)
{
    g_return_val_if_fail(bytes != NULL && name != NULL, NULL);
    g_autoptr(SundogGguf) gguf = g_new0(SundogGguf, 1);
    gguf->bytes = g_bytes_ref(bytes);
    gguf->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, value_free);
    gguf->tensor_index = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    SundogReader reader;
    size_t n_bytes;
    const void *data = g_bytes_get_data(bytes, &n_bytes);
    sundog_reader_init(&reader, data, n_bytes, name);
    read_file(&reader, gguf);
    return sundog_reader_finish(&reader, error) ? g_steal_pointer(&gguf) : NULL;
}

static GBytes *
map_file(const char *path, GError **error)
{
    /* Not blocking: the path may be a pipe, which the check below then refuses. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "%s: %s", path,
                    g_strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "%s is not a regular file",
                    path);
    } else {
        g_autoptr(GError) local = NULL;
        g_autoptr(GMappedFile) mapped = g_mapped_file_new_from_fd(fd, FALSE, &local);
        close(fd);
        if (mapped != NULL)
            return g_mapped_file_get_bytes(mapped);
        g_set_error(error, SUNDOG_FORMAT_ERROR, SUNDOG_FORMAT_ERROR_IO, "%s: %s", path,
                    local->message);
        return NULL;
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

SundogGguf *
sundog_gguf_open(const char *path, GError **error)
{
    g_autoptr(GBytes) bytes = map_file(path, error);
    return bytes != NULL ? sundog_gguf_new_from_bytes(bytes, path, error) : NULL;
}

void
sundog_gguf_free(SundogGguf *gguf)
{
    if (gguf == NULL)
        return;
    g_hash_table_unref(gguf->values);
    g_hash_table_unref(gguf->tensor_index);
    g_free(gguf->tensors);
    g_bytes_unref(gguf->bytes);
    g_free(gguf);
}

/* --- Asking ------------------------------------------------------------------------------------- */

uint64_t
sundog_gguf_get_file_bytes(const SundogGguf *gguf)
{
    return g_bytes_get_size(gguf->bytes);
}

char *
sundog_gguf_dup_sha256(const SundogGguf *gguf)
{
    return g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, gguf->bytes);
}

size_t
sundog_gguf_get_n_tensors(const SundogGguf *gguf)
{
    return gguf->n_tensors;
}

const SundogGgufTensor *
sundog_gguf_get_tensor(const SundogGguf *gguf, size_t index)
{
    g_return_val_if_fail(index < gguf->n_tensors, NULL);
    return &gguf->tensors[index];
}

const SundogGgufTensor *
sundog_gguf_find_tensor(const SundogGguf *gguf, const char *name)
{
    return g_hash_table_lookup(gguf->tensor_index, name);
}

const char *
sundog_gguf_type_name(uint32_t type)
{
    switch (type) {
#define X(name, number, values, bytes) \
    case number:                       \
        return #name;
        SUNDOG_GGUF_TYPES(X)
#undef X
    }
    g_autofree char *text = g_strdup_printf("type %u", type);
    return g_intern_string(text);
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
