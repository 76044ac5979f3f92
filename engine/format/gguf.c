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

#include "engine/format/gguf-split.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include "engine/format/hash.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Far beyond any model; they keep a hostile directory from costing more memory than its file. */
#define MAX_KEYS 65536
#define MAX_TENSORS 262144

#define DEFAULT_ALIGNMENT 32
#define MIN_ALIGNMENT 8
#define MAX_ALIGNMENT (1u << 20)

/* --- Reading ----------------------------------------------------------------------------------- */

static bool
read_alignment(SundogReader *reader, SundogGguf *gguf)
{
    uint64_t alignment = DEFAULT_ALIGNMENT;
    const char *key = "general.alignment";
    if (sundog_gguf_has(gguf, key) && !sundog_gguf_get_uint(gguf, key, &alignment))
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID, "%s is not a positive number", key);
    if (alignment < MIN_ALIGNMENT || alignment > MAX_ALIGNMENT ||
        (alignment & (alignment - 1)) != 0)
        sundog_reader_fail(reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "%s is %" G_GUINT64_FORMAT ", expected a power of two from %d to %u",
                           key, alignment, MIN_ALIGNMENT, MAX_ALIGNMENT);
    gguf->alignment = (uint32_t)alignment;
    return sundog_reader_ok(reader);
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

size_t
sundog_gguf_row_bytes(uint32_t type, uint64_t n_values)
{
    uint64_t block_values, block_bytes;
    return get_block(type, &block_values, &block_bytes) ? n_values / block_values * block_bytes : 0;
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
    if (tensor->type == SUNDOG_GGUF_F8 || !get_block(tensor->type, &block_values, &block_bytes))
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

/* The place of the data is known only after the directory: until then offsets are kept apart. */
static void
read_tensor(SundogReader *reader, SundogGguf *gguf, SundogGgufTensor *tensor, uint64_t *offset)
{
    uint64_t n_values;
    g_autofree char *name = sundog_gguf_dup_name(reader, "a tensor's name");
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
    for (size_t i = 0; i < gguf->n_tensors; i++)
        if (gguf->tensors[i].data != NULL)
            sorted[n++] = &gguf->tensors[i];
    if (n > 1)
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
read_directory_count(SundogReader *reader, const char *what, size_t min_bytes, uint64_t max)
{
    uint64_t count = sundog_reader_count(reader, min_bytes);
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
    uint64_t n_tensors =
        read_directory_count(reader, "tensors", SUNDOG_GGUF_MIN_TENSOR_BYTES, MAX_TENSORS);
    uint64_t n_keys =
        read_directory_count(reader, "metadata keys", SUNDOG_GGUF_MIN_KEY_BYTES, MAX_KEYS);
    sundog_gguf_read_values(reader, gguf, n_keys);
    if (!sundog_reader_ok(reader) || !read_alignment(reader, gguf))
        return;
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
    gguf->values = sundog_name_table_new(sundog_gguf_value_free);
    gguf->tensor_index = sundog_name_table_new(NULL);

    SundogReader reader;
    size_t n_bytes;
    const void *data = g_bytes_get_data(bytes, &n_bytes);
    sundog_reader_init(&reader, data, n_bytes, name);
    read_file(&reader, gguf);
    return sundog_reader_finish(&reader, error) ? g_steal_pointer(&gguf) : NULL;
}

SundogGguf *
sundog_gguf_open_file(const char *path, GError **error)
{
    /* Not blocking: the path may be a pipe, which mapping then refuses. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        sundog_file_fail(error, "open", path);
        return NULL;
    }
    g_autoptr(GBytes) bytes = sundog_file_map(fd, path, error);
    close(fd);
    return bytes != NULL ? sundog_gguf_new_from_bytes(bytes, path, error) : NULL;
}

SundogGguf *
sundog_gguf_open(const char *path, GError **error)
{
    g_autoptr(SundogGguf) gguf = sundog_gguf_open_file(path, error);
    if (gguf == NULL ||
        (sundog_gguf_split_count(gguf) > 1 && !sundog_gguf_split_join(gguf, path, error)))
        return NULL;
    return g_steal_pointer(&gguf);
}

void
sundog_gguf_free(SundogGguf *gguf)
{
    if (gguf == NULL)
        return;
    g_clear_pointer(&gguf->parts, g_ptr_array_unref);
    g_hash_table_unref(gguf->values);
    g_hash_table_unref(gguf->tensor_index);
    g_free(gguf->tensors);
    g_bytes_unref(gguf->bytes);
    g_free(gguf);
}

/* --- Asking ------------------------------------------------------------------------------------- */

/* The bytes of all parts; borrowed. */
static GPtrArray *
list_bytes(const SundogGguf *gguf)
{
    GPtrArray *bytes = g_ptr_array_new();
    g_ptr_array_add(bytes, gguf->bytes);
    for (guint i = 0; gguf->parts != NULL && i < gguf->parts->len; i++)
        g_ptr_array_add(bytes, ((const SundogGguf *)gguf->parts->pdata[i])->bytes);
    return bytes;
}

uint64_t
sundog_gguf_get_file_bytes(const SundogGguf *gguf)
{
    g_autoptr(GPtrArray) bytes = list_bytes(gguf);
    return sundog_hash_count_bytes((GBytes *const *)bytes->pdata, bytes->len);
}

char *
sundog_gguf_dup_sha256(const SundogGguf *gguf, GCancellable *cancellable, GError **error)
{
    g_autoptr(GPtrArray) bytes = list_bytes(gguf);
    return sundog_hash_dup_sha256((GBytes *const *)bytes->pdata, bytes->len, cancellable, error);
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
