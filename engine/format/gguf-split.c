/*
 * GGUF files in several parts, NAME-00001-of-00003.gguf and so on: the first has the metadata and says
 * how many there are and how many tensors they hold, each has its own tensors. Source: llama.cpp's
 * gguf-split.
 */

#include "engine/format/gguf-split.h"

#include "engine/format/error.h"

#include <string.h>

#define N_DIGITS 5
#define ENDING ".gguf"
/* "-00001-of-00003.gguf" */
#define SUFFIX_BYTES (1 + N_DIGITS + 4 + N_DIGITS + sizeof(ENDING) - 1)

static bool
read_digits(const char *text, unsigned *number)
{
    *number = 0;
    for (int i = 0; i < N_DIGITS; i++) {
        if (!g_ascii_isdigit(text[i]))
            return false;
        *number = *number * 10 + (unsigned)(text[i] - '0');
    }
    return true;
}

bool
sundog_gguf_split_parse(const char *name, unsigned *part, unsigned *n_parts)
{
    size_t length = strlen(name);
    if (length <= SUFFIX_BYTES)
        return false;
    const char *suffix = name + length - SUFFIX_BYTES;
    return suffix[0] == '-' && read_digits(suffix + 1, part) &&
           memcmp(suffix + 1 + N_DIGITS, "-of-", 4) == 0 &&
           read_digits(suffix + 1 + N_DIGITS + 4, n_parts) && g_str_has_suffix(name, ENDING) &&
           *part >= 1 && *part <= *n_parts;
}

char *
sundog_gguf_split_dup_name(const char *name, unsigned part)
{
    unsigned own, n_parts;
    g_return_val_if_fail(sundog_gguf_split_parse(name, &own, &n_parts), NULL);
    return g_strdup_printf("%.*s-%05u-of-%05u" ENDING, (int)(strlen(name) - SUFFIX_BYTES), name,
                           part, n_parts);
}

#define fail(error, code, ...) sundog_error_set(error, SUNDOG_FORMAT_ERROR, code, __VA_ARGS__)

uint64_t
sundog_gguf_split_count(const SundogGguf *gguf)
{
    uint64_t n_parts = 1;
    sundog_gguf_get_uint(gguf, "split.count", &n_parts);
    return MAX(n_parts, 1);
}

/* Whether the file says that it is part number `part`, from 1, of so many. */
static bool
check_part(const SundogGguf *gguf, const char *path, unsigned part, unsigned n_parts,
           GError **error)
{
    uint64_t number = 0;
    uint64_t count = sundog_gguf_split_count(gguf);
    bool numbered = sundog_gguf_get_uint(gguf, "split.no", &number);
    if (numbered && count == n_parts && number == part - 1)
        return true;
    if (!numbered)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s does not say which part it is, expected part %u of %u", path, part,
                    n_parts);
    return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                "%s says that it is part %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                ", expected part %u of %u",
                path, number + 1, count, part, n_parts);
}

/* The tensors of a part, behind those that are there. */
static bool
take_tensors(SundogGguf *gguf, const SundogGguf *part, const char *path, GError **error)
{
    for (size_t i = 0; i < part->n_tensors; i++) {
        SundogGgufTensor *tensor = &gguf->tensors[gguf->n_tensors];
        *tensor = part->tensors[i];
        if (g_hash_table_contains(gguf->tensor_index, tensor->name))
            return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                        "%s: the tensor %s stands in another part too", path, tensor->name);
        g_hash_table_insert(gguf->tensor_index, g_strdup(tensor->name), tensor);
        gguf->n_tensors++;
    }
    return true;
}

static bool
open_parts(GPtrArray *parts, const char *path, unsigned n_parts, GError **error)
{
    for (unsigned i = 2; i <= n_parts; i++) {
        g_autofree char *part_path = sundog_gguf_split_dup_name(path, i);
        SundogGguf *part = NULL;
        if (g_file_test(part_path, G_FILE_TEST_EXISTS))
            part = sundog_gguf_open_file(part_path, error);
        else
            fail(error, SUNDOG_FORMAT_ERROR_IO, "part %u of %u is missing: there is no %s", i,
                 n_parts, part_path);
        if (part == NULL)
            return false;
        g_ptr_array_add(parts, part);
        if (!check_part(part, part_path, i, n_parts, error))
            return false;
    }
    return true;
}

/* The directories as one: the first part's own tensors, then those of the others. */
static bool
join(SundogGguf *gguf, const char *path, GError **error)
{
    size_t n_own = gguf->n_tensors;
    size_t n_tensors = n_own;
    for (guint i = 0; i < gguf->parts->len; i++)
        n_tensors += ((const SundogGguf *)gguf->parts->pdata[i])->n_tensors;
    uint64_t n_expected = n_tensors;
    if (sundog_gguf_get_uint(gguf, "split.tensors.count", &n_expected) && n_expected != n_tensors)
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s: the parts hold %zu tensors, expected %" G_GUINT64_FORMAT, path, n_tensors,
                    n_expected);
    gguf->tensors = g_renew(SundogGgufTensor, gguf->tensors, n_tensors);
    for (size_t i = 0; i < n_own; i++)
        g_hash_table_insert(gguf->tensor_index, g_strdup(gguf->tensors[i].name), &gguf->tensors[i]);
    for (guint i = 0; i < gguf->parts->len; i++) {
        g_autofree char *part_path = sundog_gguf_split_dup_name(path, i + 2);
        if (!take_tensors(gguf, gguf->parts->pdata[i], part_path, error))
            return false;
    }
    return true;
}

bool
sundog_gguf_split_join(SundogGguf *gguf, const char *path, GError **error)
{
    unsigned part = 0;
    unsigned n_parts = 0;
    uint64_t count = sundog_gguf_split_count(gguf);
    if (!sundog_gguf_split_parse(path, &part, &n_parts))
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s is one of %" G_GUINT64_FORMAT
                    " parts, but its name does not end in -00001-of-00002.gguf or the like, by "
                    "which the others are found",
                    path, count);
    if (part != 1) {
        g_autofree char *first = sundog_gguf_split_dup_name(path, 1);
        return fail(error, SUNDOG_FORMAT_ERROR_INVALID,
                    "%s is part %u of %u: open the first one, %s", path, part, n_parts, first);
    }
    gguf->parts = g_ptr_array_new_with_free_func((GDestroyNotify)sundog_gguf_free);
    return check_part(gguf, path, 1, n_parts, error) &&
           open_parts(gguf->parts, path, n_parts, error) && join(gguf, path, error);
}
