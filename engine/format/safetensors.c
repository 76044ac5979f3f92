/*
 * The safetensors reader. The header is walked member by member, so that a directory costs no more
 * memory than its file and names cannot collide in a tree's tables.
 */

#include "engine/format/safetensors-private.h"

#include "engine/format/error.h"
#include "engine/format/file.h"
#include "engine/format/json-members.h"
#include "engine/format/json.h"
#include "engine/format/name-table.h"
#include "engine/format/reader.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The format's own limit of a header; the largest published ones have a few megabytes. */
#define MAX_HEADER_BYTES (100u << 20)
/* Far beyond any model; it keeps a hostile directory from costing more memory than its file. */
#define MAX_TENSORS 524288

struct SundogSafetensors {
    char **files;        /* names, ends with NULL */
    GPtrArray *mappings; /* of GBytes, one a file */
    GPtrArray *tensors;  /* of SundogSafetensor, owned */
    GHashTable *index;   /* name (owned) -> SundogSafetensor */
};

/* One file's header while it is read. */
typedef struct {
    SundogSafetensors *tensors;
    const char *file; /* for error texts */
    const uint8_t *data;
    uint64_t data_bytes;
    guint first; /* of the file's tensors */
} Header;

#define fail(error, code, ...) sundog_error_set(error, SUNDOG_FORMAT_ERROR, code, __VA_ARGS__)

static unsigned
get_bits(SundogSafetensorsDtype dtype)
{
    static const uint8_t bits[] = {
#define X(name, n) n,
        SUNDOG_SAFETENSORS_DTYPES(X)
#undef X
    };
    return bits[dtype];
}

const char *
sundog_safetensors_dtype_name(SundogSafetensorsDtype dtype)
{
    static const char *const names[] = {
#define X(name, n) #name,
        SUNDOG_SAFETENSORS_DTYPES(X)
#undef X
    };
    return names[dtype];
}

/* --- One tensor --------------------------------------------------------------------------------- */

static bool
read_dtype(SundogSafetensor *tensor, JsonNode *node, GError **error)
{
    const char *text = sundog_json_get_text(node);
    for (unsigned i = 0; text != NULL && i < SUNDOG_N_SAFETENSORS_DTYPES; i++) {
        if (strcmp(text, sundog_safetensors_dtype_name(i)) == 0) {
            tensor->dtype = i;
            return true;
        }
    }
    g_autofree char *shown = sundog_format_quote(text, "missing");
    return fail(error, SUNDOG_FORMAT_ERROR_UNSUPPORTED,
                "tensor %s: dtype is %s, which is not known here", tensor->name, shown);
}

/* A whole number from 0 on. */
static bool
get_extent(JsonArray *array, guint index, uint64_t *value)
{
    JsonNode *node = json_array_get_element(array, index);
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64 ||
        json_node_get_int(node) < 0)
        return false;
    *value = (uint64_t)json_node_get_int(node);
    return true;
}

static JsonArray *
get_array(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);
    return node != NULL && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static bool
read_shape(SundogSafetensor *tensor, JsonArray *shape, GError **error)
{
    guint rank = shape != NULL ? json_array_get_length(shape) : G_MAXUINT;
    if (rank > SUNDOG_SAFETENSORS_MAX_RANK)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "tensor %s: shape is %s, expected at most %d numbers", tensor->name,
                    shape != NULL ? "longer" : "missing", SUNDOG_SAFETENSORS_MAX_RANK);
    tensor->rank = rank;
    tensor->n_values = 1;
    for (guint i = 0; i < SUNDOG_SAFETENSORS_MAX_RANK; i++) {
        tensor->shape[i] = 1;
        if (i < rank && !get_extent(shape, i, &tensor->shape[i]))
            return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                        "tensor %s: shape holds what is no whole number from 0 on", tensor->name);
        if (__builtin_mul_overflow(tensor->n_values, tensor->shape[i], &tensor->n_values) ||
            tensor->n_values > G_MAXINT64 / 8)
            return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "tensor %s has more than 2^60 values",
                        tensor->name);
    }
    return true;
}

static bool
read_place(const Header *header, SundogSafetensor *tensor, JsonArray *offsets, GError **error)
{
    uint64_t begin, end;
    if (offsets == NULL || json_array_get_length(offsets) != 2 || !get_extent(offsets, 0, &begin) ||
        !get_extent(offsets, 1, &end) || begin > end)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "tensor %s: data_offsets is no begin with an end behind it", tensor->name);
    if (end > header->data_bytes)
        return fail(error, SUNDOG_FORMAT_ERROR_TRUNCATED,
                    "tensor %s ends at byte %" G_GUINT64_FORMAT
                    " of the data, which has %" G_GUINT64_FORMAT,
                    tensor->name, end, header->data_bytes);
    uint64_t n_bytes = (tensor->n_values * get_bits(tensor->dtype) + 7) / 8;
    if (end - begin != n_bytes)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "tensor %s has %" G_GUINT64_FORMAT " bytes, expected %" G_GUINT64_FORMAT
                    " for %" G_GUINT64_FORMAT " values of %s",
                    tensor->name, end - begin, n_bytes, tensor->n_values,
                    sundog_safetensors_dtype_name(tensor->dtype));
    tensor->n_bytes = n_bytes;
    tensor->data = header->data + begin;
    return true;
}

static bool
read_tensor(const Header *header, SundogSafetensor *tensor, const char *text, size_t n_bytes,
            GError **error)
{
    g_autoptr(JsonNode) node = sundog_json_parse(text, n_bytes, error);
    if (node == NULL)
        return false;
    if (!JSON_NODE_HOLDS_OBJECT(node))
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "tensor %s is no object", tensor->name);
    JsonObject *object = json_node_get_object(node);
    return read_dtype(tensor, json_object_get_member(object, "dtype"), error) &&
           read_shape(tensor, get_array(object, "shape"), error) &&
           read_place(header, tensor, get_array(object, "data_offsets"), error);
}

/* --- One file ----------------------------------------------------------------------------------- */

static bool
take_tensor(const char *name, const char *value, size_t n_bytes, void *data, GError **error)
{
    Header *header = data;
    SundogSafetensors *tensors = header->tensors;
    if (strcmp(name, "__metadata__") == 0)
        return true;
    if (!sundog_name_is_good(name, strlen(name)))
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "a tensor's name of %zu bytes, expected 1 to %d without control characters",
                    strlen(name), SUNDOG_NAME_MAX_BYTES);
    if (g_hash_table_contains(tensors->index, name))
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "the tensor %s stands twice", name);
    if (tensors->tensors->len == MAX_TENSORS)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "more than %d tensors", MAX_TENSORS);
    SundogSafetensor *tensor = g_new0(SundogSafetensor, 1);
    char *own_name = g_strdup(name);
    tensor->name = own_name;
    g_ptr_array_add(tensors->tensors, tensor);
    g_hash_table_insert(tensors->index, own_name, tensor);
    return read_tensor(header, tensor, value, n_bytes, error);
}

static int
compare_places(const void *a, const void *b)
{
    const SundogSafetensor *left = *(const SundogSafetensor *const *)a;
    const SundogSafetensor *right = *(const SundogSafetensor *const *)b;
    if (left->data != right->data)
        return left->data < right->data ? -1 : 1;
    /* What is empty lies before what begins at the same place. */
    return left->n_bytes < right->n_bytes ? -1 : left->n_bytes > right->n_bytes;
}

/* The format forbids tensors that share bytes, and bytes that no tensor has. */
static bool
check_dense(const Header *header, GError **error)
{
    guint n = header->tensors->tensors->len - header->first;
    g_autofree const SundogSafetensor **sorted = g_new(const SundogSafetensor *, n + 1);
    for (guint i = 0; i < n; i++)
        sorted[i] = header->tensors->tensors->pdata[header->first + i];
    qsort(sorted, n, sizeof *sorted, compare_places);
    const uint8_t *end = header->data;
    for (guint i = 0; i < n; i++) {
        if (sorted[i]->data < end)
            return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "the tensors %s and %s share bytes",
                        sorted[i - 1]->name, sorted[i]->name);
        if (sorted[i]->data > end)
            return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                        "%td bytes before the tensor %s belong to none", sorted[i]->data - end,
                        sorted[i]->name);
        end = sorted[i]->data + sorted[i]->n_bytes;
    }
    if (end != header->data + header->data_bytes)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID, "%td bytes at the end belong to no tensor",
                    header->data + header->data_bytes - end);
    return true;
}

static bool
read_file(SundogSafetensors *tensors, GBytes *bytes, const char *file, GError **error)
{
    SundogReader reader;
    size_t size;
    const void *data = g_bytes_get_data(bytes, &size);
    sundog_reader_init(&reader, data, size, file);
    uint64_t n_header_bytes = sundog_reader_u64(&reader);
    if (n_header_bytes > MAX_HEADER_BYTES)
        sundog_reader_fail(&reader, SUNDOG_FORMAT_ERROR_INVALID,
                           "a header of %" G_GUINT64_FORMAT " bytes, expected at most %u",
                           n_header_bytes, MAX_HEADER_BYTES);
    const uint8_t *text = sundog_reader_bytes(&reader, n_header_bytes);
    Header header = {.tensors = tensors,
                     .file = file,
                     .data_bytes = sundog_reader_left(&reader),
                     .first = tensors->tensors->len};
    header.data = sundog_reader_bytes(&reader, header.data_bytes);
    if (!sundog_reader_finish(&reader, error))
        return false;
    if (sundog_json_for_each_member((const char *)text, n_header_bytes, take_tensor, &header,
                                    error) &&
        check_dense(&header, error))
        return true;
    g_prefix_error(error, "%s: ", file);
    return false;
}

/* --- Opening ------------------------------------------------------------------------------------ */

static SundogSafetensors *
new_empty(void)
{
    SundogSafetensors *tensors = g_new0(SundogSafetensors, 1);
    tensors->mappings = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    tensors->tensors = g_ptr_array_new_with_free_func(g_free);
    tensors->index = sundog_name_table_new(NULL);
    return tensors;
}

SundogSafetensors *
sundog_safetensors_new_from_bytes(GBytes *bytes, const char *name, GError **error)
{
    g_autoptr(SundogSafetensors) tensors = new_empty();
    tensors->files = g_new0(char *, 2);
    tensors->files[0] = g_strdup(name);
    g_ptr_array_add(tensors->mappings, g_bytes_ref(bytes));
    return read_file(tensors, bytes, name, error) ? g_steal_pointer(&tensors) : NULL;
}

static bool
open_file(SundogSafetensors *tensors, const char *folder, const char *file, GError **error)
{
    g_autofree char *path = g_build_filename(folder, file, NULL);
    /* Not blocking: the path may be a pipe, which mapping then refuses. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sundog_file_fail(error, "open", path);
    GBytes *bytes = sundog_file_map(fd, path, error);
    close(fd);
    if (bytes == NULL)
        return false;
    g_ptr_array_add(tensors->mappings, bytes);
    return read_file(tensors, bytes, file, error);
}

/* Every tensor of the index must have come from the file that it names. */
static bool
check_index(const SundogSafetensors *tensors, GHashTable *placed, GError **error)
{
    GHashTableIter iter;
    gpointer name, file;
    g_hash_table_iter_init(&iter, placed);
    while (g_hash_table_iter_next(&iter, &name, &file)) {
        if (!g_hash_table_contains(tensors->index, name))
            return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                        "%s: the tensor %s is missing, which the index says it holds",
                        (const char *)file, (const char *)name);
    }
    return true;
}

SundogSafetensors *
sundog_safetensors_open(const char *folder, GError **error)
{
    g_autoptr(SundogSafetensors) tensors = new_empty();
    g_autoptr(GHashTable) placed = NULL;
    tensors->files = sundog_safetensors_list_files(folder, &placed, error);
    for (size_t i = 0; tensors->files != NULL && tensors->files[i] != NULL; i++)
        if (!open_file(tensors, folder, tensors->files[i], error))
            return NULL;
    if (tensors->files == NULL || (placed != NULL && !check_index(tensors, placed, error)))
        return NULL;
    return g_steal_pointer(&tensors);
}

void
sundog_safetensors_free(SundogSafetensors *tensors)
{
    if (tensors == NULL)
        return;
    g_hash_table_unref(tensors->index);
    g_ptr_array_unref(tensors->tensors);
    g_ptr_array_unref(tensors->mappings);
    g_strfreev(tensors->files);
    g_free(tensors);
}

/* --- Asking ------------------------------------------------------------------------------------- */

const char *const *
sundog_safetensors_get_files(const SundogSafetensors *tensors)
{
    return (const char *const *)tensors->files;
}

GBytes *
sundog_safetensors_get_bytes(const SundogSafetensors *tensors, size_t index)
{
    return tensors->mappings->pdata[index];
}

size_t
sundog_safetensors_get_n_tensors(const SundogSafetensors *tensors)
{
    return tensors->tensors->len;
}

const SundogSafetensor *
sundog_safetensors_get_tensor(const SundogSafetensors *tensors, size_t index)
{
    return tensors->tensors->pdata[index];
}

const SundogSafetensor *
sundog_safetensors_find(const SundogSafetensors *tensors, const char *name)
{
    return g_hash_table_lookup(tensors->index, name);
}
